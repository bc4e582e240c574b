"""Tables of the terminal whose numbers are never cut, bars of blocks, and meanings of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
    from rich.table import Column


# --- A table whose numbers are never cut: names wrap, or the table turns on its side


#: Width to which names may be wrapped, in the first column and in the others.
_NARROW_FIRST, _NARROW = 16, 24

#: Characters between two columns.
_GAP = 3


class WholeTable(Table):
    """A table that gives every number its full width.

    Columns that stand at the right contain numbers and keep their width, as pictures do
    (``no_wrap``); the others wrap. Where that does not fit, every row becomes a block of lines,
    one per column.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._fitting_widths(options.max_width)
        if widths is None:
            yield self._on_its_side(options.max_width)
            return
        for column, width in zip(self.columns, widths):
            column.width, column.min_width = width, None
            column.no_wrap, column.overflow = _keeps_width(column), "fold"
        yield from super().__rich_console__(console, options)

    def _fitting_widths(self, room: int) -> list[int] | None:
        """Return the width of every column; None if the table is too wide for the room."""
        least = [_least(column, place) for place, column in enumerate(self.columns)]
        left = room - sum(least) - _GAP * (len(least) - 1)
        if left < 0:
            return None
        wanted = [max(low, _natural(column)) for low, column in zip(least, self.columns)]
        widths = list(least)
        # The column that lacks least is served first: fewer columns wrap.
        for place in sorted(range(len(least)), key=lambda at: (wanted[at] - least[at], at)):
            more = min(left, wanted[place] - least[place])
            widths[place] += more
            left -= more
        return widths

    def _on_its_side(self, room: int) -> Group:
        """Return the rows as blocks: the first cell, and below it a line per other cell."""
        from rich.cells import cell_len
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Column
        from rich.text import Text

        head = _plain(self.columns[0].header)
        parts: list[RenderableType] = [Text(head, "bold", overflow="fold")] if head else []
        names, *others = ([_plain(cell) for cell in column.cells] for column in self.columns)
        heads = [" ".join(_plain(column.header).split()) for column in self.columns[1:]]
        aligned = max(map(cell_len, heads), default=0) + 2
        words = max((_longest_word(cells) for cells in others), default=0)
        for row, name in enumerate(names):
            style = self.rows[row].style or ""
            parts.append(Text(name, style, overflow="fold"))
            turned = Table.grid(Column(), Column(overflow="fold"), padding=(0, 2, 0, 0))
            for title, cells in zip(heads, others):
                if not cells[row]:
                    continue
                if 2 + aligned + words <= room:
                    turned.add_row(title, cells[row], style=style)
                else:
                    line = Text(f"{title}: {cells[row]}", style, overflow="fold")
                    parts.append(Padding(line, (0, 0, 0, 2)))
            if turned.row_count:
                parts.append(Padding(turned, (0, 0, 0, 2), expand=False))
        return Group(*parts)


def _keeps_width(column: Column) -> bool:
    return column.justify == "right" or column.no_wrap


def _plain(cell: RenderableType) -> str:
    """Return the text of a cell."""
    from rich.text import Text

    return cell.plain if isinstance(cell, Text) else str(cell)


def _lines(column: Column) -> list[str]:
    return [line for cell in column.cells for line in _plain(cell).split("\n")]


def _longest_word(texts: list[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for text in texts for word in text.split()), default=0)


def _least(column: Column, place: int) -> int:
    """Return the width below which a column must not get: numbers are whole, names wrap."""
    from rich.cells import cell_len

    head = _longest_word([_plain(column.header)])
    if _keeps_width(column):
        return max(1, head, *(cell_len(line) for line in _lines(column)), 0)
    narrow = min(_NARROW if place else _NARROW_FIRST, column.max_width or _NARROW)
    return max(1, min(narrow, max(head, _longest_word(_lines(column)))))


def _natural(column: Column) -> int:
    """Return the width that a column takes where there is room."""
    from rich.cells import cell_len

    lines = [*_plain(column.header).split("\n"), *_lines(column)]
    widest = max((cell_len(line) for line in lines), default=0)
    return widest if column.max_width is None else min(widest, column.max_width)


# --- Draw shares and pictures with the block characters of a terminal


_EIGHTHS = " ▏▎▍▌▋▊▉"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def bar(share: float, width: int = 20) -> str:
    """Draw a share of 1 as a bar.

    Examples
    --------
    >>> bar(0.55, width=10)
    '█████▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def half_blocks(rows: Sequence[Sequence[bool]]) -> list[str]:
    """Draw a black and white picture, two rows per line of text.

    Examples
    --------
    >>> half_blocks([[True, False, True], [False, False, True]])
    ['▀ █']
    """
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[bool(a), bool(b)] for a, b in zip(*pair)) for pair in pairs]


# --- State the conventions of measures beside their values


_GAINS = {"ndcg": "linear gain y", "ndcg_exp": "gain 2^y - 1"}


def gain_rule(names: Iterable[str]) -> str:
    """Return which gain the measures of a table use, for its heading; empty if none uses one.

    Examples
    --------
    >>> gain_rule(["ndcg@10", "map", "ndcg@5"])
    'ndcg with linear gain y'
    >>> gain_rule(["ndcg_exp(letor)", "ndcg@10"])
    'ndcg with linear gain y, ndcg_exp with gain 2^y - 1'
    """
    families = {re.split(r"[@(]", name)[0] for name in names}
    rules = [f"{family} with {gain}" for family, gain in _GAINS.items() if family in families]
    return ", ".join(rules)


def print_heading(screen: Console, text: str, measures: Iterable[str]) -> None:
    """Print the heading of a table of measures, with the gain that they use."""
    screen.print("; ".join(filter(None, [text, gain_rule(measures)])), style="bold")


def print_meanings(screen: Console, names: Iterable[str], unit: str = "query") -> None:
    """Print what the measures of a table are, below it; of rows where there are no queries."""

    from crucial.measures.names import get_measure

    for name in names:
        screen.print(f"{name}: {get_measure(name).description_of(unit)}", style="dim")

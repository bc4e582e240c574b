"""A table whose numbers are never cut: names wrap, or the table turns on its side."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

__all__ = ["WholeTable"]

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
    return cell.plain if isinstance(cell, Text) else str(cell)


def _lines(column: Column) -> list[str]:
    return [line for cell in column.cells for line in _plain(cell).split("\n")]


def _longest_word(texts: list[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=0)


def _least(column: Column, place: int) -> int:
    """Return the width below which a column must not get: numbers are whole, names wrap."""
    head = _longest_word([_plain(column.header)])
    if _keeps_width(column):
        return max(1, head, *(cell_len(line) for line in _lines(column)), 0)
    narrow = min(_NARROW if place else _NARROW_FIRST, column.max_width or _NARROW)
    return max(1, min(narrow, max(head, _longest_word(_lines(column)))))


def _natural(column: Column) -> int:
    """Return the width that a column takes where there is room."""
    lines = [*_plain(column.header).split("\n"), *_lines(column)]
    widest = max((cell_len(line) for line in lines), default=0)
    return widest if column.max_width is None else min(widest, column.max_width)

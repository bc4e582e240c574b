"""Base of results: one text, one frame, HTML in notebooks; names, JSON values and drawings.

A result is data, `to_frame`, and one text, its ``str``. The command line prints the text, a
notebook shows the frame, a page gets the data.
"""

from __future__ import annotations

import html
import itertools
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from crucial.errors import MissingExtraError
from crucial.types import Floats
from crucial.wording import printable

if TYPE_CHECKING:
    import matplotlib.axes


#: A pandas DataFrame, or a dict of lists where pandas is not installed.
Frame: TypeAlias = Any
Axes: TypeAlias = "matplotlib.axes.Axes"


# --- The base of results, and their frames as HTML


class Result:
    """Base of results: data, `to_frame`, and one text.

    The text is what ``str`` returns; a result with options for it, such as a width, has the method
    ``text``. The first line of the text says what the result is. A notebook shows it above the
    frame, and the result's ``notes`` (sentences), if it has some, below.
    """

    if TYPE_CHECKING:
        text: Callable[..., str]
        to_rows: Callable[..., list[dict[str, Any]]]

    #: Columns of the frame that a notebook also shows as bars.
    _bars: ClassVar[tuple[str, ...]] = ()

    def to_frame(self) -> Frame:
        """Return the result as a frame, one row per dict of ``to_rows`` where it has these."""
        return as_frame(columns_of(self.to_rows()))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._title()}>"

    def _title(self) -> str:
        return str(self).partition("\n")[0].strip().rstrip(":")

    def _repr_html_(self) -> str:
        notes = getattr(self, "notes", ())
        return frame_html(self._title(), self.to_frame(), self._bars, notes)


_ROWS = 15  # shown of a long table, at each end
_UP, _DOWN = "#4a86c5", "#d9822b"  # (seen on white and on black)
_CELL = "text-align:{};padding:.15em .6em"
_NOTE = '<p style="opacity:.75;margin:.3em 0">{}</p>'


def frame_html(
    title: str, frame: Frame, bars: Sequence[str] = (), notes: Sequence[str] = ()
) -> str:
    """Return a title, a frame and notes as HTML, readable on light and dark pages.

    The only colours are those of bars, there are no scripts, and text is escaped.

    Parameters
    ----------
    title : str
    frame : pandas frame, or mapping from name to column
    bars : sequence of str
        Columns with bars: the longest is the largest absolute value, values below 0 go to the left.
    notes : sequence of str

    Examples
    --------
    >>> text = frame_html("Shares", {"name": ["<b>", "c"], "share": [0.5, 1.0]}, ["share"])
    >>> "&lt;b&gt;" in text, "width:50.0%" in text
    (True, True)
    """
    columns = frame if isinstance(frame, Mapping) else frame.to_dict("list")
    total = max(map(len, columns.values()), default=0)
    left_out = range(_ROWS, total - _ROWS)
    rows = [row for row in range(total) if row not in left_out]
    head, lines = "", [""] * len(rows)
    for name, column in columns.items():
        cells = [column[row] for row in rows]
        numbers = [_number(cell) for cell in cells]
        numeric = all(n is not None or not _cell_text(c) for n, c in zip(numbers, cells))
        style = _CELL.format("right" if numeric else "left")
        known = [number for number in numbers if number is not None]
        full = max(map(abs, known), default=0.0) if name in bars else 0.0
        both = min(known, default=0.0) < 0
        span = " colspan=2" if full else ""
        head += f'<th style="{style}"{span}>{_html_text(str(name).replace("_", " "))}</th>'
        for place, (cell, number) in enumerate(zip(cells, numbers)):
            lines[place] += f'<td style="{style}">{_html_text(_cell_text(cell))}</td>'
            if full:
                lines[place] += f'<td style="width:10em">{_bar(number, full, both)}</td>'
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    if left_out:
        notes = [f"{len(left_out):,} rows in the middle are not shown", *notes]
    below = "".join(_NOTE.format(_html_text(note)) for note in notes)
    above = f"<p><strong>{_html_text(title)}</strong></p>" if title else ""
    return f'<div style="overflow-x:auto">{above}{table}{below}</div>'


def _number(value: Any) -> float | None:
    """Return a finite number as float; None for anything else."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        return None
    return float(value) if math.isfinite(value) else None


def _bar(number: float | None, full: float, both: bool) -> str:
    if number is None:
        return ""
    width = 100.0 * abs(number) / full / (2 if both else 1)
    before = (50.0 - (width if number < 0 else 0.0)) if both else 0.0
    return (
        f'<div aria-hidden="true" style="margin-left:{before:.1f}%;width:{width:.1f}%;height:.75em;'
        f'background:{_DOWN if number < 0 else _UP}"></div>'
    )


def _cell_text(value: Any) -> str:
    """Return a cell as text: numbers with four digits that count, nothing for no value."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(_cell_text, value))
    return str(value)


def _html_text(text: str) -> str:
    """Return text that is safe in HTML, without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return html.escape(plain if len(plain) <= 300 else plain[:299] + "…")


# --- Names, values, frames and tables of text


def text_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: Sequence[int] = (0,),
    width: int = 100,
) -> list[str]:
    """Return the lines of a table: words at the left, numbers at the right, a line below the heads.

    In a table that is wider than ``width``, words wrap, at spaces and hyphens where they have some.
    Where that does not help, the columns go into several tables, each with the names of the rows;
    if a column has no room beside them, there is a block of lines per row.

    Parameters
    ----------
    heads : sequence of str
    rows : iterable of sequences of str
        Without control characters.
    words : sequence of int
        Columns that stand at the left; the first one has the names of the rows.
    width : int

    Examples
    --------
    >>> print(*text_table(["run", "map"], [["bm25", "0.31"], ["dense", "0.4"]]), sep="\\n")
    run      map
    ────────────
    bm25    0.31
    dense    0.4
    """
    lines = [list(heads), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    spare = width - sum(widths) - 3 * (len(widths) - 1)
    for place in sorted(words, key=lambda at: -widths[at]) if spare < 0 else ():
        pieces = re.split(r"[\s-]+", " ".join(line[place] for line in lines))
        least = min(widths[place], max(_NARROW, min(_PIECE, max(map(len, pieces)))))
        narrower = max(least, widths[place] + spare)
        spare += widths[place] - narrower
        widths[place] = narrower
    if spare < 0:
        names = words[0]
        others = [place for place in range(len(heads)) if place != names]
        if widths[names] + 3 + max(widths[place] for place in others) <= width:
            groups = [[names]]
            for place in others:
                if sum(widths[k] + 3 for k in groups[-1]) + widths[place] > width:
                    groups.append([names])
                groups[-1].append(place)
            tables = [
                text_table(
                    [heads[k] for k in group],
                    [[row[k] for k in group] for row in lines[1:]],
                    [at for at, k in enumerate(group) if k in words],
                    width,
                )
                for group in groups
            ]
            return [line for number, one in enumerate(tables) for line in ["", *one][not number :]]
        longest = max(map(len, heads))
        blocks = [heads[names]]
        for line in lines[1:]:
            blocks.append(line[names])
            for place, (head, cell) in enumerate(zip(heads, line)):
                if cell.strip() and place != names:
                    blocks.append(f"  {head:<{longest}}  {cell}")
        return blocks
    texts = [_wrapped(line, widths, words) for line in lines]
    rule = "─" * (sum(widths) + 3 * (len(widths) - 1))
    return [*texts[0], rule, *(text for row in texts[1:] for text in row)]


_NARROW, _PIECE = 16, 24  # least width of words that wrap, and of one that has no place to wrap


def _wrapped(cells: Sequence[str], widths: Sequence[int], words: Sequence[int]) -> list[str]:
    """Return a row of a table as lines: words at the left wrap, numbers stand in the first line."""
    columns = [
        textwrap.wrap(cell, wide) if len(cell) > wide else [cell]
        for cell, wide in zip(cells, widths)
    ]
    return [
        "   ".join(
            cell.ljust(wide) if place in words else cell.rjust(wide)
            for place, (cell, wide) in enumerate(zip(line, widths))
        ).rstrip()
        for line in itertools.zip_longest(*columns, fillvalue="")
    ]


def feature_name(names: Sequence[str] | None, feature: int) -> str:
    """Return the name of a feature, or a substitute if it has none.

    Examples
    --------
    >>> feature_name(("bm25",), 0), feature_name(None, 7)
    ('bm25', 'feature 7')
    """
    return names[feature] if names is not None else f"feature {feature}"


def padded(name: str, width: int) -> str:
    """Return a name without control characters, padded or cut to a width."""
    return f"{printable(name, width):<{width}}"


def json_value(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """Return a value as JSON has it: no NaN, no infinity, no NumPy numbers, text for the rest.

    ``other`` writes what is no number, text, list or mapping.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): json_value(one, other) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one, other) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else other(value)


def json_text(value: Any) -> str:
    """Return a value as JSON, line by line; a missing or infinite number is null."""
    return json.dumps(json_value(value), indent=1, allow_nan=False) + "\n"


def listed(names: Sequence[str], count: int = 8) -> str:
    """Return the first few names as text, and how many more there are."""
    few = ", ".join(padded(name, 24).strip() for name in names[:count])
    return few + (f" and {len(names) - count} more" if len(names) > count else "")


def as_frame(columns: Mapping[str, Sequence[object] | NDArray[Any]]) -> Frame:
    """Return a pandas frame where pandas is installed, else a dict of lists.

    Arrays become lists of Python numbers.
    """
    plain = {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in columns.items()
    }
    try:
        import pandas
    except ImportError:
        return plain
    return pandas.DataFrame(plain)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as columns; None where a row has no such value.

    Examples
    --------
    >>> columns_of([{"a": 1}, {"a": 2, "b": 3}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def _new_figure(
    rows: int, columns: int, size: tuple[float, float] | None, projection: str | None = None
) -> list[Axes]:
    """Return the axes of a new figure; without matplotlib, raise how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plot() needs matplotlib: pip install crucial[plots]. print() and to_frame() show the "
            "same without."
        ) from error
    how = {"projection": projection}
    _, axes = plt.subplots(
        rows, columns, squeeze=False, layout="constrained", figsize=size, subplot_kw=how
    )
    return list(axes.flat)


def new_axes(
    ax: Axes | None = None, size: tuple[float, float] | None = None, projection: str | None = None
) -> Axes:
    """Return ``ax``, or the axes of a new figure if it is None."""
    return _new_figure(1, 1, size, projection)[0] if ax is None else ax


def name_axes(ax: Axes, x: str, y: str) -> Axes:
    """Name both axes, add the legend, and return the axes."""
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)
    ax.legend()
    return ax


def bar_chart(ax: Axes | None, names: Sequence[str], values: Floats, **options: Any) -> Axes:
    """Draw named bars, the first at the top, and return the axes."""
    ax = new_axes(ax)
    ax.barh(range(len(values)), values, **options)
    ax.set_yticks(range(len(values)), names, parse_math=False)
    ax.invert_yaxis()
    return ax


def axes_grid(count: int, columns: int = 3) -> list[Axes]:
    """Return axes for a number of small pictures, in one new figure."""
    columns = max(1, min(columns, count))
    rows = max(1, -(-count // columns))
    axes = _new_figure(rows, columns, (3.6 * columns, 2.4 * rows))
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]


# --- Names of features that have none, made one by one: a model may have millions


class NumberedNames(Sequence[str]):
    """The substitutes for names of the features 0 to n - 1, some left out, like a tuple of them.

    Parameters
    ----------
    n_features : int
    left_out : iterable of int
        Features that are left out.

    Examples
    --------
    >>> names = NumberedNames(5, [0, 2])
    >>> names, len(names), names[:2], "feature 2" in names, names.index("feature 4")
    (('feature 1', 'feature 3', 'feature 4'), 3, ('feature 1', 'feature 3'), False, 2)
    """

    def __init__(self, n_features: int, left_out: Iterable[int] = ()) -> None:
        out = np.array(sorted({*left_out}), np.int64)
        self._length = n_features - len(out)
        self._before = out - np.arange(len(out))  # names before each feature that is left out

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._name(k) for k in range(self._length)[index])
        return self._name(range(self._length)[index])

    def _name(self, k: int) -> str:
        return feature_name(None, k + int(np.searchsorted(self._before, k, "right")))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberedNames | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return repr(tuple(self))


def names_of(
    names: Sequence[str] | None, n_features: int, left_out: Iterable[int] = ()
) -> Sequence[str]:
    """Return the names of all features but those left out, or substitutes.

    Examples
    --------
    >>> names_of(("bm25", "age"), 2, [0]), names_of(None, 2)
    (('age',), ('feature 0', 'feature 1'))
    """
    if names is None:
        return NumberedNames(n_features, left_out)
    out = {*left_out}
    return tuple(name for feature, name in enumerate(names) if feature not in out)

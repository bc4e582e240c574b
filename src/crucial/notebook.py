"""Results as HTML for notebooks: tables with bars, readable on light and dark pages.

The HTML has no colours of text and no backgrounds but the bars', no scripts, and text is escaped.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = ["HtmlResult", "HtmlTable", "tables_html"]

_ROWS = 30  # shown of a table; the others are counted
_POINTS = 21  # shown of a curve

_UP, _DOWN = "#4a86c5", "#d9822b"  # (seen on white and on black)
_CELL = "text-align:{side};padding:.15em .6em;white-space:nowrap"
_NARROW = 40  # longer texts are wrapped
_WRAPPED = "text-align:left;padding:.15em .6em;min-width:16em"
_LINE = "border-bottom:1px solid rgba(127,127,127,.45)"


@dataclass(frozen=True)
class HtmlTable:
    """A table to show.

    Attributes
    ----------
    columns : mapping from name to cells
        Numbers, text, or None for nothing.
    bars : mapping from name of a column to the value of a full bar
        None is the largest absolute value of the column. Values below 0 go to the left.
    curve : bool
        Whether rows are points of a curve, of which some at equal distances are shown.
    heading : str
    """

    columns: Mapping[str, Sequence[object]]
    bars: Mapping[str, float | None] = field(default_factory=dict)
    curve: bool = False
    heading: str = ""


class HtmlResult:
    """Base of results: a notebook shows them as a title, tables with bars, and notes.

    By default the table is `to_frame` or else `to_rows`; a subclass names the columns with bars.
    """

    #: Columns with bars, as in `HtmlTable`.
    _html_bars: ClassVar[Mapping[str, float | None]] = {}
    #: Whether the rows are points of a curve.
    _html_curve: ClassVar[bool] = False

    def _html_title(self) -> str:
        """Return one line that says what the result is."""
        return repr(self)

    def _html_tables(self) -> list[HtmlTable]:
        """Return the tables to show."""
        source: Any = self
        if hasattr(source, "to_frame"):
            columns = _columns_of_frame(source.to_frame())
        else:
            columns = _columns_of_rows(source.to_rows())
        return [HtmlTable(columns, self._html_bars, self._html_curve)]

    def _html_notes(self) -> list[str]:
        """Return lines below the tables."""
        return []

    def _repr_html_(self) -> str:
        return tables_html(self._html_title(), self._html_tables(), self._html_notes())


def tables_html(title: str, tables: Sequence[HtmlTable], notes: Sequence[str] = ()) -> str:
    """Return a title, tables and notes as HTML.

    Examples
    --------
    >>> text = tables_html("Shares", [HtmlTable({"name": ["<b>"], "share": [0.5]}, {"share": 1.0})])
    >>> "&lt;b&gt;" in text, "width:50.0%" in text
    (True, True)
    """
    parts = [f"<p><strong>{_text(title)}</strong></p>"] if title else []
    for table in tables:
        if table.heading:
            parts.append(f'<p style="margin:.6em 0 .2em">{_text(table.heading)}</p>')
        parts.append(_table(table))
    parts += [f'<p style="opacity:.75;margin:.3em 0">{_text(note)}</p>' for note in notes if note]
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _table(table: HtmlTable) -> str:
    names = list(table.columns)
    total = max((len(cells) for cells in table.columns.values()), default=0)
    rows, note = _chosen(total, table.curve)
    scales = {
        name: _scale(table.columns[name], full)
        for name, full in table.bars.items()
        if name in table.columns
    }
    numeric = {name: all(_is_number(one) for one in cells) for name, cells in table.columns.items()}
    head = "".join(
        f'<th style="{_cell(numeric[name] and name not in scales)};{_LINE}"'
        f"{' colspan=2' if name in scales else ''}>{_text(name.replace('_', ' '))}</th>"
        for name in names
    )
    body = []
    for row in rows:
        cells = []
        for name in names:
            value = table.columns[name][row]
            text = _value(value)
            style = _cell(numeric[name]) if len(text) <= _NARROW else _WRAPPED
            cells.append(f'<td style="{style}">{text}</td>')
            if name in scales:
                bar = _bar(value, scales[name])
                cells.append(f'<td style="min-width:8em;width:10em">{bar}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = f'<p style="opacity:.75;margin:.3em 0">{note}</p>' if note else ""
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>{more}"
    )


def _chosen(total: int, curve: bool) -> tuple[list[int], str]:
    """Return the rows to show, and a note on the others."""
    if curve and total > _POINTS:
        rows = [round(place * (total - 1) / (_POINTS - 1)) for place in range(_POINTS)]
        return rows, f"{_POINTS} of {total:,} points"
    if total > _ROWS:
        return list(range(_ROWS)), f"and {total - _ROWS:,} more rows"
    return list(range(total)), ""


def _scale(cells: Sequence[object], full: float | None) -> tuple[float, bool]:
    """Return the value of a full bar, and whether bars go both ways."""
    known = [value for one in cells if (value := _number(one)) is not None]
    largest = max((abs(value) for value in known), default=0.0)
    if full is not None and largest <= full:
        largest = full
    return largest, any(value < 0 for value in known)


def _bar(value: object, scale: tuple[float, bool]) -> str:
    number, (full, both) = _number(value), scale
    if number is None or not full:
        return ""
    width = 100.0 * abs(number) / full
    before = 0.0
    if both:
        width, before = width / 2, 50.0 - (width / 2 if number < 0 else 0.0)
    color = _DOWN if number < 0 else _UP
    return (
        f'<div aria-hidden="true" style="margin-left:{before:.1f}%;width:{width:.1f}%;height:.75em;'
        f'background:{color};border-radius:1px"></div>'
    )


def _cell(numeric: bool) -> str:
    return _CELL.format(side="right" if numeric else "left")


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _number(value: object) -> float | None:
    """Return a finite number as float; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)


def _value(value: object) -> str:
    """Return a cell as text: numbers with four digits that count, nothing for no value."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.6g}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple | list):
        return ", ".join(_value(one) for one in value)
    return _text(value)


def _text(value: object) -> str:
    """Return text that is safe in HTML, without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in str(value))
    return html.escape(plain if len(plain) <= 300 else plain[:299] + "…")


def _columns_of_frame(frame: Any) -> dict[str, list[object]]:
    """Return the columns of a pandas frame, or of the dict that stands for one."""
    columns: dict[str, list[object]] = frame if isinstance(frame, dict) else frame.to_dict("list")
    return {str(name): list(cells) for name, cells in columns.items()}


def _columns_of_rows(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}

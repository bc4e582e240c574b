"""What the cells of a column are: numbers, dates, or texts that are categories."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from crucial.data.frame_columns import DAYS, SECONDS
from crucial.types import Floats

__all__ = ["Kind", "column_kind", "moments", "to_moment", "unit_of"]

#: What a column has; "ambiguous" dates may have day or month first, "nested" cells are JSON.
Kind = Literal["number", "text", "date", "time", "ambiguous", "nested"]

# Numbers as no table may write them: they are mistakes, not categories.
# (no sign can match two parts, and none is given back: a long cell must not take long)
_ODD_NUMBER = re.compile(
    r"[$€£]?\s*+[+-]?[_ .,']*+\d[\d_ .,']*+(?:[eE][+-]?\d++)?\s*+[%$€£]?"
    r"|0[xX][0-9a-fA-F]+|[+-]?inf(?:inity)?",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?|\d{1,2}\.\d{1,2}\.\d{4}(?: .*)?")
_GERMAN = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?: +(\d{1,2}:\d{2}(?::\d{2})?))?")
_SLASHES = re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}(?: .*)?")
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = datetime.timedelta(days=1)


def column_kind(cells: Sequence[str]) -> Kind:
    """Return what cells are that are not missing; a number among them makes all numbers.

    Examples
    --------
    >>> column_kind(["red", "blue"]), column_kind(["2024-01-31"]), column_kind(["red", "7"])
    ('text', 'date', 'number')
    >>> column_kind(["18-25", "26-35"]), column_kind(["1 000", "x"]), column_kind(["3/4/2024"])
    ('text', 'number', 'ambiguous')
    """
    if not cells or any(_ODD_NUMBER.fullmatch(cell) for cell in cells if not _DATE.fullmatch(cell)):
        return "number"
    kinds: tuple[tuple[re.Pattern[str], Kind], ...] = (
        (_DATE, "date"),
        (_TIME, "time"),
        (_SLASHES, "ambiguous"),
    )
    for pattern, kind in kinds:
        if all(pattern.fullmatch(cell) for cell in cells):
            return kind
    return "nested" if all(cell[:1] in "[{" for cell in cells) else "text"


def to_moment(cell: str) -> float | None:
    """Return a date as days since 1970 (UTC), a time of day as seconds; None if it is neither.

    Examples
    --------
    >>> to_moment("1970-01-02T12:00"), to_moment("02.01.1970"), to_moment("01:00"), to_moment("x")
    (1.5, 1.0, 3600.0, None)
    """
    if _TIME.fullmatch(cell):
        hours, minutes, *more = cell.split(":")
        seconds = float(more[0]) if more else 0.0
        if int(hours) > 23 or int(minutes) > 59 or seconds >= 60.0:
            return None
        return int(hours) * 3600 + int(minutes) * 60 + seconds
    german = _GERMAN.fullmatch(cell)
    if german is not None:
        day, month, year, clock = german.groups()
        time = "" if clock is None else "T" + (clock if clock[1] != ":" else f"0{clock}")
        cell = f"{year}-{int(month):02}-{int(day):02}{time}"
    try:
        moment = datetime.datetime.fromisoformat(cell)
    except ValueError:
        return None
    # (in UTC, the first and last days of the calendar may have no name; their distance is known)
    epoch = _EPOCH if moment.tzinfo is None else _EPOCH.replace(tzinfo=datetime.UTC)
    return (moment - epoch) / _DAY


def unit_of(kind: Kind) -> str:
    """Return what the numbers of dates, or of times of day, count."""
    return DAYS if kind == "date" else SECONDS


def moments(cells: Sequence[str | None]) -> tuple[Floats, int]:
    """Return dates or times as numbers, and the place of the first that is none, or -1."""
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if cell is not None:
            value = to_moment(cell)
            if value is None:
                return values, row
            values[row] = value
    return values, -1

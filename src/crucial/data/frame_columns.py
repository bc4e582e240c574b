"""One column of a data frame as numbers: as it is, by the texts in it, or by dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import complex_error, is_missing, too_large_error
from crucial.errors import DataError
from crucial.types import Floats

__all__ = [
    "DAYS",
    "SECONDS",
    "NumberColumn",
    "frame_column",
    "number_text",
    "text_column",
    "time_number",
]

DAYS = "days since 1970-01-01"
"""What the number of a date counts; times of day are fractions of a day, time zones are UTC."""

SECONDS = "seconds"
"""What the number of a duration, or of a time of day, counts."""


@dataclass(frozen=True)
class NumberColumn:
    """A column as numbers.

    Attributes
    ----------
    values : array of numbers
        NaN for a missing cell.
    levels : tuple of str, or None
        The texts of a column of text, ascending; values are places in them.
    unit : str or None
        What the numbers of a column of dates or times count.
    declared : bool
        Whether the type of the column says that it has categories.
    """

    values: NDArray[Any]
    levels: tuple[str, ...] | None = None
    unit: str | None = None
    declared: bool = False


def number_text(number: float | np.integer | np.floating) -> str:
    """Return a number as the text of a category, whole numbers without a point.

    Examples
    --------
    >>> number_text(7.0), number_text(0.5), number_text(2**53 + 1)
    ('7', '0.5', '9007199254740993')
    """
    if isinstance(number, int | np.integer):  # (which may be none of the floats)
        return str(int(number))
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def text_column(texts: Sequence[str | None], declared: bool = False) -> NumberColumn:
    """Return a column of text; None is a missing cell.

    Examples
    --------
    >>> column = text_column(["red", None, "blue"])
    >>> column.values.tolist(), column.levels
    ([1.0, nan, 0.0], ('blue', 'red'))
    """
    levels = tuple(sorted({text for text in texts if text is not None}))
    place: dict[str | None, float] = {level: float(i) for i, level in enumerate(levels)}
    place[None] = np.nan
    values = np.fromiter((place[text] for text in texts), np.float64, len(texts))
    return NumberColumn(values, levels, declared=declared)


def frame_column(series: Any) -> NumberColumn | None:
    """Return a column of a narwhals frame as numbers; None if it has other objects."""
    kind = series.dtype
    if str(kind) == "Boolean":
        import narwhals as nw

        # (as an array, pandas' True, False and NA are not numbers)
        return NumberColumn(np.asarray(series.cast(nw.Float64()).to_numpy()))
    if kind.is_numeric():
        if str(kind) in ("Int128", "UInt128"):  # (which NumPy does not have)
            import narwhals as nw

            series = series.cast(nw.Float64())
        return NumberColumn(np.asarray(series.to_numpy()))
    if kind.is_temporal():
        return _time_column(series)
    declared = str(kind).startswith(("Categorical", "Enum"))
    if not declared:
        values = series.to_numpy()
        if values.ndim != 1:  # (columns within columns)
            return None
        if values.dtype.kind == "c":
            raise complex_error(f"the values of {series.name!r}")
        if values.dtype.kind == "O":
            values = values.copy()
            values[[is_missing(one) for one in values]] = None
            if any(isinstance(one, np.datetime64 | np.timedelta64) for one in values):
                return _object_times(values.tolist())  # (as floats, they would be ticks)
        try:
            return NumberColumn(np.asarray(values.astype(np.float64)))
        except OverflowError:
            raise _too_large(values, series.name) from None
        except (TypeError, ValueError):
            pass
    return _text_column(series, declared) or _object_times(series.to_list())


def _too_large(values: NDArray[Any], name: str) -> DataError:
    """Return the error for the first whole number of a column that is beyond the floats."""
    beyond = [isinstance(value, int) and abs(value) >= 2**1024 for value in values.tolist()]
    row = f"row {beyond.index(True)}, " if any(beyond) else ""
    return too_large_error(f"Input X: {row}column {name!r}")


def _text_column(series: Any, declared: bool) -> NumberColumn | None:
    """Return a column of text; numbers among the categories are texts too."""
    texts: list[str | None] = []
    for value in series.to_list():
        if is_missing(value):
            texts.append(None)
        elif isinstance(value, str):
            texts.append(value)
        elif declared and isinstance(value, int | float | np.integer | np.floating):
            texts.append(number_text(value))
        else:
            return None
    return text_column(texts, declared)


def _object_times(values: list[Any]) -> NumberColumn | None:
    """Return dates, times or durations that a frame has as objects or as categories, as numbers.

    None for other objects, and where only some of them have a time zone: a column of the type of
    dates has one for all or none.
    """
    there = [value for value in values if not is_missing(value)]
    if there and all(isinstance(value, date | np.datetime64) for value in there):
        zoned = {value.tzinfo is not None for value in there if isinstance(value, datetime)}
        unit = DAYS if len(zoned) < 2 else None
    else:
        seconds = all(isinstance(value, time | timedelta | np.timedelta64) for value in there)
        unit = SECONDS if seconds else None
    if unit is None:
        return None
    return NumberColumn(np.array([time_number(one, unit) for one in values], np.float64), unit=unit)


def _time_column(series: Any) -> NumberColumn:
    """Return dates as days since 1970 (UTC), durations and times of day as seconds."""
    import narwhals as nw

    missing = series.is_null().to_numpy()
    kind = series.dtype
    unit = DAYS
    if isinstance(kind, nw.Date):
        days = series.cast(nw.Datetime("us"))
        values = _ticks(days.dt.timestamp("us"), 86_400e6)
    elif isinstance(kind, nw.Datetime):
        if kind.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        values = _ticks(series.dt.timestamp("us"), 86_400e6)
    elif isinstance(kind, nw.Duration):
        unit, values = SECONDS, _ticks(series.dt.total_microseconds(), 1e6)
    else:
        unit = SECONDS
        values = np.array(
            [time_number(one, SECONDS) for one in series.to_list()],
            np.float64,
        )
    return NumberColumn(np.where(missing, np.nan, values), unit=unit)


def time_number(value: Any, unit: str) -> float:
    """Return a date, time or duration as the number that a column of a frame has of it.

    Parameters
    ----------
    value : datetime, date, timedelta, time, numpy.datetime64, numpy.timedelta64 or float
        A number is taken as it is; None and NaT are missing.
    unit : str
        `DAYS` or `SECONDS`.

    Examples
    --------
    >>> time_number(date(1970, 1, 3), DAYS), time_number(timedelta(minutes=2), SECONDS)
    (2.0, 120.0)
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        kind = "M8[us]" if isinstance(value, np.datetime64) else "m8[us]"
        value = value.astype(kind).item()
    if is_missing(value):
        return np.nan
    if isinstance(value, time) and unit == SECONDS:
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return (whole * 1_000_000 + value.microsecond) / 1e6
    if isinstance(value, timedelta) and unit == SECONDS:
        return float(value // timedelta(microseconds=1)) / 1e6
    if isinstance(value, datetime) and unit == DAYS:
        zone = None if value.tzinfo is None else UTC
        return float((value - datetime(1970, 1, 1, tzinfo=zone)) // timedelta(microseconds=1)) / (
            86_400e6
        )
    if isinstance(value, date) and unit == DAYS:
        return float((value - date(1970, 1, 1)).days)
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    raise TypeError(f"{value!r} is no number of {unit}")


def _ticks(series: Any, per_unit: float) -> Floats:
    ticks = np.asarray(series.to_numpy(), np.float64)
    return ticks / per_unit

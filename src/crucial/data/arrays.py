"""Arrays, frames and sparse tables as users pass them: one rule for each, checked once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crucial.data.words import one_line, shown
from crucial.errors import DataError, DataTypeError
from crucial.parameters import refuse
from crucial.types import Floats, FrameLike, TableLike

if TYPE_CHECKING:
    import narwhals as nw

# --- What users pass as arrays: one rule for tables, labels, ids, scores and weights
#
# A masked value is missing, complex numbers are refused even where all of them are real, and so are
# whole numbers beyond the range of floats. ``numpy.matrix`` is an array of two dimensions.
#
# -0.0 equals 0.0, and which of both is the least, the largest, or the first of equal values after a
# sort depends on the CPU. Labels, scores, ratings and query ids therefore have one zero, by adding
# 0.0; features keep theirs, and what models store of them (ranges) has one.


#: Kinds of NumPy's types that are real numbers.
NUMBERS = "fiub"

# Largest absolute value of labels that are computed with, and one over their smallest range.
_LARGEST_LABEL = 1e100
# The largest weight is at most 2 to this, and at least one over that.
_LARGEST_POWER = 200


def as_array(values: TableLike, name: str) -> NDArray[Any]:
    """Return a list, an array or a column of a frame as an array; NaN or None for masked values.

    Examples
    --------
    >>> as_array(np.ma.masked_array([1, 2], mask=[False, True]), "y").tolist()
    [1.0, nan]
    """
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values)
    if hasattr(values, "to_numpy"):
        arrow = type(values).__module__.partition(".")[0] == "pyarrow"
        copied = {"zero_copy_only": False} if arrow else {}  # (as text and bits must be)
        return np.asarray(values.to_numpy(**copied))
    try:
        return np.asarray(values)
    except ValueError:  # (NumPy's message is about arrays)
        raise DataError(f"{name} is ragged: its rows are of different lengths.") from None


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return the values of a masked array; NaN, or None among other things than numbers."""
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind in NUMBERS:
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    if values.dtype.kind == "c":
        return np.asarray(values.data)  # (refused by everybody)
    objects = np.array(values.data, object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA, which equals nothing.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(np.zeros(2))
    (True, True, False, False)
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    unequal = value != value
    return isinstance(unequal, bool | np.bool_) and bool(unequal)


def as_reals(values: TableLike, name: str) -> Floats:
    """Return numbers of any real type as floats, in an array of any shape.

    Parameters
    ----------
    values : array, list or column of a frame
    name : str
        As errors call it.

    Raises
    ------
    DataError
        For complex numbers, and whole numbers beyond the range of floats.
    DataTypeError
        For anything else that is no number.

    Examples
    --------
    >>> as_reals([1, 2], "weight").tolist()
    [1.0, 2.0]
    """
    array = as_array(values, name)
    if array.dtype.kind == "c":
        raise complex_error(name)
    if array.dtype.kind in NUMBERS:
        return array.astype(np.float64, copy=False)
    if array.dtype.kind not in "mM":  # (NumPy would count ticks, and take NaT for a large number)
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
        for row, cells in enumerate(np.atleast_1d(array)):
            for value in np.ravel(np.asarray(cells, object)).tolist():
                try:
                    float(value)
                except OverflowError:
                    raise too_large_error(f"{name}: row {row}") from None
                except (TypeError, ValueError):
                    plain = value.item() if isinstance(value, np.generic) else value
                    raise DataTypeError(
                        f"{name} must be numbers. Row {row} is {plain!r}."
                    ) from None
    raise DataTypeError(f"{name} must be numbers, not {array.dtype}.")


def check_sum(weights: Floats, name: str) -> None:
    """Refuse weights that are finite and add up to infinity."""
    with np.errstate(over="ignore"):
        infinite = not np.isfinite(weights.sum())
    if infinite:
        raise DataError(
            f"{name} adds up to infinity: the largest of the {len(weights)} is {weights.max():g}. "
            "Divide all of them by it.",
            parameter=name,
        )


def check_values(labels: Floats, of: str) -> None:
    """Refuse labels so large, or so close together, that their squares overflow or vanish.

    Parameters
    ----------
    labels : array
    of : str
        What computes with the values of labels, rather than with their order.
    """
    if not len(labels):
        return
    low, high = float(labels.min()), float(labels.max())
    largest = max(-low, high)
    if largest > _LARGEST_LABEL or 0.0 < high - low < 1.0 / _LARGEST_LABEL:
        raise DataError(
            f"{of} computes with the values of labels: they must be at most {_LARGEST_LABEL:g}, "
            f"and {1.0 / _LARGEST_LABEL:g} apart. They go from {low:g} to {high:g}. Multiply or "
            "divide them, or number them by their order.",
            parameter="y",
        )


def moderate(weights: Floats | None) -> Floats | None:
    """Return weights of which the largest is no huge or tiny number, scaled by a power of two.

    Only ratios of weights count. Ordinary weights are returned as they are.

    Examples
    --------
    >>> moderate(np.array([1.0, 0.5])).tolist(), float(moderate(np.array([2.0**1000]))[0])
    ([1.0, 0.5], 1.6069380442589903e+60)
    """
    if weights is None or not len(weights):
        return weights
    power = int(np.frexp(weights.max())[1]) - 1
    limit = min(max(power, -_LARGEST_POWER), _LARGEST_POWER)
    return weights if power == limit else np.ldexp(weights, limit - power)


def complex_error(name: str) -> DataError:
    """Return the error for complex numbers."""
    return DataError(f"Complex data not supported: {name} must be real numbers.")


def too_large_error(place: str) -> DataError:
    """Return the error for a whole number that no float can represent."""
    return DataError(
        f"{place} is a whole number beyond the range of floats, which ends at 1.8e308. Divide by a "
        "power of ten, or pass the logarithm."
    )


# --- Types of numbers


FloatType: TypeAlias = np.dtype[np.float32] | np.dtype[np.float64]


def float_type(owner: str, dtype: DTypeLike) -> FloatType:
    """Return float32 or float64 as a dtype; anything else is refused."""
    for known in (np.dtype(np.float32), np.dtype(np.float64)):
        try:
            if np.dtype(dtype) == known:
                return known
        except TypeError:
            break
    raise refuse(owner, "dtype", "float32 or float64", dtype)


# --- Columns of data frames


def whole_table(frame: Any) -> Any:
    """Return a batch of pyarrow as a table, and any other frame as it is."""
    if type(frame).__name__ == "RecordBatch" and type(frame).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([frame])
    return frame


def as_frame(X: Any, what: str) -> nw.DataFrame[Any] | None:
    """Return the narwhals frame around X, None if X is no frame; ``what`` names it in errors."""
    import narwhals as nw

    try:
        frame = nw.from_native(whole_table(X), eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{what}: column names must differ. {one_line(error)}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def frame_columns(
    frame: FrameLike | Mapping[str, Sequence[object]], needed: Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return columns of a frame (pandas, polars, pyarrow) or of a mapping, as lists.

    Parameters
    ----------
    frame : frame or mapping
    needed : sequence of str, optional
        Columns that must be there; without, all columns are returned.
    """
    if isinstance(frame, Mapping):
        names = list(frame)
        wanted = names if needed is None else needed
        columns = {name: list(frame[name]) for name in wanted if name in frame}
    else:
        data = as_frame(frame, "the frame")
        if data is None:
            raise DataTypeError(
                f"a frame or a mapping of columns is needed. Got {type(frame).__name__}."
            )
        names = data.columns
        wanted = names if needed is None else needed
        columns = {name: data[name].to_list() for name in wanted if name in names}
    for name in needed or ():
        if name not in columns:
            known = ", ".join(map(shown, names))
            raise DataError(f"the frame has no column {shown(name)}; columns: {known}.", value=name)
    return columns


# --- One column of a data frame as numbers: as it is, by the texts in it, or by dates


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
        values = np.array([time_number(one, SECONDS) for one in series.to_list()], np.float64)
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


# --- The free memory of the machine


#: Columns that rows and models may have. Whatever is kept per feature must fit the memory, and a
#: sparse row or a model file of a few bytes may claim any number.
MAX_FEATURES = 1 << 24


def free_memory() -> int | None:
    """Return the bytes that can be allocated; None where the system does not report them."""
    free, room = _free_in_machine(), _room_of_process()
    return free if room is None or free is None else min(free, room)


def _room_of_process() -> int | None:
    """Return the memory that a limit of the process (`ulimit -v`) leaves; None without one."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as sizes:
            return max(0, limit - int(sizes.read().split()[0]) * resource.getpagesize())
    except (ImportError, OSError, ValueError):
        return None


def _free_in_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def check_room(needed: int, what: str, remedy: str) -> None:
    """Refuse to allocate more than half of the free memory.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What would take them, as the subject of a sentence.
    remedy : str

    Raises
    ------
    DataError
        With both numbers.
    """
    free = free_memory()
    if free is not None and needed > free // 2:
        raise DataError(
            f"{what} would take {needed / 2**30:.1f} GiB, more than half of the "
            f"{free / 2**30:.1f} GiB of free memory. {remedy}"
        )


# --- Checks of scipy sparse input, before compiled code walks through its arrays


# Memory of a feature of sparse input without any entry.
_BYTES_PER_FEATURE = 64


def checked_columns(X: Any) -> Any:
    """Return a scipy matrix as compressed sparse columns without duplicates.

    The structure is checked once, here: scipy and the kernels trust it, and an index outside the
    matrix would end the process.

    Parameters
    ----------
    X : scipy sparse matrix or array
        Of two dimensions.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> checked_columns(csr_array([[0.0, 2.0], [1.0, 0.0]])).indices.tolist()
    [1, 0]
    """
    from scipy.sparse import csc_array

    if X.dtype.kind == "c":
        raise complex_error("features")
    if X.dtype.kind not in NUMBERS:
        raise DataTypeError(f"Input X: a sparse matrix of {X.dtype} cannot be read as numbers.")
    remedy = "Is an index mistyped? Otherwise number the features without gaps."
    if X.shape[1] > MAX_FEATURES:
        raise DataError(
            f"Sparse input may have at most {MAX_FEATURES:,} features. Got {X.shape[1]:,}. {remedy}"
        )
    check_room(
        int(X.shape[1]) * _BYTES_PER_FEATURE,
        f"Sparse input of {X.shape[1]:,} features, even if they were empty,",
        remedy,
    )
    check_structure(X)
    table = csc_array(_narrow(X))
    if table.dtype.kind == "f" and table.dtype.itemsize not in (4, 8):
        table = table.astype(np.float64)
    if not table.has_canonical_format:
        if np.shares_memory(table.data, X.data) if X.format == "csc" else False:
            table = table.copy()  # (it shares its arrays with the user's)
        table.sum_duplicates()
    return table


def check_structure(X: Any) -> None:
    """Refuse a scipy matrix whose indices lead out of it, before anybody walks through them.

    A matrix of diagonals passes: those outside of it are empty.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> wrong = csr_array([[0.0, 2.0], [1.0, 0.0]])
    >>> wrong.indices[0] = 7
    >>> check_structure(wrong)
    Traceback (most recent call last):
    ...
    crucial.errors.DataError: Input X: the sparse matrix is malformed: column index 7 in row 0 ...
    """
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X)
    elif X.format == "coo":
        if len(X.row) != len(X.data) or len(X.col) != len(X.data):
            counts = f"{len(X.row):,} rows, {len(X.col):,} columns and {len(X.data):,} values"
            _refuse(f"its entries have {counts}")
        _check_places(X, X.row, X.col)
    elif X.format == "lil":
        if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
            lists = f"{len(X.rows):,} lists of columns and {len(X.data):,} of values"
            _refuse(f"there are {lists} for {X.shape[0]:,} rows")
        for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
            if len(columns) != len(values):
                _refuse(f"row {row:,} has {len(columns):,} columns and {len(values):,} values")
        _check_places(X, [], [column for columns in X.rows for column in columns])
    elif X.format == "dok":
        places = list(X.keys())  # (a matrix yields its rows)
        _check_places(X, [row for row, _ in places], [column for _, column in places])


def _narrow(X: Any) -> Any:
    """Return a compressed matrix with indices of four bytes, where they fit."""
    wide = X.format in ("csr", "csc") and X.indices.dtype.itemsize > 4
    if not wide or max(*X.shape, int(X.indptr[-1])) >= 2**31:
        return X
    narrow = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(narrow, shape=X.shape)


def _refuse(what: str) -> NoReturn:
    raise DataError(
        f"Input X: the sparse matrix is malformed: {what}. Build it again, for example by "
        "scipy.sparse.coo_array((values, (rows, columns)), shape)."
    )


def _check_compressed(X: Any) -> None:
    """Refuse pointers and indices that lead out of the arrays or out of the matrix."""
    along, across = ("column", "row") if X.format == "csc" else ("row", "column")
    tall, wide = int(X.shape[0]), int(X.shape[1])
    if X.format == "bsr":
        tall, wide = tall // X.blocksize[0], wide // X.blocksize[1]
    n_major, n_minor = (wide, tall) if X.format == "csc" else (tall, wide)
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    if indptr.shape != (n_major + 1,):
        _refuse(f"indptr has {len(indptr):,} numbers, and {n_major:,} {along}s need one more")
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        _refuse("indptr must begin with 0 and never fall")
    stored = int(indptr[-1])
    if stored > min(len(indices), len(X.data)):
        _refuse(
            f"indptr ends at {stored:,}, and there are {len(indices):,} indices and "
            f"{len(X.data):,} values"
        )
    if not stored:
        return
    low, high = int(indices[:stored].min()), int(indices[:stored].max())
    if low < 0 or high >= n_minor:
        at = int(np.flatnonzero((indices[:stored] < 0) | (indices[:stored] >= n_minor))[0])
        major = int(np.searchsorted(indptr, at, "right")) - 1
        _refuse(
            f"{across} index {int(indices[at]):,} in {along} {major:,} is outside its "
            f"{n_minor:,} {across}s"
        )


def _check_places(X: Any, rows: Any, columns: Any) -> None:
    """Refuse rows and columns outside the matrix."""
    for name, indices, size in (("row", rows, X.shape[0]), ("column", columns, X.shape[1])):
        numbers = np.asarray(indices)
        wrong = numbers[(numbers < 0) | (numbers >= size)]
        if len(wrong):
            _refuse(f"{name} index {int(wrong[0]):,} is outside its {size:,} {name}s")

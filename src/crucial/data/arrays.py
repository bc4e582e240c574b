"""What users pass as arrays: one rule for tables, labels, ids, scores and weights.

A masked value is missing, complex numbers are refused even where all of them are real, and so are
whole numbers beyond the range of floats. ``numpy.matrix`` is an array of two dimensions.

-0.0 equals 0.0, and which of both is the least, the largest, or the first of equal values after a
sort depends on the CPU. Labels, scores, ratings and query ids therefore have one zero, by adding
0.0; features keep theirs, and what models store of them (ranges) has one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError, DataTypeError
from crucial.types import Floats, TableLike

__all__ = [
    "NUMBERS",
    "as_array",
    "as_reals",
    "check_sum",
    "check_values",
    "complex_error",
    "is_missing",
    "moderate",
    "too_large_error",
    "unmasked",
]

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

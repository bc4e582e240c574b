"""Weights as whole numbers of a unit: their sums are exact, in any order of the rows."""

from __future__ import annotations

import math

import numpy as np

from crucial.kernels.sums import exact_sum
from crucial.types import Floats

__all__ = ["whole_weights"]

# A common unit is at least this share of the largest weight,
_SMALLEST = 1e-6
# and weights differ from whole numbers of it by this share of themselves at most.
_SHARE_ROUNDING = 1e-12
# Without one, all weights together are about two to this power, so that sums are exact.
_POWER = 50


def whole_weights(weight: Floats) -> tuple[Floats, float]:
    """Return how many units every weight is, and the unit.

    The unit is the largest number that all weights are whole numbers of, but for rounding: .1 for
    .2, .3 and .7. Positions that are equal then stay equal, whichever weights they are sums of.
    Where there is none, weights are rounded to a power of two.

    Parameters
    ----------
    weight : array of positive numbers

    Examples
    --------
    >>> counts, unit = whole_weights(np.array([0.2, 0.3, 0.7]))
    >>> counts.tolist(), round(unit, 12)
    ([2.0, 3.0, 7.0], 0.1)
    >>> bool(whole_weights(np.array([1.0, np.pi]))[0].max() > 1e14)
    True
    """
    distinct, where = np.unique(weight, return_inverse=True)
    unit = _common_unit(distinct)
    if unit is not None:
        counts = np.rint(distinct / unit)
        # (the largest weight tells the unit best)
        unit = float(distinct[-1] / counts[-1])
        if (np.abs(distinct - counts * unit) <= _SHARE_ROUNDING * distinct).all():
            return counts[where], unit
    unit = math.ldexp(1.0, max(math.frexp(exact_sum(weight))[1] - _POWER, -1074))
    return np.maximum(1.0, np.rint(weight / unit)), unit


def _common_unit(distinct: Floats) -> float | None:
    """Return about the largest common divisor of ascending weights (Euclid); None if too small."""
    top = float(distinct[-1])
    unit = top
    for one in distinct.tolist():
        larger, smaller = unit, one
        while smaller > _SMALLEST / 2 * top:
            larger, smaller = smaller, abs(larger - smaller * round(larger / smaller))
        unit = larger
        if smaller > _SHARE_ROUNDING * top * (top / unit) or unit < _SMALLEST * top:
            return None
    return unit

"""Sums of floats without rounding."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats

__all__ = ["exact_units"]

# Bits of the lower part of a significand of 53: sums of either part are exact in a float.
_LOW = 26


def exact_units(values: Floats) -> tuple[int, float]:
    """Return the sum of the finite values in units of 2^-1074, and the sum of the others.

    Significands are added up by exponent, in two parts, which no rounding touches below 2^26
    values.
    """
    finite = np.isfinite(values)
    infinite = 0.0
    if not finite.all():
        with np.errstate(invalid="ignore"):
            infinite = float(values[~finite].sum())
        values = values[finite]
    if not len(values):
        return 0, infinite
    fraction, exponent = np.frexp(values)
    # (a subnormal number has fewer bits than 53: those below its last are 0)
    significand = np.ldexp(fraction, 53).astype(np.int64)
    lowest = int(exponent.min())
    place = exponent - lowest
    high = np.bincount(place, significand >> _LOW)
    low = np.bincount(place, significand & ((1 << _LOW) - 1))
    units = 0
    for at in np.flatnonzero((high != 0.0) | (low != 0.0)).tolist():
        units += ((int(high[at]) << _LOW) + int(low[at])) << at
    # The last bit of a significand at exponent e is worth 2^(e - 53).
    shift = lowest - 53 + 1074
    return (units << shift if shift >= 0 else units >> -shift), infinite

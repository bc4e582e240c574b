"""Sums of floats without rounding."""

from __future__ import annotations

import math

import numpy as np

from crucial.types import Floats

__all__ = ["exact_units"]

# Bits that are cut off at a time: sums of so few bits are exact in a float, below 2^16 values.
_BITS = 37
_SMALLEST = -1074


def exact_units(values: Floats) -> tuple[int, float]:
    """Return the sum of the finite values in units of 2^-1074, and the sum of the others.

    The upper bits of all values are whole numbers of one unit, which are added up; then those
    below them, until nothing is left.
    """
    units, infinite = 0, 0.0
    largest = float(np.abs(values).max(initial=0.0))
    if not math.isfinite(largest):
        finite = np.isfinite(values)
        with np.errstate(invalid="ignore"):
            infinite = float(values[~finite].sum())
        values = values[finite]
        largest = float(np.abs(values).max(initial=0.0))
    left = values
    while largest > 0.0:
        place = max(math.frexp(largest)[1] - _BITS, _SMALLEST)
        unit = math.ldexp(1.0, place)
        upper = np.trunc(left / unit)
        for begin in range(0, len(upper), 1 << 15):
            units += int(upper[begin : begin + (1 << 15)].sum()) << (place - _SMALLEST)
        left = left - upper * unit
        largest = float(np.abs(left).max())
    return units, infinite

"""Floats as whole numbers of a unit."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["fill_fixed"]


def fill_fixed(values: Floats, inverse: float, first: int, last: int, out: Ints) -> float:
    """Write values times ``inverse`` as whole numbers; return the sum of their magnitudes.

    Parameters
    ----------
    first, last : int
        The range to write.
    out : array like values  # OUT
        Not to be used where the sum is 2^63 or more, or NaN.
    """
    units = np.rint(values[first:last] * inverse)
    size = float(np.abs(units).sum())
    if size < 2.0**63:
        out[first:last] = units
    return size

"""Floats as whole numbers of a unit; twin in ``plain.fixed_point``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["fill_fixed"]


@kernel
def fill_fixed(values, inverse, first, last, out):
    """Write values times ``inverse`` as whole numbers; return the sum of their magnitudes."""
    size = 0.0
    for i in range(first, last):
        units = np.rint(values[i] * inverse)
        out[i] = np.int64(units)
        size += abs(units)
    return size

"""Types of numbers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from crucial.parameters import refuse

__all__ = ["FloatType", "float_type"]

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

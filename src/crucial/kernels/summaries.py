"""Summaries of sorted values: few of them, each with the mass that it stands for."""

from __future__ import annotations

import numpy as np

from crucial.kernels.plain.summaries import compressed, distinct
from crucial.types import Floats, Reals

__all__ = ["compressed", "distinct", "summarised"]

# Values up to which NumPy is faster than loading a kernel.
_FEW_VALUES = 2000


def summarised(ranked: Reals, size: int) -> tuple[Floats, Floats, float]:
    """Return at most ``size`` of ascending values, each counting 1; see `compressed`.

    Examples
    --------
    >>> [part.tolist() for part in summarised(np.array([1.0, 1.0, 2.0, 5.0]), 2)[:2]]
    [[1.0, 5.0], [2.0, 2.0]]
    """
    if len(ranked) <= _FEW_VALUES:
        return compressed(*distinct(ranked.astype(np.float64), np.ones(len(ranked))), size)
    from crucial.kernels.compiled.summaries import summarise

    values, mass = np.empty((2, min(size, len(ranked))))
    count, moved = summarise(ranked, size, values, mass)
    return values[:count].copy(), mass[:count].copy(), float(moved)

"""Sums of exponentials, as logarithms."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log, log1p
from crucial.kernels.jit import kernel

__all__ = ["log_add", "log_sum"]


@kernel
def log_add(a, b):
    """Return log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + log1p(exp(b - a))


@kernel
def log_sum(scores, log_weight, factor, begin, end):
    """Return the logarithm of the sum of u e^(factor * H) over rows."""
    top = -np.inf
    for i in range(begin, end):
        top = max(top, log_weight[i] + factor * scores[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(begin, end):
        total += exp(log_weight[i] + factor * scores[i] - top)
    return top + log(total)

"""Portable exponentials and logarithms in kernels; the same bytes as ``kernels.elementary``."""

from __future__ import annotations

import numpy as np

from crucial.kernels import elementary as plain
from crucial.kernels.elementary import (
    HIGHEST,
    LOG2_E,
    LOG_2_HIGH,
    LOG_2_LOW,
    LOWEST,
    ROOT_BITS,
    ROUNDING,
    ROUNDING_BITS,
    SMALLEST_NORMAL,
    TO_NORMAL,
)
from crucial.kernels.jit import kernel

__all__ = ["exp", "exp_all", "log", "log1p", "log1p_all", "log2", "log_all"]

_log_series = kernel(plain.log_series)
_log_sum, _log2_sum = kernel(plain.log_sum), kernel(plain.log2_sum)
exp_rest = kernel(plain.exp_rest)


@kernel
def _exp_reduced(high, low):
    """Return e^(high - low) near 1; see `crucial.kernels.elementary.exp_reduced`."""
    r = high - low
    top = 1.0 + r
    return top + ((r - (top - 1.0)) + (exp_rest(r) + ((high - r) - low)))


@kernel
def exp(x):
    """Return e^x."""
    clipped = x
    if x > HIGHEST:
        clipped = HIGHEST
    if x < LOWEST:
        clipped = LOWEST
    shifted = clipped * LOG2_E + ROUNDING
    k = shifted - ROUNDING
    y = _exp_reduced(clipped - k * LOG_2_HIGH, k * LOG_2_LOW)
    n = np.float64(shifted).view(np.int64) - ROUNDING_BITS
    half = n >> 1
    # (in two steps, each with an exponent in range: the second one rounds numbers below normal)
    y = y * np.int64((half + 1023) << 52).view(np.float64)
    return y * np.int64((n - half + 1023) << 52).view(np.float64)


@kernel
def _split(x):
    """Return k and f of ``x = 2^k (1 + f)`` for a positive finite number."""
    tiny = x < SMALLEST_NORMAL
    bits = np.float64(x * TO_NORMAL if tiny else x).view(np.int64)
    k = (bits - ROOT_BITS) >> 52
    f = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    return np.float64(k - 54 if tiny else k), f


@kernel
def log(x):
    """Return the natural logarithm."""
    k, f = _split(x)
    top, rest = _log_series(f)
    value = _log_sum(k, top, rest)
    if x > 0.0 and x < np.inf:
        return value
    if x > 0.0:
        return x
    return -np.inf if x == 0.0 else np.nan


@kernel
def log2(x):
    """Return the logarithm to base 2 of a positive finite number."""
    k, f = _split(x)
    top, rest = _log_series(f)
    return _log2_sum(k, top, rest)


@kernel
def log1p(x):
    """Return log(1 + x)."""
    u = 1.0 + x
    k, f = _split(u)
    top, rest = _log_series(f)
    value = _log_sum(k, top, rest) + (x - (u - 1.0)) / u
    if u == 1.0:
        return x
    if u > 0.0 and u < np.inf:
        return value
    if u > 0.0:
        return u
    return -np.inf if u == 0.0 else np.nan


@kernel
def exp_all(x, out):
    """Write e^x."""
    for i in range(len(x)):
        out[i] = exp(x[i])


@kernel
def log_all(x, out):
    """Write log(x)."""
    for i in range(len(x)):
        out[i] = log(x[i])


@kernel
def log1p_all(x, out):
    """Write log(1 + x)."""
    for i in range(len(x)):
        out[i] = log1p(x[i])

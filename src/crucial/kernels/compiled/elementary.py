"""Exponentials, logarithms and products in kernels; the same bytes as ``kernels.elementary``."""

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

# --- Portable exponentials and logarithms in kernels; the same bytes as ``kernels.elementary``


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


# --- Products of matrices in one order of sums; the same bytes as in `kernels.elementary`


_WIDTH = 512  # columns of a block
_DEPTH = 64  # rows of a block, which stays in the second cache; a multiple of 4


@kernel
def matrix_product(a, b, out):
    """Add ``a @ b``, the rows of b one after the other."""
    n, width = b.shape
    for begin in range(0, width, _WIDTH):
        end = min(begin + _WIDTH, width)
        for first in range(0, n, _DEPTH):
            last = min(first + _DEPTH, n)
            whole = last - (last - first) % 4
            for i in range(len(a)):
                row = out[i, begin:end]
                for k in range(first, whole, 4):
                    f0, f1, f2, f3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                    b0, b1 = b[k, begin:end], b[k + 1, begin:end]
                    b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
                    for j in range(len(row)):
                        row[j] = (((row[j] + f0 * b0[j]) + f1 * b1[j]) + f2 * b2[j]) + f3 * b3[j]
                for k in range(whole, last):
                    factor, rest = a[i, k], b[k, begin:end]
                    for j in range(len(row)):
                        row[j] += factor * rest[j]


@kernel
def row_sums(table, weights, out):
    """Write ``table @ weights``, eight rows at a time: their sums do not wait for each other."""
    n, width = table.shape
    whole = n // 8 * 8
    for i in range(0, whole, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for k in range(width):
            weight = weights[k]
            s0 += table[i, k] * weight
            s1 += table[i + 1, k] * weight
            s2 += table[i + 2, k] * weight
            s3 += table[i + 3, k] * weight
            s4 += table[i + 4, k] * weight
            s5 += table[i + 5, k] * weight
            s6 += table[i + 6, k] * weight
            s7 += table[i + 7, k] * weight
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
    for i in range(whole, n):
        total = 0.0
        for k in range(width):
            total += table[i, k] * weights[k]
        out[i] = total

"""Logistic pairs of neighbours in noisy orders; twin of ``plain.yeti``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.noise import mix
from crucial.kernels.compiled.sorting import order_falling
from crucial.kernels.jit import kernel

__all__ = ["yeti_sums"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_DROPPED = np.uint64(11)
_UNIT = 2.0**-53


@kernel
def yeti_sums(
    scores,
    worth,
    weight,
    coefficient,
    keys,
    permutations,
    decay,
    row_start,
    first_query,
    last_query,
    pi,
    curvature,
    loss,
):
    """Write potentials, curvature and loss of every query of a range."""
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, row_start[q + 1] - row_start[q])
    noisy = np.empty(longest)
    key = np.empty(longest)
    row = np.empty(longest, np.int64)
    spare = np.empty(longest)
    spare_row = np.empty(longest, np.int64)
    for q in range(first_query, last_query):
        begin = row_start[q]
        size = row_start[q + 1] - begin
        for i in range(begin, begin + size):
            pi[i] = 0.0
            curvature[i] = 0.0
        paid = 0.0
        for number in range(permutations):
            own = mix(keys[q] + np.uint64(number + 1))
            for p in range(size):
                drawn = mix(own + _GOLDEN * np.uint64(p + 1)) >> _DROPPED
                z = (drawn + 0.5) * _UNIT
                noisy[p] = scores[begin + p] + np.log(z) - np.log1p(-z)
            order_falling(noisy, 0, size, key, row, spare, spare_row)
            decayed = 1.0 / permutations
            for p in range(size - 1):
                i = begin + row[p]
                j = begin + row[p + 1]
                gap = worth[i] - worth[j]
                if gap != 0.0:
                    distance = scores[i] - scores[j]
                    margin = distance if gap > 0.0 else -distance
                    tail = np.exp(-abs(margin))
                    w = decayed * abs(gap) * weight[i] * weight[j]
                    amount = w * (tail if margin > 0.0 else 1.0) / (1.0 + tail)
                    bend = w * tail / ((1.0 + tail) * (1.0 + tail))
                    signed = amount if gap > 0.0 else -amount
                    pi[i] += signed
                    pi[j] -= signed
                    curvature[i] += bend
                    curvature[j] += bend
                    paid += amount
                decayed *= decay
        for i in range(begin, begin + size):
            pi[i] *= coefficient[q]
            curvature[i] *= coefficient[q]
        loss[q] = paid

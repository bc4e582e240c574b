"""Logistic pairs of neighbours in noisy orders."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log, log1p
from crucial.kernels.compiled.noise import mix
from crucial.kernels.compiled.sorting import order_falling
from crucial.kernels.jit import kernel

__all__ = ["yeti_sums"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_DROPPED = np.uint64(11)
_UNIT = 2.0**-53
# Scores of a query within this distance have exponentials whose products stay finite.
NARROW = 60.0


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
    """Write potentials, curvature and loss of every query of a range.

    YetiRank (Gulin, Kuralenok & Pavlov 2011). Equivalent to: for every permutation, order the
    rows of a query by falling ``H + ln(z / (1 - z))`` with z uniform; for rows at positions p
    and p + 1 (from 0) of different worth, let
    ``w = decay^p |worth difference| u_hi u_lo / permutations`` and
    ``s = 1 / (1 + e^{H_hi - H_lo})``; add ``w s`` to ``pi[hi]``, subtract it from ``pi[lo]``,
    and add ``w s (1 - s)`` to the curvature of both and ``w s`` to the loss.

    Parameters
    ----------
    scores, worth, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor on potentials and curvature, not on the loss.
    keys : uint64 array of shape (n_queries,)
        Keys of the noise, see `crucial.kernels.noise`; row i of permutation k gets the
        number of place i under the key ``mix(key + k + 1)``.
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    loss : array of shape (n_queries,)  # OUT
    """
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, row_start[q + 1] - row_start[q])
    noisy = np.empty(longest)
    grown = np.empty(longest)
    key = np.empty(longest)
    row = np.empty(longest, np.int64)
    spare = np.empty(longest)
    spare_row = np.empty(longest, np.int64)
    for q in range(first_query, last_query):
        begin = row_start[q]
        size = row_start[q + 1] - begin
        low = scores[begin]
        high = scores[begin]
        for i in range(begin, begin + size):
            low = min(low, scores[i])
            high = max(high, scores[i])
            pi[i] = 0.0
            curvature[i] = 0.0
        narrow = high - low <= NARROW
        for p in range(size):
            grown[p] = exp(scores[begin + p] - 0.5 * (low + high)) if narrow else 1.0
        paid = 0.0
        for number in range(permutations):
            own = mix(keys[q] + np.uint64(number + 1))
            for p in range(size):
                drawn = mix(own + _GOLDEN * np.uint64(p + 1)) >> _DROPPED
                z = (drawn + 0.5) * _UNIT
                if narrow:  # (exponentials have the same order)
                    noisy[p] = grown[p] * z / (1.0 - z)
                else:
                    noisy[p] = scores[begin + p] + log(z) - log1p(-z)
            order_falling(noisy, 0, size, key, row, spare, spare_row)
            decayed = 1.0 / permutations
            for p in range(size - 1):
                i = begin + row[p]
                j = begin + row[p + 1]
                gap = worth[i] - worth[j]
                if gap != 0.0:
                    if narrow:
                        one, other = grown[row[p]], grown[row[p + 1]]
                    else:
                        distance = scores[i] - scores[j]
                        one = 1.0 if distance > 0.0 else exp(distance)
                        other = exp(-distance) if distance > 0.0 else 1.0
                    whole = 1.0 / (one + other)
                    w = decayed * abs(gap) * weight[i] * weight[j]
                    amount = w * (other if gap > 0.0 else one) * whole
                    bend = w * (one * whole) * (other * whole)
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

"""Weight of wrongly ordered pairs for all thresholds of a feature; twin in ``plain.pairs``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = [
    "wrong_weights",
    "wrong_weights_few",
]


# What joining the ones at level y does to the levels below and above it: a product with
# such a row is faster than a choice.
_BELOW = np.tril(np.ones((5, 5)), -1)


_ABOVE = np.triu(np.ones((5, 5)), 1)


@kernel
def wrong_weights_few(
    up,
    down,
    gains,
    coefficient,
    codes,
    n_bins,
    missing_rank,
    row_level,
    level_sum,
    row_start,
    query_first,
    wrong,
):
    """Weight of wrongly ordered pairs for every threshold; one-byte codes, up to 5 levels.

    Query after query, from the highest code to the lowest. A row that joins the ones
    makes its pairs with higher-labelled zeros wrong, and rights those with lower-labelled
    ones; ``zeros[y]`` and ``ones[y]`` are the sums over both for a row of level y.

    Parameters
    ----------
    gains : array of shape (n_segments,) or (0,)
    row_level : uint8 array of shape (n_rows,)
        Level of the row inside its query.
    level_sum : array of shape (n_segments,)
        Sum of ``down`` over the rows of a level.
    wrong : array of shape (n_bins + 1,)  # OUT
    """
    graded = len(gains) > 0
    largest = 0
    for q in range(len(row_start) - 1):
        largest = max(largest, row_start[q + 1] - row_start[q])
    order = np.empty(largest, np.uint32)
    start = np.zeros(258, np.int32)
    change = np.zeros(n_bins + 1)
    zeros = np.zeros(5)
    ones = np.zeros(5)
    g = np.zeros(5)
    for q in range(len(row_start) - 1):
        a, b = row_start[q], row_start[q + 1]
        s = query_first[q]
        n_levels = query_first[q + 1] - s
        zeros[:] = 0.0
        ones[:] = 0.0
        for y in range(n_levels):
            g[y] = gains[s + y] if graded else 0.0
        for y in range(n_levels - 1, -1, -1):
            for k in range(y):
                zeros[k] += level_sum[s + y] * (g[y] - g[k] if graded else 1.0)
        start[: n_bins + 2] = 0
        for i in range(a, b):
            start[n_bins - codes[i] + 1] += 1
        passed = 0
        for c in range(n_bins + 2):
            passed += start[c]
            start[c] = passed
        absent = start[1]
        for i in range(a, b):
            c = n_bins - codes[i]
            order[start[c]] = i
            start[c] += 1
        weight = coefficient[q]
        # Abstaining rows come first; where they rank 0 they never join the ones.
        for j in range(absent if missing_rank == 0 else 0, b - a):
            i = order[j]
            here = np.uint32(row_level[i])
            won, lost = up[i], down[i]
            change[codes[i]] += weight * (won * zeros[here] - lost * ones[here])
            if graded:
                for k in range(5):
                    zeros[k] -= lost * _BELOW[here, k] * (g[here] - g[k])
                    ones[k] += won * _ABOVE[here, k] * (g[k] - g[here])
            else:
                z0 = zeros[0] - lost * _BELOW[here, 0]
                z1 = zeros[1] - lost * _BELOW[here, 1]
                z2 = zeros[2] - lost * _BELOW[here, 2]
                z3 = zeros[3] - lost * _BELOW[here, 3]
                o1 = ones[1] + won * _ABOVE[here, 1]
                o2 = ones[2] + won * _ABOVE[here, 2]
                o3 = ones[3] + won * _ABOVE[here, 3]
                o4 = ones[4] + won * _ABOVE[here, 4]
                zeros[0], zeros[1], zeros[2], zeros[3] = z0, z1, z2, z3
                ones[1], ones[2], ones[3], ones[4] = o1, o2, o3, o4
    total = 0.0
    for k in range(n_bins, -1, -1):
        total += change[k]
        wrong[k] = total


@kernel
def _by_code(codes, n_bins, start):
    """Rows by falling code (abstentions first); ``start`` tells where each code begins."""
    n = len(codes)
    for i in range(n):
        start[n_bins - np.int64(codes[i]) + 1] += 1
    for c in range(n_bins + 1):
        start[c + 1] += start[c]
    order = np.empty(n, np.int32)
    cursor = start.copy()
    for i in range(n):
        c = n_bins - np.int64(codes[i])
        order[cursor[c]] = i
        cursor[c] += 1
    return order


@kernel
def wrong_weights(
    up, down, gains, coefficient, codes, n_bins, missing_rank, level, query, query_first, wrong
):
    """`wrong_weights_few` for many levels or wide codes, O(n log levels).

    All rows from the highest code to the lowest, the sums in Fenwick trees, one a query.
    """
    n = len(level)
    graded = len(gains) > 0
    start = np.zeros(n_bins + 2, np.int64)
    order = _by_code(codes, n_bins, start)
    n_segments = query_first[-1]
    zeros = np.zeros(n_segments)  # down of the zeros, from the top level down
    ones = np.zeros(n_segments)  # up of the ones, from the bottom level up
    zeros_gain = np.zeros(n_segments if graded else 0)
    ones_gain = np.zeros(n_segments if graded else 0)
    for i in range(n):
        base = query_first[query[i]]
        size = query_first[query[i] + 1] - base
        tree_add(zeros, base, size, size - level[i], down[i])
        if graded:
            tree_add(zeros_gain, base, size, size - level[i], down[i] * gains[base + level[i]])
    total = 0.0
    for c in range(n_bins + 1):
        if c > 0 or missing_rank == 1:
            for j in range(start[c], start[c + 1]):
                i = order[j]
                base = query_first[query[i]]
                size = query_first[query[i] + 1] - base
                higher = tree_sum(zeros, base, size - level[i] - 1)
                lower = tree_sum(ones, base, level[i])
                if graded:
                    gain = gains[base + level[i]]
                    higher = tree_sum(zeros_gain, base, size - level[i] - 1) - gain * higher
                    lower = gain * lower - tree_sum(ones_gain, base, level[i])
                    tree_add(zeros_gain, base, size, size - level[i], -down[i] * gain)
                    tree_add(ones_gain, base, size, level[i] + 1, up[i] * gain)
                total += coefficient[query[i]] * (up[i] * higher - down[i] * lower)
                tree_add(zeros, base, size, size - level[i], -down[i])
                tree_add(ones, base, size, level[i] + 1, up[i])
        wrong[n_bins - c] = total

"""Weight of wrongly ordered pairs for all thresholds of a feature; twin in ``plain.pairs``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = ["order_by_code", "wrong_weights", "wrong_weights_few"]


# Offsets as unsigned numbers: a signed one makes Numba test every index for its sign.
_1, _2, _3, _4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@kernel
def order_by_code(codes, n_bins, row_start, order):
    """Write the rows of every query by falling one-byte code, abstentions first.

    Parameters
    ----------
    order : unsigned array of shape (n_rows,)  # OUT
        Numbers inside the query.
    """
    top = np.uint64(n_bins)
    start = np.zeros(258, np.uint32)
    for q in range(len(row_start) - 1):
        a, b = np.uint64(row_start[q]), np.uint64(row_start[q + 1])
        start[: n_bins + 2] = 0
        for i in range(a, b):
            start[top - np.uint64(codes[i]) + _1] += np.uint32(1)
        passed = np.uint32(0)
        for c in range(n_bins + 2):
            passed += start[c]
            start[c] = passed
        for i in range(a, b):
            code = top - np.uint64(codes[i])
            place = start[code]
            order[a + np.uint64(place)] = i - a
            start[code] = place + np.uint32(1)


@kernel
def wrong_weights_few(
    up,
    down,
    gains,
    coefficient,
    inverse,
    codes,
    n_bins,
    missing_rank,
    order,
    row_level,
    level_sum,
    row_start,
    query_first,
    wrong,
):
    """Write the weight of wrongly ordered pairs per threshold; one-byte codes, up to 5 levels.

    Query after query, from the highest code to the lowest. A row that joins the ones
    makes its pairs with higher-labelled zeros wrong, and rights those with lower-labelled
    ones. ``zeros[y]`` and ``ones[4 + y]`` are the sums over both of level y; four levels of
    nothing above and below let the sum over the other levels run without a condition.

    Parameters
    ----------
    gains : array of shape (n_segments,) or (0,)
    order : unsigned array of shape (n_rows,)
        As `order_by_code` writes it.
    row_level : uint8 array of shape (n_rows,)
        Level of the row inside its query.
    level_sum : array of shape (n_segments,)
        Sum of ``down`` over the rows of a level.
    inverse : float
        Units in a weight of 1.
    wrong : int64 array of shape (n_bins + 1,)  # OUT
        Whole numbers of units.
    """
    graded = len(gains) > 0
    change = np.zeros(256, np.int64)
    zeros = np.zeros(9)
    ones = np.zeros(9)
    gain = np.zeros(13)
    for q in range(len(row_start) - 1):
        a, b = np.uint64(row_start[q]), np.uint64(row_start[q + 1])
        s = query_first[q]
        n_levels = query_first[q + 1] - s
        for y in range(5):
            zeros[y] = level_sum[s + y] if y < n_levels else 0.0
            ones[4 + y] = 0.0
            gain[4 + y] = gains[s + y] if graded and y < n_levels else 0.0
        weight = coefficient[q] * inverse
        first = a
        if missing_rank == 0:
            # Abstaining rows come first; where they rank 0 they never join the ones.
            while first < b and codes[a + np.uint64(order[first])] == n_bins:
                first += _1
        for j in range(first, b):
            row = a + np.uint64(order[j])
            level = np.uint64(row_level[row])
            won, lost = up[row], down[row]
            if graded:
                here = gain[level + _4]
                higher = (
                    zeros[level + _1] * (gain[level + _4 + _1] - here)
                    + zeros[level + _2] * (gain[level + _4 + _2] - here)
                ) + (
                    zeros[level + _3] * (gain[level + _4 + _3] - here)
                    + zeros[level + _4] * (gain[level + _4 + _4] - here)
                )
                lower = (
                    ones[level] * (here - gain[level])
                    + ones[level + _1] * (here - gain[level + _1])
                ) + (
                    ones[level + _2] * (here - gain[level + _2])
                    + ones[level + _3] * (here - gain[level + _3])
                )
            else:
                higher = (zeros[level + _1] + zeros[level + _2]) + (
                    zeros[level + _3] + zeros[level + _4]
                )
                lower = (ones[level] + ones[level + _1]) + (ones[level + _2] + ones[level + _3])
            units = np.rint(weight * (won * higher - lost * lower))
            change[np.uint64(codes[row])] += np.int64(units)
            zeros[level] -= lost
            ones[level + _4] += won
    total = np.int64(0)
    for k in range(n_bins, -1, -1):
        total += change[k]
        wrong[k] = total


@kernel
def _by_code(codes, n_bins, start):
    """Return rows by falling code, abstentions first; write where each code begins."""
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
    up, down, gains, coefficient, inverse, codes, n_bins, missing_rank, level, query, query_first,
    wrong,
):  # fmt: skip
    """`wrong_weights_few` for many levels or wide codes, O(n log levels).

    All rows from the highest code to the lowest, the sums in Fenwick trees, one per query.
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
    total = np.int64(0)
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
                weight = coefficient[query[i]] * inverse
                total += np.int64(np.rint(weight * (up[i] * higher - down[i] * lower)))
                tree_add(zeros, base, size, size - level[i], -down[i])
                tree_add(ones, base, size, level[i] + 1, up[i])
        wrong[n_bins - c] = total

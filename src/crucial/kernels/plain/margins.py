"""Counting pairs by their margin without making them; see `crucial.kernels.margins`."""

from __future__ import annotations

import numpy as np

from crucial.kernels.products import dot
from crucial.types import Floats, Ints

__all__ = ["count_margins"]


def count_margins(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats
) -> Floats:
    """Return the weight of the pairs with a margin of at most each threshold.

    One pass per bit of the level. Two different levels part at exactly one bit, counted from
    the top. Items that agree on the higher bits form a node; each pass counts the pairs of a
    node that part at this bit, one binary search per item above.
    """
    counts = np.zeros(len(thresholds))
    if not len(level):
        return counts
    node = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    for shift in reversed(range(int(level.max()).bit_length())):
        upper = ((level >> shift) & 1) == 1
        low_score, low_node = score[~upper], node[~upper]
        high_score, high_weight = score[upper], weight[upper]
        first = np.searchsorted(low_node, node[upper], "left")
        last = np.searchsorted(low_node, node[upper], "right")
        before = np.concatenate(([0.0], np.cumsum(weight[~upper])))
        for k, t in enumerate(thresholds.tolist()):
            end = _reach(high_score, low_score, first, last, t)
            counts[k] += dot(high_weight, before[end] - before[first])
        if shift:
            node = 2 * node + upper
            order = np.argsort(node, kind="stable")
            node, level, score, weight = node[order], level[order], score[order], weight[order]
    return counts


def _reach(high: Floats, low: Floats, first: Ints, last: Ints, threshold: float) -> Ints:
    """Return where the items, from first to last, stop being within the threshold of high."""
    left, right = first.copy(), last.copy()
    while True:
        open_ = np.flatnonzero(left < right)
        if not len(open_):
            return left
        middle = (left[open_] + right[open_]) // 2
        inside = high[open_] - low[middle] <= threshold
        left[open_] = np.where(inside, middle + 1, left[open_])
        right[open_] = np.where(inside, right[open_], middle)

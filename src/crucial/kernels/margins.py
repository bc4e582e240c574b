"""Counting pairs by their margin without making them.

Both ways below add up, for every threshold t, the weight of the pairs whose margin is at
most t. Equivalent to, and much faster than::

    for a, b in pairs of one list with level[a] > level[b]:
        counts[t <= thresholds and score[a] - score[b] <= t] += weight[a] * weight[b]

The difference is compared as it is rounded, so that a threshold that is itself a margin
counts its own pair. Rounding a difference keeps the order of differences, so the items b
of one a are always the first ones of the list, and more of them for a lower score of a.
Without weights every count is a whole number, so both ways give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from crucial.kernels.threads import run_all
from crucial.types import Floats, Ints

__all__ = [
    "COMPILE_FROM",
    "count_margins",
    "count_margins_compiled",
    "count_margins_plain",
]


#: Rows from which compiling costs less than it saves.
COMPILE_FROM = 20_000


def count_margins(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats, threads: int = 1
) -> Floats:
    """Weight of the pairs with a margin of at most each threshold.

    Parameters
    ----------
    score, level, weight : arrays of shape (n_items,)
        List after list, highest score first. Items are paired with those of a lower level
        in their list.
    starts : int array of shape (n_lists + 1,)
        Items ``starts[l]:starts[l + 1]`` make list l.
    thresholds : array of shape (n_thresholds,)
    threads : int
        They share out thresholds and cannot change a result.

    Returns
    -------
    array of shape (n_thresholds,)
    """
    # The size alone decides, never the state of a cache.
    if len(score) < COMPILE_FROM:
        return count_margins_plain(score, level, weight, starts, thresholds)
    return count_margins_compiled(score, level, weight, starts, thresholds, threads)


def count_margins_plain(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats
) -> Floats:
    """`count_margins` in NumPy: one pass for every bit of the level.

    Two different levels part at exactly one bit, counted from the top. Items that agree
    on the higher bits form a node; each pass counts the pairs of a node that part at this
    bit, one binary search for every item above.
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
            counts[k] += float(np.dot(high_weight, before[end] - before[first]))
        if shift:
            node = 2 * node + upper
            order = np.argsort(node, kind="stable")
            node, level, score, weight = node[order], level[order], score[order], weight[order]
    return counts


def _reach(high: Floats, low: Floats, first: Ints, last: Ints, threshold: float) -> Ints:
    """Where the items end, between first and last, that are within the threshold of high."""
    left, right = first.copy(), last.copy()
    while True:
        open_ = np.flatnonzero(left < right)
        if not len(open_):
            return left
        middle = (left[open_] + right[open_]) // 2
        inside = high[open_] - low[middle] <= threshold
        left[open_] = np.where(inside, middle + 1, left[open_])
        right[open_] = np.where(inside, right[open_], middle)


def _count_one(
    score: Any, level: Any, weight: Any, starts: Any, thresholds: Any, at: int, counts: Any
) -> None:
    """One threshold of `count_margins`, by a Fenwick tree over the levels."""
    threshold = thresholds[at]
    top = 0
    for i in range(len(level)):
        top = max(top, level[i])
    tree = np.zeros(top + 2)
    whole = 0.0
    for l in range(len(starts) - 1):
        first, last = starts[l], starts[l + 1]
        top = 0
        for i in range(first, last):
            top = max(top, level[i])
        tree[: top + 2] = 0.0
        j = first
        found = 0.0
        for i in range(first, last):
            while j < last and score[i] - score[j] <= threshold:
                node = level[j] + 1
                while node <= top + 1:
                    tree[node] += weight[j]
                    node += node & -node
                j += 1
            below = 0.0
            node = level[i]
            while node > 0:
                below += tree[node]
                node -= node & -node
            found += weight[i] * below
        whole += found
    counts[at] = whole  # OUT


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., None]:
    # Inside a function, so that the plain way does not load Numba.
    from crucial.kernels.jit import kernel

    return kernel(_count_one)


def count_margins_compiled(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats, threads: int = 1
) -> Floats:
    """`count_margins` in Numba: two pointers down each list, O(n log levels) a threshold."""
    counts = np.zeros(len(thresholds))
    count = _compiled()
    given = (score, level, weight, starts, thresholds)
    tasks = [partial(count, *given, at, counts) for at in range(len(thresholds))]
    run_all(threads, tasks)
    return counts

"""Counting pairs by their margin without making them.

For every threshold t, the weight of the pairs whose margin is at most t is added up.
Equivalent to, and much faster than::

    for a, b in pairs of one list with level[a] > level[b]:
        counts[t <= thresholds and score[a] - score[b] <= t] += weight[a] * weight[b]

The difference is compared as it is rounded, so that a threshold that is itself a margin
counts its own pair. Rounding a difference keeps the order of differences, so the items b
of one a are always the first ones of the list, and more of them for a lower score of a.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.threads import over_ranges
from crucial.types import Floats, Ints

__all__ = ["count_margins"]


def count_margins(
    score: Floats, level: Ints, weight: Floats, starts: Ints, thresholds: Floats, threads: int = 1
) -> Floats:
    """Return the weight of the pairs with a margin of at most each threshold.

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
    from crucial.kernels.compiled.margins import count_margins as compiled

    inputs = (score, level, weight, starts, thresholds)
    counts = np.zeros(len(thresholds))
    bounds = range(len(thresholds) + 1)
    over_ranges(bounds, threads, lambda at, _: compiled(*inputs, at, counts))
    return counts

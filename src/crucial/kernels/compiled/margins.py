"""Counting pairs by their margin with a Fenwick tree over levels."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = ["count_margins"]


@kernel
def count_margins(score, level, weight, starts, thresholds, at, counts):
    """Write the weight of the pairs with a margin of at most threshold number ``at``.

    Two pointers down each list, O(n log levels).
    """
    threshold = thresholds[at]
    top = 0
    for i in range(len(level)):
        top = max(top, level[i])
    tree = np.zeros(top + 1)
    whole = 0.0
    for l in range(len(starts) - 1):
        first, last = starts[l], starts[l + 1]
        top = 0
        for i in range(first, last):
            top = max(top, level[i])
        tree[: top + 1] = 0.0
        j = first
        found = 0.0
        for i in range(first, last):
            while j < last and score[i] - score[j] <= threshold:
                tree_add(tree, 0, top + 1, level[j] + 1, weight[j])
                j += 1
            found += weight[i] * tree_sum(tree, 0, level[i])
        whole += found
    counts[at] = whole

"""Counting ordered pairs by Fenwick trees over the levels; twin of ``plain.inversions``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = ["count_pairs", "sum_higher"]


@kernel
def count_pairs(level, weight, block_starts, list_blocks, first, last, counts):
    """Add up concordant, discordant and tied pairs of a range of lists, O(n log levels)."""
    top = 0
    for i in range(block_starts[list_blocks[first]], block_starts[list_blocks[last]]):
        top = max(top, level[i])
    # Two trees, so that no sum is a difference of two: items of lower level
    # ranked before the current block, and items of higher level (levels from the top).
    lower, upper = np.zeros(top + 1), np.zeros(top + 1)
    own = np.zeros(top + 1)  # weight of the current block at each level
    for l in range(first, last):
        top = 0
        for i in range(block_starts[list_blocks[l]], block_starts[list_blocks[l + 1]]):
            top = max(top, level[i])
        size = top + 1
        lower[:size] = 0.0
        upper[:size] = 0.0
        for b in range(list_blocks[l], list_blocks[l + 1]):
            block = 0.0
            for i in range(block_starts[b], block_starts[b + 1]):
                discordant = tree_sum(lower, 0, level[i])
                concordant = tree_sum(upper, 0, top - level[i])
                counts[l, 0] += weight[i] * concordant
                counts[l, 1] += weight[i] * discordant
                counts[l, 2] += weight[i] * (block - own[level[i]])
                block += weight[i]
                own[level[i]] += weight[i]
            for i in range(block_starts[b], block_starts[b + 1]):
                own[level[i]] = 0.0
                tree_add(lower, 0, size, level[i] + 1, weight[i])
                tree_add(upper, 0, size, top - level[i] + 1, weight[i])


@kernel
def sum_higher(level, values, block_starts, list_blocks, first, last, out):
    """Write sums over items of higher level ranked before, ties half, O(n log levels)."""
    n_values = values.shape[1]
    top = 0
    for i in range(block_starts[list_blocks[first]], block_starts[list_blocks[last]]):
        top = max(top, level[i])
    trees = np.zeros(n_values * (top + 1))  # one per column, levels from the top
    for l in range(first, last):
        top = 0
        for i in range(block_starts[list_blocks[l]], block_starts[list_blocks[l + 1]]):
            top = max(top, level[i])
        size = top + 1
        trees[: n_values * size] = 0.0
        for b in range(list_blocks[l], list_blocks[l + 1]):
            tied = block_starts[b + 1] - block_starts[b] > 1
            for i in range(block_starts[b], block_starts[b + 1]):
                for v in range(n_values):
                    out[i, v] = tree_sum(trees, v * size, top - level[i])
            for i in range(block_starts[b], block_starts[b + 1]):
                for v in range(n_values):
                    tree_add(trees, v * size, size, top - level[i] + 1, values[i, v])
            if tied:  # the mean of the sums without and with the block counts its items half
                for i in range(block_starts[b], block_starts[b + 1]):
                    for v in range(n_values):
                        out[i, v] = 0.5 * (out[i, v] + tree_sum(trees, v * size, top - level[i]))

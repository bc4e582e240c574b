"""Counting ordered pairs without making them: concordant, discordant, tied.

Both ways of `count_pairs` count, list by list, the weight of the pairs whose levels differ:
*concordant* where the item of the higher level is ranked first, *discordant* where it is ranked
last, *tied* where both are in one block of equal scores. Equivalent to, and much faster than::

    for a, b in pairs of one list, a ranked no later than b, level[a] != level[b]:
        kind = tied if block[a] == block[b] else (level[a] > level[b] ? concordant : discordant)
        counts[list, kind] += weight[a] * weight[b]

Without weights every count is a whole number, so both ways give the same bytes.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels import sizes
from crucial.kernels.plain import inversions as plain
from crucial.kernels.plain.inversions import running
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["count_pairs", "running", "sum_higher"]


def count_pairs(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """Return the weights of concordant, discordant and tied pairs of every list.

    Parameters
    ----------
    level : int array of shape (n_items,)
        Level of every item from 0, list after list, best rank first.
    weight : array of shape (n_items,) or None
        Weight of every item, not negative; None is 1 each. A pair weighs their product.
    block_starts : int array of shape (n_blocks + 1,)
        Items ``block_starts[b]:block_starts[b + 1]`` have one score.
    list_blocks : int array of shape (n_lists + 1,)
        Blocks ``list_blocks[l]:list_blocks[l + 1]`` make list ``l``.
    threads : int
        They share out lists and cannot change a result.

    Returns
    -------
    array of shape (n_lists, 3)
        Concordant, discordant, tied.
    """
    if len(level) < sizes.COUNT_COMPILED:
        return plain.count_pairs(level, weight, block_starts, list_blocks)
    from crucial.kernels.compiled.inversions import count_pairs as compiled

    counts = np.zeros((len(list_blocks) - 1, 3))
    weight = np.ones(len(level)) if weight is None else weight
    inputs = (level, weight, block_starts, list_blocks)
    bounds = cut_lists(block_starts[list_blocks], threads)
    over_ranges(bounds, threads, lambda a, b: compiled(*inputs, a, b, counts))
    return counts


def sum_higher(
    level: Ints, values: Floats, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """Return per item the sums of values over items of higher level that rank before it.

    An item of the same block counts half. Equivalent to, and much faster than::

        for a, b in pairs of one list, level[a] > level[b]:
            out[b] += values[a] * (1 if a ranks before b, 1/2 if both are in one block)

    Parameters
    ----------
    level, block_starts, list_blocks, threads
        As in `count_pairs`.
    values : array of shape (n_items, n_values)

    Returns
    -------
    array of shape (n_items, n_values)
    """
    from crucial.kernels.compiled.inversions import sum_higher as compiled

    out = np.zeros(values.shape)
    values = np.ascontiguousarray(values)
    bounds = cut_lists(block_starts[list_blocks], threads)
    over_ranges(
        bounds,
        threads,
        lambda a, b: compiled(level, values, block_starts, list_blocks, a, b, out),
    )
    return out

"""Counting ordered pairs without making them: concordant, discordant, tied.

Both ways below count, list by list, the weight of the pairs whose levels differ:
*concordant* where the item of the higher level is ranked first, *discordant* where it
is ranked last, *tied* where both stand in one block of equal scores. Equivalent to, and
much faster than::

    for a, b in pairs of one list, a ranked no later than b, level[a] != level[b]:
        kind = tied if block[a] == block[b] else (level[a] > level[b] ? concordant : discordant)
        counts[list, kind] += weight[a] * weight[b]

Without weights every count is a whole number, so both ways give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from crucial.kernels.threads import run_all
from crucial.types import Floats, Ints

__all__ = ["COMPILE_FROM", "count_pairs", "count_pairs_compiled", "count_pairs_plain"]


#: Rows from which compiling costs less than it saves.
COMPILE_FROM = 20_000


def count_pairs(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """Weights of concordant, discordant and tied pairs of every list.

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
        Threads of the compiled way. They share out lists and cannot change a result.

    Returns
    -------
    array of shape (n_lists, 3)
        Concordant, discordant, tied.
    """
    # The size alone decides, never the state of a cache.
    if len(level) < COMPILE_FROM:
        return count_pairs_plain(level, weight, block_starts, list_blocks)
    return count_pairs_compiled(level, weight, block_starts, list_blocks, threads)


def _changes(*keys: Ints) -> Ints:
    """Where a run of equal keys begins, and the end."""
    new = np.ones(len(keys[0]), bool)
    if len(new):
        new[1:] = False
        for key in keys:
            new[1:] |= key[1:] != key[:-1]
    return np.append(np.flatnonzero(new), len(new)).astype(np.int64)


def _running(values: Floats, starts: Ints, whole: bool) -> Floats:
    """Sum of the earlier values of the same run, for every value."""
    sizes = np.diff(starts)
    if whole:  # (differences of whole numbers lose nothing)
        before = np.cumsum(values) - values
        return np.asarray(before - np.repeat(before[starts[:-1]], sizes))
    out = np.zeros_like(values)
    power = np.frexp(sizes)[1]
    for p in np.unique(power):
        runs = np.flatnonzero(power == p)
        within = np.arange(sizes[runs].max())
        valid = within < sizes[runs, None]
        at = np.where(valid, starts[runs, None] + within, 0)
        summed = np.cumsum(np.where(valid, values[at], 0.0), axis=1)
        later = valid[:, 1:]
        out[at[:, 1:][later]] = summed[:, :-1][later]
    return out


def count_pairs_plain(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints
) -> Floats:
    """`count_pairs` in NumPy, O(n log levels): one pass for every bit of the level.

    Two different levels part at exactly one bit, counted from the top. Items that agree
    on the higher bits form a node, in ranked order; each pass counts the pairs of a node
    that part at this bit, then splits it, ranked order kept.
    """
    n_lists = len(list_blocks) - 1
    counts = np.zeros((n_lists, 3))
    if len(level) == 0:
        return counts
    block = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    node = np.repeat(np.arange(n_lists), np.diff(block_starts[list_blocks]))
    lists, whole = node, weight is None
    weight = np.ones(len(level)) if weight is None else weight
    for shift in reversed(range(int(level.max()).bit_length())):
        upper = (level >> shift) & 1
        ties = _changes(node, block)
        first = ties[:-1]
        up = np.add.reduceat(weight * upper, first)
        low = np.add.reduceat(weight * (1 - upper), first)
        nodes = _changes(node[first])
        found = (low * _running(up, nodes, whole), up * _running(low, nodes, whole), up * low)
        for kind, pairs in enumerate(found):
            counts[:, kind] += np.bincount(lists[first], pairs, minlength=n_lists)
        if shift:
            node = 2 * node + upper
            order = np.argsort(node, kind="stable")
            node, block, lists = node[order], block[order], lists[order]
            level, weight = level[order], weight[order]
    return counts


def _count_range(
    level: Any, weight: Any, block_starts: Any, list_blocks: Any, first: int, last: int, counts: Any
) -> None:
    """Lists ``first`` to ``last`` of `count_pairs`, by Fenwick trees over the levels."""
    top = 0
    for i in range(block_starts[list_blocks[first]], block_starts[list_blocks[last]]):
        top = max(top, level[i])
    # Two trees, so that no sum is made by taking one from another: items of lower level
    # ranked before the current block, and items of higher level (levels from the top).
    lower, upper = np.zeros(top + 2), np.zeros(top + 2)
    own = np.zeros(top + 1)  # weight of the current block at each level
    for l in range(first, last):
        top = 0
        for i in range(block_starts[list_blocks[l]], block_starts[list_blocks[l + 1]]):
            top = max(top, level[i])
        lower[: top + 2] = 0.0
        upper[: top + 2] = 0.0
        for b in range(list_blocks[l], list_blocks[l + 1]):
            block = 0.0
            for i in range(block_starts[b], block_starts[b + 1]):
                concordant, discordant = 0.0, 0.0
                node = level[i]
                while node > 0:
                    discordant += lower[node]
                    node -= node & -node
                node = top - level[i]
                while node > 0:
                    concordant += upper[node]
                    node -= node & -node
                counts[l, 0] += weight[i] * concordant  # OUT
                counts[l, 1] += weight[i] * discordant  # OUT
                counts[l, 2] += weight[i] * (block - own[level[i]])  # OUT
                block += weight[i]
                own[level[i]] += weight[i]
            for i in range(block_starts[b], block_starts[b + 1]):
                own[level[i]] = 0.0
                node = level[i] + 1
                while node <= top + 1:
                    lower[node] += weight[i]
                    node += node & -node
                node = top - level[i] + 1
                while node <= top + 1:
                    upper[node] += weight[i]
                    node += node & -node


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., None]:
    # Inside a function, so that the plain way does not load Numba.
    from crucial.kernels.jit import kernel

    return kernel(_count_range)


def count_pairs_compiled(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints, threads: int = 1
) -> Floats:
    """`count_pairs` in Numba, O(n log levels): one Fenwick tree walk for every item."""
    n_lists = len(list_blocks) - 1
    counts = np.zeros((n_lists, 3))
    weight = np.ones(len(level)) if weight is None else weight
    # Parts of about the same number of items; a list is never split.
    goals = np.linspace(0, len(level), threads + 1)
    cuts = np.unique(np.searchsorted(block_starts[list_blocks], goals))
    count = _compiled()
    run_all(
        threads,
        [
            partial(count, level, weight, block_starts, list_blocks, a, b, counts)
            for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ],
    )
    return counts

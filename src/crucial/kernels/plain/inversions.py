"""Counting ordered pairs without making them; see `crucial.kernels.inversions`."""

from __future__ import annotations

import numpy as np

from crucial.kernels.ranks import run_starts
from crucial.types import Floats, Ints

__all__ = ["count_pairs", "running"]


def running(values: Floats, starts: Ints, whole: bool) -> Floats:
    """Return the sum of the earlier values of the same run, for every value.

    Parameters
    ----------
    values : array of shape (n_values,)
    starts : int array of shape (n_runs + 1,)
        Run ``r`` is ``values[starts[r]:starts[r + 1]]``, possibly empty.
    whole : bool
        All values are whole numbers, of which differences of sums lose nothing.
    """
    sizes = np.diff(starts)
    if whole:
        before = np.cumsum(values) - values
        first = np.append(before, 0.0)[starts[:-1]]
        return np.asarray(before - np.repeat(first, sizes))
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


def count_pairs(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints
) -> Floats:
    """Return the weights of concordant, discordant and tied pairs, O(n log levels).

    One pass per bit of the level. Two different levels part at exactly one bit, counted from
    the top. Items that agree on the higher bits form a node, in ranked order; each pass counts
    the pairs of a node that part at this bit, then splits it, ranked order kept.
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
        first = run_starts(node, block)
        up = np.add.reduceat(weight * upper, first)
        low = np.add.reduceat(weight * (1 - upper), first)
        nodes = np.append(run_starts(node[first]), len(first))
        found = (low * running(up, nodes, whole), up * running(low, nodes, whole), up * low)
        for kind, pairs in enumerate(found):
            counts[:, kind] += np.bincount(lists[first], pairs, minlength=n_lists)
        if shift:
            node = 2 * node + upper
            order = np.argsort(node, kind="stable")
            node, block, lists = node[order], block[order], lists[order]
            level, weight = level[order], weight[order]
    return counts

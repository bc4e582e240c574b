"""Ranking rows inside queries, and sums over intervals of relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["interval_sums", "order_rows", "rank_rows", "run_starts"]


def run_starts(*keys: NDArray[np.generic]) -> Ints:
    """Return where each run of equal keys begins."""
    new = np.ones(len(keys[0]), bool)
    new[1:] = False
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def rank_rows(
    values: Floats,
    weight: Floats,
    regions: tuple[Floats, Ints, Floats],
    starts: Ints,
    threads: int,
) -> Floats:
    """Return the middle of the positions that every row takes in its query, bottom first.

    See `crucial.kernels.compiled.ranks.rank_rows` for the parameters.
    """
    from crucial.kernels.compiled.ranks import rank_rows as compiled

    out = np.empty(len(values))
    inputs = (values, weight, regions, starts)
    over_ranges(cut_lists(starts, threads), threads, lambda a, b: compiled(*inputs, a, b, out))
    return out


def order_rows(scores: Floats, starts: Ints, threads: int) -> Ints:
    """Return the rows of every query by falling score, equal ones in any order.

    Parameters
    ----------
    starts : int array
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    """
    from crucial.kernels.compiled.ranks import order_rows as compiled

    out = np.empty(len(scores), np.int64)
    bounds = cut_lists(starts, threads)
    over_ranges(bounds, threads, lambda a, b: compiled(scores, starts, a, b, out))
    return out


def interval_sums(
    values: Floats, codes: Ints, weight: Floats, scale: float, n_intervals: int
) -> tuple[Floats, Floats, float]:
    """Return the sum and the weight of every interval, and the largest absolute value added.

    See `crucial.kernels.compiled.ranks.interval_sums` for the parameters.
    """
    from crucial.kernels.compiled.ranks import interval_sums as compiled

    sums, counts = np.zeros(n_intervals), np.zeros(n_intervals)
    return sums, counts, compiled(values, codes, weight, scale, sums, counts)

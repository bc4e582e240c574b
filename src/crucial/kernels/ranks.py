"""Ranking rows inside queries, and sums over intervals of relevance."""

from __future__ import annotations

import numpy as np

from crucial.kernels.plain import ranks as plain
from crucial.kernels.plain.ranks import run_starts
from crucial.kernels.sizes import is_small
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["interval_sums", "order_rows", "rank_rows", "run_starts"]


def rank_rows(
    values: Floats,
    weight: Floats,
    regions: tuple[Floats, Ints, Floats],
    starts: Ints,
    threads: int,
) -> Floats:
    """Return the middle of the positions that every row takes in its query, bottom first.

    See `crucial.kernels.plain.ranks.rank_rows` for the parameters.
    """
    out = np.empty(len(values))
    inputs = (values, weight, regions, starts)
    if is_small(len(values)):
        plain.rank_rows(*inputs, 0, len(starts) - 1, out)
        return out
    from crucial.kernels.compiled.ranks import rank_rows as compiled

    over_ranges(cut_lists(starts, threads), threads, lambda a, b: compiled(*inputs, a, b, out))
    return out


def order_rows(scores: Floats, starts: Ints, threads: int) -> Ints:
    """Return the rows of every query by falling score, equal ones in any order.

    Parameters
    ----------
    starts : int array
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    """
    out = np.empty(len(scores), np.int64)
    if is_small(len(scores)):
        plain.order_rows(scores, starts, 0, len(starts) - 1, out)
        return out
    from crucial.kernels.compiled.ranks import order_rows as compiled

    bounds = cut_lists(starts, threads)
    over_ranges(bounds, threads, lambda a, b: compiled(scores, starts, a, b, out))
    return out


def interval_sums(
    values: Floats, codes: Ints, weight: Floats, scale: float, n_intervals: int
) -> tuple[Floats, Floats, float]:
    """Return the sum and the weight of every interval, and the largest absolute value added.

    See `crucial.kernels.plain.ranks.interval_sums` for the parameters.
    """
    sums, counts = np.zeros(n_intervals), np.zeros(n_intervals)
    if is_small(len(values)):
        return sums, counts, plain.interval_sums(values, codes, weight, scale, sums, counts)
    from crucial.kernels.compiled.ranks import interval_sums as compiled

    return sums, counts, compiled(values, codes, weight, scale, sums, counts)

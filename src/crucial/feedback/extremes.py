"""The extreme pairs of label feedback, found from its levels: lightest, closest, farthest."""

from __future__ import annotations

import numpy as np

from crucial.feedback.layout import Layout
from crucial.kernels.elementary import log
from crucial.types import Floats

__all__ = ["log_lightest_pairs", "margin_range"]


def _largest_below(values: Floats, layout: Layout) -> Floats:
    """Return the largest value among the lower levels of the same query; -inf at the lowest level.

    Windows of 1, 2, 4, ... levels are joined, so deep queries cost a logarithm.
    """
    query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_first))
    below = np.full(len(values), -np.inf)
    inside = query[1:] == query[:-1]
    below[1:][inside] = values[:-1][inside]
    reach = 1
    while reach < layout.deepest - 1:
        inside = query[reach:] == query[:-reach]
        further = np.where(inside, below[:-reach], -np.inf)
        below[reach:] = np.maximum(below[reach:], further)
        reach *= 2
    return below


def margin_range(layout: Layout, scores: Floats) -> tuple[float, float]:
    """Return the smallest and largest ``H(hi) - H(lo)`` over all pairs, in one pass over the rows.

    Equivalent to, and much faster than::

        margins = [scores[a] - scores[b] for all pairs (a above b)]
        return min(margins), max(margins)

    Parameters
    ----------
    layout : Layout
    scores : array over the rows of the layout
    """
    starts = layout.level_start[:-1]
    low = np.minimum.reduceat(scores, starts)
    high = np.maximum.reduceat(scores, starts)
    # (the lowest level of a query has nothing below it: inf and -inf, which are never the extremes)
    smallest = (low - _largest_below(high, layout)).min()
    largest = (high + _largest_below(-low, layout)).max()
    return float(smallest), float(largest)


def log_lightest_pairs(layout: Layout, weight: Floats | None, gains: Floats) -> Floats:
    """Return the logarithm of the weight of every query's lightest pair.

    Rows of weight 2 and more count as repeated rows of weight 1 or more, so a weight
    above 1 makes no pair heavier here. Of gains the smallest difference counts, whichever
    rows it belongs to: the result is then a lower bound where weights below 1 differ.

    Parameters
    ----------
    layout : Layout
    weight : array over the rows of the layout, or None
    gains : array over the segments, or of length 0
    """
    first = layout.query_first[:-1]
    found = np.zeros(layout.n_queries)
    if weight is not None:
        level = log(np.minimum(np.minimum.reduceat(weight, layout.level_start[:-1]), 1.0))
        lightest = np.minimum.reduceat(level, first)
        # The partner is on another level: leave the first level that attains it out.
        query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_first))
        at = np.flatnonzero(level == lightest[query])
        _, once = np.unique(query[at], return_index=True)
        others = level.copy()
        others[at[once]] = np.inf
        found = lightest + np.minimum.reduceat(others, first)
    if len(gains):
        gap = np.diff(gains, prepend=gains[:1])
        gap[first] = np.inf
        found = found + log(np.minimum.reduceat(gap, first))
    return found

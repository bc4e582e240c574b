"""Pairs of a feedback by number, for the one algorithm that needs a weight a pair.

RankBoost+ (Connamacher et al. 2019) treats a tie by each weak ranker on its own, so its
pair weights are no product of two factors and cannot be summed without listing pairs.
"""

from __future__ import annotations

import math

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.combined import SumFeedback
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback
from crucial.types import Floats, Ints

__all__ = ["pairs_at"]


def pairs_at(feedback: Feedback, numbers: Ints) -> tuple[Ints, Ints, Floats]:
    """The pairs with these numbers, ``0 <= number < feedback.n_pairs``.

    Returns
    -------
    high, low : int arrays
        Winner and loser, as places in ``feedback.rows``. The pairs of labels, and explicit
        ones, come by rising winner.
    weight : float64 array
        As a share of all weight there is.

    Examples
    --------
    >>> high, low, weight = pairs_at(LabelFeedback([2, 0, 1]), np.arange(3))
    >>> [(int(h), int(l)) for h, l in zip(high, low)]  # (rows by rising label)
    [(1, 0), (2, 0), (2, 1)]
    >>> weight.round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    if isinstance(feedback, LabelFeedback):
        return _of_labels(feedback, numbers)
    if isinstance(feedback, PairFeedback):
        weight = feedback._weight
        return feedback._high[numbers], feedback._low[numbers], weight[numbers] / weight.sum()
    if isinstance(feedback, SumFeedback):
        return _of_sum(feedback, numbers)
    raise DataError(f"the pairs of a {type(feedback).__name__} cannot be listed.")


def _of_labels(feedback: LabelFeedback, numbers: Ints) -> tuple[Ints, Ints, Floats]:
    """A row beats the rows that stand before its level in its query."""
    layout = feedback._layout
    sizes = np.diff(layout.level_start)
    segment = np.repeat(np.arange(len(sizes)), sizes)
    query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_first))
    first = layout.row_start[:-1][query]  # of the query, for every segment
    wins = np.repeat(layout.level_start[:-1] - first, sizes)
    start = np.concatenate(([0], np.cumsum(wins)))
    high = np.searchsorted(start, numbers, "right") - 1
    above = segment[high]
    low = numbers - start[high] + first[above]
    weight = feedback._coefficient[query[above]] / math.exp(feedback._log_total)
    if feedback._scaled is not None:
        weight = weight * feedback._scaled[high] * feedback._scaled[low]
    if len(feedback._gains):
        weight = weight * (feedback._gains[above] - feedback._gains[segment[low]])
    return high, low, weight


def _of_sum(feedback: SumFeedback, numbers: Ints) -> tuple[Ints, Ints, Floats]:
    place = np.full(feedback.n_rows, -1, np.int64)
    place[feedback.rows] = np.arange(len(feedback.rows))
    start = np.concatenate(([0], np.cumsum([part.n_pairs for part in feedback.parts])))
    owner = np.searchsorted(start, numbers, "right") - 1
    high, low = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    weight = np.empty(len(numbers))
    for number, (part, share) in enumerate(zip(feedback.parts, feedback.shares)):
        mine = owner == number
        h, l, w = pairs_at(part, numbers[mine] - start[number])
        high[mine], low[mine] = place[part.rows[h]], place[part.rows[l]]
        weight[mine] = share * w
    return high, low, weight

"""The order that violates the margin of average precision most (Yue et al. 2007, section 4.2).

With C relevant rows of scores ``s_1 >= s_2 >= ...`` and N others ``t_1 >= t_2 >= ...`` of a
query, it is the order with the largest ``1 - AP + w.Psi``, where w.Psi is the mean
over relevant i and other j of ``s_i - t_j``, with its sign turned where j is above i. Among
the relevant rows, and among the others, the best order is by score; moving other j above relevant
i changes the sum by ::

    i / (C (i + j) (i + j - 1)) - 2 (s_i - t_j) / (C N)

so that the best place of each j among the relevant rows is found separately, and these places
never cross (their lemma 1). O(C N) per query.
"""

from __future__ import annotations

import numpy as np

from crucial.feedback.layout import Layout
from crucial.types import Floats, Ints

__all__ = ["PrecisionLoss", "average_precision", "most_violated", "relevant_above"]


#: Cells of a table that are in memory at a time.
_CELLS = 1 << 21


def relevant_above(relevant: Floats, other: Floats) -> Ints:
    """Return how many relevant rows are above each other row in the worst order.

    Parameters
    ----------
    relevant, other : arrays of scores, descending

    Examples
    --------
    >>> relevant_above(np.array([3.0, 0.1]), np.array([1.0, -8.0])).tolist()
    [1, 2]
    """
    n_relevant, n_other = len(relevant), len(other)
    places = np.empty(n_other, np.int64)
    i = np.arange(1, n_relevant + 1, dtype=np.float64)
    block = max(1, _CELLS // max(1, n_relevant))
    for start in range(0, n_other, block):
        part = other[start : start + block, None]
        j = np.arange(start + 1, start + 1 + len(part), dtype=np.float64)[:, None]
        gain = i / (n_relevant * (i + j) * (i + j - 1.0))
        gain -= 2.0 * (relevant - part) / (n_relevant * n_other)
        # Moving j above relevant k moves it above all from k down.
        total = np.cumsum(gain[:, ::-1], axis=1)[:, ::-1]
        best = np.argmax(total, axis=1)
        stays = total[np.arange(len(part)), best] <= 0.0
        places[start : start + block] = np.where(stays, n_relevant, best)
    return np.maximum.accumulate(places)  # (they cross only by rounding)


def average_precision(above: Ints, n_relevant: int) -> float:
    """Return the AP of an order, given how many relevant rows are above each other row.

    Examples
    --------
    >>> average_precision(np.array([1, 2]), 2)  # relevant, other, relevant, other
    0.8333333333333333
    """
    i = np.arange(1, n_relevant + 1)
    others = np.searchsorted(above, i, side="left")  # others above relevant i
    return float(np.mean(i / (i + others)))


def most_violated(scores: Floats, n_other: int) -> tuple[float, Floats]:
    """Return 1 - AP of the worst order of a query, and by how much its w.Psi falls short.

    Parameters
    ----------
    scores : array
        Scores of the ``n_other`` other rows, then of the relevant ones.
    n_other : int

    Returns
    -------
    loss : float
        ``1 - AP`` of that order.
    pull : array like scores
        ``w.Psi`` of the correct order minus that of this one is ``pull . scores``.
    """
    other = np.argsort(-scores[:n_other], kind="stable")
    relevant = n_other + np.argsort(-scores[n_other:], kind="stable")
    n_relevant = len(relevant)
    above = relevant_above(scores[relevant], scores[other])
    pull = np.empty(len(scores))
    pull[other] = above - n_relevant
    # Relevant i (from 0) has those others above it that have at most i relevant above them.
    pull[relevant] = np.searchsorted(above, np.arange(n_relevant), side="right")
    return 1.0 - average_precision(above, n_relevant), pull * (2.0 / (n_relevant * n_other))


class PrecisionLoss:
    """The mean margin loss in average precision; a `PlaneLoss` for cutting planes.

    Parameters
    ----------
    layout : Layout
        Every query has two levels, of which the upper is relevant.
    factor : array of shape (n_queries,)
        Weight of each query.
    """

    def __init__(self, layout: Layout, factor: Floats) -> None:
        self._factor = factor / factor.sum()
        starts = layout.row_start
        self._lists = [
            (slice(int(a), int(b)), int(m - a))
            for a, m, b in zip(starts[:-1], layout.level_start[1::2], starts[1:])
        ]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return height and slope of the plane of the worst orders of all queries."""
        slope = np.empty(len(scores))
        height = 0.0
        for (rows, n_other), factor in zip(self._lists, self._factor.tolist()):
            loss, slope[rows] = most_violated(scores[rows], n_other)
            height += factor * loss
            slope[rows] *= factor
        return height, slope

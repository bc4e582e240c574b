"""The order that breaks the margin of average precision most (Yue et al. 2007, section 4.2).

With C relevant rows of scores ``s_1 >= s_2 >= ...`` and N others ``t_1 >= t_2 >= ...`` of a
query, the order wanted is the one with the largest ``1 - AP + w.Psi``, where w.Psi is the mean
over relevant i and other j of ``s_i - t_j``, with its sign turned where j stands above i. Inside
the two kinds the best order is by score; moving other j above relevant i changes the sum by ::

    i / (C (i + j) (i + j - 1)) - 2 (s_i - t_j) / (C N)

so that the best place of each j among the relevant rows is found by itself, and these places
never cross (their lemma 1). O(C N) a query.
"""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["average_precision", "most_violated", "relevant_above"]


#: Cells of a table that is held at once.
_CELLS = 1 << 21


def relevant_above(relevant: Floats, other: Floats) -> Ints:
    """For every other row, how many relevant ones stand above it in the worst order.

    Parameters
    ----------
    relevant, other : arrays of scores, falling

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
    return np.maximum.accumulate(places)  # (they cross by rounding only)


def average_precision(above: Ints, n_relevant: int) -> float:
    """AP of the order in which so many relevant rows stand above each other row.

    Examples
    --------
    >>> average_precision(np.array([1, 2]), 2)  # relevant, other, relevant, other
    0.8333333333333333
    """
    i = np.arange(1, n_relevant + 1)
    others = np.searchsorted(above, i, side="left")  # others above relevant i
    return float(np.mean(i / (i + others)))


def most_violated(scores: Floats, n_other: int) -> tuple[float, Floats]:
    """The worst order of a query: 1 - AP, and by how much w.Psi falls short, as coefficients.

    Parameters
    ----------
    scores : array
        Of the other rows, ``n_other`` of them, and then of the relevant ones.
    n_other : int

    Returns
    -------
    loss : float
        ``1 - AP`` of that order.
    pull : array like scores
        ``w.Psi`` of the right order less that of this one is ``pull . scores``.
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

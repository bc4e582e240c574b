"""Logistic pairs weighted by how much a measure changes when both rows swap their positions.

LambdaMART (Burges 2010). Rows are ordered by falling score; rows of equal score in the order in
which they lie, which is by rising label: the worst first. Rows of the same score and worth have
their mean weight while pairs are summed up, and then share what they got by their own weights,
so that the order of equal rows changes nothing.

The change of a measure is ``|worth_i - worth_j| (a_i - a_j) inverse`` for positions i < j, where
a are the worths of the places, see `worths_of_places`.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import exp, log2
from crucial.kernels.products import dot
from crucial.types import Floats, Ints

__all__ = ["AVERAGE_PRECISION", "NDCG", "RECIPROCAL_RANK", "How", "lambda_sums", "worths_of_places"]

NDCG, AVERAGE_PRECISION, RECIPROCAL_RANK = 0, 1, 2

#: Measure, depth of the measure, truncation, sigmoid, whether to normalise.
How = tuple[int, int, int, float, bool]

# Regularises the division by the distance of two scores, as in LightGBM.
_NEAR = 0.01


def worths_of_places(
    kind: int, worth: Floats, discount: Floats, depth: int
) -> tuple[Floats, Floats, float]:
    """Return what each position is worth, and the measure of the order before ``inverse``.

    - nDCG: the discount.
    - Average precision, with C relevant rows up to a position p (from 1) and I the sum of 1/p
      over them: a swap of a relevant row at i with another at j > i loses
      ``(C_i/i - I_i) - (C_j/j - I_j)``; where the lower one is relevant it gains the same with
      ``C + 1`` in place of C.
    - Reciprocal rank: only the first relevant row counts. Swapped down, it is replaced by the
      second or itself; swapped above, a row takes its place.

    Parameters
    ----------
    kind : int
        `NDCG`, `AVERAGE_PRECISION` or `RECIPROCAL_RANK`.
    worth : array of shape (n_rows,)
        Gain of every row, in order; 1 and 0 for measures of two levels.
    discount : array of at least n_rows
    depth : int
        Positions that count in the value of nDCG.

    Returns
    -------
    below_other, below_relevant : arrays of shape (n_rows,)
        To be used where the upper row of a pair is not relevant, and where it is.
    value : float
    """
    size = len(worth)
    if kind == NDCG:
        value = dot(worth[:depth], discount[: min(size, depth)])
        return discount[:size], discount[:size], value
    position = np.arange(1.0, size + 1.0)
    if kind == AVERAGE_PRECISION:
        count, inside = np.cumsum(worth), np.cumsum(worth / position)
        value = dot(worth, count / position)
        return (count + 1.0) / position - inside, count / position - inside, value
    relevant = np.append(np.flatnonzero(worth > 0), [size, size])
    first, second = relevant[:2] + 1.0
    value = 1.0 / first if first <= size else 0.0
    return 1.0 / np.minimum(position, first), 1.0 / np.minimum(position, second), value


def lambda_sums(
    scores: Floats,
    worth: Floats,
    weight: Floats,
    coefficient: Floats,
    inverse: Floats,
    discount: Floats,
    how: How,
    row_start: Ints,
    pi: Floats,
    curvature: Floats,
    value: Floats,
) -> None:
    """Write potentials, curvature and the measure of every query.

    Equivalent to: for all rows i, j of a query of different worth of which at least one is
    among the first ``truncation``, with ``w`` the change of the measure when both swap times
    both weights, and hi the one of more worth, let ``s = 1 / (1 + e^{sigmoid (H_hi - H_lo)})``;
    add ``sigmoid w s`` to ``pi[hi]``, subtract it from ``pi[lo]`` and add
    ``sigmoid^2 w s (1 - s)`` to the curvature of both. Normalised, w is divided by
    ``.01 + |H_i - H_j|`` unless all scores are equal, and the sums of the query are multiplied
    by ``log2(1 + S) / S`` with S twice the sum of all ``sigmoid w s``.

    Parameters
    ----------
    scores, worth, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor on potentials and curvature, not on the measure.
    inverse : array of shape (n_queries,)
        One over the best value that the measure can have; 0 where it has none.
    discount : array as long as the largest query
    how : measure, depth, truncation, sigmoid, normalise
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    value : array of shape (n_queries,)  # OUT
    """
    kind, depth, truncation, sigmoid, normalise = how
    for q, (a, b) in enumerate(zip(row_start[:-1].tolist(), row_start[1:].tolist())):
        order = np.argsort(-scores[a:b], kind="stable")
        score, own, u = scores[a:b][order], worth[a:b][order], weight[a:b][order]
        even = _shared(score, own, np.ones(b - a), u)
        below_other, below_relevant, found = worths_of_places(kind, own, discount, depth)
        value[q] = inverse[q] * found
        top = min(truncation, b - a)
        relevant = own[:top, None] > 0
        place = np.where(relevant, below_relevant, below_other)
        upper = np.where(own[:top] > 0, below_relevant[:top], below_other[:top])
        change = (own[:top, None] - own) * (upper[:, None] - place) * (even[:top, None] * even)
        change[np.arange(b - a) <= np.arange(top)[:, None]] = 0.0
        distance = score[:top, None] - score
        if normalise and score[0] > score[-1]:
            change /= _NEAR + np.abs(distance)
        tail = exp(-sigmoid * np.abs(distance))
        share = np.where(change > 0, tail, 1.0) / (1.0 + tail)
        pull, bend = change * share, np.abs(change) * tail / (1.0 + tail) ** 2
        won, curved = -pull.sum(axis=0), bend.sum(axis=0)
        won[:top] += pull.sum(axis=1)
        curved[:top] += bend.sum(axis=1)
        factor = sigmoid * inverse[q]
        total = 2.0 * factor * float(np.abs(pull).sum())
        if normalise and total > 0:
            factor *= log2(1.0 + total) / total
        factor *= coefficient[q]
        won, curved = _shared(score, own, u, won), _shared(score, own, u, curved)
        pi[a + order] = factor * won
        curvature[a + order] = factor * sigmoid * curved


def _shared(score: Floats, worth: Floats, weight: Floats, values: Floats) -> Floats:
    """Share the values of rows of equal score and worth between them, by their weights."""
    change = np.append(True, (np.diff(score) != 0) | (np.diff(worth) != 0))
    first = np.flatnonzero(change)
    mean = np.add.reduceat(values, first) / np.add.reduceat(weight, first)
    return np.asarray(weight * mean[np.cumsum(change) - 1])

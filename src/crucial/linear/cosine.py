"""Cosine between the scores of a query and its labels, feature by feature (Qin et al. 2008).

The loss of a query with labels g and scores H is ``(1 - cos(g, H)) / 2``. Each round adds one
feature h with a weight a. The derivative of the cosine by a is, but for a positive factor::

    [(g.h)(H.H) - (g.H)(H.h)] + a [(g.h)(H.h) - (g.H)(h.h)]    over    |g| |H + a h|^3

so that with ``|H|`` for ``|H + a h|`` the weight that makes the sum over queries 0 is a ratio of
two sums; that is the paper's weight. The feature whose weight lowers the loss most is added. Where
several lead to the same order, at different lengths of the scores, it is the smallest step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from crucial.boosting.stump_search import TIE, first_largest
from crucial.feedback.layout import Layout
from crucial.kernels.elementary import column_sums, dot
from crucial.linear.design import Matrix
from crucial.types import Floats

__all__ = ["AddedFeature", "CosineLists", "add_features"]


# Scores of a query that spread less than this share of the widest query's are equal up to
# rounding: the cosine of the query is 0.
_FLAT = 1e-10


@dataclass(frozen=True)
class AddedFeature:
    """A column that was added, and its weight.

    Attributes
    ----------
    column : int
    weight : float
    loss : float
        Mean loss over queries, with this column.
    """

    column: int
    weight: float
    loss: float


class CosineLists:
    """Labels of queries, their weights, and sums over rows of a query.

    Parameters
    ----------
    layout : Layout
    weight : array of shape (n_rows,), or None
        A row of weight 2 counts as two.
    factor : array of shape (n_queries,)
        Weight of each query's loss.
    centred : bool
        Subtract the mean of a query from its labels and scores first: the cosine is then their
        correlation, and adding a constant to either changes nothing.
    """

    def __init__(
        self, layout: Layout, weight: Floats | None, factor: Floats, *, centred: bool
    ) -> None:
        self.n_queries, self.centred = layout.n_queries, centred
        self._query = layout.query_of_row()
        self._start = layout.row_start
        self._weight = np.ones(len(layout.rows)) if weight is None else weight / weight.max()
        self._mass = self.sums(np.ones(len(self._weight)))
        self.factor = factor / factor.sum()
        y = np.repeat(layout.values, np.diff(layout.level_start))
        largest = np.maximum.reduceat(np.abs(y), self._start[:-1])
        labels = self.centre(y / largest[self._query])
        size = np.sqrt(self.sums(labels * labels))
        self.labels = labels / size[self._query]

    def sums(self, values: Floats) -> Floats:
        """Return the weighted sum of every query."""
        return np.add.reduceat(self._weight * values, self._start[:-1])

    def centre(self, values: Floats) -> Floats:
        """Subtract the mean of their query from values, if ``centred``."""
        if not self.centred:
            return values
        return values - (self.sums(values) / self._mass)[self._query]

    def products(self, values: Floats, matrix: Matrix) -> Floats:
        """Return the products of centred values with every column, one row per query."""
        rows = sp.csr_array(
            (self._weight * values, np.arange(len(values)), self._start),
            shape=(self.n_queries, len(values)),
        )
        return _dense(rows @ matrix)

    def squares(self, matrix: Matrix) -> Floats:
        """Return the squared length of every column, centred if ``centred``, one row per query."""
        ones = np.ones(len(self._weight))
        square = matrix * matrix  # (cell by cell, for sparse arrays too)
        length = self.products(ones, square)
        if not self.centred:
            return length
        less = length - self.products(ones, matrix) ** 2 / self._mass[:, None]
        return np.where(less > _FLAT * length, less, 0.0)

    def loss(self, scores: Floats) -> tuple[float, Floats]:
        """Return the mean loss, and its gradient by the scores."""
        values = self.centre(scores)
        square = self.sums(values * values)
        along = self.sums(self.labels * values)
        live = square > _FLAT**2 * self.sums(scores * scores)
        length = np.sqrt(np.where(live, square, 1.0))
        cosine = np.where(live, along / length, 0.0)
        value = 0.5 * dot(self.factor, 1.0 - cosine)
        back = np.where(live, self.factor / length, 0.0)[self._query]
        unit = values / length[self._query]
        gradient = -0.5 * self._weight * back * (self.labels - cosine[self._query] * unit)
        return value, gradient


def _dense(product: Matrix) -> Floats:
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, np.float64)


def add_features(
    lists: CosineLists, matrix: Matrix, rounds: int, tol: float
) -> Iterator[AddedFeature]:
    """Add one column after the other, until none lowers the loss by more than ``tol``.

    Parameters
    ----------
    lists : CosineLists
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    rounds : int
        Largest number of columns.
    tol : float
    """
    if not matrix.shape[1]:
        return
    column_square = lists.squares(matrix)  # h.h
    spread = column_square > 0.0  # (anything else in a column of a query is rounding)
    label_column = lists.products(lists.labels, matrix) * spread  # g.h
    scores = np.zeros(matrix.shape[0])
    loss = 0.5  # (a cosine of 0 everywhere)
    for _ in range(rounds):
        square = lists.sums(scores * scores)  # H.H
        square[square <= _FLAT**2 * square.max()] = 0.0
        if not square.any():
            weights = np.sign(column_sums(_cosine(label_column, column_square), lists.factor))
            across = np.zeros_like(label_column)
        else:
            across = lists.products(scores, matrix) * spread  # H.h
            weights = _weights(lists, square, scores, label_column, across, column_square)
        along = lists.sums(lists.labels * scores)[:, None]
        length = square[:, None] + 2.0 * weights * across + weights**2 * column_square
        cosine = _cosine(along + weights * label_column, length)
        losses = 0.5 - 0.5 * column_sums(cosine, lists.factor)
        losses[weights == 0.0] = np.inf
        best = _smallest_step(losses, weights)
        if not losses[best] < loss - tol:
            return
        weight = float(weights[best])
        column = matrix[:, [best]]
        scores = lists.centre(scores + weight * _dense(column)[:, 0])
        loss = lists.loss(scores)[0]
        yield AddedFeature(best, weight, loss)


def _smallest_step(losses: Floats, weights: Floats) -> int:
    """Return the column of the least loss, of equals that of the smallest weight.

    Examples
    --------
    >>> _smallest_step(np.array([0.3, 0.1, 0.1, np.inf]), np.array([1.0, 5.0, -2.0, 0.0]))
    2
    """
    tied = np.flatnonzero(losses <= losses.min() + TIE)
    return int(tied[first_largest(-np.abs(weights[tied]))])


def _weights(
    lists: CosineLists,
    square: Floats,
    scores: Floats,
    label_column: Floats,
    across: Floats,
    column_square: Floats,
) -> Floats:
    """Return the paper's weight of every column, 0 where it has none."""
    along = lists.sums(lists.labels * scores)[:, None]
    live = square > 0
    share = np.zeros(lists.n_queries)
    share[live] = lists.factor[live] / (square[live] * np.sqrt(square[live]))
    down = column_sums(along * across - square[:, None] * label_column, share)
    bend = column_sums(across * label_column - along * column_square, share)
    weights = np.zeros(len(down))
    np.divide(down, bend, out=weights, where=np.abs(bend) > 1e-300)
    return np.where(np.isfinite(weights), weights, 0.0)


def _cosine(product: Floats, square: Floats) -> Floats:
    """Return products over lengths, clipped to [-1, 1]; 0 where a length is 0."""
    top = square.max(axis=0, keepdims=True)
    live = square > _FLAT**2 * np.where(top > 0, top, 1.0)
    out = np.zeros_like(product)
    np.divide(product, np.sqrt(np.where(live, square, 1.0)), out=out, where=live)
    return np.clip(out, -1.0, 1.0)

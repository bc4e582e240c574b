"""Squared errors of differences, as functions of the scores of the rows (RankRLS).

With r the scores minus the labels of a query of n rows, ::

    sum over i < j of (r_i - r_j)^2  =  r'Lr,     L = n I - 11'

and with instance weights u, ``L = (sum u) diag(u) - u u'`` (Pahikkala et al. 2009). So no pair is
listed: ``L = C C'``, where C' centres each query, and it is a least squares problem of centred
rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.feedback.base import Feedback
from crucial.feedback.differences import DifferenceFeedback
from crucial.feedback.layout import ListedPairs
from crucial.feedback.sums import SumFeedback
from crucial.kernels.elementary import dot
from crucial.linear.truncated_newton import CurvedLoss
from crucial.types import Floats

__all__ = ["Centring", "DifferenceLoss", "differences_of"]


class Centring:
    """The Laplacian of the pairs of all queries, L, and its factor C.

    Parameters
    ----------
    feedback : DifferenceFeedback
    """

    def __init__(self, feedback: DifferenceFeedback) -> None:
        self.starts, self.mass = feedback.starts, feedback.mass
        sizes = np.diff(feedback.starts)
        self.query = np.repeat(np.arange(len(sizes)), sizes)
        self.weight = np.ones(len(self.query)) if feedback.weight is None else feedback.weight
        self.coefficient = feedback.coefficient
        #: Factor on every centred row.
        self.scale = np.sqrt((feedback.coefficient * self.mass)[self.query] * self.weight)

    def means(self, values: Floats) -> Floats:
        """Return the weighted mean of every query, of a vector or of the columns of a table."""
        weight = self.weight if values.ndim == 1 else self.weight[:, None]
        sums = np.add.reduceat(weight * values, self.starts[:-1], axis=0)
        means: Floats = sums / (self.mass if values.ndim == 1 else self.mass[:, None])
        return means

    def factor(self, values: Floats) -> Floats:
        """Return ``C' values``: every query around its mean, times the scale of its rows."""
        centred = values - self.means(values)[self.query]
        scaled: Floats = centred * (self.scale if values.ndim == 1 else self.scale[:, None])
        return scaled

    def back(self, values: Floats) -> Floats:
        """Return ``C values``, for a vector or a table."""
        wide = values.ndim > 1
        pulled = (self.scale[:, None] if wide else self.scale) * values
        sums = np.add.reduceat(pulled, self.starts[:-1], axis=0)
        means = sums / (self.mass[:, None] if wide else self.mass)
        weight = self.weight[:, None] if wide else self.weight
        return np.asarray(pulled - weight * means[self.query])

    def laplacian(self, values: Floats) -> Floats:
        """Return ``L values``, for a vector."""
        centred = values - self.means(values)[self.query]
        return np.asarray(self.scale**2 * centred)


class DifferenceLoss:
    """The mean over pairs of the squared error of the difference; a `CurvedLoss`.

    Parameters
    ----------
    feedback : DifferenceFeedback

    Examples
    --------
    >>> from crucial.data.groups import Groups
    >>> loss = DifferenceLoss(DifferenceFeedback(np.array([2.0, 1.0, 0.0]), Groups.single(3)))
    >>> round(loss(np.zeros(3))[0], 6)  # (1 + 1 + 4) / 3
    2.0
    """

    def __init__(self, feedback: DifferenceFeedback) -> None:
        self._centring = Centring(feedback)
        self._labels, self._whole = feedback.labels, feedback.whole

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        error = scores - self._labels
        pull = self._centring.laplacian(error) / self._whole
        return dot(error, pull), 2.0 * pull

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative, the same at all scores."""
        del scores
        return lambda move: (2.0 / self._whole) * self._centring.laplacian(move)


class _ListedDifferences:
    """The mean over explicit pairs of the squared error of a margin of 1; a `CurvedLoss`."""

    def __init__(self, pairs: ListedPairs, n_rows: int) -> None:
        self._pairs, self._n_rows = pairs, n_rows
        self._weight = pairs.weight / pairs.weight.sum()

    def _pulled(self, by_pair: Floats) -> Floats:
        out = np.zeros(self._n_rows)
        out += np.bincount(self._pairs.high, by_pair, self._n_rows)
        out -= np.bincount(self._pairs.low, by_pair, self._n_rows)
        return out

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        error = self._pairs.margins(scores) - 1.0
        force = self._weight * error
        return dot(force, error), 2.0 * self._pulled(force)

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative, the same at all scores."""
        del scores
        return lambda move: 2.0 * self._pulled(self._weight * self._pairs.margins(move))


class _SumLoss:
    """Losses of several feedbacks over the same rows; a `CurvedLoss`."""

    def __init__(self, feedback: SumFeedback) -> None:
        place = np.full(feedback.n_rows, -1, np.int64)
        place[feedback.rows] = np.arange(len(feedback.rows))
        self._parts = [
            (differences_of(part), share, place[part.rows])
            for part, share in zip(feedback.parts, feedback.shares.tolist(), strict=True)
        ]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        value, slope = 0.0, np.zeros(len(scores))
        for part, share, at in self._parts:
            own, by_score = part(scores[at])
            value += share * own
            slope[at] += share * by_score
        return value, slope

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative, the same at all scores."""
        products = [part.curvature(scores[at]) for part, _, at in self._parts]

        def product(move: Floats) -> Floats:
            out = np.zeros(len(move))
            for (_, share, at), own in zip(self._parts, products, strict=True):
                out[at] += share * own(move[at])
            return out

        return product


def differences_of(feedback: Feedback) -> CurvedLoss:
    """Return the squared errors of a feedback: of labels, explicit pairs, or both."""
    if isinstance(feedback, SumFeedback):
        return _SumLoss(feedback)
    if isinstance(feedback, DifferenceFeedback):
        return DifferenceLoss(feedback)
    pairs = feedback.listed()
    assert pairs is not None
    return _ListedDifferences(pairs, len(feedback.rows))

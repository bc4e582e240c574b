"""Losses of whole queries: squared error up to a shift, softmax, XE-NDCG.

In all of them a row of weight 2 counts as two rows. Queries whose labels are all equal are left
out, as everywhere in this library: they say nothing about an order.
"""

from __future__ import annotations

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.layout import LabelledRows
from crucial.kernels.elementary import exp, exp2, log
from crucial.kernels.losses import QueryLosses
from crucial.kernels.sums import QueryNoise
from crucial.objectives.row_losses import Gain, RowLoss, RowLossState, query_weights, worths_of
from crucial.types import Floats, Ints

__all__ = ["QuerySquares", "SoftmaxLoss", "XENDCGLoss"]


class QuerySquares(RowLoss):
    """``sum_q min_c sum_i u_i (y_i - H_i - c)^2 / 2``: squared error up to a shift per query.

    CatBoost's QueryRMSE. Only differences inside a query count, so that a feature that is
    constant in each query cannot help. Rows weigh the same, or with ``balance="queries"`` of
    the feedback queries do.

    Parameters
    ----------
    gain : {None, "linear", "exp"} or function
        What the scores should be: the label, ``2^y - 1``, or a rising function of it.
    """

    name = "query_rmse"

    def __init__(self, gain: Gain = None) -> None:
        self.gain = gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        target = worths_of(self.gain, rows, self.name)
        first = rows.layout.row_start[:-1]
        # (each query from 0: a large offset costs no digits)
        target = target - np.minimum.reduceat(target, first)[rows.layout.query_of_row()]
        coefficient = query_weights(rows)
        if rows.balanced:
            weight = np.ones(len(target)) if feedback.weight is None else feedback.weight
            coefficient = coefficient / np.add.reduceat(weight, first)
        return SquaresState(feedback, rows, coefficient, threads, target)


class SoftmaxLoss(RowLoss):
    """Cross entropy of the probabilities of being first: ListNet's top one (Cao et al. 2007).

    ``-sum_i t_i ln(e^{H_i} / sum_j e^{H_j})`` per query, all queries alike. The loss of the trace
    is less the entropy of the targets, which no score changes: 0 where the probabilities are the
    targets, and the same for weights in any unit (the divergence of Kullback and Leibler).

    Parameters
    ----------
    gain : {None, "linear", "exp"} or function
        Targets t are proportional to ``e^y`` (None, as in ListNet), or to the gain of the label
        less that of the lowest label of the query (CatBoost's QuerySoftMax where that is 0).
    """

    name = "softmax"

    def __init__(self, gain: Gain = None) -> None:
        self.gain = gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        worth = worths_of(self.gain, rows, self.name)
        first, query = rows.layout.row_start[:-1], rows.layout.query_of_row()
        if self.gain is None:
            target = exp(worth - np.maximum.reduceat(worth, first)[query])
        else:
            target = worth - np.minimum.reduceat(worth, first)[query]
        if feedback.weight is not None:
            target = target * feedback.weight
        target = target / np.add.reduceat(target, first)[query]
        return SoftmaxState(feedback, rows, query_weights(rows), threads, target)


class XENDCGLoss(RowLoss):
    """XE-NDCG (Bruch 2021): cross entropy with noisy gains, which bounds nDCG from below.

    Targets are proportional to ``2^y - g`` with g uniform on [0, 1), drawn for every round,
    query and row. Potentials include the second and third order terms of the paper's Newton
    step (section 3.4), as LightGBM's ``rank_xendcg`` does; the loss of the trace has 1/2 in
    the place of every g, and is less the entropy of the targets, as in `SoftmaxLoss`.

    Parameters
    ----------
    seed : int
    """

    name = "xendcg"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        labels = rows.labels
        if float(labels.min()) < 0.0:
            raise DataError(
                f"loss='xendcg' needs labels of 0 and more, and there is {labels.min():g}; shift "
                "them, or use loss='softmax' or 'query_rmse'."
            )
        return XENDCGState(feedback, rows, query_weights(rows), threads, labels, self.seed)


class SquaresState(RowLossState):
    """See `QuerySquares`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        target: Floats,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads)
        self._kernels = QueryLosses(rows.layout.row_start, feedback.weight, threads)
        self._target = target

    def _write(self, pi: Floats) -> None:
        self._kernels.squares(
            self.scores, self._target, self._drawn, pi, self.curvature, self._loss
        )


def _entropies(target: Floats, weight: Floats | None, row_start: Ints) -> Floats:
    """Return the least cross entropy of each query, ``-sum t ln(t / u)``; below 0 for small u."""
    ratio = target if weight is None else target / weight
    logs = log(np.where(ratio > 0.0, ratio, 1.0))
    return -np.add.reduceat(target * logs, row_start[:-1])


class SoftmaxState(SquaresState):
    """See `SoftmaxLoss`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        target: Floats,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads, target)
        self._entropy = _entropies(target, feedback.weight, rows.layout.row_start)

    def _write(self, pi: Floats) -> None:
        self._kernels.cross_entropy(
            self.scores, self._target, self._drawn, pi, self.curvature, self._loss
        )
        self._loss -= self._entropy


class XENDCGState(RowLossState):
    """See `XENDCGLoss`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        labels: Floats,
        seed: int,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads)
        layout = rows.layout
        self._kernels = QueryLosses(layout.row_start, feedback.weight, threads)
        self._noise = QueryNoise(seed, layout.queries, layout.row_start, threads)
        # In units of the highest gain of the query, which may be any power of 2.
        highest = np.maximum.reduceat(labels, layout.row_start[:-1])
        self._worth = exp2(labels - highest[layout.query_of_row()])
        self._unit = exp2(-highest)
        expected = self._worth - 0.5 * self._unit[layout.query_of_row()]
        if feedback.weight is not None:
            expected = expected * feedback.weight
        expected /= np.add.reduceat(expected, layout.row_start[:-1])[layout.query_of_row()]
        self._entropy = _entropies(expected, feedback.weight, layout.row_start)

    def _write(self, pi: Floats) -> None:
        noise = self._noise.uniforms(self.rounds)
        self._kernels.xendcg(
            self.scores,
            self._worth,
            self._unit,
            noise,
            self._drawn,
            pi,
            self.curvature,
            self._loss,
        )
        self._loss -= self._entropy

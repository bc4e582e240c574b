"""Losses for boosting by least squares: of scores against labels, and surrogates over pairs.

Boosting by gradients in function space (Friedman 2001; Werner 2019, algorithm 1) begins with an
offset, fits minus the gradient U of the loss by a weak ranker with an intercept, and adds a share
of the fit. Here every query has its own offset and intercepts, which no comparison sees; with one
query, they are those of the papers.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from crucial.boosting.parts import Objective
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, Potentials
from crucial.feedback.layout import LabelledRows
from crucial.feedback.query_means import QueryMeans
from crucial.kernels.elementary import exp, log, log1p, logaddexp
from crucial.kernels.pairs import SurrogateSums
from crucial.types import Bools, Floats

__all__ = [
    "FittedState",
    "RegressionLoss",
    "SurrogateLoss",
    "SurrogateState",
    "labelled_rows",
    "log_of",
    "logit_loss",
    "query_means",
]

# Scores beyond this have diverged.
_FAR = 1e12
_TINY = 5e-324
# A share of the range of the labels below which a residual is treated as zero.
_ROUNDING = 1e-12


def log_of(loss: float) -> float:
    """Return the logarithm of a loss; of the smallest number above 0 where the loss is 0."""
    return log(max(loss, _TINY)) if loss < math.inf else loss


def logit_loss(sign: Floats, scores: Floats) -> Floats:
    """Return ``log2(1 + e^(-2 Y s))`` of every row, for Y = -1 or 1.

    Examples
    --------
    >>> logit_loss(np.array([1.0, -1.0]), np.array([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    return logaddexp(0.0, -2.0 * sign * scores) / log(2.0)


def labelled_rows(feedback: Feedback, owner: str) -> LabelledRows:
    """Return the rows by label; refuse feedback that has none."""
    rows = feedback.labelled()
    if rows is None:
        raise DataError(
            f"{owner} learns from labels, one number per row. For explicit pairs use RankBoost or "
            "RankBoostPlus."
        )
    return rows


def query_means(rows: LabelledRows, by_query: bool) -> QueryMeans:
    """Return the means of queries by instance weights, and weights of queries if ``by_query``."""
    layout = rows.layout
    mass = np.ones(len(layout.rows)) if rows.weight is None else rows.weight
    if by_query:
        mass = mass * rows.coefficient[layout.query_of_row()]
    return QueryMeans(mass, layout.row_start)


class FittedState:
    """See `crucial.feedback.base.ScoreState`; a base of losses that are fitted by least squares.

    A round moves the scores of a query by the fit of U with an intercept: whatever the mean of the
    weak ranker there is, that of the fit is the mean of U.

    Parameters
    ----------
    feedback : Feedback
    means : QueryMeans
        Over its rows.

    Attributes
    ----------
    offset : float
        Mean of the offsets of the queries.
    risk : float
        Mean loss at the scores that potentials were last asked for.
    """

    offset = 0.0
    risk = math.nan

    def __init__(self, feedback: Feedback, means: QueryMeans) -> None:
        self._feedback, self.means = feedback, means
        self.scores = np.zeros(len(feedback.rows))
        self._start = 1.0
        self._drift = np.zeros(0)  # mean of U in every query

    def _begin(self, offset: Floats) -> None:
        """Set the offset of every query; the loss there is the unit of the trace."""
        self.scores = self.means.spread(offset)
        self.offset = self._mean(self.scores)
        self._start = max(self._evaluate()[1], _TINY)

    def _evaluate(self) -> tuple[Floats, float]:
        """Return U and the mean loss at the current scores."""
        raise NotImplementedError

    def _mean(self, values: Floats) -> float:
        """Return the weighted mean over all rows."""
        return float((self.means.mass * values).sum()) / self.means.whole

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write U times the weight of its row; an infinite logarithm says that scores diverge."""
        with np.errstate(over="ignore", invalid="ignore"):
            gradient, self.risk = self._evaluate()
            pi[: len(gradient)] = self.means.mass * gradient
            self._drift = self.means.means(gradient)
            finite = bool(np.isfinite(gradient).all()) and bool(np.abs(self.scores).max() <= _FAR)
            return 1.0, log_of(self.risk / self._start) if finite else math.inf

    def advance(self, output: Output, alpha: float) -> None:
        """Move the scores by alpha times the output, with the mean of U in every query."""
        self.scores += alpha * (self.means.centred(output) + self.means.spread(self._drift))

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        state = self._feedback.state()
        state.advance(self.scores, 1.0)
        return state.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Refuse: all rows count in every round."""
        raise NotImplementedError


class _Regression(Objective):
    """Base of the objectives here: the mean loss goes into the trace as ``risk``."""

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the mean loss for the trace."""
        return {"risk": cast(FittedState, potentials.pairs).risk}


class RegressionLoss(_Regression):
    """The weighted mean of a loss over rows.

    Parameters
    ----------
    loss : {"l2", "l1", "binomial"}
        ``(y - s)^2``, ``|y - s|``, or ``log2(1 + e^(-2 Y s))`` with Y = 1 for the higher of the two
        labels of a query and -1 for the other.
    owner : str
        The estimator, for messages.
    """

    def __init__(self, loss: str, owner: str) -> None:
        self._loss, self._owner = loss, owner

    def begin(self, feedback: Feedback, threads: int) -> FittedState:
        """Return the state at the offset."""
        rows = labelled_rows(feedback, self._owner)
        means = query_means(rows, by_query=True)
        if self._loss == "binomial":
            return _Binomial(feedback, means, rows.layout.level_of_row() == 1)
        kind = _Squares if self._loss == "l2" else _Absolute
        return kind(feedback, means, rows.labels)


class _Squares(FittedState):
    """The squared residuals: U is the residual, the offset the mean of the labels."""

    def __init__(self, feedback: Feedback, means: QueryMeans, labels: Floats) -> None:
        super().__init__(feedback, means)
        self._labels = labels
        self._begin(means.means(labels))

    def _evaluate(self) -> tuple[Floats, float]:
        residual = self._labels - self.scores
        return residual, self._mean(residual**2)


class _Absolute(FittedState):
    """The absolute residuals: U is their sign, the offset the median of the labels."""

    def __init__(self, feedback: Feedback, means: QueryMeans, labels: Floats) -> None:
        super().__init__(feedback, means)
        self._labels = labels
        self._rounding = _ROUNDING * float(np.ptp(labels))
        self._begin(means.medians(labels))

    def _evaluate(self) -> tuple[Floats, float]:
        residual = self._labels - self.scores
        # (what rounding leaves of 0 has no sign)
        residual[np.abs(residual) <= self._rounding] = 0.0
        return np.sign(residual), self._mean(np.abs(residual))


class _Binomial(FittedState):
    """The logistic loss in bits: U is ``(2 / ln 2) (y - p)``, the offset half the log odds."""

    def __init__(self, feedback: Feedback, means: QueryMeans, good: Bools) -> None:
        super().__init__(feedback, means)
        self._sign = np.where(good, 1.0, -1.0)
        share = means.means(good.astype(np.float64))
        self._begin(0.5 * (log(share) - log1p(-share)))

    def _evaluate(self) -> tuple[Floats, float]:
        wrong = exp(-logaddexp(0.0, 2.0 * self._sign * self.scores))  # |y - p|
        gradient: Floats = 2.0 / log(2.0) * self._sign * wrong
        return gradient, self._mean(logit_loss(self._sign, self.scores))


class SurrogateLoss(_Regression):
    """The weighted mean over pairs of a function of ``z = (y_i - y_j) (s_i - s_j)``.

    Parameters
    ----------
    surrogate : {"exp", "hinge", "piecewise"}
        See `crucial.kernels.pairs.SurrogateSums`.
    width : float
        Of the piecewise linear one.
    owner : str
        The estimator, for messages.
    """

    def __init__(self, surrogate: str, width: float, owner: str) -> None:
        self._surrogate, self._width, self._owner = surrogate, width, owner

    def begin(self, feedback: Feedback, threads: int) -> SurrogateState:
        """Return the state at scores of 0."""
        rows = labelled_rows(feedback, self._owner)
        sums = SurrogateSums(
            self._surrogate,
            self._width,
            rows.layout,
            rows.layout.values,
            rows.weight,
            rows.coefficient,
        )
        return SurrogateState(feedback, rows, sums)


class SurrogateState(FittedState):
    """A surrogate of the hard loss over pairs; the first round fits the labels themselves.

    U of a row is half the derivative of the mean loss by its score, times the number of rows: for
    labels that all differ, the mean over the other rows (Werner 2019, section 4).
    """

    def __init__(self, feedback: Feedback, rows: LabelledRows, sums: SurrogateSums) -> None:
        super().__init__(feedback, query_means(rows, by_query=False))
        self._sums, self._labels = sums, rows.labels
        self._pairs = exp(rows.log_total)
        self._first = True

    def risk_of(self, scores: Floats) -> float:
        """Return the mean loss at other scores; infinite where it overflows."""
        found = self._sums.loss(scores) / self._pairs
        return found if found < math.inf else math.inf

    def _evaluate(self) -> tuple[Floats, float]:
        if self._first:
            return self._labels, self.risk_of(self.scores)
        loss, gradient = self._sums.gradient(self.scores)
        return gradient * (self.means.whole / (2.0 * self._pairs)), loss / self._pairs

    def advance(self, output: Output, alpha: float) -> None:
        """Move the scores."""
        super().advance(output, alpha)
        self._first = False

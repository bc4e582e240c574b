"""Boosting by least squares: component-wise boosting of linear rankers, and LogitBoost."""

from __future__ import annotations

import math
import time
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import (
    Constraints,
    Ensemble,
    Objective,
    Progress,
    Round,
    Trace,
    TrainingRows,
    boost,
)
from crucial.boosting.steps import FixedStep
from crucial.boosting.stumps import first_best
from crucial.boosting.watch import Watch
from crucial.data.arrays import check_values
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Feedback, LabelledRows, Output, Potentials, draw_share, padded
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.elementary import dot, exp, log, log1p, logaddexp, matrix_product
from crucial.kernels.pairs import SurrogateSums
from crucial.kernels.sums import exact_sum
from crucial.measures.names import Measures
from crucial.model.weak import ScaledFeature
from crucial.parameters import (
    above,
    between,
    fixed,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import EvalRows, RankingInput, warn_caller
from crucial.rankers.boosted import TREES, Algorithm, BoostedRanker, StumpRanker
from crucial.rankers.classifiers import ClassSums, check_one_list_of_two
from crucial.rankers.linear.estimators import check_two_labels
from crucial.rankers.regression_learners import (
    LineLearner,
    QueryMeans,
    RegressionStumps,
    UnitColumns,
    fitted_line,
)
from crucial.rankers.resampling import LoopInput
from crucial.types import Bools, Floats, TableLike

# --- Losses for boosting by least squares: of scores against labels, and surrogates over pairs
#
# Boosting by gradients in function space (Friedman 2001; Werner 2019, algorithm 1) begins with an
# offset, fits minus the gradient U of the loss by a weak ranker with an intercept, and adds a share
# of the fit. Here every query has its own offset and intercepts, which no comparison sees; with one
# query, they are those of the papers.


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

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
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


# --- L2 boosting in the space of the features: no round looks at the rows
#
# Component-wise L2 boosting (Buehlmann & Yu 2003; Werner 2019, section 4) needs of the residuals
# only
# their products with the columns. These change by a column of the matrix of products when a feature
# gets a step, so that a round costs O(features). A column of that matrix is made when its feature
# is
# first chosen.


def boost_squares(
    training: TrainingRows,
    feedback: Feedback,
    labels: Floats,
    means: QueryMeans,
    *,
    rounds: int,
    rate: float,
    watch: Watch | None = None,
    record_risks: bool = False,
    progress: Progress | None = None,
    criterion: bool = False,
) -> Ensemble:
    """Fit the residuals by one feature per round, and add a share of the fit.

    Every query has its own intercept, the mean of its labels; with one query, that of the model.

    Parameters
    ----------
    training, feedback : the data
    labels : array over the training rows
    means : QueryMeans
    rounds : int
    rate : float
        The share.
    watch : Watch, optional
        The eval set, which decides about early stopping.
    criterion : bool
        Whether to record the corrected AIC and the effective number of parameters.
    """
    columns = UnitColumns(training, means)
    products = _Products(columns)
    residual = means.centred(labels)
    pull = columns.dots(means.mass * residual)
    start = left = float((means.mass * residual**2).sum())
    offset = float((means.mass * labels).sum()) / means.whole
    effective = EffectiveParameters(products, columns.norm, len(means.means(labels)), rate)
    ensemble, pairs = Ensemble(), feedback.state()
    for number in range(rounds):
        began = time.perf_counter()
        slope = pull / columns.norm
        found = first_best(np.abs(pull) / np.sqrt(columns.norm * start), slope)
        if found is None:
            ensemble.trace.stopped = "no weak ranker helps"
            break
        gained = float(pull[found] * slope[found])
        line = fitted_line(columns, found, float(slope[found]), 0.0 if number else offset / rate)
        pull = pull - rate * slope[found] * products.with_column(found)
        before, left = left, max(0.0, left - rate * (2.0 - rate) * gained)
        r1, r2 = None, None
        if record_risks:
            pairs.advance(columns.column(found), rate * line.slope)
            r1, r2 = pairs.risks()
        extras = {"risk": left / means.whole}
        if criterion:
            parameters = effective.after(found)
            aicc = corrected_aic(left / means.whole, parameters, means.whole)
            extras |= {"aicc": aicc, "parameters": parameters}
        entry = Round(
            line,
            rate,
            float(slope[found]),
            left / before if before > 0 else 0.0,
            log_of(left / start),
            r1,
            r2,
            measures={} if watch is None else watch.advance(line, rate),
            extras=extras,
            seconds=time.perf_counter() - began,
        )
        ensemble.add(entry, progress)
        if watch is not None and watch.done:
            ensemble.trace.stopped = "early stopping"
        if ensemble.trace.stopped:
            break
    return ensemble


class _Products:
    """Columns of the matrix of products of all columns, made when they are needed."""

    def __init__(self, columns: UnitColumns) -> None:
        self._columns = columns
        self._made: dict[int, Floats] = {}

    def with_column(self, at: int) -> Floats:
        """Return the products of all columns with one."""
        if at not in self._made:
            self._made[at] = self._columns.products(at)
        return self._made[at]


class EffectiveParameters:
    """Trace of the matrix that maps the labels to the fit, round by round (Buehlmann 2006).

    That matrix is ``I - (I - k P_1) (I - k P_2) ...`` with the projections on the chosen columns.
    What the product leaves of a chosen column is a combination of the chosen columns: these
    combinations are followed, and the rows are not.

    Parameters
    ----------
    products : the products of the columns
    norm : array over the columns
    intercepts : int
        One per query; each is a parameter.
    rate : float
    """

    def __init__(self, products: _Products, norm: Floats, intercepts: int, rate: float) -> None:
        self._products, self._norm, self._rate = products, norm, rate
        self._chosen: list[int] = []  # distinct, in order
        self._path: list[int] = []  # of every round, by place in _chosen
        self._left = np.zeros((0, 0))  # column s: what is taken of every chosen column from s
        self._gram = np.zeros((0, 0))
        self._trace = float(intercepts)

    def after(self, at: int) -> float:
        """Return the trace after a round that chose a column."""
        if at not in self._chosen:
            self._admit(at)
        place = self._chosen.index(at)
        norm = self._norm[at]
        # <h_j, R h_s> of the chosen column j with what is left of every s, j itself among them
        inner = self._gram[place] - matrix_product(self._gram[place][None, :], self._left)[0]
        self._trace += self._rate * float(inner[place]) / norm
        self._left[place] += self._rate / norm * inner
        self._path.append(place)
        return self._trace

    def _admit(self, at: int) -> None:
        """Begin to follow a column: replay what all rounds have left of it."""
        self._chosen.append(at)
        chosen, n = np.array(self._chosen), len(self._chosen)
        gram = np.zeros((n, n))
        gram[:-1, :-1] = self._gram
        gram[-1, :] = gram[:, -1] = self._products.with_column(at)[chosen]
        taken = np.zeros(n)
        for place in self._path:
            inner = gram[place, -1] - dot(gram[place], taken)
            taken[place] += self._rate / self._norm[self._chosen[place]] * inner
        left = np.zeros((n, n))
        left[:-1, :-1] = self._left
        left[:, -1] = taken
        self._gram, self._left = gram, left


def corrected_aic(mean_square: float, parameters: float, n_rows: float) -> float:
    """Return the corrected AIC of a linear smoother (Hurvich, Simonoff & Tsai 1998).

    ``ln(s2) + (1 + k / n) / (1 - (k + 2) / n)``; infinite where k is within 2 of n.

    Examples
    --------
    >>> round(corrected_aic(1.0, 2.0, 10.0), 6)
    2.0
    """
    room = 1.0 - (parameters + 2.0) / n_rows
    if room <= 0.0:
        return math.inf
    return log_of(mean_square) + (1.0 + parameters / n_rows) / room


# --- The logistic loss of two classes, by Newton's method (LogitBoost)


class LogitLoss(Objective):
    """Mean of ``log2(1 + e^(-2 Y s))``, in the working responses of Newton's method.

    With ``p = 1 / (1 + e^-2s)`` a row weighs ``w = p (1 - p)``, and ``z = (y - p) / w`` is what
    it asks for (Friedman, Hastie & Tibshirani 2000, algorithm 3).

    Parameters
    ----------
    clip : float or None
        Largest absolute z.
    """

    def __init__(self, clip: float | None = 4.0) -> None:
        self._clip = clip

    def begin(self, feedback: Feedback, threads: int) -> LogitState:
        """Return the state at scores of 0, for feedback of two labels and one query."""
        return LogitState(feedback, self._clip)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return nothing: the loss of the trace is the mean loss itself."""
        return {}


class LogitState:
    """See `crucial.feedback.base.ScoreState`.

    Attributes
    ----------
    curvature : array over the rows, padded as potentials are
        w times the weight of the row; of the scores that potentials were last asked for.
    """

    def __init__(self, feedback: Feedback, clip: float | None) -> None:
        classes = feedback.two_classes()
        assert classes is not None
        self._feedback, self._clip = feedback, clip
        n = len(feedback.rows)
        self._sign = np.where(np.arange(n) < classes.n_low, -1.0, 1.0)
        weight = np.ones(n) if feedback.weight is None else feedback.weight
        self._weight: Floats = weight / feedback.row_mass().total
        self._drawn = np.ones(n)
        self.scores = np.zeros(n)
        self.curvature = np.zeros(padded(n))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write w z of every row."""
        n = len(self.scores)
        margin = self._sign * self.scores
        right = exp(-logaddexp(0.0, -2.0 * margin))
        wrong = exp(-logaddexp(0.0, 2.0 * margin))
        counted = self._weight * self._drawn
        self.curvature[:n] = counted * right * wrong
        pi[:n] = counted * self._sign * wrong
        if self._clip is not None:
            most = self._clip * self.curvature[:n]
            np.clip(pi[:n], -most, most, out=pi[:n])
        size = exact_sum(np.abs(pi[:n]))
        loss = exact_sum(self._weight * logit_loss(self._sign, self.scores))
        return (1.0 / size if size > 0 else 1.0), log_of(loss)

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the ranking: over the pairs of a good and a bad row."""
        state = self._feedback.state()
        state.advance(self.scores, 1.0)
        return state.risks()

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the rows of each class, at least one."""
        self._drawn = np.zeros(len(self.scores))
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self._sign == sign)
            self._drawn[draw_share(rows, fraction, random)] = 1.0


# --- Component-wise gradient boosting of linear rankers, as a scikit-learn estimator


_OF_ROWS = ("l2", "l1", "binomial")
_OF_PAIRS = ("exp", "hinge", "piecewise")


@with_parameters
class ComponentwiseBoost(BoostedRanker):
    """Boost lines over single features: a sparse linear ranker by early stopping.

    A round fits minus the gradient of the loss by one feature with an intercept, and adds
    ``learning_rate`` times the fit (Werner 2019, algorithm 1). Coefficients add up to a linear
    model with no more features than rounds.

    Losses of rows compare a score with its label: ``l2`` the squared residual (L2 boosting,
    Buehlmann & Yu 2003; a round costs O(features), whatever the number of rows), ``l1`` the
    absolute one, ``binomial`` the logistic loss of two labels. They choose the feature with the
    least squares.

    Losses of pairs are surrogates of the hard ranking loss, of
    ``z = (y_i - y_j) (s_i - s_j)``: ``exp`` e^-z, ``hinge`` max(0, 1 - z), ``piecewise`` 1 below 0,
    falling to 0 at ``width``. They try every feature in every round, each in O(n log n + n d) for d
    different labels in a query: O(n^2) for labels that all differ.

    Attributes
    ----------
    model_ : AdditiveRanker
    coef_ : array of shape (n_features,)
        Weights of the features as they come, before the cut-off at their training range.
    intercept_ : float
    objective_ : float
        Mean loss on the training rows or pairs, of ``model_``.
    diverged_ : int or None
        The round in which the scores diverged; it is not in the model.
    trace_ : Trace
        What happened in every round: ``r`` is the slope of the fit over a feature scaled to [0, 1],
        ``risk`` the mean loss, ``loss`` the same over its value at the start; with ``aicc``, also
        the corrected AIC and the effective number of ``parameters``.

    Notes
    -----
    Every query has an intercept of its own, which no comparison sees; the model has their mean.
    Where a feature abstains it counts as its mean, and beyond its range in training as the end of
    the range. Coefficients are not held back by anything but the number of rounds: choose it by
    ``early_stopping_rounds`` or ``aicc``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import ComponentwiseBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ComponentwiseBoost(50).fit(X, [2.0, 1.1, 0.3, 1.5, 0.2])
    >>> ranker.rank(X).tolist()
    [2, 3, 4, 1, 5]
    """

    learning_rate: float = parameter(
        text="Share of every fit that is added, in (0, 1].", default=0.1, kw_only=False
    )
    loss: str = parameter(
        one_of(*_OF_ROWS, *_OF_PAIRS),
        "What is minimised: a loss of rows or a surrogate over pairs.",
        default="l2",
        grid=("l2", "hinge"),
    )
    selection: str = parameter(
        one_of("updated", "simple"),
        "For losses of pairs, which feature to take: the one with the least loss of the scores "
        "after the round, or of its fit alone, as the review has it.",
        default="updated",
    )
    width: float = parameter(
        between(0, 1, low_open=True),
        "Of the sloping part of the piecewise loss, in (0, 1].",
        default=0.5,
    )
    expit: bool = parameter(
        flag,
        "Replace labels y by 1 / (1 + e^-y), which is in the same order and bounded.",
        default=False,
    )
    aicc: bool = parameter(
        flag,
        'For ``loss="l2"``: keep the rounds with the smallest corrected AIC (Buehlmann 2006).',
        default=False,
    )
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    on_perfect: str = fixed(default="smooth")
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)

    def _needs_two_labels(self) -> bool:
        return self.loss == "binomial"

    def _check_combinations(self) -> None:
        if self.aicc and self.loss != "l2":
            raise ParameterError(
                "ComponentwiseBoost: aicc is a criterion of least squares, for loss='l2'. Use "
                "early_stopping_rounds for other losses."
            )
        for name in ("early_stopping_rounds", "validation_folds"):
            if self.aicc and getattr(self, name) is not None:
                raise ParameterError(
                    f"ComponentwiseBoost: aicc and {name} both choose the number of rounds; set "
                    "one of them."
                )

    def _label_feedback(
        self, data: RankingInput, weight: Floats | None, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        labels = data.known_labels
        if self.expit:
            labels = exp(-logaddexp(0.0, -labels))
        return LabelFeedback(labels, data.groups, weight=weight, query_weight=query_weight)

    def _boost(self, run: LoopInput) -> Ensemble:
        owner, feedback = type(self).__name__, run.feedback
        rows = labelled_rows(feedback, owner)
        if self.loss == "binomial":
            assert isinstance(feedback, LabelFeedback)
            remedy = "Make them two (y >= threshold), or use another loss, or RankBoost."
            check_two_labels(owner, feedback, remedy)
        else:
            check_values(rows.labels, owner)
        means = query_means(rows, by_query=self.loss in _OF_ROWS)
        if self.loss == "l2":
            # (the same rounds again cost less than to remember them)
            return boost_squares(
                run.training,
                feedback,
                rows.labels,
                means,
                rounds=run.rounds,
                rate=self.learning_rate,
                watch=run.watch,
                record_risks=self.record_risks,
                progress=run.progress,
                criterion=self.aicc,
            )
        objective: Objective = RegressionLoss(self.loss, owner)
        if self.loss in _OF_PAIRS:
            objective = SurrogateLoss(self.loss, self.width, owner)
        return boost(
            run.training,
            feedback,
            objective,
            LineLearner(means, self.selection if self.loss in _OF_PAIRS else "squares"),
            FixedStep(),
            rounds=run.rounds,
            constraints=Constraints(rate=self.learning_rate),
            watch=run.watch,
            record_risks=self.record_risks,
            progress=run.progress,
            earlier=run.earlier,
        )

    def _best_round(self, trace: Trace, watch: Watch | None) -> int:
        if not self.aicc or not len(trace):
            return super()._best_round(trace, watch)
        return int(np.argmin(trace.column("aicc"))) + 1

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        trace, best = ensemble.trace, self.best_round_
        self.objective_ = trace[best - 1].extras["risk"] if best else math.nan
        self.coef_ = np.zeros(instances.n_features)
        self.intercept_ = self.model_.intercept
        for ranker, weight in self.model_.weighted():
            assert isinstance(ranker, ScaledFeature)
            slope = weight * ranker.unit / (ranker.high * ranker.unit - ranker.low * ranker.unit)
            self.coef_[ranker.feature] += slope
            self.intercept_ -= slope * ranker.low
        diverged = trace.stopped.startswith("diverged")
        self.diverged_ = len(trace) + 1 if diverged else None
        if diverged:
            warn_caller(
                f"the scores {trace.stopped}, which is not in the model. Lower learning_rate, set "
                "expit=True, or use another loss.",
                ConvergenceWarning,
            )


# --- LogitBoost as a ranker of two classes


@with_parameters
class LogitBoost(StumpRanker):
    """Rank by the probability of the better class, learned by LogitBoost.

    For labels of two values, Y = -1 and 1, and no queries. The loss is the mean of
    ``log2(1 + e^(-2 Y s))``, so that a score s says how probable the better class is:
    ``1 / (1 + e^(-2 s))``. Ranking by an estimate of this probability is the plug-in approach to
    bipartite ranking (Werner 2019, section 3; Friedman, Hastie & Tibshirani 2000).

    With ``weak="stump"`` a round is a step of Newton's method: the stump with the least weighted
    squares of the working responses, a value on each side, half of which is added to the score.
    With ``weak="tree"`` a round is the same step with a tree, one value per leaf.
    With ``weak="linear"`` a round fits the gradient of the loss by one feature and adds a share of
    the fit, from half the log odds of the classes on: a logistic regression that grows feature by
    feature, as mboost's ``Binomial`` family.

    Queries are refused, since their scores have no common zero; more than two labels too.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; its scores are half of log odds.
    classes_ : array of shape (2,)
        The two labels, the better one last.
    trace_ : Trace
        What happened in every round: ``loss`` is the mean loss for stumps (1 at scores of 0), and
        over its value at the offset for ``weak="linear"``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import LogitBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogitBoost(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> (ranker.predict_proba(X)[:, 1] > 0.5).tolist()
    [True, True, False, True, False]
    """

    learning_rate: float = parameter(default=0.1, kw_only=False)
    weak: str = parameter(
        one_of("stump", "tree", "linear"),
        f"Weak rankers: stumps with a value on each side, lines over one feature, {TREES}.",
        default="stump",
    )
    clip: float | None = parameter(
        none_or(above(0)),
        "Largest absolute working response of a row, for stumps and trees; None for no limit.",
        default=4.0,
    )
    l2: float = parameter(
        text='Ridge ``(l2 / 2) |w|^2`` on the weights of the features, for ``weak="linear"``: '
        "above 0, rounds lead to the minimum of loss and ridge together. For trees, curvature "
        "that every leaf has beside that of its rows, in average rows.",
        default=0.0,
    )
    monotone_constraints: Any = parameter(
        text="For trees: 1, -1 or 0 per feature (or feature name: 1): the score never falls (never "
        "rises) where the feature grows. The score of an abstention is not constrained.",
        default=None,
    )
    standardise: bool = parameter(
        flag,
        "Whether the ridge is on weights of features with standard deviation 1, or of range 1.",
        default=True,
    )
    default_rank: str | int = parameter(
        text="Side of a stump for rows on which its feature abstains: the lower (0), the higher "
        "(1) or the better one. Lines use the mean of the feature.",
        default="learned",
    )
    subsample: float = parameter(
        text="Share of the rows of each class that count in a round; for stumps.", default=1.0
    )
    _own_metrics: ClassVar[tuple[str, ...]] = ("loss",)

    eval_metric: Measures | None = parameter(
        text='Measured on the eval set after every round; default: "auc". "loss" is the mean '
        "loss itself.",
        default=None,
    )
    validation_fraction: float = parameter(
        text="Share of the rows held out for early stopping where no eval set is given.",
        default=0.2,
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the pairs of a good and a bad row in the trace, every round.",
        default=False,
    )
    # There are no pairs to be weighed or to contradict each other, and no infinite steps.
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    on_perfect: str = fixed(default="smooth")
    positive_weights: str | None = fixed(default=None)

    def _needs_two_labels(self) -> bool:
        return True

    def _check_combinations(self) -> None:
        self._check_weak(("monotone_constraints",))
        if self.weak == "linear" and self.subsample < 1.0:
            raise ParameterError(
                "LogitBoost: subsample is for weak='stump' and 'tree'; all rows count in every "
                "round of weak='linear'. Set subsample=1.0."
            )
        if self.weak == "stump" and self.l2 > 0.0:
            raise ParameterError(
                "LogitBoost: l2 is a ridge on the weights of features or the values of leaves, "
                "for weak='linear' and 'tree'; a smaller learning_rate holds stumps back."
            )

    def _takes(self, name: str) -> bool:
        return name == "l2"

    def _parts(self, feedback: Feedback) -> Algorithm:
        check_one_list_of_two("LogitBoost", feedback)
        if self.weak == "stump":
            learner = RegressionStumps(self.default_rank, self.max_bins)
            return LogitLoss(self.clip), learner, FixedStep(0.5)
        if self.weak == "tree":
            return LogitLoss(self.clip), self._trees(), FixedStep(0.5)
        means = query_means(labelled_rows(feedback, "LogitBoost"), by_query=True)
        line = LineLearner(means, l2=self.l2, standardise=self.standardise)
        return RegressionLoss("binomial", "LogitBoost"), line, FixedStep()

    def _watch(self, rows: EvalRows, patience: int | None = None) -> Watch:
        """Prepare ``eval_metric``, the loss of the eval set among them."""
        named = self.eval_metric
        wanted: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
        if "loss" not in wanted:
            return super()._watch(rows, patience)
        others = [one for one in wanted if one != "loss"]
        measures = self._prepared(rows, others) if others else []
        measures.insert(wanted.index("loss"), ("loss", _mean_loss(rows.labels), False))
        return Watch(rows.instances, rows.groups, measures, patience)

    def _set_fitted(
        self,
        ensemble: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        super()._set_fitted(ensemble, instances, feedback, watch, with_qid)
        both = feedback.two_classes()
        assert both is not None
        # The score is a decision function as it is: no intercept is added to it.
        self._classes = ClassSums(both.low, both.high, 0.0, 0.0)
        self.classes_ = self._classes.classes

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probabilities of both labels for every row, the lower label first.

        That of the higher label is ``1 / (1 + e^(-2 s))`` with s the score.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self, "model_")
        scores = self.predict(X)
        good = exp(-logaddexp(0.0, -2.0 * scores))
        return np.column_stack((exp(-logaddexp(0.0, 2.0 * scores)), good))


def _mean_loss(labels: Floats) -> Any:
    """Return the mean loss of an eval set, as a function of its scores."""
    sign = np.where(labels == labels.max(), 1.0, -1.0)
    return lambda scores: float(np.mean(logit_loss(sign, scores)))

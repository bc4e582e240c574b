"""Label ranking: AdaBoost.MH, AdaBoost.MR and the product form rank the labels of each row."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.stumps import NOISE, first_best, of_z
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.feedback.base import smoothing_of
from crucial.feedback.labels import check_weights
from crucial.kernels.elementary import exp, log
from crucial.kernels.runtime import count_threads
from crucial.kernels.stumps import LabelSums
from crucial.model.base import check_columns, check_finite
from crucial.parameters import at_least, between, one_of, parameter, with_parameters
from crucial.rankers.base import MAX_BINS, TableEstimator, documented, warn_caller
from crucial.rankers.classifiers import read_targets
from crucial.types import Bools, Floats, Ints, TableLike, VectorLike

# --- Objectives of label rankers: AdaBoost.MH, AdaBoost.MR, and the product form between them
#
# Every (instance, label) is right (the instance has the label) or wrong. Each objective gives it a
# weight. With W+ and W- the weights of right and wrong labels among the rows of a part of a stump,
# the best real prediction there is ``step * ln(W+ / W-)``, and the loss falls by a factor that is
# an
# increasing function of the sum over parts and labels of ``sqrt(W+ W-)``.


class LabelObjective:
    """Base class of the objectives of label rankers.

    Parameters
    ----------
    right : bool array of shape (n_rows, n_labels)
        Which labels each row has.
    weight : array of shape (n_rows,)
        Positive.
    """

    #: Factor on ``ln(W+ / W-)``, the best prediction of a part.
    step: ClassVar[float]
    #: Summed weight of all (row, label): 1, or 1 for right and 1 for wrong labels.
    mass: ClassVar[float]

    def __init__(self, right: Bools, weight: Floats) -> None:
        self.right = right
        with np.errstate(divide="ignore"):
            self._log_weight: Floats = log(weight / weight.max())[:, None]
        self._sign = np.where(right, 1.0, -1.0)
        self._start = 0.0
        self._start = self.weigh(np.zeros(right.shape))[1]

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return the weight of every (row, label), negative if wrong, and the log of the loss.

        The loss is relative to that of scores of 0.
        """
        raise NotImplementedError

    def factor(self, criterion: Floats) -> Floats:
        """Return a bound on the factor on the loss, given a stump's sum of ``sqrt(W+ W-)``."""
        raise NotImplementedError

    def _exponents(self, scores: Floats) -> Floats:
        """Return ``ln u - Y f`` of every (row, label), with Y = 1 if right and -1 if wrong."""
        return self._log_weight - self._sign * scores

    def log_parts(self, scores: Floats) -> tuple[float, float]:
        """Return the logarithms of F+ and F-, up to the same constant.

        F+ is the sum of ``u exp(-f)`` over right (row, label), F- that of ``u exp(f)`` over wrong
        ones.
        """
        exponent = self._exponents(scores)
        return _log_sum(exponent[self.right]), _log_sum(exponent[~self.right])


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top if math.isinf(top) else top + log(float(exp(values - top).sum()))


class TwoClassLoss(LabelObjective):
    """AdaBoost.MH: the sum of ``exp(-Y_i[l] f(x_i, l))`` over all (row, label).

    Every (row, label) is an example of two classes, right and wrong (Schapire & Singer
    1999, section 4; F_MH of Rudin & Schapire 2009, section 5.1).
    """

    step, mass = 0.5, 1.0

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights that sum to 1, and the log of the loss."""
        exponent = self._exponents(scores)
        top = float(exponent.max())
        weights = exp(exponent - top)
        total = float(weights.sum())
        return self._sign * (weights / total), top + log(total) - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return ``Z = 2 sum sqrt(W+ W-)``, which is attained (their equation 11)."""
        return 2.0 * criterion


class ProductLoss(LabelObjective):
    """``F+ F-``: the sum of ``exp(f(x_k, m) - f(x_i, l))`` over all right (i, l), wrong (k, m).

    Pairs across instances count too, which makes it RankBoost over (row, label): the form of
    AdaBoost.MR that Rudin & Schapire (2009, section 5.1) show to be equivalent to AdaBoost.MH
    (where they write a minus between the two sums, a product is meant).
    """

    step, mass = 0.5, 2.0

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights, of which right labels sum to 1 and wrong ones to -1, and the log loss."""
        exponent = self._exponents(scores)
        good, bad = self.log_parts(scores)
        pi = exp(exponent - np.where(self.right, good, bad))
        pi *= self._sign
        return pi, good + bad - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return ``Z = (sum sqrt(W+ W-))^2``, which is attained."""
        return criterion * criterion


class WithinLoss(LabelObjective):
    """AdaBoost.MR: pairs of a wrong and a right label of the same instance.

    The sum of ``exp(f(x_i, l0) - f(x_i, l1))`` with weight ``1 / (|Y_i| |not Y_i|)``, so that
    every row with both kinds of labels counts the same (Schapire & Singer 1999, section 6).
    Rows with only one kind have no pair. O(labels) per row, since the weight of a pair is a
    product (their figure 5).
    """

    step, mass = 0.25, 2.0

    def __init__(self, right: Bools, weight: Floats) -> None:
        n_right = right.sum(axis=1)
        pairs = n_right * (right.shape[1] - n_right)
        if not pairs.any():
            raise DataError(
                "objective='mr' compares right with wrong labels of the same row, and every row "
                "has only one kind; use 'mh' or 'mr_product'."
            )
        with np.errstate(divide="ignore"):
            self._log_share = -log(pairs)[:, None]
        self._log_share[pairs == 0] = -np.inf
        super().__init__(right, weight)

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights, of which right labels sum to 1 and wrong ones to -1, and the log loss."""
        exponent = -self._sign * scores
        sums = []
        for mask in (self.right, ~self.right):
            part = np.where(mask, exponent, -np.inf)
            top = part.max(axis=1, keepdims=True)
            top[np.isinf(top)] = 0.0
            with np.errstate(divide="ignore"):
                sums.append(top + log(exp(part - top).sum(axis=1, keepdims=True)))
        share = np.where(np.isinf(self._log_share), -np.inf, self._log_share + self._log_weight)
        # Times the sum of the other kind, a label's weight is that of all pairs it is in.
        known = np.isfinite(share)
        other = np.where(self.right, sums[1], sums[0])
        log_pairs = np.where(known, share + sums[0] + sums[1], -np.inf)
        total = _log_sum(log_pairs)
        with np.errstate(invalid="ignore"):
            pi = np.where(known, exp(exponent + other + share - total), 0.0)
        return self._sign * pi, total - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return a bound: ``Z <= sum sqrt(W+ W-)``, as ``e^{a - b} <= (e^{2a} + e^{-2b}) / 2``."""
        return criterion


LABEL_OBJECTIVES: dict[str, type[LabelObjective]] = {
    "mh": TwoClassLoss,
    "mr": WithinLoss,
    "mr_product": ProductLoss,
}


# --- The model of a label ranker: a sum of stumps with a prediction for every label


@dataclass(frozen=True)
class LabelStump:
    """A threshold of a feature, and what each side adds to the score of every label.

    Attributes
    ----------
    feature : int
        Column of the feature, from 0.
    threshold : float or None
        None for a stump that separates abstentions from all values.
    low, high, missing : tuple of float
        Added to the scores up to the threshold (never without one), above it, and where the
        feature abstains.
    """

    feature: int
    threshold: float | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    missing: tuple[float, ...]


@dataclass(frozen=True)
class LabelModel:
    """A sum of label stumps, and an intercept common to all labels.

    Attributes
    ----------
    n_features, n_labels : int
    stumps : tuple of LabelStump
        One per round.
    intercept : float
    """

    n_features: int
    n_labels: int
    stumps: tuple[LabelStump, ...]
    intercept: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        # (cached tables are not pickled but computed again)
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def _tables(self) -> list[tuple[int, Floats, Floats]]:
        """For each used feature: its thresholds, and the scores between them and of NaN."""
        by_feature: dict[int, list[LabelStump]] = {}
        for stump in self.stumps:
            by_feature.setdefault(stump.feature, []).append(stump)
        tables = []
        for feature, stumps in sorted(by_feature.items()):
            cuts = np.unique([one.threshold for one in stumps if one.threshold is not None])
            table = np.zeros((len(cuts) + 2, self.n_labels))
            for one in stumps:
                above = 0 if one.threshold is None else int(np.searchsorted(cuts, one.threshold))
                above += one.threshold is not None
                table[:above] += one.low
                table[above:-1] += one.high
                table[-1] += one.missing
            tables.append((feature, cuts.astype(np.float64), table))
        return tables

    def predict(self, X: TableLike | Instances) -> Floats:
        """Return the score of every label of every row, of shape (n_rows, n_labels)."""
        instances = Instances.from_input(X)
        check_columns(instances, self.n_features)
        check_finite(instances, instances.names)
        out = np.full((instances.n_rows, self.n_labels), self.intercept)
        for feature, cuts, table in self._tables:
            column = instances.column(feature).astype(np.float64)
            cell = np.searchsorted(cuts, column)
            cell[np.isnan(column)] = len(cuts) + 1
            out += table.take(cell, axis=0)
        return out


# --- Search the stump whose predictions for all labels lower the loss most


@dataclass(frozen=True, eq=False)
class PartedRows:
    """A chosen stump, and the rows by its three parts: abstentions, low and high values.

    Attributes
    ----------
    feature : int
        Column of the feature in the input.
    threshold : float or None
    part : int array of shape (n_rows,)
        0 for abstentions, 1 up to the threshold, 2 above it.
    right, wrong : arrays of shape (3, n_labels)
        W+ and W- of every part and label.
    """

    feature: int
    threshold: float | None
    part: Ints
    right: Floats
    wrong: Floats


class LabelStumpSearch:
    """Search of every threshold of every feature: O(n x features x labels).

    Parameters
    ----------
    bins : Bins
    n_labels : int
    discrete : bool
        Whether predictions are 1 or -1 times one weight, or real numbers.
    threads : int
    """

    def __init__(self, bins: Bins, n_labels: int, discrete: bool, threads: int) -> None:
        self._bins, self._discrete = bins, discrete
        self._first = bins.first
        self._n_labels = n_labels
        self._criterion = np.zeros(int(self._first[-1]))
        self._offered = np.ones(len(self._criterion), bool)
        for f, missing in enumerate(bins.has_missing):
            self._offered[self._first[f]] = missing  # (all values against abstentions)
            self._offered[self._first[f + 1] - 1] = False
        self._sums = LabelSums(bins.codes[:, : bins.n_rows], self._first, n_labels, threads)

    def best(self, pi: Floats, factor: Callable[[Floats], Floats]) -> PartedRows | None:
        """Return the best stump for these weights; None if none lowers the loss.

        Parameters
        ----------
        pi : array of shape (n_rows, n_labels)
            Weights of right labels and, negative, of wrong ones.
        factor : function
            Factor by which real predictions change the loss, from their criterion.
        """
        if not len(self._bins.features):
            return None
        self._sums.criteria(pi, self._discrete, self._criterion)
        if self._discrete:
            value = np.where(self._offered, self._criterion, 0.0)
        else:
            value = of_z(np.where(self._offered, factor(self._criterion), 1.0))
        at = first_best(value, np.ones(len(value)))
        return None if at is None else self._parted(at, pi)

    def _parted(self, position: int, pi: Floats) -> PartedRows:
        """Return the stump at a position of the criterion, with its rows and their weights."""
        f = int(np.searchsorted(self._first, position, "right")) - 1
        k = position - int(self._first[f])
        n_bins = int(self._first[f + 1] - self._first[f]) - 1
        codes = self._bins.codes[f, : self._bins.n_rows]
        hist = self._sums.histogram(f, pi)
        parts = np.array([hist[n_bins], hist[:k].sum(axis=0), hist[k:n_bins].sum(axis=0)])
        part = np.where(codes == n_bins, 0, np.where(codes >= k, 2, 1))
        threshold = None if k == 0 else float(self._bins.thresholds[f][k - 1])
        right, wrong = parts[:, : self._n_labels], parts[:, self._n_labels :]
        return PartedRows(int(self._bins.features[f]), threshold, part, right, wrong)


# --- Boost label rankers: one stump per round, with a prediction for every label


@dataclass(frozen=True)
class LabelRound:
    """One round of boosting.

    Attributes
    ----------
    stump : LabelStump
        Stump of the model, learning rate included.
    z : float
        Factor by which the round changed the loss.
    log_loss : float
        Logarithm of the loss after the round, relative to that of scores of 0.
    f_skew : float or None
        ``F+ - F-`` over (row, label), as a share of ``F+ + F-``; only for AdaBoost.MH.
    seconds : float
    """

    stump: LabelStump
    z: float
    log_loss: float
    f_skew: float | None
    seconds: float

    @property
    def loss(self) -> float:
        """The loss after the round."""
        return exp(self.log_loss)


def boost_labels(
    search: LabelStumpSearch,
    objective: LabelObjective,
    total: float,
    *,
    rounds: int,
    rate: float,
    discrete: bool,
) -> tuple[list[LabelRound], Floats]:
    """Add label stumps until all rounds are done or no stump lowers the loss.

    Returns the rounds, and the scores of the training rows.

    Parameters
    ----------
    search : LabelStumpSearch
    objective : LabelObjective
    total : float
        Weight of all (row, label), which determines the smoothing of predictions.
    rounds : int
    rate : float
        Learning rate.
    discrete : bool
        Whether to use Schapire & Singer's discrete predictions, or their real ones.
    """
    done: list[LabelRound] = []
    scores = np.zeros(objective.right.shape)
    smoothing = smoothing_of(total) * objective.mass
    pi, log_loss = objective.weigh(scores)
    for _ in range(rounds):
        began = time.perf_counter()
        parted = search.best(pi, objective.factor)
        if parted is None:
            break
        values = (_votes if discrete else _real)(parted, objective, smoothing) * rate
        scores += values.take(parted.part, axis=0)
        before = log_loss
        pi, log_loss = objective.weigh(scores)
        missing, low, high = (tuple(row) for row in values.tolist())
        done.append(
            LabelRound(
                LabelStump(parted.feature, parted.threshold, low, high, missing),
                exp(log_loss - before),
                log_loss,
                float(pi.sum()) if isinstance(objective, TwoClassLoss) else None,
                time.perf_counter() - began,
            )
        )
    return done, scores


def _real(parted: PartedRows, objective: LabelObjective, smoothing: float) -> Floats:
    """Return real predictions (Schapire & Singer 1999, equation 10), smoothed as in section 4.2.

    The smoothing shortens steps and moves no minimum: a prediction of 0 stays 0.
    """
    ratio = (parted.right + smoothing) / (parted.wrong + smoothing)
    return objective.step * log(ratio)


def _votes(parted: PartedRows, objective: LabelObjective, smoothing: float) -> Floats:
    """Return the majority of every part and label, all with one weight (section 4.1)."""
    difference = parted.right - parted.wrong
    difference[np.abs(difference) <= NOISE] = 0.0  # (rounding must not make a majority)
    r = min(1.0, float(np.abs(difference).sum()) / objective.mass)
    alpha = 0.5 / objective.mass * log((1.0 + r + smoothing) / (1.0 - r + smoothing))
    return alpha * np.sign(difference)


# --- AdaBoost.MH and AdaBoost.MR, which rank the labels of a row, as a scikit-learn estimator


@with_parameters
class LabelRanker(ClassifierMixin, TableEstimator):
    """Rank the labels of every instance, the right ones on top (Schapire & Singer 1999).

    Every round adds a stump: one threshold of one feature, with a prediction for every label
    on either side and one where the feature abstains. ``f(x, l)`` is the sum. It learns from
    one label per instance (multiclass) or from a set of labels (multilabel).

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels; column numbers for a multilabel y.
    multilabel_ : bool
        Whether y was a matrix.
    model_ : LabelModel
    trace_ : tuple of LabelRound
        What happened in every round: stump, z, log_loss, loss, f_skew ("mh"), seconds.
    stopped_ : str
        Why it ended early, if it did.

    Notes
    -----
    Pickle it (or use joblib) to store it: a model file, as rankers of instances write it,
    describes one score per instance and not one per label.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import LabelRanker
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> ranker = LabelRanker(20).fit(X, ["low", "low", "mid", "mid", "high", "high"])
    >>> ranker.rank_labels([[6.0], [0.0]]).tolist()
    [['high', 'mid', 'low'], ['low', 'mid', 'high']]
    """

    n_estimators: int = parameter(at_least(1), "Rounds.", default=300, kw_only=False)
    learning_rate: float = parameter(
        between(0, 1, low_open=True),
        "Factor on every prediction, in (0, 1].",
        default=1.0,
        kw_only=False,
    )
    objective: str = parameter(
        one_of(*LABEL_OBJECTIVES),
        '"mh", AdaBoost.MH: every (instance, label) is an example of two classes, right and wrong. '
        '"mr", AdaBoost.MR: every right label should score above every wrong one of the same '
        "instance; instances count the same however many labels they have. "
        '"mr_product": every right (instance, label) above every wrong one, of any instance: what '
        "AdaBoost.MR is taken for by Rudin & Schapire (2009, section 5.1), and for which they show "
        'it to have the minimisers of AdaBoost.MH. For "mr" that does not hold, as it would take '
        "an intercept for every instance.",
        default="mh",
    )
    predictions: str = parameter(
        one_of("real", "discrete"),
        'Real numbers, for "mh" and "mr_product" the best there are, for "mr" the best by a bound '
        "on its loss (the paper has none); or 1 and -1 times one weight per round.",
        default="real",
    )
    max_bins: int | None = MAX_BINS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @documented
    def fit(self, X: TableLike, y: VectorLike, *, sample_weight: VectorLike | None = None) -> Self:
        """Learn which labels are right.

        Parameters
        ----------
        y : array of shape (n_rows,), or matrix of 0 and 1 of shape (n_rows, n_labels)
            The label of every row, of any type; or 1 for every label that a row has.
        """
        self._check_parameters()
        instances = Instances.from_input(X)
        self._learn_columns(instances)
        classes, right, multilabel = _read_labels(y, instances.n_rows)
        weights = check_weights(sample_weight, instances.n_rows)
        rows = np.arange(len(right)) if weights is None else np.flatnonzero(weights > 0)
        right = right[rows]
        counted = np.ones(len(rows)) if weights is None else weights[rows]
        _check_contrast(right, multilabel)
        threads = count_threads(self.n_jobs)
        bins = Bins.build(
            instances, rows, None if weights is None else counted, self.max_bins, threads
        )
        objective = LABEL_OBJECTIVES[self.objective](right, counted)
        discrete = self.predictions == "discrete"
        rounds, scores = boost_labels(
            LabelStumpSearch(bins, len(classes), discrete, threads),
            objective,
            float(counted.sum()) * len(classes),
            rounds=self.n_estimators,
            rate=self.learning_rate,
            discrete=discrete,
        )
        self.stopped_ = "" if len(rounds) == self.n_estimators else "no weak ranker helps"
        if not rounds:
            warn_caller(
                f"no round could be made ({self.stopped_}); all scores are the same.",
                NoProgressWarning,
            )
        # (over all rows and labels; Rudin & Schapire 2009, corollary 13)
        good, bad = objective.log_parts(scores)
        self.classes_, self.multilabel_ = classes, multilabel
        self.trace_ = tuple(rounds)
        self.model_ = LabelModel(
            instances.n_features,
            len(classes),
            tuple(one.stump for one in rounds),
            0.5 * (good - bad),
        )
        return self

    # -- using it -----------------------------------------------------------------

    def label_scores(self, X: TableLike) -> Floats:
        """Return ``f(x, l) + b`` of every row and label, of shape (n_rows, n_labels).

        b is the same for all. With it, right and wrong labels of the training rows weigh the
        same in AdaBoost.MH's objective, so that a label above 0 is more likely right than wrong.
        """
        check_is_fitted(self, "model_")
        return self.model_.predict(self._checked_table(X))

    def rank_labels(self, X: TableLike) -> NDArray[Any]:
        """Return the labels of every row, the highest score first (ties as in ``classes_``)."""
        scores = self.label_scores(X)
        order = np.argsort(-scores, axis=1, kind="stable")
        return np.asarray(self.classes_[order])

    def decision_function(self, X: TableLike) -> Floats:
        """Return `label_scores` in scikit-learn's form.

        For two classes that is half of the difference of both scores, of shape (n_rows,).
        """
        scores = self.label_scores(X)
        if len(self.classes_) == 2 and not self.multilabel_:
            return (scores[:, 1] - scores[:, 0]) / 2
        return scores

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the label with the highest score; for a multilabel y, 1 for scores above 0."""
        scores = self.label_scores(X)
        if self.multilabel_:
            return (scores > 0.0).astype(np.int64)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def score(
        self, X: TableLike, y: VectorLike, *, sample_weight: VectorLike | None = None
    ) -> float:
        """Return scikit-learn's label ranking average precision; for one label, the mean 1/rank.

        Parameters
        ----------
        X, y : rows and their labels, as in `fit`
        sample_weight : array of shape (n_rows,), optional
        """
        from sklearn.metrics import label_ranking_average_precision_score

        scores = self.label_scores(X)
        right = _read_known(y, self.classes_, self.multilabel_, len(scores))
        weights = check_weights(sample_weight, len(scores))
        return float(label_ranking_average_precision_score(right, scores, sample_weight=weights))


def _read_labels(y: VectorLike, n_rows: int) -> tuple[NDArray[Any], Bools, bool]:
    """Return the labels, which of them each row has, and whether y is a matrix."""
    values, kind = read_targets(y, "LabelRanker")
    if len(values) != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(values)}."
        )
    if kind == "multilabel-indicator":
        return np.arange(values.shape[1]), values != 0, True
    classes, codes = np.unique(values, return_inverse=True)
    return classes, codes[:, None] == np.arange(len(classes)), False


def _read_known(y: VectorLike, classes: NDArray[Any], multilabel: bool, n_rows: int) -> Bools:
    """Return which of the labels of fit each row has; other labels are refused."""
    found, right, matrix = _read_labels(y, n_rows)
    if matrix != multilabel or (matrix and len(found) != len(classes)):
        form = f"a matrix of {len(classes)} columns" if multilabel else "one label per row"
        raise DataError(f"y must have the form that it had in fit, {form}.")
    if matrix:
        return right
    unknown = np.setdiff1d(found, classes)
    if len(unknown):
        raise DataError(f"y has labels that fit has not seen: {unknown[:5].tolist()}.")
    whole = np.zeros((n_rows, len(classes)), bool)
    whole[:, np.searchsorted(classes, found)] = right
    return whole


def _check_contrast(right: Bools, multilabel: bool) -> None:
    """Refuse labels that are the same for all rows."""
    if multilabel and (right.all() or not right.any()):
        raise DataError(
            "y gives every row the same labels, all or none: there is nothing to learn."
        )
    if not multilabel and len(np.flatnonzero(right.any(axis=0))) < 2:
        raise DataError(
            "LabelRanker needs rows of two classes at least (with a sample_weight above 0). Got "
            "only one class."
        )

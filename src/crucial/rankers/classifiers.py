"""Classify by the scores of a ranker: two classes by an intercept, ordered classes by cut-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError, in_short
from crucial.export.export import Export, export_model
from crucial.feedback.base import Feedback
from crucial.feedback.classes import log_class_sums
from crucial.feedback.labels import LabelFeedback, check_weights
from crucial.kernels.elementary import exp, logaddexp
from crucial.parameters import Rule, check, check_parameters, one_of, parameter, with_parameters
from crucial.types import Floats, Ints, PathLike, TableLike, VectorLike

# --- Classes of rows: read as scikit-learn does, or checked to be two without queries


def read_targets(y: Any, owner: str) -> tuple[NDArray[Any], str]:
    """Return the classes of the rows, or a matrix of 0 and 1, and scikit-learn's name of the kind.

    Parameters
    ----------
    y : one class per row, of any one type, or a matrix of 0 and 1, dense or sparse
    owner : str
        The estimator, for messages.

    Raises
    ------
    DataError
        In scikit-learn's words, for anything else.
    """
    if y is None:
        raise DataError(f"{owner} requires y to be passed, but the target y is None.")
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # (which scikit-learn does not know)
        y = np.array(y.tolist())
    try:
        with np.errstate(invalid="ignore"):  # (NaN is refused there, but cast first)
            kind = str(type_of_target(y, input_name="y", raise_unknown=True))
        if kind == "multilabel-indicator":
            return _zeros_and_ones(np.asarray(y.toarray() if hasattr(y, "toarray") else y)), kind
        if kind not in ("binary", "multiclass"):
            raise DataError(
                f"Unknown label type: {kind}. {owner} takes one class per row (or, where there can "
                "be several, a matrix of 0 and 1)."
            )
        column = column_or_1d(y, warn=True)
        # (one zero: see `crucial.data.arrays`)
        return column + column.dtype.type(0) if column.dtype.kind == "f" else column, kind
    except DataError:
        raise
    except TypeError:
        if any(isinstance(one, bytes) for one in np.asarray(y, object).ravel()):
            raise DataError(
                "y has classes of type bytes, which scikit-learn does not take. Make them text, "
                "such as by numpy.strings.decode(y)."
            ) from None
        raise DataError("y mixes classes of different types, or has missing ones.") from None
    except ValueError as error:
        raise DataError(in_short(str(error))) from None


def _zeros_and_ones(matrix: NDArray[Any]) -> NDArray[Any]:
    """Refuse other numbers: which of two means that a row has the label would be a guess."""
    other = np.setdiff1d(matrix, [0, 1])
    if len(other):
        raise DataError(
            f"y is a matrix of labels, which must be of 0 and 1. Got {other[0]}. Pass y > 0, if "
            "that is what it means.",
            parameter="y",
        )
    return matrix


def check_one_list_of_two(owner: str, feedback: Feedback) -> None:
    """Refuse what is not a classification into two: pairs, queries, more than two labels."""
    if feedback.two_classes() is not None:
        return
    rows, n_queries = feedback.labelled(), feedback.n_queries + feedback.n_skipped
    if rows is None:
        raise DataError(
            f"{owner} learns from labels of two values alone. For explicit pairs use "
            "RankBoost or RankBoostPlus."
        )
    if n_queries > 1:
        raise DataError(
            f"{owner} compares every row with the same zero, and qid names "
            f"{n_queries} queries, whose scores have none in common. Use RankBoost, "
            "or leave qid out to compare all rows."
        )
    raise DataError(
        f"{owner} needs labels of two values, and y has {rows.layout.n_levels}. For grades use "
        "RankBoost, which takes any order of labels (or set y = y >= threshold); for classes "
        "without an order use LabelRanker."
    )


# --- Classify by the scores of a ranker and an intercept


def probabilities(decision: Floats) -> Floats:
    """Return ``1 / (1 + e^2d)`` and ``1 / (1 + e^-2d)``: of the first and the second class."""
    return np.column_stack([exp(-logaddexp(0.0, sign * decision)) for sign in (2.0, -2.0)])


@dataclass(frozen=True)
class ClassSums:
    """Sums over the rows of two classes, from which the intercept follows.

    Attributes
    ----------
    low, high : float
        The two labels.
    log_bad, log_good : float
        Logarithms of ``F- = sum u exp(H)`` over rows of the lower label and of
        ``F+ = sum u exp(-H)`` over the others.
    """

    low: float
    high: float
    log_bad: float
    log_good: float

    @classmethod
    def of(cls, feedback: Feedback, scores: Floats) -> ClassSums:
        """Compute the sums over the rows of feedback of two labels."""
        classes = feedback.two_classes()
        assert classes is not None
        return cls(classes.low, classes.high, *log_class_sums(feedback, scores))

    @property
    def intercept(self) -> float:
        """``b = .5 ln(F+ / F-)``, after which both classes weigh the same."""
        return 0.5 * (self.log_good - self.log_bad)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, as whole numbers where they are."""
        both = np.array([self.low, self.high])
        whole = both.astype(np.int64) if np.all(np.abs(both) < 2.0**53) else both
        return whole if np.array_equal(whole, both) else both


class _ByScores(ClassifierMixin, BaseEstimator):
    """Base of the classifiers here: a fitted copy of ``ranker``, and the classes of its rows."""

    ranker: Any
    ranker_: Any
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _fit_ranker(
        self, X: TableLike, y: VectorLike, sample_weight: VectorLike | None, two: bool
    ) -> tuple[Instances, Ints, Floats | None]:
        """Fit a copy of the ranker; return the rows, the number of each row's class, weights."""
        check_parameters(self)
        owner = type(self).__name__
        instances = Instances.from_input(X, texts=True)
        classes, codes = _classes_of(y, owner, two)
        weights = check_weights(sample_weight, len(codes))
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise DataError(f"{owner}: rows of only one class have a sample_weight above zero.")
        self._keep(clone(self.ranker).fit(instances, codes, sample_weight=weights), classes)
        return instances, codes, weights

    def _keep(self, ranker: Any, classes: NDArray[Any]) -> None:
        """Set the fitted attributes that follow from the ranker."""
        self.ranker_, self.classes_ = ranker, classes
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def _classes_of(y: VectorLike | None, owner: str, two: bool) -> tuple[NDArray[Any], Ints]:
    """Return the classes in order, two if so asked, and the number of each row's class."""
    column, kind = read_targets(y, owner)
    if two and kind != "binary":
        raise DataError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    if kind == "multilabel-indicator":
        raise DataError(f"{owner} takes one class per row, and not a matrix of 0 and 1.")
    classes, codes = np.unique(column, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{owner} can't train when only one class is present: {classes[0]!r}.")
    return classes, codes.ravel().astype(np.int64)


_BOOSTED = Rule(
    ("a ranker that boosts, as RankBoost()",),
    ("ranker",),
    lambda value: callable(getattr(value, "to_classifier", None)),
)


@with_parameters
class RankingClassifier(_ByScores):
    """Classify into two classes by the score of a ranker: ``sign(H(x) + b)``.

    ``to_classifier()`` of a fitted ranker returns one. ``fit`` fits a copy of the ranker, so
    that scikit-learn's tools for classifiers apply: to calibrate while fitting, for example,
    put it into `sklearn.calibration.CalibratedClassifierCV`.

    Attributes
    ----------
    classes_ : array of shape (2,)
    intercept_ : float
        b, the difference of decisions and scores.
    ranker_ : the fitted ranker
    """

    ranker: Any = parameter(
        _BOOSTED,
        "Fitted to labels by ``fit(X, y)``; scores rows by ``predict``.",
        default=None,
        kw_only=False,
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: TableLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit a copy of the ranker and the intercept.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Two classes, of any type.
        sample_weight : array of shape (n_rows,), optional
        """
        self._fit_ranker(X, y, sample_weight, two=True)
        self.intercept_ = self.ranker_.to_classifier().intercept_
        return self

    @classmethod
    def of(cls, ranker: Any, intercept: float, classes: NDArray[Any]) -> Self:
        """Return the classifier of a fitted ranker."""
        made = cls(clone(ranker))
        made._keep(ranker, classes)
        made.intercept_ = intercept
        return made

    def decision_function(self, X: TableLike) -> Floats:
        """Return ``H(x) + b`` of every row: above 0 for the second class."""
        check_is_fitted(self, "ranker_")
        scores: Floats = self.ranker_.predict(X)
        return np.asarray(scores + self.intercept_)

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probabilities of both classes for every row.

        That of the second is ``1 / (1 + exp(-2 (H(x) + b)))``, the link of the exponential loss.
        It is not calibrated: right for a decision function that has converged on unlimited data,
        and far too confident for one that was boosted for long.
        """
        return probabilities(self.decision_function(X))

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the more probable class of every row, the first if both are."""
        good = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[good.astype(np.int64)])

    def export(
        self, path: PathLike, target: str, *, probability: bool = True, **settings: Any
    ) -> Export:
        """Write the probability of the second class in the format of another engine.

        Parameters
        ----------
        path : str or path
        target : str
            As in the ``export`` of a ranker.
        probability : bool
            False for the decision function, which is above 0 for the second class.
        **settings
            As in the ``export`` of a ranker.
        """
        check_is_fitted(self, "ranker_")
        own = {"probability": probability, **settings}
        return export_model(
            self.ranker_.model_, path, target, offset=float(self.intercept_), slope=2.0, **own
        )


def make_classifier(
    ranker: Any,
    sums: ClassSums | None,
    calibrated: bool | str,
    X: TableLike | None,
    y: VectorLike | None,
    sample_weight: VectorLike | None,
) -> Any:
    """Return the classifier that ``to_classifier`` of a ranker returns.

    Parameters
    ----------
    ranker : BoostedRanker
    sums : ClassSums or None
        Over the rows that the ranker was fitted to; None if they were not of two labels.
    calibrated, X, y, sample_weight
        As in ``to_classifier``.
    """
    owner = type(ranker).__name__
    check("to_classifier", "calibrated", calibrated, one_of(False, "sigmoid", "isotonic"))
    if ranker.fitted_with_qid_:
        raise NotRankedError(
            f"this {owner} was fitted with queries, and scores of different queries have no "
            "common zero to separate two classes. Fit it without qid."
        )
    if (X is None) != (y is None):
        raise DataError("to_classifier needs both X and y, or neither.")
    if X is None:
        if calibrated is not False:
            raise DataError(
                f"calibrated={calibrated!r} needs rows to learn it from: to_classifier("
                f"{calibrated!r}, X, y), better with rows that fit has not seen."
            )
        if sums is None:
            raise NotRankedError(
                f"this {owner} was not fitted to labels of two values, so it has no threshold "
                "between two classes. Pass rows of two classes: to_classifier(X=X, y=y)."
            )
        return RankingClassifier.of(ranker, sums.intercept, sums.classes)
    classes, codes = _classes_of(y, "to_classifier", two=True)
    scores = ranker.predict(X)
    weights = check_weights(sample_weight, len(scores))
    if sums is not None and not np.array_equal(classes, sums.classes):
        raise DataError(
            f"y must have the labels that {owner} was fitted to, {sums.classes.tolist()}. "
            f"Got {classes.tolist()}."
        )
    if sums is None or calibrated is False:
        feedback = LabelFeedback(codes, weight=weights)
        sums = ClassSums.of(feedback, scores[feedback.rows])
    classifier = RankingClassifier.of(ranker, sums.intercept, classes)
    if calibrated is False:
        return classifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    # Nothing is refitted, so that there is nothing to hold out: all rows are one fold.
    rows = np.arange(len(codes))
    calibration = CalibratedClassifierCV(
        FrozenEstimator(classifier), method=str(calibrated), cv=[(rows, rows)], ensemble=False
    )
    return calibration.fit(X, y, sample_weight=weights)


# --- Classify into ordered classes by cut-offs on the scores of a ranker


_GRID = 2.0**50
"""Sum of the weights of rows as whole numbers, of which sums are exact."""


def _whole(weight: Floats) -> Floats:
    """Return weights as whole numbers, so that rounding never decides between equal cut-offs.

    Weights of at most six decimals keep their ratios; others are rounded to 2^-50 of their sum.
    """
    for decimals in range(7):
        scaled = weight * 10.0**decimals
        whole: Floats = np.rint(scaled)
        if np.abs(scaled - whole).max() <= 1e-9 * whole.max() and whole.sum() < _GRID:
            return whole
    return np.asarray(np.rint(weight / weight.sum() * _GRID))


def best_cuts(
    scores: Floats,
    codes: Ints,
    n_classes: int,
    weight: Floats | None = None,
    error: str = "zero_one",
) -> Floats:
    """Return the cut-offs on scores that make the fewest mistakes.

    A row is of class k if exactly k cut-offs are below its score. Rows of equal scores stay
    together, and a cut-off is half way between neighbouring scores, or infinite where a class
    at the end is empty. Among equally good cut-offs the lowest are taken, the first first.
    Dynamic program over the sorted scores, O(n log n + n d).

    Parameters
    ----------
    scores : array of shape (n_rows,)
    codes : int array of shape (n_rows,)
        Class of every row, 0 to ``n_classes - 1``.
    n_classes : int
    weight : array of shape (n_rows,), optional
    error : {"zero_one", "absolute"}
        The share of rows in a wrong class, or the mean distance between true and assigned
        class; the other one decides between equals.

    Examples
    --------
    >>> best_cuts(np.array([0.1, 0.2, 0.4, 0.7]), np.array([0, 0, 1, 2]), 3)
    array([0.3 , 0.55])
    """
    if weight is not None:
        kept = weight > 0
        scores, codes, weight = scores[kept], codes[kept], _whole(weight[kept])
    values, block = np.unique(scores, return_inverse=True)
    cells = block.ravel() * n_classes + codes
    counts = np.bincount(cells, weight, minlength=len(values) * n_classes)
    counts = counts.reshape(len(values), n_classes).astype(np.float64)
    classes = np.arange(n_classes)
    wrong, apart = counts @ (classes[:, None] != classes), counts @ abs(classes[:, None] - classes)
    # Complex numbers are compared by their real part, then by their imaginary part.
    cost = wrong + 1j * apart if error == "zero_one" else apart + 1j * wrong
    before = np.vstack([np.zeros((1, n_classes)), np.cumsum(cost, axis=0)])
    # rest[b]: the least cost of the blocks from b on, in classes from k on.
    rest = before[-1, -1] - before[:, -1]
    ways = []
    for k in range(n_classes - 2, -1, -1):
        # Class k ends before block b, for every b; the blocks from b on are in higher classes.
        ways.append(before[:, k] + rest)
        rest = np.minimum.accumulate(ways[-1][::-1])[::-1] - before[:, k]
    borders = np.concatenate([[-np.inf], (values[:-1] + values[1:]) / 2.0, [np.inf]])
    cuts, at = np.empty(n_classes - 1), 0
    for k, way in enumerate(reversed(ways)):
        at += int(np.argmin(way[at:]))
        cuts[k] = borders[at]
    return cuts


_RANKER = Rule(
    ("a ranker, as RankBoost()",),
    ("ranker",),
    lambda value: callable(getattr(value, "to_ordinal", None)),
)


@with_parameters
class OrdinalClassifier(_ByScores):
    """Classify into ordered classes by the score of a ranker and cut-offs between classes.

    ``to_ordinal(X, y)`` of a fitted ranker returns one. ``fit`` fits a copy of the ranker, and
    the cut-offs to its scores of the same rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        In rising order.
    cuts_ : array of shape (n_classes - 1,)
        A row is of class k if exactly k of them are below its score.
    ranker_ : the fitted ranker
    """

    ranker: Any = parameter(
        _RANKER,
        "Fitted to labels by ``fit(X, y)``; scores rows by ``predict``.",
        default=None,
        kw_only=False,
    )
    error: str = parameter(
        one_of("zero_one", "absolute"),
        "What the cut-offs minimise first: the share of rows in a wrong class, or the mean "
        "distance of true and assigned class. The other decides between equals.",
        default="zero_one",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        needs_two = getattr(self.ranker, "_needs_two_labels", None)
        tags.classifier_tags.multi_class = not (callable(needs_two) and needs_two())
        return tags

    def fit(self, X: TableLike, y: VectorLike, sample_weight: VectorLike | None = None) -> Self:
        """Fit a copy of the ranker, then the cut-offs.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Classes of any one type; their order is the sorted one.
        sample_weight : array of shape (n_rows,), optional
        """
        instances, codes, weights = self._fit_ranker(X, y, sample_weight, two=False)
        self._set_cuts(self.ranker_.predict(instances), codes, weights)
        return self

    def _set_cuts(self, scores: Floats, codes: Ints, weights: Floats | None) -> None:
        self.cuts_ = best_cuts(scores, codes, len(self.classes_), weights, self.error)

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the class of every row."""
        check_is_fitted(self, "ranker_")
        scores: Floats = self.ranker_.predict(X)
        return np.asarray(self.classes_[np.searchsorted(self.cuts_, scores, side="left")])


def make_ordinal(
    ranker: Any, X: TableLike, y: VectorLike, error: str, sample_weight: VectorLike | None
) -> OrdinalClassifier:
    """Return the classifier that ``to_ordinal`` of a ranker returns; parameters as there."""
    owner = type(ranker).__name__
    if ranker.fitted_with_qid_:
        raise NotRankedError(
            f"this {owner} was fitted with queries, and scores of different queries cannot be cut "
            "at the same place. Fit it without qid."
        )
    if ranker.model_.needs_query:
        raise NotRankedError(
            f"{owner} makes no classifier: it ranks a row against the others that come with it, "
            "and has no score for a row alone. Use RankBoost."
        )
    made = OrdinalClassifier(clone(ranker), error=error)
    check_parameters(made)
    classes, codes = _classes_of(y, "to_ordinal", two=False)
    scores = ranker.predict(X)
    if len(scores) != len(codes):
        raise DataError(f"y must have one label for each of the {len(scores)} rows of X. "
                        f"Got {len(codes)}.")  # fmt: skip
    weights = check_weights(sample_weight, len(codes))
    made._keep(ranker, classes)
    made._set_cuts(scores, codes, weights)
    return made

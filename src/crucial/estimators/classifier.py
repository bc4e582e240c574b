"""From a ranking to a classification: the scores of a ranker with an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError
from crucial.estimators.targets import read_targets
from crucial.feedback.base import Feedback
from crucial.feedback.bipartite import log_class_sums
from crucial.feedback.labels import LabelFeedback, check_weights
from crucial.parameters import (
    Rule,
    check,
    check_parameters,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, Ints

__all__ = ["ClassSums", "RankingClassifier", "make_classifier"]


@dataclass(frozen=True)
class ClassSums:
    """What a classifier needs of the rows that a ranker learned from.

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
        """Sum over the rows of a feedback of two labels."""
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


_BOOSTED = Rule(
    ("a ranker that boosts, as RankBoost()",),
    ("ranker",),
    lambda value: callable(getattr(value, "to_classifier", None)),
)


@with_parameters
class RankingClassifier(ClassifierMixin, BaseEstimator):
    """Two classes, told apart by the score of a ranker: ``sign(H(x) + b)``.

    Made by ``to_classifier()`` of a fitted ranker; it can also be fitted itself, which fits
    a copy of the ranker, so that scikit-learn's tools for classifiers apply: to calibrate
    while fitting, for example, put it into `sklearn.calibration.CalibratedClassifierCV`.

    Attributes
    ----------
    classes_ : array of shape (2,)
    intercept_ : float
        b, by which decisions are higher than scores.
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
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a copy of the ranker and the intercept.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Two classes, of any type.
        sample_weight : array of shape (n_rows,), optional
        """
        check_parameters(self)
        owner = type(self).__name__
        instances = Instances.from_input(X)
        classes, codes = _two_classes(y, owner)
        weights = check_weights(sample_weight, len(codes))
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise DataError(f"{owner}: rows of only one class have a sample_weight above zero.")
        ranker = clone(self.ranker).fit(instances, codes, sample_weight=weights)
        return self._take(ranker, ranker.to_classifier().intercept_, classes)

    def _take(self, ranker: Any, intercept: float, classes: NDArray[Any]) -> Self:
        """Set the fitted attributes."""
        self.ranker_, self.intercept_, self.classes_ = ranker, intercept, classes
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def decision_function(self, X: Any) -> Floats:
        """``H(x) + b``: above 0 for the second class."""
        check_is_fitted(self, "ranker_")
        scores: Floats = self.ranker_.predict(X)
        return scores + self.intercept_

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of both classes.

        ``1 / (1 + exp(-2 (H(x) + b)))`` for the second, the link of the exponential loss. It is
        not calibrated: right for a decision function that has converged on unlimited data, far
        too sure of itself for one that is boosted for long.
        """
        decision = self.decision_function(X)
        good = np.exp(-np.logaddexp(0.0, -2.0 * decision))
        bad = np.exp(-np.logaddexp(0.0, 2.0 * decision))
        return np.column_stack((bad, good))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: the more probable one, the first if both are."""
        good = self.decision_function(X) > 0.0
        chosen: NDArray[Any] = self.classes_[good.astype(np.int64)]
        return chosen


def _two_classes(y: Any, owner: str) -> tuple[NDArray[Any], Ints]:
    """The two classes and which of them every row has; in scikit-learn's words if not two."""
    column, kind = read_targets(y, owner)
    if kind != "binary":
        raise DataError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )
    classes, codes = np.unique(column, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"{owner} can't train when only one class is present: {classes[0]!r}.")
    return classes, codes.astype(np.int64)


def make_classifier(
    ranker: Any,
    known: ClassSums | None,
    calibrated: bool | str,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Any:
    """See ``to_classifier`` of the rankers.

    Parameters
    ----------
    known : ClassSums or None
        Of the rows that the ranker was fitted to; None if they were not of two labels.
    """
    owner = type(ranker).__name__
    check("to_classifier", "calibrated", calibrated, one_of(False, "sigmoid", "isotonic"))
    if ranker.fitted_with_qid_:
        raise NotRankedError(
            f"this {owner} was fitted with queries, and scores of different queries have no "
            "common zero to tell two classes by. Fit it without qid."
        )
    if (X is None) != (y is None):
        raise DataError("to_classifier needs both X and y, or neither.")
    if X is None:
        if calibrated is not False:
            raise DataError(
                f"calibrated={calibrated!r} needs rows to learn it from: to_classifier("
                f"{calibrated!r}, X, y), better with rows that fit has not seen."
            )
        if known is None:
            raise NotRankedError(
                f"this {owner} was not fitted to labels of two values, so nothing says where its "
                "scores part two classes. Give rows of two classes: to_classifier(X=X, y=y)."
            )
        return RankingClassifier(clone(ranker))._take(ranker, known.intercept, known.classes)
    classes, codes = _two_classes(y, "to_classifier")
    scores = ranker.predict(X)
    weights = check_weights(sample_weight, len(scores))
    if known is None:
        feedback = LabelFeedback(codes, weight=weights)
        known = ClassSums.of(feedback, scores[feedback.rows])
    elif not np.array_equal(classes, known.classes):
        raise DataError(
            f"y must have the labels that {owner} was fitted to, {known.classes.tolist()}. "
            f"Got {classes.tolist()}."
        )
    made = RankingClassifier(clone(ranker))._take(ranker, known.intercept, classes)
    return made if calibrated is False else _calibrated(made, str(calibrated), X, y, weights)


def _calibrated(made: RankingClassifier, method: str, X: Any, y: Any, weights: Any) -> Any:
    """scikit-learn's calibration of a fitted classifier."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    # Nothing is refitted, so that there is nothing to hold out: all rows are one fold.
    rows = np.arange(len(np.asarray(y)))
    found = CalibratedClassifierCV(
        FrozenEstimator(made), method=method, cv=[(rows, rows)], ensemble=False
    )
    return found.fit(X, y, sample_weight=weights)

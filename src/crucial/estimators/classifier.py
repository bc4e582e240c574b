"""Classify by the scores of a ranker and an intercept."""

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
from crucial.export.export import Export, export_model
from crucial.feedback.base import Feedback
from crucial.feedback.classes import log_class_sums
from crucial.feedback.labels import LabelFeedback, check_weights
from crucial.kernels.elementary import exp, logaddexp
from crucial.parameters import (
    Rule,
    check,
    check_parameters,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, Ints, PathLike, TableLike, VectorLike

__all__ = ["ClassSums", "RankingClassifier", "make_classifier"]


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


_BOOSTED = Rule(
    ("a ranker that boosts, as RankBoost()",),
    ("ranker",),
    lambda value: callable(getattr(value, "to_classifier", None)),
)


@with_parameters
class RankingClassifier(ClassifierMixin, BaseEstimator):
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
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
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
        check_parameters(self)
        owner = type(self).__name__
        instances = Instances.from_input(X, texts=True)
        classes, codes = _two_classes(y, owner)
        weights = check_weights(sample_weight, len(codes))
        if weights is not None and len(np.unique(codes[weights > 0])) < 2:
            raise DataError(f"{owner}: rows of only one class have a sample_weight above zero.")
        ranker = clone(self.ranker).fit(instances, codes, sample_weight=weights)
        return self._set_fitted(ranker, ranker.to_classifier().intercept_, classes)

    def _set_fitted(self, ranker: Any, intercept: float, classes: NDArray[Any]) -> Self:
        """Set the fitted attributes."""
        self.ranker_, self.intercept_, self.classes_ = ranker, intercept, classes
        self.n_features_in_ = ranker.n_features_in_
        if hasattr(ranker, "feature_names_in_"):
            self.feature_names_in_ = ranker.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def decision_function(self, X: TableLike) -> Floats:
        """Return ``H(x) + b`` of every row: above 0 for the second class."""
        check_is_fitted(self, "ranker_")
        scores: Floats = self.ranker_.predict(X)
        return scores + self.intercept_

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probabilities of both classes for every row.

        That of the second is ``1 / (1 + exp(-2 (H(x) + b)))``, the link of the exponential loss.
        It is not calibrated: right for a decision function that has converged on unlimited data,
        and far too confident for one that was boosted for long.
        """
        decision = self.decision_function(X)
        good = exp(-logaddexp(0.0, -2.0 * decision))
        bad = exp(-logaddexp(0.0, 2.0 * decision))
        return np.column_stack((bad, good))

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the more probable class of every row, the first if both are."""
        good = self.decision_function(X) > 0.0
        chosen: NDArray[Any] = self.classes_[good.astype(np.int64)]
        return chosen

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


def _two_classes(y: VectorLike | None, owner: str) -> tuple[NDArray[Any], Ints]:
    """Return the two classes, and the number of each row's class."""
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
        return RankingClassifier(clone(ranker))._set_fitted(ranker, sums.intercept, sums.classes)
    classes, codes = _two_classes(y, "to_classifier")
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
    classifier = RankingClassifier(clone(ranker))._set_fitted(ranker, sums.intercept, classes)
    if calibrated is False:
        return classifier
    return _calibrated(classifier, str(calibrated), X, y, weights)


def _calibrated(
    classifier: RankingClassifier,
    method: str,
    X: TableLike,
    y: VectorLike | None,
    weights: Floats | None,
) -> Any:
    """Calibrate a fitted classifier by scikit-learn."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    # Nothing is refitted, so that there is nothing to hold out: all rows are one fold.
    rows = np.arange(len(np.asarray(y)))
    calibrated = CalibratedClassifierCV(
        FrozenEstimator(classifier), method=method, cv=[(rows, rows)], ensemble=False
    )
    return calibrated.fit(X, y, sample_weight=weights)

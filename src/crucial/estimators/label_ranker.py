"""AdaBoost.MH and AdaBoost.MR, which rank the labels of a row, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.shared import Binned
from crucial.estimators.table_estimator import TableEstimator
from crucial.estimators.targets import read_targets
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import check_weights
from crucial.kernels.runtime import count_threads
from crucial.label_ranking.boosting import boost_labels
from crucial.label_ranking.losses import LABEL_OBJECTIVES, LabelObjective
from crucial.label_ranking.model import LabelModel
from crucial.label_ranking.stumps import LabelStumpSearch
from crucial.parameters import at_least, between, one_of, parameter, with_parameters
from crucial.types import Bools, Floats, TableLike, VectorLike

__all__ = ["LabelRanker"]


@with_parameters
class LabelRanker(ClassifierMixin, Binned, TableEstimator):
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
    >>> from crucial import LabelRanker
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: TableLike, y: VectorLike, *, sample_weight: VectorLike | None = None) -> Self:
        """Learn which labels are right.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. Absent entries of sparse input are 0.
        y : array of shape (n_rows,), or matrix of 0 and 1 of shape (n_rows, n_labels)
            The label of every row, of any type; or 1 for every label that a row has.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
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
        ensemble = boost_labels(
            LabelStumpSearch(bins, len(classes), discrete, threads),
            objective,
            float(counted.sum()) * len(classes),
            rounds=self.n_estimators,
            rate=self.learning_rate,
            discrete=discrete,
        )
        if not ensemble.rounds:
            warn_caller(
                f"no round could be made ({ensemble.stopped}); all scores are the same.",
                NoProgressWarning,
            )
        self.classes_, self.multilabel_ = classes, multilabel
        self.trace_, self.stopped_ = tuple(ensemble.rounds), ensemble.stopped
        self.model_ = LabelModel(
            instances.n_features,
            len(classes),
            tuple(one.stump for one in ensemble.rounds),
            _intercept(objective, ensemble.scores),
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
        ranked: NDArray[Any] = self.classes_[order]
        return ranked

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
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen

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


def _intercept(objective: LabelObjective, scores: Floats) -> float:
    """Return ``b = .5 ln(F+ / F-)`` over (row, label) (Rudin & Schapire 2009, corollary 13)."""
    good, bad = objective.log_parts(scores)
    return 0.5 * (good - bad)

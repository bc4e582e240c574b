"""What the linear rankers of whole lists share: from input to weighted features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import Ranker
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.feedback.layout import Layout
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, ScaledFeature
from crucial.types import Floats, Ints
from crucial.validation import refuse

__all__ = ["Learned", "ListRanker", "Lists"]


@dataclass(frozen=True)
class Lists:
    """Checked input.

    Attributes
    ----------
    instances : Instances
    feedback : LabelFeedback
    groups : Groups
    """

    instances: Instances
    feedback: LabelFeedback
    groups: Groups

    @property
    def layout(self) -> Layout:
        """The rows by query and rising label."""
        return self.feedback.labelled().layout

    @property
    def rows(self) -> Ints:
        """Row numbers, in the order of the layout."""
        return self.feedback.rows

    @property
    def factor(self) -> Floats:
        """Weight of every query."""
        return self.feedback.labelled().coefficient


@dataclass(frozen=True)
class Learned:
    """Weighted features, and what there is to tell of how they were found.

    Attributes
    ----------
    rankers : sequence of ScaledFeature and Presence
    weights : array like rankers
    attributes : mapping
        Fitted attributes, by name.
    told : mapping
        For the model's summary.
    """

    rankers: Sequence[ScaledFeature | Presence]
    weights: Floats
    attributes: Mapping[str, Any]
    told: Mapping[str, float] = field(default_factory=dict)


class ListRanker(Ranker):
    """Base of `ListMLE`, `RankCosine` and `SVMMap`.

    A subclass checks its parameters in ``_check_parameters`` and learns in ``_learn``.
    """

    n_jobs: int | None

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _check_threads(self) -> None:
        whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (whole and self.n_jobs != 0):
            raise refuse(type(self).__name__, "n_jobs", "an int other than 0, or None", self.n_jobs)

    def _learn(self, lists: Lists) -> Learned:
        raise NotImplementedError

    def _labels(self, y: Floats, groups: Groups, sample_weight: Any) -> Floats:
        """The labels to learn from; a ranker that sees only part of them replaces this."""
        return y

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains, and counts as its mean.
        y : array of shape (n_rows,)
            Labels. Rows of equal labels are not compared.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the loss of a query.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        instances = self._instances(X, reset=True)
        groups = Groups.from_qid(qid, instances.n_rows)
        labels = self._labels(check_labels(y, instances.n_rows), groups, sample_weight)
        feedback = LabelFeedback(labels, groups, weight=sample_weight, query_weight=query_weight)
        learned = self._learn(Lists(instances, feedback, groups))
        if not len(learned.rankers):
            warnings.warn(
                "no feature tells any rows apart; all scores are 0.",
                NoProgressWarning,
                stacklevel=2,
            )
        for name, value in learned.attributes.items():
            setattr(self, name, value)
        self.fitted_with_qid_ = qid is not None
        told = {name: value for name, value in self.get_params().items() if name != "n_jobs"}
        summary = {
            "estimator": type(self).__name__,
            "parameters": told,
            **learned.told,
            "rows": len(feedback.rows),
            "with_qid": qid is not None,
            **feedback.summary(),
        }
        self.model_ = AdditiveRanker(
            instances.n_features, learned.rankers, learned.weights, instances.names, summary
        )
        return self

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def save(self, path: Any) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

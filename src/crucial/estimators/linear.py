"""Base classes of the rankers that are one weighted sum of the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import Ranker, RankingInput
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.linear.design import Design, Matrix
from crucial.linear.solution import Solution
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import WeakRankerLike
from crucial.parameters import above, at_least, parameter, with_parameters
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["LinearRanker", "RidgeRanker", "WeightedFeatures", "check_two_labels"]


@dataclass(frozen=True)
class WeightedFeatures:
    """What a linear ranker learned.

    Attributes
    ----------
    rankers : sequence of weak rankers, one feature each
    weights : array like rankers
    figures : mapping from str to float
        For the training summary.
    empty : str
        The warning where there are no rankers.
    """

    rankers: Sequence[WeakRankerLike]
    weights: Floats
    figures: Mapping[str, float]
    empty: str = "no feature distinguishes any rows; all scores are 0."

    def but_empty(self, warning: str) -> WeightedFeatures:
        """Return the same with another warning."""
        return replace(self, empty=warning)


@with_parameters
class LinearRanker(Ranker[AdditiveRanker]):
    """Base of linear rankers: a subclass learns in `_learn`.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weighted features, which can be saved and shown.
    n_iter_ : int
    """

    n_jobs: int | None = parameter(text="Threads of `predict`; None for all cores.", default=None)

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        """Find the weights, and set the attributes that report how."""
        raise NotImplementedError

    def _labels(self, data: RankingInput) -> Floats:
        """Return the labels to learn from; a ranker that sees only part of them replaces this."""
        return data.known_labels

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels. Rows of equal labels are not compared.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the loss of a query.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        feedback = LabelFeedback(
            self._labels(data), data.groups, weight=data.weight, query_weight=query_weight
        )
        learned = self._learn(data.instances, feedback)
        if not len(learned.rankers):
            warn_caller(learned.empty, NoProgressWarning)
        model = AdditiveRanker(
            data.instances.n_features,
            learned.rankers,
            learned.weights,
            data.instances.names,
            self._summary(learned.figures, feedback, data.with_qid),
        )
        self._set_model(model, data.with_qid)
        return self


@with_parameters
class RidgeRanker(LinearRanker):
    """Base of linear rankers that minimise a convex loss and a ridge, in `_minimise`.

    Attributes
    ----------
    objective_ : float
        Value of the objective, the ridge included.
    gap_ : float
        The objective is at most this far above its minimum.
    """

    #: What happens where a feature abstains; see `Design`.
    _abstentions: ClassVar[Literal["mean", "learned"]] = "mean"

    l2: float = parameter(above(0), "Ridge on the weights; above 0.", default=0.01, kw_only=False)
    tol: float = parameter(
        above(0), "How far above its minimum the objective may be left.", default=1e-4
    )
    max_iter: int = parameter(at_least(1), "Iterations at most.", default=1000)

    def _minimise(self, matrix: Matrix, feedback: LabelFeedback) -> Solution:
        """Find the weights of the columns of a design."""
        raise NotImplementedError

    def _learn(self, instances: Instances, feedback: LabelFeedback) -> WeightedFeatures:
        design = Design.of(instances, feedback.rows, feedback.weight, abstentions=self._abstentions)
        found = self._minimise(design.matrix, feedback)
        self.objective_, self.gap_, self.n_iter_ = found.value, found.gap, max(1, found.n_iter)
        figures = {"objective": found.value, "gap": found.gap}
        return WeightedFeatures(design.rankers, found.weights * design.scale, figures)

    def _warn_of_gap(self, found: Solution, iterations: str) -> None:
        """Warn if a solver ended before it was within ``tol`` of the minimum."""
        if found.gap > self.tol and len(found.weights):
            warn_caller(
                f"{found.n_iter} {iterations} left the objective up to {found.gap:.2g} above its "
                "minimum; raise max_iter, l2 or tol.",
                ConvergenceWarning,
            )


def check_two_labels(owner: str, feedback: LabelFeedback, remedy: str) -> None:
    """Refuse a query of more than two labels, for rankers that know relevant and not."""
    layout, groups = feedback.labelled().layout, feedback.groups
    levels = np.diff(layout.query_first)
    deep = np.flatnonzero(levels > 2)
    if not len(deep):
        return
    at = int(deep[0])
    first = int(layout.query_first[at])
    values = ", ".join(f"{v:g}" for v in layout.values[first : first + min(4, levels[at])])
    more = ", ..." if levels[at] > 4 else ""
    where = "the labels are"
    if groups.n_groups > 1:
        query = groups.ids[layout.queries[at : at + 1]].tolist()[0]
        where = f"the labels of query {query!r} are"
    raise DataError(
        f"{owner}: Only binary classification is supported; it knows relevant and not, two labels "
        f"in a query, and {where} {values}{more}.",
        remedy=remedy,
        parameter="y",
    )

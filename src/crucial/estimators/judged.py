"""Labels of one judge or several and explicit pairs, from the arguments of a fit to feedback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.estimators.base import Model, Ranker, RankingInput
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.feedback.pairs import PairFeedback
from crucial.feedback.sums import (
    add_feedback,
    check_judge_weights,
    check_judges,
    judge_parts,
    n_judges,
)
from crucial.parameters import with_parameters
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["FeedbackRanker"]


@with_parameters
class FeedbackRanker(Ranker[Model]):
    """Rankers that learn from a sum of feedbacks."""

    #: Whether y may have one column per judge.
    takes_judges: ClassVar[bool] = False

    # Declared by the estimators.
    balance: str
    gain: Any
    contradictions: str

    def _judged_input(
        self,
        X: TableLike,
        y: VectorLike | None,
        qid: VectorLike | None,
        sample_weight: VectorLike | None,
        query_weight: QueryWeight | None,
        judge_weight: VectorLike | None,
        *,
        needs_y: bool = True,
    ) -> RankingInput:
        """Check the arguments of a fit; labels of several judges have a second axis."""
        several = y is not None and n_judges(y) > 1
        if judge_weight is not None and not several:
            raise DataError(
                "judge_weight weighs the columns of y, one per judge, and y has no second one.",
                parameter="judge_weight",
            )
        if not several:
            return self._input(X, y, qid, sample_weight, query_weight, needs_y=needs_y)
        assert y is not None
        if not self.takes_judges:
            raise DataError(
                f"y should be a 1d array: {type(self).__name__} learns from the labels of one "
                f"judge, and y has {n_judges(y)} columns.",
                remedy="RankBoost, RankBoostPlus and SmoothMarginRanker add up several judges.",
                parameter="y",
            )
        data = self._input(X, None, qid, sample_weight, needs_y=False)
        labels = check_judges(y, data.instances.n_rows)
        weight = check_judge_weights(judge_weight, labels.shape[1])
        data = replace(data, labels=labels, judge_weight=weight)
        return self._with_numbers(data, query_weight)

    def _feedback(
        self,
        data: RankingInput,
        weight: Floats | None,
        query_weight: QueryWeight | None,
        explicit: PairFeedback | None,
    ) -> Feedback:
        """Return the pairs of labels, of one judge or several, and explicit ones."""
        labels: list[LabelFeedback] = []
        if data.labels is not None:
            labels = judge_parts(
                data.labels,
                weight,
                lambda own, mass: self._label_feedback(
                    replace(data, labels=own), mass, query_weight
                ),
            )
        factors = np.ones(len(labels)) if data.judge_weight is None else data.judge_weight
        return add_feedback(labels, factors, explicit, self.contradictions)

    def _label_feedback(
        self, data: RankingInput, weight: Floats | None, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        """Return the pairs that labels imply; an algorithm that leaves some out replaces this."""
        return LabelFeedback(
            data.known_labels,
            data.groups,
            weight=weight,
            balance=self.balance,
            query_weight=query_weight,
            gain=self.gain,
        )

"""What estimators share that boost stumps under a loss other than RankBoost's."""

from __future__ import annotations

from typing import Any

from crucial.data.instances import Instances
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.monotone import monotone_signs
from crucial.validation import check_choice, check_integer, check_real
from crucial.weak.base import Constraints
from crucial.weak.stumps import StumpLearner

__all__ = ["StumpBoostedRanker"]


class StumpBoostedRanker(BoostedRanker):
    """Base of estimators that add the steepest stump a round; the parameters named here."""

    learning_rate: float
    step: str
    positive_weights: str | None
    default_rank: str | int
    on_perfect: str
    max_bins: int | None
    monotone_constraints: Any

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        return Constraints(self.positive_weights == "cumulative", signs, self.learning_rate)

    def _learner(self) -> StumpLearner:
        return StumpLearner("steepest", self.default_rank, self.max_bins)

    def _check_parameters(self) -> None:
        self._check_common()
        owner = type(self).__name__
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "step", self.step, ["bound", "exact"])
        check_choice(owner, "positive_weights", self.positive_weights, [None, "cumulative"])
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)

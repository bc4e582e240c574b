"""The state of the logistic loss over pairs whose rows are in parts."""

from __future__ import annotations

import math
from dataclasses import replace

from crucial.boosting.pair_losses import LogisticTotals, ScoreReach
from crucial.distributed.messages import Question, RoundAnswer, Totals
from crucial.distributed.state import PartedState

__all__ = ["PartedLogistic"]


class PartedLogistic(PartedState):
    """The state of the logistic loss over pairs."""

    _pair_weight: float | None = None

    def _asked(self, question: Question) -> RoundAnswer:
        answer = super()._asked(question)
        if answer.reach is not None and not answer.reach.narrow:
            # Scores of some query are far apart: all parts have to compute as that one does.
            reach: ScoreReach = self.parts.total("reach")
            again = replace(question, reach=reach)
            answer = replace(self.parts.total("ask", again, changes=True), distance=math.inf)
        return answer

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, LogisticTotals)
        if self._pair_weight is None:
            (half,) = self.parts.total("pair_sums").values
            self._pair_weight = 2.0 * half
        return totals.finish(self._pair_weight)

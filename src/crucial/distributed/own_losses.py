"""States of losses over pairs other than the exponential one, whose rows are in parts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, cast

from crucial.distributed.messages import Answer, Question, Totals
from crucial.distributed.parts import Parts
from crucial.distributed.state import PartedState, RankerOutput
from crucial.feedback.label_state import Peaks
from crucial.feedback.states import Output
from crucial.kernels.elementary import power
from crucial.objectives import logistic, push
from crucial.objectives.logistic import AlongTotals, LogisticLine, LogisticTotals, ScoreReach
from crucial.objectives.push import PushTotals
from crucial.objectives.push_line import PushLine
from crucial.types import Floats

__all__ = ["PartedLogistic", "PartedPush"]


class _OwnLoss(PartedState):
    """What both losses share."""

    def turns(self, output: Output, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair that counts, however light."""
        ranker = cast(RankerOutput, output).ranker
        lost, won = self.parts.total("sums_along", "turn_sums", False, ranker).values
        return bool((lost if sign > 0.0 else won) > 0.0)


class PartedLogistic(_OwnLoss):
    """The state of the logistic loss over pairs."""

    reach = 1.0
    _pair_weight: float | None = None

    def _asked(self, question: Question) -> Answer:
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

    def _added(self, method: str, output: Floats, alpha: float) -> tuple[float, ...]:
        """Return sums over all pairs after a step."""
        ranker = cast(RankerOutput, output).ranker
        found: AlongTotals = self.parts.total("sums_along", method, False, ranker, alpha, None)
        if not found.reach.narrow:
            found = self.parts.total("sums_along", method, False, ranker, alpha, False)
        return tuple(one.value for one in found.sums)

    def along(self, output: Floats, alpha: float) -> tuple[float, float, float]:
        """Return the weight of right and wrong pairs and their curvature, after a step."""
        right, wrong, bend = self._added("along_sums", output, alpha)
        return right, wrong, bend

    def line(self, output: Output) -> LogisticLine:
        """Return the loss along a stump."""
        assert isinstance(self.totals, LogisticTotals)
        return LogisticLine(self, output, self.totals.drawn.value)

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a tree, after a step."""
        assert isinstance(self.totals, LogisticTotals)
        (gained,) = self._added("gain_sums", output, alpha)
        return logistic.slope_of(gained, alpha, self.totals.shift, self.totals.drawn.value)


class PartedPush(_OwnLoss):
    """The state of the p-norm push.

    Parameters
    ----------
    parts, log_total : as in `PartedState`
    p : float
    """

    def __init__(self, parts: Parts, log_total: float, p: float) -> None:
        super().__init__(parts, log_total)
        self._p, self.reach, self._tops = p, 1.0 / p, Peaks(0.0, 0.0)

    def _asked(self, question: Question) -> Answer:
        answer = super()._asked(replace(question, peaks=self._tops))
        totals = answer.totals
        assert isinstance(totals, PushTotals)
        if totals.far:
            again = replace(question, peaks=totals.peaks)
            answer = replace(self.parts.total("ask", again, changes=True), distance=math.inf)
        return answer

    def _foreseen(self) -> dict[str, Any]:
        found = super()._foreseen()
        if found:
            # (potentials are divided by F before the move, and F is a p-th power)
            before, after = found["scales"]
            found["scales"] = (before, power(after / before, self._p))
        return found

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, PushTotals)
        self._tops = totals.logs
        self._start = self._tops.every if self._start is None else self._start
        return totals.scale, (self._tops.every - self._start) / self._p

    def line(self, output: Output) -> PushLine:
        """Return the loss along a stump."""
        ranker = cast(RankerOutput, output).ranker
        sums = partial(self.parts.total, "sums_along", "line_sums", False, ranker)
        return PushLine(sums, self._p, self._tops.drawn)

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a tree, after a step."""
        ranker = cast(RankerOutput, output).ranker
        sums = partial(self.parts.total, "sums_along", "slope_sums", False, ranker, alpha)
        return push.slope_of(push.near(sums, self._tops))

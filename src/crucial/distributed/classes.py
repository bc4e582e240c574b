"""States of two classes whose rows are in parts."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from crucial.distributed.messages import Question, Totals
from crucial.distributed.parts import Parts
from crucial.distributed.state import PartedPairs, PartedState, RankerOutput
from crucial.feedback.base import Feedback
from crucial.feedback.class_sums import ClassTotals, unit_of_weights
from crucial.feedback.label_state import Peaks
from crucial.feedback.states import Output
from crucial.kernels.elementary import exp, log
from crucial.objectives.logit import LogitTotals
from crucial.types import Floats

__all__ = ["PartedClasses", "PartedLogit"]


class PartedClasses(PartedPairs):
    """The state of AdaBoost's loss, whose pairs are the rows.

    Parameters
    ----------
    parts : Parts
    feedback : Feedback
    """

    def __init__(self, parts: Parts, feedback: Feedback) -> None:
        super().__init__(parts, 0.0)
        self._unit, whole = unit_of_weights(feedback)
        self._log_start = log(whole)

    def _class_totals(self) -> ClassTotals:
        assert isinstance(self.totals, ClassTotals)
        return self.totals

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, ClassTotals)
        return totals.finish(self._log_start)

    def _with_peaks(self, question: Question, peaks: Peaks) -> Question:
        # (a call of its own, which a part that is loaded again repeats at the same round)
        self.parts.call("weigh_anew", peaks, changes=True)
        return question

    def _foreseen(self) -> dict[str, Any]:
        found, move = super()._foreseen(), self._waiting
        if found and move is not None:
            # Z of a vote, and the unit of the potentials that follows from the step.
            totals = self._class_totals()
            bad, good = totals.log_factor
            unit = max(bad - move.alpha, good + move.alpha) - totals.log_unit
            up, down = exp(move.alpha), exp(-move.alpha)
            z = ((up + down) - self.slope * (up - down)) / 2.0
            before = found["scales"][0]
            found["scales"] = (before, before * exp(unit) / max(z, 0.1))
        return found

    @property
    def net(self) -> float:
        """Weight of the good rows minus that of the bad ones, as a share of both."""
        return self._class_totals().net

    def f_skew(self) -> float:
        """Return F+ - F- over all rows, in the unit of their weights."""
        return self._class_totals().skew(-log(self._unit))

    def _weigh(self, method: str, output: Output, *args: Any) -> Floats:
        """Return sums over rows, where those that count weigh 1."""
        totals, ranker = self._class_totals(), cast(RankerOutput, output).ranker
        sums = self.parts.total("sums_along", method, False, ranker, *args).values
        return np.array(sums) / sum(totals.both(totals.drawn))

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the rows on which a vote is right, and wrong."""
        right, wrong = self._weigh("weight_sums", output).tolist()
        return right, wrong

    def weights_by_value(self, output: Output, values: Floats) -> Floats:
        """Return the weight of bad and good rows for each of the values that a ranker has."""
        return self._weigh("value_sums", output, values).reshape(2, -1)


class PartedLogit(PartedState):
    """The state of the logistic loss of two classes."""

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, LogitTotals)
        return totals.finish()

"""The exponential loss over instances, which AdaBoost minimises."""

from __future__ import annotations

from typing import cast

from crucial.feedback.base import Feedback, Potentials
from crucial.feedback.classes import BipartiteState
from crucial.objectives.base import Objective

__all__ = ["ClassificationLoss"]


class ClassificationLoss(Objective):
    """F(H) = F+ + F-, the sum over instances of ``exp(-y_i H(x_i))``, over its value at 0.

    ``F+`` is the part of the good rows, ``F-`` that of the bad ones; RankBoost minimises
    their product (Rudin & Schapire 2009, equation 14), and where ``F+ = F-`` at the minimum
    both have the same minimisers (theorem 10). The difference, their F-skew (equation 15),
    goes into the trace as ``f_skew``, in the unit of the instance weights.
    """

    def begin(self, feedback: Feedback, threads: int) -> BipartiteState:
        """Return the state at scores of 0, for feedback of two labels and one query."""
        return BipartiteState(feedback, threads)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the F-skew for the trace."""
        return {"f_skew": cast(BipartiteState, potentials.pairs).f_skew()}

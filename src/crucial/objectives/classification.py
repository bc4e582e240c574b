"""The exponential loss over instances, which AdaBoost minimises."""

from __future__ import annotations

from typing import cast

import numpy as np

from crucial.feedback.base import Feedback
from crucial.feedback.bipartite import BipartiteState
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.potentials import Potentials

__all__ = ["ClassificationLoss"]


class ClassificationLoss:
    """F(H) = F+ + F-, the sum over instances of ``exp(-y_i H(x_i))``, over its value at 0.

    ``F+`` is the part of the good rows, ``F-`` that of the bad ones; RankBoost minimises
    their product (Rudin & Schapire 2009, equation 14), and where ``F+ = F-`` at the minimum
    both have the same minimisers (theorem 10). The difference, their F-skew (equation 15),
    goes into the trace as ``f_skew``, in the unit of the instance weights.
    """

    def begin(self, feedback: Feedback, threads: int) -> Potentials:
        """Start at scores of 0; the feedback is of two labels and one query."""
        state = BipartiteState(cast(LabelFeedback, feedback), threads)
        made = Potentials(np.zeros(-(-len(feedback.rows) // 8) * 8), 1.0, 0.0, state)
        self.renew(made)
        return made

    def renew(self, potentials: Potentials) -> None:
        """Bring the potentials ``y_i D(i)`` up to date with the scores."""
        potentials.scale, potentials.log_loss = potentials.pairs.potentials(potentials.pi)
        potentials.net = cast(BipartiteState, potentials.pairs).net

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """The F-skew, for the trace."""
        return {"f_skew": cast(BipartiteState, potentials.pairs).f_skew()}

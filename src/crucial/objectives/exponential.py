"""The exponential loss over pairs, which all of RankBoost minimises."""

from __future__ import annotations

from crucial.feedback.base import Feedback, PairState
from crucial.objectives.base import Objective

__all__ = ["ExponentialLoss"]


class ExponentialLoss(Objective):
    """E1(H): weighted mean over pairs of ``exp(H(lo) - H(hi))``.

    Connamacher et al. (2019, equation 5). After each round it is the product of the
    normalisers Z_t so far, which bounds the weighted share of misordered pairs (Freund et
    al. 2003, theorem 1).
    """

    def begin(self, feedback: Feedback, threads: int) -> PairState:
        """Return the state of the loss at scores of 0."""
        return feedback.state(threads=threads)

"""The exponential loss over pairs, which all of RankBoost minimises."""

from __future__ import annotations

import numpy as np

from crucial.feedback.base import Feedback
from crucial.feedback.potentials import Potentials

__all__ = ["ExponentialLoss"]


class ExponentialLoss:
    """E1(H): weighted mean over pairs of ``exp(H(lo) - H(hi))``.

    Connamacher et al. (2019, equation 5). After each round it is the product of the
    normalisers Z_t so far, which bounds the weighted share of misordered pairs (Freund et
    al. 2003, theorem 1).
    """

    def begin(self, feedback: Feedback, threads: int) -> Potentials:
        """Start at scores of 0."""
        state = feedback.state(threads=threads)
        pi = np.zeros(-(-len(feedback.rows) // 8) * 8)
        made = Potentials(pi, 1.0, 0.0, state)
        self.renew(made)
        return made

    def renew(self, potentials: Potentials) -> None:
        """Bring the potentials up to date with the scores."""
        potentials.scale, potentials.log_loss = potentials.pairs.potentials(potentials.pi)

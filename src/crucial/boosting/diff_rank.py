"""DiffRank's step: RankBoost's third method, with the bound that it minimises."""

from __future__ import annotations

from crucial.boosting.parts import Candidate
from crucial.boosting.steps import BoundStep
from crucial.feedback.base import Potentials
from crucial.kernels.elementary import exp, log

__all__ = ["DiffRankStep"]


class DiffRankStep(BoundStep):
    """``.5 ln((1 + r) / (1 - r))``, equation 18 of Wang et al., and what it promises.

    Puts into the trace ``bound``, the product of the bounds on every Z so far (proof of
    lemma 4): ``(1 + r) / 2 e^-alpha + (1 - r) / 2 e^alpha``, which is ``sqrt(1 - r^2)`` at
    a learning rate of 1. The product of Z, the trace's ``loss``, is never above it, and
    the share of misordered pairs never above that (lemma 3).

    Parameters
    ----------
    smoothing, stop_when_perfect
        As in `Step`.
    """

    def __init__(self, smoothing: float = 1e-3, stop_when_perfect: bool = False) -> None:
        super().__init__(smoothing, stop_when_perfect)
        self._log_bound = 0.0

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Multiply the bound by that of the round."""
        r = min(1.0, max(-1.0, candidate.slope))
        right, wrong = (1.0 + r) / 2.0, (1.0 - r) / 2.0
        self._log_bound += log(right * exp(-alpha) + wrong * exp(alpha))

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the bound after all rounds so far."""
        return {"bound": exp(self._log_bound)}

"""Steps of one length, for weak rankers that come with the values they ask for."""

from __future__ import annotations

from crucial.feedback.base import Potentials
from crucial.weak.base import Candidate, StepRule

__all__ = ["FixedStep"]


class FixedStep(StepRule):
    """Give every weak ranker the same weight.

    Parameters
    ----------
    weight : float
        1 for a fit of the gradient; 1/2 for LogitBoost's, which fits twice the score.
    """

    def __init__(self, weight: float = 1.0) -> None:
        self._weight = weight

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight."""
        return self._weight

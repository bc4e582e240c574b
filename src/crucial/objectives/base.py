"""What an objective gives the loop."""

from __future__ import annotations

from typing import Protocol

from crucial.feedback.base import Feedback
from crucial.feedback.potentials import Potentials

__all__ = ["Objective"]


class Objective(Protocol):
    """Something to minimise over scores."""

    def begin(self, feedback: Feedback, threads: int) -> Potentials:
        """Start at scores of 0."""

    def renew(self, potentials: Potentials) -> None:
        """Bring the potentials up to date with the scores of ``potentials.pairs``."""

"""Objectives: what boosting minimises over the scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from crucial.feedback.base import Feedback, Potentials, ScoreState

__all__ = ["Objective"]


class Objective(Protocol):
    """A loss over the scores of a feedback's rows.

    Derive from it to inherit `notes`.
    """

    @abstractmethod
    def begin(self, feedback: Feedback, threads: int) -> ScoreState:
        """Return the state of the loss at scores of 0, over ``feedback.rows``."""

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return further values for the trace after a round, by name."""
        return {}

"""Checks that the parts of an algorithm are complete and fit together, before the first round."""

from __future__ import annotations

from crucial.errors import ParameterError
from crucial.feedback.base import ScoreState
from crucial.objectives.base import Objective
from crucial.weak.base import StepRule, WeakLearner, check_methods

__all__ = ["check_needs", "check_parts"]


def check_parts(objective: Objective, learner: WeakLearner, step: StepRule) -> None:
    """Refuse a part that lacks a method, by the names of both."""
    check_methods("objective", objective, Objective)
    check_methods("weak learner", learner, WeakLearner)
    check_methods("step rule", step, StepRule)


def check_needs(
    objective: Objective, learner: WeakLearner, step: StepRule, state: ScoreState
) -> None:
    """Refuse a weak learner or a step rule that needs more than the objective offers."""
    for part in (learner, step):
        lacking = [name for name in part.needs if not hasattr(state, name)]
        if lacking:
            raise ParameterError(
                f"{type(part).__name__} needs an objective whose state has {', '.join(lacking)}, "
                f"and that of {type(objective).__name__} does not. Use another step or choice, or "
                "the exponential loss of RankBoost."
            )

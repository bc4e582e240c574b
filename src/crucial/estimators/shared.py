"""Groups of parameters that several estimators share, with what they are for."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from crucial.errors import ParameterError
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    int_between,
    none_or,
    one_of,
    parameter,
    refuse,
    with_parameters,
)
from crucial.weak.base import WeakLearner, check_methods
from crucial.weak.checked import CheckedLearner
from crucial.weak.features import ColumnLearner, FeatureLearner
from crucial.weak.stumps import StumpLearner

__all__ = ["Binned", "RandomState", "Seeded", "Stumps", "Verbose", "WeakRankers"]

_RANDOM_STATE = Rule(
    ("a RandomState",),
    ("RandomState",),
    lambda value: value is np.random or isinstance(value, np.random.RandomState),
)
_NUMBER = Rule(("a finite number",), ("float",), between(-math.inf, math.inf).accepts)
_METHODS = ("prepare", "propose", "accept")
_WEAK_LEARNER = Rule(
    ("an object with prepare, propose and accept",),
    ("object",),
    lambda value: any(hasattr(value, name) for name in _METHODS),
)

#: A seed, as scikit-learn takes it.
RandomState: TypeAlias = int | np.random.RandomState | None


@with_parameters
class Seeded:
    """Estimators that draw random numbers."""

    random_state: RandomState = parameter(
        none_or(either(at_least(0), _RANDOM_STATE)), "Seeds all random draws.", default=0
    )

    def _seed(self) -> int:
        """Return one integer for everything random in a fit."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))


@with_parameters
class Verbose:
    """Estimators that show their progress."""

    verbose: int = parameter(
        at_least(0),
        "1 shows a progress bar where standard error is a terminal.",
        default=0,
        shapes_model=False,
    )


@with_parameters
class Binned:
    """Estimators that cut features into bins."""

    max_bins: int | None = parameter(
        none_or(int_between(2, 65535)),
        "Bins per feature; None for one per distinct value.",
        default=255,
    )


@with_parameters
class Stumps(Binned, Seeded):
    """Estimators whose weak rankers are stumps."""

    thresholds: str = parameter(
        one_of("quantiles", "random"),
        "Which thresholds a feature keeps that has more than fit in ``max_bins``: weighted "
        "quantiles, or ``max_bins - 1`` of them drawn at random (Connamacher et al. 2019, who "
        "draw 255), seeded by random_state.",
        default="quantiles",
    )

    default_rank: str | float = parameter(
        one_of("learned", 0, 1),
        "Score of a stump where its feature abstains (``q_def``).",
        default="learned",
    )

    def _stump_learner(self, choice: str = "steepest") -> StumpLearner:
        """Make the learner of stumps, with a rule of choice."""
        return StumpLearner(choice, _plain_rank(self.default_rank), self.max_bins, self._drawn_by())

    def _drawn_by(self) -> int | None:
        """Return the seed of thresholds that are drawn; None for quantiles."""
        if self.thresholds == "quantiles":
            return None
        if getattr(self, "warm_start", False) and not isinstance(self.random_state, int):
            raise ParameterError(
                "warm_start continues with the thresholds of the last fit: thresholds='random' "
                f"then needs an integer as random_state. Got {self.random_state!r}."
            )
        return self._seed()


def _plain_rank(value: str | float) -> str | int:
    """Return "learned", or 0 or 1 as a whole number."""
    return value if isinstance(value, str) else int(value)


@with_parameters
class WeakRankers(Stumps):
    """Estimators that let the user choose the weak rankers."""

    weak: str | WeakLearner = parameter(
        either(one_of("stump", "feature", "column"), _WEAK_LEARNER),
        "Weak rankers: stumps, features scaled to [0, 1], columns that are weak rankers already, "
        "or a weak learner of your own.",
        default="stump",
    )

    default_rank: str | float = parameter(
        either(one_of("learned", 0, 1), _NUMBER),
        "Score of a weak ranker where its feature abstains (``q_def``): 0, 1, or the better of "
        'both. With ``weak="feature"`` or ``"column"`` any number in [0, 1]; with '
        '``step="numeric"`` any number at all.',
        default="learned",
    )

    def _check_default(self, step: str) -> None:
        """Refuse a score of abstentions that the weak rankers or the step rule cannot have."""
        if self.default_rank == "learned" or not isinstance(self.weak, str):
            return
        owner, shown = type(self).__name__, self.default_rank
        if self.weak == "stump" and self.default_rank not in (0, 1):
            rule = "one of 'learned', 0, 1 with weak='stump'"
            raise refuse(owner, "default_rank", rule, shown, "weak='feature' takes any number.")
        if step != "numeric" and not 0 <= float(self.default_rank) <= 1:
            rule = f"'learned' or in [0, 1] with step={step!r}"
            remedy = "Method 1, step='numeric', takes any number." if owner == "RankBoost" else ""
            raise refuse(owner, "default_rank", rule, shown, remedy)

    def _weak_learner(self, choice: str, step: str) -> WeakLearner:
        """Make the weak learner that ``weak`` names, with a choice rule and a step rule."""
        if isinstance(self.weak, str):
            if self.weak == "stump":
                return self._stump_learner(choice)
            kind = FeatureLearner if self.weak == "feature" else ColumnLearner
            return kind(choice, self.default_rank)
        check_methods("weak learner", self.weak, WeakLearner, _METHODS)
        # A copy: what a learner keeps of the data must not end up in a parameter.
        return CheckedLearner(deepcopy(self.weak), step)

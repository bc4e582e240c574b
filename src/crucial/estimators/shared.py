"""Groups of parameters that several estimators share, with what they are for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from crucial.boosting.stumps import StumpLearner
from crucial.boosting.trace import Callback
from crucial.parameters import (
    Rule,
    at_least,
    between,
    either,
    flag,
    int_between,
    none_or,
    one_of,
    parameter,
    with_parameters,
)

__all__ = ["ANY_NUMBER", "Binned", "Followed", "RandomState", "Seeded", "Stumps", "Verbose"]

_RANDOM_STATE = Rule(
    ("a RandomState",),
    ("RandomState",),
    lambda value: value is np.random or isinstance(value, np.random.RandomState),
)
_CALLBACKS = Rule(
    ("a function", "a list of functions"),
    ("callable", "list of them"),
    lambda value: (
        callable(value) or (isinstance(value, list | tuple) and all(callable(one) for one in value))
    ),
)
#: Allows any finite number.
ANY_NUMBER = Rule(("a finite number",), ("float",), between(-math.inf, math.inf).accepts)
# Model files keep the seed, and whole numbers of 64 bits at most.
_LARGEST_SEED = 2**63 - 1
#: A seed, as scikit-learn takes it.
RandomState: TypeAlias = int | np.random.RandomState | None


@with_parameters
class Seeded:
    """Estimators that draw random numbers."""

    random_state: RandomState = parameter(
        none_or(either(int_between(0, _LARGEST_SEED), _RANDOM_STATE)),
        "Seeds all random draws.",
        default=0,
    )

    #: Seed of thresholds that several runs share; None where each draws its own.
    _threshold_seed: int | None = None

    def _seed(self) -> int:
        """Return one integer for everything random in a fit."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))


@with_parameters
class Verbose:
    """Estimators that show their progress."""

    verbose: int = parameter(
        either(at_least(0), flag),
        "1 or True shows the progress on standard error: a bar on a terminal, about 20 lines "
        "elsewhere. A larger number writes one line per so many rounds there.",
        default=0,
        shapes_model=False,
    )


@with_parameters
class Followed(Verbose):
    """Estimators that show their rounds, and call functions after each of them."""

    callbacks: Callback | Sequence[Callback] | None = parameter(
        none_or(_CALLBACKS),
        "Called after every round with a `crucial.boosting.trace.FinishedRound`: number, loss, "
        "measures on the eval set, trace. The training ends after a round for which one returns "
        "True. With validation_folds, only the run on all data is followed.",
        default=None,
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
        return self._seed() if self._threshold_seed is None else self._threshold_seed


def _plain_rank(value: str | float) -> str | int:
    """Return "learned", or 0 or 1 as a whole number."""
    return value if isinstance(value, str) else int(value)

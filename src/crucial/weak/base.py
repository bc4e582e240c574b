"""What a weak learner gets and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.feedback.potentials import Potentials
from crucial.model.weak import WeakRankerLike
from crucial.types import Floats, Ints

__all__ = ["Candidate", "Constraints", "StepRule", "TrainingRows", "WeakLearner"]


@dataclass(frozen=True)
class Candidate:
    """A weak ranker on offer.

    Attributes
    ----------
    ranker : frozen weak ranker
        Goes into the model.
    output : array of shape (n_rows,)
        Its scores on the training rows; uint8 for a {0, 1} ranker, else float64.
    slope : float
        ``r = sum_x h(x) pi(x)``, the weighted mean of ``h(hi) - h(lo)``.
    weights : (W+, W-), optional
        Known already to a learner that searches by Z.
    slot : int, optional
        The learner's own number for it.
    """

    ranker: WeakRankerLike
    output: NDArray[Any]
    slope: float
    weights: tuple[float, float] | None = None
    slot: int = -1


class StepRule(Protocol):
    """Gives the weight of a candidate, or None where the rule is to stop."""

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Weight before the learning rate."""


@dataclass(frozen=True)
class Constraints:
    """What the weights of an ensemble must obey.

    Attributes
    ----------
    cumulative : bool
        The summed weight of every single weak ranker stays positive (the ``.cum``
        variants of Freund et al. 2003).
    monotone : int8 array of shape (n_features,), or None
        Per feature: 1 the summed jump at every threshold stays at 0 or more, -1 at 0 or
        less, 0 free. What an abstention is worth is always free.
    rate : float
        Learning rate, which multiplies what the step rule gives.
    """

    cumulative: bool = False
    monotone: NDArray[np.int8] | None = None
    rate: float = 1.0

    @property
    def any(self) -> bool:
        """Whether there is anything to obey."""
        return self.cumulative or (self.monotone is not None and bool(np.any(self.monotone)))


@dataclass(frozen=True)
class TrainingRows:
    """What weak rankers are made from.

    Attributes
    ----------
    instances : Instances
        As given.
    rows : int array
        The training rows, in the order of potentials and outputs.
    weight : array like rows, or None
    groups : Groups
        The queries of all instances.
    threads : int
    """

    instances: Instances
    rows: Ints
    weight: Floats | None
    groups: Groups
    threads: int


class WeakLearner(Protocol):
    """Makes the next weak ranker.

    A user-written learner needs these three methods and nothing else; see
    ``examples/own_weak_learner.py``.
    """

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """See the data once, before the first round; bins, if it made any, are reused."""

    def propose(self, potentials: Potentials) -> Candidate | None:
        """The best weak ranker for these potentials; None if there is none left."""

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Take note of the weight that a candidate got."""

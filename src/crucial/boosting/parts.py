"""The parts of an algorithm as protocols: objective, weak learner, step rule; and their checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins, SharedBins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.feedback.base import Feedback, Output, Potentials, ScoreState
from crucial.model.weak import WeakRankerLike
from crucial.types import Floats, Ints

# --- Objectives: what boosting minimises over the scores


class Objective(Protocol):
    """A loss over the scores of a feedback's rows.

    Derive from it to inherit `notes`.

    Attributes
    ----------
    name : str
        What the parameter ``loss`` of `GradientRanker` calls it; see
        `crucial.boosting.row_losses.LOSSES`.
    about : str
        Follows the name in the documentation.
    settings : tuple of str
        The arguments of its constructor: parameters of the ranker, or "seed".
    takes_pairs : bool
        Whether it learns from explicit pairs too, and not from labels alone.
    leaf_l2 : float
        ``l2`` of trees by default.
    cost : float
        Time of a round beside that of its histograms, for searches that must be done in time.
    parted : str or None
        How the totals of parts of the rows add up, on a cluster: as those of "pairs", of "logistic"
        pairs or of "rows". None where all rows must be in one place.
    """

    name: str = ""
    about: str = ""
    settings: tuple[str, ...] = ()
    takes_pairs: bool = True
    leaf_l2: float = 1.0
    cost: float = 2.0
    parted: str | None = None

    @abstractmethod
    def begin(self, feedback: Feedback, threads: int) -> ScoreState:
        """Return the state of the loss at scores of 0, over ``feedback.rows``."""

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return further values for the trace after a round, by name."""
        return {}


# --- Weak learners: what they get, what they return, and the step rules they may ask


@dataclass(frozen=True)
class Candidate:
    """A weak ranker that a learner proposes.

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
    output: Output
    slope: float
    weights: tuple[float, float] | None = None
    slot: int = -1


@dataclass(frozen=True)
class Constraints:
    """Rules that the weights of an ensemble obey.

    Attributes
    ----------
    cumulative : bool
        The summed weight of every single weak ranker stays positive (the ``.cum``
        variants of Freund et al. 2003, section 4).
    monotone : int8 array of shape (n_features,), or None
        Per feature: 1 keeps the summed jump at every threshold at 0 or more, -1 at 0 or
        less, 0 leaves it free. The score of an abstention is always free.
    rate : float
        Learning rate, which multiplies what the step rule returns.
    """

    cumulative: bool = False
    monotone: NDArray[np.int8] | None = None
    rate: float = 1.0

    @property
    def any(self) -> bool:
        """Whether any rule restricts the weights."""
        return self.cumulative or (self.monotone is not None and bool(np.any(self.monotone)))


@dataclass(frozen=True)
class TrainingRows:
    """The rows that weak rankers are made from.

    Attributes
    ----------
    instances : Instances
        All rows of the input.
    rows : int array
        The training rows, in the order of potentials and outputs.
    weight : array like rows, or None
    groups : Groups
        The queries of all instances.
    threads : int
    shared : SharedBins or None
        Bins of more rows, of which these are some.
    """

    instances: Instances
    rows: Ints
    weight: Floats | None
    groups: Groups
    threads: int
    shared: SharedBins | None = None

    def binned(
        self, max_bins: int | None, drawn_by: int | None = None, sparse: bool = False
    ) -> Bins:
        """Return the features of the rows in bins; parameters as in `Bins.build`."""
        if self.shared is not None:
            return self.shared.of(self.rows, max_bins, drawn_by, sparse)
        rows = (self.instances, self.rows, self.weight)
        return Bins.build(*rows, max_bins, self.threads, drawn_by, sparse)

    def scored(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker on the training rows."""
        scores = ranker.scores(self.instances.dense_table(), self.groups)
        return as_output(np.asarray(scores)[self.rows])


def as_output(values: NDArray[Any]) -> Output:
    """Return scores as uint8 where all are 0 or 1, else as float64."""
    if bool(((values == 0) | (values == 1)).all()):
        return values.astype(np.uint8)
    return values.astype(np.float64)


class StepRule(Protocol):
    """Chooses the weight of a candidate.

    Derive from it to inherit `accept` and `notes`.

    Attributes
    ----------
    name : str
        What the parameter ``step`` of `RankBoost` calls it; see `crucial.boosting.steps.STEPS`.
    about : str
        Follows the name in the documentation.
    needs : tuple of str
        Methods and attributes that the state of the objective must have, beyond those of
        `crucial.feedback.base.ScoreState`; checked before the first round.
    scores : {"binary", "unit", "any"}
        The weak rankers that it can weigh: those of scores 0 and 1, in [0, 1], or of any numbers.
    parted : bool
        Whether it works where the rows are in parts, on a cluster.
    """

    name: str = ""
    about: str = ""
    needs: tuple[str, ...] = ()
    scores: str = "unit"
    parted: bool = False

    @abstractmethod
    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight before the learning rate, or None to stop."""

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Record the weight that a candidate got, learning rate included."""
        return

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return further values for the trace after a round, by name."""
        return {}


class WeakLearner(Protocol):
    """Proposes the next weak ranker.

    A learner of your own needs `prepare`, `propose` and `accept`; derive it from this class
    to inherit the rest. See ``examples/own_weak_learner.py``.

    Attributes
    ----------
    needs : tuple of str
        As in `StepRule`.
    parted : str or None
        Which learner does the same where the rows are in parts, on a cluster: that of "stumps", of
        "trees" or of "unit trees". None where all rows must be in one place.
    """

    needs: tuple[str, ...] = ()
    parted: str | None = None

    @abstractmethod
    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Look at the data once, before the first round; return the bins, if it made any."""

    @abstractmethod
    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best weak ranker for these potentials, or None if none is left."""

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Record the weight that a candidate got, learning rate included."""
        return

    def apply_weight(self, candidate: Candidate, alpha: float) -> tuple[Candidate, float]:
        """Return the candidate and its weight as they go into the model.

        A learner whose rankers have values of their own may multiply them by the weight.
        """
        return candidate, alpha

    def reset_bounds(self) -> None:
        """Drop what was derived from earlier potentials: other pairs count from now on."""
        return

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate | None:
        """Return the candidate that a ranker of an earlier call was.

        None where the scores of the ranker on the training rows are all there is to it.
        """
        return None


def check_methods(
    role: str, part: object, protocol: type, names: Iterable[str] | None = None
) -> None:
    """Refuse a part of an algorithm that lacks methods, by their names.

    Parameters
    ----------
    role : str
        What the part is, for the message.
    protocol : type
        The class to derive from.
    names : methods the part must have; by default all of the protocol
    """
    if names is None:
        names = [n for n in vars(protocol) if callable(vars(protocol)[n])]
        names = [n for n in names if n == "__call__" or not n.startswith("_")]
    if isinstance(part, type):
        raise ParameterError(
            f"the {role} {part.__name__} is a class. Pass an instance: {part.__name__}()."
        )
    lacking = [name for name in names if not callable(getattr(part, name, None))]
    if lacking:
        raise ParameterError(
            f"the {role} {type(part).__name__} lacks {', '.join(lacking)}. Define it, or derive "
            f"the class from {protocol.__module__}.{protocol.__name__}, which has defaults "
            "(examples/own_weak_learner.py shows a part of one's own)."
        )


# --- Checks that the parts of an algorithm are complete and fit together, before the first round


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

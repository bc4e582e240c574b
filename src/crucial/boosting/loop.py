"""The one loop, the parts it takes (objective, weak learner, step rule), and its trace."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypedDict, overload

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from crucial.data.bins import Bins, SharedBins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import FileError, ParameterError
from crucial.feedback.base import Feedback, Output, PairState, Potentials, ScoreState
from crucial.io.text import read_cells
from crucial.io.writing import write_columns
from crucial.kernels.elementary import ExactSum, exp
from crucial.measures.base import Prepared
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    ScaledFeature,
    Stump,
    Tree,
    Vote,
    WeakRankerLike,
)
from crucial.progress import progress_bar
from crucial.results import Frame, Result, as_frame
from crucial.types import Floats, Ints, PathLike
from crucial.wording import counted

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
    takes_balance : bool
        Whether all pairs (rows) weigh the same with ``balance="pairs"``. Otherwise all queries do.
    default_gain : str
        What a label is worth without ``gain``, for the documentation.
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
    takes_balance: bool = True
    default_gain: str = "pairs of the same weight"
    cost: float = 2.0
    parted: str | None = None

    @abstractmethod
    def begin(self, feedback: Feedback, threads: int) -> ScoreState:
        """Return the state of the loss at scores of 0, over ``feedback.rows``."""

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return further values for the trace after a round, by name."""
        return {}


class ExponentialLoss(Objective):
    """E1(H): weighted mean over pairs of ``exp(H(lo) - H(hi))``.

    Connamacher et al. (2019, equation 5). After each round it is the product of the
    normalisers Z_t so far, which bounds the weighted share of misordered pairs (Freund et
    al. 2003, theorem 1).
    """

    name, about = "exponential", "all pairs, as in `RankBoost`; also from explicit pairs"
    parted = "pairs"

    def begin(self, feedback: Feedback, threads: int) -> PairState:
        """Return the state of the loss at scores of 0."""
        return feedback.state(threads=threads)


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


# --- The trace of a fit: one entry per round, shown as progress and written to a file


@dataclass(frozen=True)
class Round:
    """One round.

    Attributes
    ----------
    ranker : weak ranker chosen
    alpha : its weight, learning rate included
    r : weighted mean of ``h(hi) - h(lo)`` before the round
    z : factor on the loss
    log_loss : logarithm of E1 after the round (of E2 for RankBoost+)
    r1, r2 : risks on the training pairs, where recorded
    measures : values on the eval set after the round, by name
    extras : further values of the algorithm's parts, by name
    seconds : time the round took
    """

    ranker: WeakRankerLike
    alpha: float
    r: float
    z: float
    log_loss: float
    r1: float | None = None
    r2: float | None = None
    measures: dict[str, float] = field(default_factory=dict)
    extras: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        """E1 (E2 for RankBoost+) after the round: the product of all z so far."""
        return exp(self.log_loss)


class BoundTerms(TypedDict):
    """The terms of bounds on the training error.

    Attributes
    ----------
    rounds : int
    log_loss : float
        Logarithm of the product of all z.
    squares : float or None
        Sum of r^2 (of delta^2 where the trace has a ``delta``).
    """

    rounds: int
    log_loss: float
    squares: float | None


class Trace(Result):
    """The rounds, as a sequence and as columns.

    Examples
    --------
    ``trace[0].alpha``, ``len(trace)``, ``trace["loss"]``, ``trace.to_dict()``.
    """

    _bars = ("loss",)

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self.stopped = ""

    def add(self, entry: Round) -> None:
        """Append a round."""
        self._rounds.append(entry)

    def __len__(self) -> int:
        return len(self._rounds)

    def __iter__(self) -> Iterator[Round]:
        return iter(self._rounds)

    @overload
    def __getitem__(self, at: int) -> Round: ...
    @overload
    def __getitem__(self, at: str) -> Floats: ...
    def __getitem__(self, at: int | str) -> Round | Floats:
        return self.column(at) if isinstance(at, str) else self._rounds[at]

    def __str__(self) -> str:
        if not self._rounds:
            return "no rounds"
        ended = f", ended: {self.stopped}" if self.stopped else ""
        return f"{counted(len(self), 'round')}, loss {self._rounds[-1].loss:.6g}{ended}"

    def column(self, name: str) -> Floats:
        """Return one number per round: a field of `Round`, ``loss``, a measure or an extra."""
        if self._rounds and not _known(self._rounds[0], name):
            raise ParameterError(
                f"the trace has no column {name!r}; it has {', '.join([*self.to_dict()][1:])}."
            )
        return np.array([_value(e, name) for e in self._rounds])

    def bound_terms(self, n_rounds: int | None = None) -> BoundTerms:
        """Return the terms of bounds on the training error, after the first rounds.

        "squares" is None where a round has ``z > sqrt(1 - r^2)``, so that r does not bound z.
        """
        rounds = self._rounds if n_rounds is None else self._rounds[:n_rounds]
        edges = [one.extras.get("delta", one.r) for one in rounds]
        holds = all(one.z * one.z <= 1.0 - r * r + 1e-9 for one, r in zip(rounds, edges))
        return {
            "rounds": len(rounds),
            "log_loss": rounds[-1].log_loss if rounds else 0.0,
            "squares": math.fsum(r * r for r in edges) if holds else None,
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, ready for a data frame."""
        names = ["alpha", "r", "z", "loss", "log_loss", "seconds"]
        if self._rounds and self._rounds[0].r1 is not None:
            names += ["r1", "r2"]
        if self._rounds:
            names += [*self._rounds[0].extras, *self._rounds[0].measures]
        table: dict[str, list[Any]] = {"round": list(range(1, len(self) + 1))}
        table["ranker"] = [e.ranker for e in self._rounds]
        table["feature"] = [getattr(e.ranker, "feature", None) for e in self._rounds]
        return table | {name: self.column(name).tolist() for name in names}

    def to_frame(self) -> Frame:
        """Return one row per round, without the weak rankers."""
        return as_frame({name: cells for name, cells in self.to_dict().items() if name != "ranker"})


def _known(entry: Round, name: str) -> bool:
    return name in entry.measures or name in entry.extras or hasattr(entry, name)


def _value(entry: Round, name: str) -> float:
    for named in (entry.measures, entry.extras):
        if name in named:
            return named[name]
    value: float = getattr(entry, name)
    return value


# --- Write the trace of a fit to a file of tab-separated columns, and read it back


def write_trace(path: PathLike, trace: Trace, feature_names: Sequence[str] | None = None) -> None:
    """Write one line per round, as the name of the file ends; whole or not at all.

    Parameters
    ----------
    path : str or path
    trace : Trace
    feature_names : sequence of str, optional
        Names to write in place of the features' numbers.
    """
    columns = trace.to_dict()
    rankers = columns.pop("ranker")
    columns["feature"] = [", ".join(_features(one, feature_names)) for one in rankers]
    columns["threshold"] = [getattr(one, "threshold", None) for one in rankers]
    write_columns(path, columns, exact=True)


def _features(ranker: object, names: Sequence[str] | None) -> list[str]:
    """Return the names, or the numbers, of the features of a weak ranker."""
    one = getattr(ranker, "feature", None)
    numbers = sorted(set(ranker.features)) if isinstance(ranker, Tree) else [one]
    return [str(f if names is None else names[f]) for f in numbers if f is not None]


def read_trace(path: PathLike) -> dict[str, list[str]]:
    """Read the columns of a trace that `write_trace` wrote, as text.

    Raises
    ------
    FileError
        The file is not such a table; the error names the line.
    """
    table = read_cells(path)
    if "round" not in table.names or len(set(table.names)) < len(table.names):
        raise FileError(
            path, "this is not a trace: it must have named columns, 'round' among them.", 1
        )
    for name in {"round", "loss"}.intersection(table.names):
        table.numbers(table.require(name), name, missing=True)
    return dict(zip(table.names, table.columns))


# --- What follows a fit round by round: the progress bar, and functions of the user


#: Why a run ended that a callback stopped, as the trace has it.
STOPPED = "stopped by a callback"


@dataclass(frozen=True, eq=False)
class FinishedRound:
    """A round that is done, as callbacks get it.

    Attributes
    ----------
    number : int
        Of this round, from 1.
    n_rounds : int
        Rounds at most.
    entry : Round
        Weak ranker, weight, loss, and the measures on the eval set.
    trace : Trace
        All rounds so far.
    """

    number: int
    n_rounds: int
    entry: Round
    trace: Trace

    @property
    def loss(self) -> float:
        """The training loss after the round."""
        return self.entry.loss

    @property
    def measures(self) -> dict[str, float]:
        """Values on the eval set after the round, by name; empty without an eval set."""
        return dict(self.entry.measures)


#: A function of the user, called after every round; True ends the training.
Callback: TypeAlias = Callable[[FinishedRound], object]
#: What the loops call after every round: takes the number of rounds done and the trace, and
#: returns whether to stop.
Progress: TypeAlias = Callable[[int, Trace], bool]


@contextmanager
def show_rounds(
    rounds: int, verbose: int, more: Callable[[], str] | None = None
) -> Iterator[Progress | None]:
    """Show the rounds done and the last loss; yields the function to call after each round.

    None is yielded if nobody would see it; see `progress_bar` for what is shown where.

    Parameters
    ----------
    more : function, optional
        Returns what else is shown after each round.
    """
    if not verbose:
        yield None
        return
    with progress_bar("boosting", rounds, verbose=verbose) as show:
        if show is None:
            yield None
            return

        def after_round(done: int, trace: Trace) -> bool:
            last = trace[-1]
            values = {"loss": last.loss, **last.measures}
            notes = [f"{name} {value:.4f}" for name, value in values.items()]
            show(done, "  ".join(notes if more is None else [*notes, more()]))
            return False

        yield after_round


def with_callbacks(
    progress: Progress | None,
    rounds: int,
    callbacks: Callback | Sequence[Callback] | None,
    *,
    replayed: int = 0,
) -> Progress | None:
    """Return a function that shows progress, then calls the callbacks, and returns whether to stop.

    Parameters
    ----------
    progress : function, or None
        Shows the progress.
    rounds : int
        Rounds at most.
    callbacks : function, sequence of functions, or None
        Each is called with a `FinishedRound`; one that returns True ends the run.
    replayed : int
        First rounds, which an earlier fit has made: callbacks are not called for them.
    """
    every = [callbacks] if callable(callbacks) else list(callbacks or ())
    if not every:
        return progress

    def after_round(done: int, trace: Trace) -> bool:
        if progress is not None:
            progress(done, trace)
        if done <= replayed:
            return False
        finished = FinishedRound(done, rounds, trace[-1], trace)
        answers = [callback(finished) for callback in every]  # (all are called)
        # (NumPy's True too, as comparisons of its numbers return it; no other number stops)
        return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)

    return after_round


# --- The one loop: potentials, weak ranker, weight, scores


FREE = Constraints()


@dataclass
class Ensemble:
    """Weak rankers and their weights, with what happened in every round.

    Attributes
    ----------
    rankers, weights : lists, one entry per round
    trace : Trace
    bins : Bins or None
        As made by the weak learner.
    scores : array over ``feedback.rows``
        Of the whole ensemble.
    """

    rankers: list[WeakRankerLike] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)
    bins: Bins | None = None
    scores: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, entry: Round, progress: Progress | None, watch: Watch | None) -> bool:
        """Append the weak ranker of a round, and report it; return whether to stop."""
        self.rankers.append(entry.ranker)
        self.weights.append(entry.alpha)
        self.trace.add(entry)
        if progress is not None and progress(len(self.rankers), self.trace):
            self.trace.stopped = STOPPED
        if watch is not None and watch.done:
            self.trace.stopped = "early stopping"
        return bool(self.trace.stopped)


def boost(
    training: TrainingRows,
    feedback: Feedback,
    objective: Objective,
    learner: WeakLearner,
    step: StepRule,
    *,
    rounds: int,
    constraints: Constraints = FREE,
    subsample: float = 1.0,
    seed: int = 0,
    watch: Watch | None = None,
    record_risks: bool = False,
    progress: Progress | None = None,
    earlier: Sequence[Round] = (),
) -> Ensemble:
    """Add weak rankers until the rounds are done, none helps, or early stopping ends them.

    A round after which the objective is infinite is not added: the scores have diverged.

    Parameters
    ----------
    training, feedback : the data
    objective, learner, step : the parts that make the algorithm
        A part that lacks a method is refused before the first round.
    rounds : int
        Length of the whole ensemble, earlier rounds included.
    constraints : Constraints
        Includes the learning rate.
    subsample : float
        Share of the queries that count in a round, drawn anew each time.
    watch : Watch, optional
        The eval set, which decides about early stopping.
    earlier : rounds of an earlier call on the same data
        They are replayed without a search. What follows is to the byte what one longer
        call would have done.
    """
    check_parts(objective, learner, step)
    objective, learner = feedback.pieces(objective, learner, step, watch)
    ensemble = Ensemble(bins=learner.prepare(training, constraints, step))
    potentials = Potentials(objective.begin(feedback, training.threads), training.threads)
    check_needs(objective, learner, step, potentials.pairs)
    if watch is not None:
        watch.prepare(ensemble.bins, training.threads)
    for number in range(rounds):
        began = time.perf_counter()
        if subsample < 1.0:
            # Seeded by round, so that a continued run draws what a long one would.
            potentials.subsample(subsample, np.random.default_rng([seed, number]))
            learner.reset_bounds()
        before = potentials.log_loss
        found: tuple[Candidate, float] | str
        if number < len(earlier):
            one = earlier[number]
            restored = learner.restore(one.ranker, one.r)
            if restored is None:
                restored = Candidate(one.ranker, training.scored(one.ranker), one.r)
            found = restored, one.alpha
        else:
            found = _next(learner, step, potentials, constraints.rate)
        if isinstance(found, str):
            ensemble.trace.stopped = found
            break
        candidate, alpha = found
        potentials.advance(candidate.output, alpha)
        if potentials.log_loss == math.inf:
            # The model ends with the round before; its scores are not those of the state.
            ensemble.trace.stopped = f"diverged in round {number + 1}"
            return ensemble
        learner.accept(candidate, alpha)
        step.accept(candidate, alpha)
        r1, r2 = potentials.pairs.risks() if record_risks else (None, None)
        entry = Round(
            candidate.ranker,
            alpha,
            candidate.slope,
            exp(potentials.log_loss - before),
            potentials.log_loss,
            r1,
            r2,
            measures={} if watch is None else watch.advance(candidate.ranker, alpha),
            extras={**objective.notes(potentials), **step.notes(potentials)},
            seconds=time.perf_counter() - began,
        )
        if ensemble.add(entry, progress, watch):
            break
    ensemble.scores = potentials.pairs.scores
    return ensemble


def _next(
    learner: WeakLearner, step: StepRule, potentials: Potentials, rate: float
) -> tuple[Candidate, float] | str:
    """Return the candidate of a round and its weight, or why there is none."""
    candidate = learner.propose(potentials)
    if candidate is None:
        return "no weak ranker helps"
    alpha = step(candidate, potentials)
    if alpha is None:
        return "perfect weak ranker"
    if alpha == 0.0:
        return "no weak ranker helps"
    folded, weight = learner.apply_weight(candidate, rate * alpha)
    # (values may be too small for the grid that a learner rounds them to)
    if folded is not candidate and not folded.output.any():
        return "no weak ranker helps"
    return folded, weight


# --- The eval set of a fit: measures after every round, and when to stop


# A share of the squares that is treated as zero.
_ROUNDING = 1e-13


#: A measure of an eval set: its name, a function of the scores, and whether more is better.
Measured: TypeAlias = tuple[str, Callable[[Floats], float], bool]


class Watch:
    """The scores of an eval set after every round, and the measures on it.

    Parameters
    ----------
    instances, groups : the eval set
    measures : sequence of (name, function of scores, whether more is better)
        The first one decides when to stop.
    patience : int or None
        Rounds without a new best value before stopping.
    tolerance : float
        Standard errors, over the queries, by which a round may be worse than the best so far and
        still takes its place as ``best_round``. With few queries the first best round is a
        matter of luck, and mostly too early.
    """

    def __init__(
        self,
        instances: Instances,
        groups: Groups,
        measures: Sequence[Measured],
        patience: int | None,
        tolerance: float = 0.0,
    ) -> None:
        self.instances, self._groups, self._measures = instances, groups, measures
        self._patience, self._tolerance = patience, tolerance
        self._best_queries: Floats | None = None  # the measure on each, in the best round
        self.scores = np.zeros(instances.n_rows)
        self.best_round = 0
        self._best = -np.inf
        self._seen = 0
        self._bins: Bins | None = None

    def prepare(self, bins: Bins | None, threads: int) -> None:
        """Code the eval set as the training set was, so that stumps cost one comparison.

        Where the codes of the training set are those of stored entries, nothing is coded: stumps
        are computed from the column of their feature.
        """
        self._bins = None if bins is None or bins.sparse is not None else bins
        if bins is not None and self._bins is not None:
            rows = np.arange(self.instances.n_rows)
            self._codes = bins.recode(self.instances, rows, threads)
            self._place = {int(j): f for f, j in enumerate(bins.features)}

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Add a weak ranker to the scores and measure them."""
        self.scores += alpha * self._output(ranker)
        return self.look()

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker, by the codes of its feature where there are some."""
        if isinstance(ranker, Constant):
            return np.ones(self.instances.n_rows)
        if isinstance(ranker, Vote):
            return 2.0 * self._output(ranker.ranker) - 1.0
        if isinstance(ranker, Affine):
            return ranker.intercept + ranker.slope * self._output(ranker.ranker)
        if self._bins is not None and isinstance(ranker, Stump | Presence):
            f = self._place[ranker.feature]
            codes = self._codes[f, : self.instances.n_rows]
            absent = codes == len(self._bins.thresholds[f]) + 1
            if isinstance(ranker, Presence):
                return np.where(absent, ranker.default, 1 - ranker.default)
            k = np.searchsorted(self._bins.thresholds[f], ranker.threshold) + 1
            return np.where(absent, ranker.default, codes >= k)
        if isinstance(ranker, ScaledFeature | Stump | Presence):
            column = self.instances.column(ranker.feature)[:, None]
            return replace(ranker, feature=0).scores(column)
        return ranker.scores(self.instances.dense_table(), self._groups)

    def look(self) -> dict[str, float]:
        """Measure the current scores; record the round if it is the best so far."""
        self._seen += 1
        values = self._measured()
        name, more = self.deciding
        if self._may_be_best():
            value = values[name] if more else -values[name]
            if value > self._best:  # the first of equal rounds stays
                self._best, self.best_round = value, self._seen
                self._keep()
            elif self._tolerance > 0.0 and self._worse() < self._tolerance:
                self.best_round = self._seen
        return values

    def _measured(self) -> dict[str, float]:
        """Return the measures of the current scores, by name."""
        scores = self.scores
        name, first, _ = self._measures[0]
        self._queries: Floats | None = None  # the deciding measure on each
        values: dict[str, float] = {}
        if self._tolerance > 0.0 and isinstance(first, Prepared):
            self._queries = first.per_query(scores)
            values[name] = first.summary(self._queries)[0]
        for other, function, _ in self._measures:
            if other not in values:
                values[other] = function(scores)
        return values

    def _keep(self) -> None:
        """Remember the queries of the best round."""
        self._best_queries = self._queries

    def _worse(self) -> float:
        """Return by how many standard errors a round is worse than the best."""
        _, measure, more = self._measures[0]
        queries = self._queries
        if queries is None or self._best_queries is None:
            return math.inf
        assert isinstance(measure, Prepared)
        worse = self._best_queries - queries if more else queries - self._best_queries
        weights = None if measure.measure.aggregate == "mean" else measure.bound.weights
        return worse_by(worse, weights)

    def _may_be_best(self) -> bool:
        """Return whether the ensemble may end with the current round."""
        return True

    @property
    def deciding(self) -> tuple[str, bool]:
        """The measure that decides which round is best, and whether more of it is better."""
        name, _, more = self._measures[0]
        return name, more

    @property
    def done(self) -> bool:
        """Whether patience has run out."""
        return self._patience is not None and self._seen - self.best_round >= self._patience


class Differences(NamedTuple):
    """Sums of differences, query by query, without rounding; those of parts add up.

    Attributes
    ----------
    n : int
        Queries with a difference.
    sums : ExactSums of w, w d, w^2, w^2 d and w^2 d^2
        Over the weights w and the differences d of the queries.
    """

    n: int
    sums: tuple[ExactSum, ...]

    @classmethod
    def of(cls, differences: Floats, weights: Floats | None = None) -> Differences:
        """Add up the differences of some queries; parameters as in `worse_by`."""
        known = ~np.isnan(differences)
        d = differences[known]
        w = np.ones(len(d)) if weights is None else weights[known]
        terms = (w, w * d, w**2, w**2 * d, (w * d) ** 2)
        return cls(len(d), tuple(ExactSum.of(term) for term in terms))

    def worse_by(self) -> float:
        """Return the weighted mean difference in standard errors of it; see `worse_by`."""
        total, first, weight, cross, squares = (one.value for one in self.sums)
        if self.n < 2 or not total > 0.0:
            return math.inf
        mean = first / total
        spread = squares - mean * (2.0 * cross - mean * weight)
        if not spread > _ROUNDING * squares:
            return math.inf
        return mean * total / math.sqrt(spread * self.n / (self.n - 1))


def worse_by(differences: Floats, weights: Floats | None = None) -> float:
    """Return the mean of differences, query by query, in standard errors of it.

    Parameters
    ----------
    differences : array over the queries
        NaN where the measure has no value.
    weights : array over the queries, optional
        Numbers of pairs. (Squares of weights below 1e-150 would lose digits.)

    Returns
    -------
    float
        Infinite where there is no error to compare with: all differences are the same, or
        there is one query.

    Examples
    --------
    >>> round(worse_by(np.array([0.1, 0.0, np.nan, 0.2])), 12), worse_by(np.zeros(5))
    (1.732050807569, inf)
    """
    return Differences.of(differences, weights).worse_by()

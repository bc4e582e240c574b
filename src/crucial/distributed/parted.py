"""The pieces of the boosting loop for rows in parts: feedback, objective, eval set, weak learners.

The loop, the step rules and the searches are the local ones. The rows stay with the parts, and the
pieces here have totals instead: a `RankerOutput` stands for the scores of a weak ranker, and
`PartedState` asks the parts for the sums of a round in one exchange. A ranker fits a
`PartedTraining`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.loop import (
    Candidate,
    Constraints,
    Objective,
    Progress,
    Round,
    StepRule,
    TrainingRows,
    Watch,
    WeakLearner,
)
from crucial.boosting.pair_losses import ScoreReach
from crucial.boosting.row_losses import LossTotals
from crucial.boosting.stumps import DropSearch, StumpGrid, StumpLearner
from crucial.boosting.trees import GrownTree, TreeLearner, UnitTreeLearner
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.distributed.input import Schema
from crucial.distributed.part import (
    DrawnRows,
    LeafSums,
    Move,
    PartSurvey,
    Question,
    RoundAnswer,
    RowDraw,
    RowFacts,
    Setup,
    SplitOrder,
    Tallies,
    Totals,
    places_of,
)
from crucial.distributed.transport import Parts
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Feedback, Least, Output, Potentials, finite_total, whole_of
from crucial.feedback.labels import PairMass, QueryTotals, wrong_unit_of
from crucial.kernels.elementary import ExactSum, exact_dot, round_unit, unit_for
from crucial.kernels.runtime import Counts, part_of
from crucial.kernels.stumps import StumpSums
from crucial.kernels.trees import FeatureBlocks, LeafPlan, SplitSearch
from crucial.measures.base import Measure
from crucial.measures.names import default_measure, get_measures
from crucial.measures.positions import ExpectedReciprocalRank
from crucial.model.weak import Tree, WeakRankerLike
from crucial.rankers.base import HELD_OUT, n_held_out
from crucial.types import Bools, Floats, Ints
from crucial.wording import counted

# --- The eval set of a fit whose eval rows are in parts


class PartedWatch(Watch):
    """The measures on eval rows in parts, as the parts add them up.

    Parameters
    ----------
    parts : Parts
        With eval rows.
    measures : sequence of Measure
        The first one decides when to stop.
    patience, tolerance : as in `Watch`

    Attributes
    ----------
    kept : bool
        Whether the last round was better than all before.
    """

    def __init__(
        self, parts: Parts, measures: Sequence[Measure], patience: int | None, tolerance: float
    ) -> None:
        nothing = Instances(np.zeros((0, 1)))
        named = [(one.name, _unused, one.higher_is_better) for one in measures]
        super().__init__(nothing, Groups.single(0), named, patience, tolerance)
        self.kept = False
        self.tallies: Tallies = parts.total("watch", tuple(measures), changes=True)
        for name, value in self._measured().items():
            if not math.isfinite(value):
                raise DataError(
                    f"eval_set: {name} has no value on it, since no query has a relevant row (or a "
                    "pair of different labels).",
                    parameter="eval_set",
                )

    def prepare(self, bins: Bins | None, threads: int) -> None:
        """Do nothing: each part codes its own eval rows."""

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Read the measures that came with the potentials of the round."""
        return self.look()

    def _measured(self) -> dict[str, float]:
        tallies = zip(self._measures, self.tallies.measures, strict=True)
        return {name: tally.summary()[0] for (name, _, _), tally in tallies}

    def _keep(self) -> None:
        self.kept = True

    def _worse(self) -> float:
        worse = self.tallies.worse
        return math.inf if worse is None else worse.worse_by()


def _unused(scores: Floats) -> float:
    raise NotImplementedError


# --- The state of an objective whose rows are in parts: it has totals, and no row


# More than the rounding of sums of distances.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class RankerOutput:
    """Stands for the scores of a weak ranker on rows that are elsewhere."""

    ranker: WeakRankerLike

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that the scores have on the rows."""
        return np.dtype(np.float64 if isinstance(self.ranker, Tree) else np.uint8)

    def any(self) -> bool:
        """Return whether any score differs from 0."""
        return not isinstance(self.ranker, Tree) or any(self.ranker.values)

    def span(self, alpha: float) -> tuple[float, float] | None:
        """Return the smallest and the largest of the scores times alpha."""
        if not isinstance(self.ranker, Tree):
            return None
        steps = alpha * np.array(self.ranker.values)
        return float(steps.min()), float(steps.max())


def as_output(ranker: WeakRankerLike) -> Output:
    """Return a placeholder for the scores of a weak ranker, where scores are expected."""
    return cast(Output, RankerOutput(ranker))


class PartedState:
    """See `crucial.feedback.base.ScoreState`; potentials and scores stay with the parts.

    Parameters
    ----------
    parts : Parts
        Which have begun.
    log_total : float
        Logarithm of the weight of all pairs.

    Attributes
    ----------
    trial : bool
        Whether the scores are those of a copy that steps are tried on.
    trees : bool
        Whether to ask for the sums of a tree together with the totals of a round.
    stumps : function of a weight, or None
        Returns the features whose histograms to ask for after a step of that weight.
    hist : int64 array, or None
        Sums of potentials per bin of ``features``, in units of ``unit``; None where there are none.
    features : int array or None
        None: all.
    drift : float
        How far the slope of any stump can have moved.
    watch : PartedWatch or None
        Gets the measures on the eval set after every move.
    """

    def __init__(self, parts: Parts, log_total: float) -> None:
        self.parts, self._log_total = parts, log_total
        self.scores: Floats = np.zeros(0)
        self.trial = self.trees = False
        self.stumps: Callable[[float], Ints | None] | None = None
        self.hist: Ints | None = None
        self.features: Ints | None = None
        self.drift = math.inf
        self.slope = 0.0  # of the stump that was chosen last
        self.watch: PartedWatch | None = None
        self._start: float | None = None
        self._scale: float | None = None
        self._before: float | None = None  # scale before the scores moved last
        self._waiting: Move | None = None
        self._counting: Ints | None = None
        self._sizes: tuple[ExactSum, ...] | None = None
        self.totals: Totals

    @property
    def curvature(self) -> Floats:
        """Nothing here: it stays with the rows."""
        return self.scores

    def advance(self, output: Output, alpha: float) -> None:
        """Move the scores, as soon as the potentials are asked for."""
        own = cast(RankerOutput, output)
        best = self.watch is not None and self.watch.kept
        self._waiting = Move(own.ranker, alpha, own.span(alpha), best)
        self._before = self._scale

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Let the parts write their potentials; return their scale and the log of the loss."""
        before = None if self._before is None else whole_of(self._before)
        question = Question(sizes=self.trees, trial=self.trial)
        guess = None
        if before is not None and self.stumps is not None:
            guess = unit_for(before)
            question = replace(question, unit=guess, **self._foreseen())
        answer = self._asked(question)
        assert answer.totals is not None
        self.totals, self._sizes = answer.totals, answer.sizes
        self.hist = None if answer.lacking else answer.hist
        self.features = question.features
        if self._start is None:
            self._start = self._reference(answer.totals)
        found = answer.totals.finish(self._start)
        self._scale, self.drift = found[0], math.inf
        if question.scales is not None:
            wrong = abs(1.0 - question.scales[1] / self._scale)
            self.drift = 0.5 * answer.distance * (1.0 + _ROUNDING) + wrong + _ROUNDING
        self.unit = round_unit(before, whole_of(self._scale))
        if self.unit != guess:
            self.hist = None
        return found

    def _reference(self, totals: Totals) -> float:
        """Return the number that losses are relative to, by the totals at scores of 0."""
        assert isinstance(totals, LossTotals)
        return totals.loss.value

    def _foreseen(self) -> dict[str, Any]:
        """Return for which features histograms will be needed, as far as can be foreseen."""
        move = self._waiting
        if move is None or self._scale is None or self.stumps is None:
            return {}  # (queries were drawn: anything can have changed)
        # Z is 1 - alpha r + alpha^2 / 2 times the share of pairs that the step moves.
        z = max(0.1, 1.0 - move.alpha * self.slope + move.alpha**2 / 4.0)
        return {"features": self.stumps(move.alpha), "scales": (self._scale, self._scale / z)}

    def _asked(self, question: Question) -> RoundAnswer:
        """Ask the parts for their totals, after the move that is waiting."""
        move, self._waiting = self._waiting, None
        answer: RoundAnswer
        if move is None:
            answer = self.parts.total("ask", question, changes=True)
        else:
            answer = self.parts.total("advance", move, question, changes=True)
            if self.watch is not None and answer.tallies is not None:
                self.watch.tallies, self.watch.kept = answer.tallies, False
        if isinstance(answer.totals, QueryTotals) and answer.totals.underflows:
            self.parts.total("use_logarithms", self.trial, changes=True)
            answer = self.parts.total("ask", question, changes=True)
        shared = answer.shared
        if shared is None or (isinstance(shared, ScoreReach) and shared.narrow):
            return answer
        # All parts have to compute relative to the extremes of all.
        again = self.parts.total("ask", replace(question, shared=shared), changes=True)
        if answer.totals is None:
            return cast(RoundAnswer, again)
        return cast(RoundAnswer, again._replace(distance=math.inf))

    def histogram(self, features: Ints) -> Ints:
        """Return the sums of potentials per bin of features, one after the other."""
        sums: Ints = self.parts.total("histogram", self.unit, features)
        return sums

    def sizes(self) -> tuple[float, float]:
        """Return the sums of absolute potentials and of curvature."""
        if self._sizes is None:
            self._sizes = self.parts.total("sizes")
        assert self._sizes is not None
        size, curvature = self._sizes
        return size.value, curvature.value

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        found: tuple[float, float] = self.parts.total("risks").shares(self._log_total)
        return found

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries until the next draw."""
        if self._counting is None:
            self._counting = np.sort(np.concatenate(self.parts.total("counting")))
            self.parts.total("set_counting", self._counting, changes=True)
        seeds: Any = random.bit_generator.seed_seq
        self.parts.total("draw", fraction, tuple(seeds.entropy), changes=True)


class PartedPairs(PartedState):
    """The state of the exponential loss over pairs, which step rules ask for more."""

    def _reference(self, totals: Totals) -> float:
        return self._log_total

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        assert isinstance(self.totals, QueryTotals)
        ranker = cast(RankerOutput, output).ranker
        right, wrong = self.parts.total("sums_along", "weight_sums", self.trial, ranker)
        total = self.totals.drawn.value
        return right.value / total, wrong.value / total

    def prepare_scan(self) -> None:
        """Nothing here: the parts do so once they are asked for weights."""

    def scanned_weights(self, scans: Sequence[tuple[int, int]]) -> Floats:
        """Return W- of all thresholds, for (feature, rank of abstentions) one after the other."""
        assert isinstance(self.totals, QueryTotals)
        total = self.totals.drawn.value
        unit = wrong_unit_of(total)
        units: Ints = self.parts.total("wrong_units", scans, unit)
        # (as in `LabelState.wrong_weights`)
        weights: Floats = np.maximum(units, 0) * (unit / total)
        return weights

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        own = cast(RankerOutput, output)
        value, slope, curvature = self.parts.total(
            "sums_along", "moment_sums", self.trial, own.ranker, own.span(1.0)
        )
        return slope.value / value.value, curvature.value / value.value

    def copy(self) -> PartedPairs:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        self.parts.total("begin_trial", changes=True)
        trial = PartedPairs(self.parts, self._log_total)
        trial.trial = True
        return trial


class PartedLogistic(PartedState):
    """The state of the logistic loss over pairs."""

    def _reference(self, totals: Totals) -> float:
        (half,) = self.parts.total("pair_sums")
        return 2.0 * float(half.value)


# --- Feedback whose rows are in parts, and the objective over it


class PartedFeedback(Feedback):
    """Counts and weights of the pairs of all parts together.

    Parameters
    ----------
    parts : Parts
        Which have weighed their pairs.
    facts : RowFacts
    mass : PairMass
    """

    def __init__(self, parts: Parts, facts: RowFacts, mass: PairMass) -> None:
        self.parts, self.facts, self.log_total = parts, facts, mass.log_total
        self.n_rows, self.n_pairs = facts.rows, facts.counts.pairs
        # (of the rows only their number is asked for)
        self.rows = np.broadcast_to(np.int64(0), facts.counts.rows)
        self.weight = None
        self.total = finite_total(mass.total.value)
        self.n_queries = facts.counts.queries
        self.n_skipped = facts.queries - facts.counts.queries

    @classmethod
    def of(cls, parts: Parts, balance: str, gain: Any) -> PartedFeedback:
        """Let the parts sort and weigh their pairs; parameters as of `RankBoost`."""
        facts: RowFacts | None = parts.total("look", changes=True)
        if facts is None:
            raise DataError("No comparable pair: the parts have no rows.")
        if not facts.counts.rows:
            raise DataError(
                f"No comparable pair: none of the {counted(facts.queries, 'query')} has two rows "
                "of different labels (and of positive weight)."
            )
        mass: PairMass = parts.total("weigh", facts, balance, gain, changes=True)
        if facts.weighted and balance == "pairs" and mass.too_light:
            raise DataError(
                "the weights of rows are too far apart to be added up in parts; use weights of a "
                "similar size, or balance='queries'."
            )
        return cls(parts, facts, mass)

    def pieces(
        self, objective: Objective, learner: WeakLearner, step: StepRule, watch: Watch | None
    ) -> tuple[Objective, WeakLearner]:
        """Return the objective and the learner that do with parts what these do with all rows."""
        for piece in (objective, learner, step):
            if not piece.parted:
                raise ParameterError(
                    f"{type(piece).__name__} needs all rows in one place, and does not run on a "
                    "cluster; fit on one machine."
                )
        adapted = _LEARNERS[str(learner.parted)](learner, self.parts, self.facts.counts)
        return PartedObjective(objective, self.parts, cast(PartedWatch | None, watch)), adapted


class PartedObjective(Objective):
    """An objective whose state is in parts.

    Parameters
    ----------
    objective : Objective
    parts : Parts
    watch : PartedWatch or None
    """

    def __init__(self, objective: Objective, parts: Parts, watch: PartedWatch | None) -> None:
        self._objective, self._parts, self._watch = objective, parts, watch

    def begin(self, feedback: Feedback, threads: int) -> PartedState:
        """Let the parts begin; return what adds up their totals."""
        assert isinstance(feedback, PartedFeedback)
        facts, log_total = feedback.facts, feedback.log_total
        setup = Setup(
            self._objective, log_total, facts.counts, facts.weight.value, facts.absent,
            self._watch is not None,
        )  # fmt: skip
        self._parts.total("begin", setup, changes=True)
        state = _STATES[str(self._objective.parted)](self._parts, log_total)
        state.watch = self._watch
        return state

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the notes of the objective."""
        return self._objective.notes(potentials)


#: The states over parts, by ``parted`` of the losses.
_STATES = {"pairs": PartedPairs, "logistic": PartedLogistic, "rows": PartedState}


# --- Stumps over rows in parts: the local search, on sums that the parts have added up


# How much further than expected slopes may move before a feature is missed.
_MARGIN = 1.1
# How much of what slopes may move the best slope is expected to lose: with half of it an eighth
# more is added up, with a tenth of it features are missed twice as often, in every fourth round.
_LOSS = 0.2


class _PartedGrid(StumpGrid):
    """Stumps whose scores are elsewhere."""

    def output(self, position: int, default: int) -> Output:
        """Return a placeholder for the scores of a stump."""
        return as_output(self.ranker(position, default))


class _Sums(StumpSums):
    """Sums over the ones of every stump that parts of the rows have added up."""

    state: PartedState
    n_rows: int

    def slope_change(self, pi: Floats, scale: float, unit: float) -> float:
        """Return how far any slope can have moved since the last round."""
        self._hist[:], self._known[:] = 0, False
        found, features = self.state.hist, self.state.features
        if found is not None:
            self._fill(self._everything if features is None else features, found)
        return self.state.drift + scale * unit * self.n_rows + 1e-15

    def begin(self) -> None:
        """Forget all features."""
        self._known = np.zeros(len(self._everything), bool)

    def _fill(self, features: Ints, sums: Ints) -> None:
        self._hist[places_of(self._first, features)] = sums
        self._known[features] = True

    def scan(self, features: Ints, fixed: Ints, factor: float, slope: Floats, peak: Floats) -> Ints:
        """Renew the slopes and peaks of the features; return those that were renewed."""
        wanted = self._everything if self.scans_all else features
        unknown = wanted[~self._known[wanted]]
        if len(unknown):
            if math.isinf(self.state.drift):  # (all will be wanted: one call for them)
                unknown = np.flatnonzero(~self._known)
            self._fill(unknown, self.state.histogram(unknown))
        return self.slopes(wanted, self._hist, factor, slope, peak)


class _Drops(DropSearch):
    """Z of stumps, from weights of pairs that the parts have added up."""

    def _scan_all(self, features: list[int], potentials: Potentials, best: float) -> float:
        """Ask the parts for all features at once, then do as for rows at hand."""
        state, slopes = potentials.pairs, self._slopes
        assert isinstance(state, PartedPairs)
        first = slopes.first
        scans = [
            (f, default)
            for f in features
            for default in (0, 1)
            if slopes.offered[default, first[f] : first[f + 1]].any()
        ]
        self._found: dict[tuple[int, int], Floats] = {}
        if scans:
            ends = np.cumsum([first[f + 1] - first[f] for f, _ in scans])
            weights = np.split(state.scanned_weights(scans), ends[:-1])
            self._found = dict(zip(scans, weights, strict=True))
        return super()._scan_all(features, potentials, best)

    def _weigh(self, feature: int, default: int, potentials: Potentials, out: Floats) -> None:
        """Write W- of the stumps of a feature under one rank of abstentions."""
        out[:] = self._found[feature, default]


class PartedStumps(StumpLearner):
    """The best stump under the potentials of all parts; parameters as in `StumpLearner`."""

    def over(self, counts: Counts) -> Self:
        """Set the numbers of rows and of pairs in all parts."""
        self._counts = counts
        if self.choice == "largest_drop":
            self.needs = ("prepare_scan", "scanned_weights")
        return self

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Take the bins that the parts share."""
        bins = super().prepare(training, constraints, step)
        self.grid = _PartedGrid(bins, self.default_rank)
        signed = self.choice == "steepest_positive"
        with part_of(self._counts):
            self._sums = _Sums(bins.codes, 0, self.grid.stumps, signed, training.threads)
        self._sums.n_rows = self._counts.rows
        self._sums.begin()
        self._last_step = 0.0
        self.search.sums = self._sums
        if self.drops is not None:
            self.drops = _Drops(self.search, training.threads)
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        state = potentials.pairs
        assert isinstance(state, PartedState)
        # (the state asks for the sums of some features in advance)
        self._sums.state, state.stumps = state, self._wanted
        found = super().propose(potentials)
        if found is not None:
            state.slope = found.slope
        return found

    def _wanted(self, alpha: float) -> Ints | None:
        """Return the features that may have the best stump after a step; None for all.

        Those that it leaves out by mistake are asked for later, which costs time alone.
        """
        # (a small slope can go with a small Z)
        if self._constraints.any or self._sums.scans_all or self.drops is not None:
            return None
        search, last = self.search, self._sums.state.drift
        # A step moves slopes by about as much as the last one did, for its weight.
        step = abs(alpha)
        if math.isfinite(last) and self._last_step > 0.0:
            step = min(step, _MARGIN * last * abs(alpha) / self._last_step)
        self._last_step = abs(alpha)
        best = float(search.best_slope[search.slope_change == 0].max(initial=0.0))
        return np.flatnonzero(search.best_slope + search.slope_change + step >= best - _LOSS * step)


# --- Trees over rows in parts: the local growth, on sums that the parts have added up


_LOW = 0xFFFFFFFF


class _Asked(NamedTuple):
    """A split of a leaf, by the places where its rows would begin and end."""

    begin: int
    end: int
    feature: int
    place: int


class PartedSearch(SplitSearch):
    """Finds the splits of a tree whose rows are in parts.

    One call splits several leaves: beside the one that is next, those that are likely to follow. A
    tree that is grown best leaf first takes about one call per level that way, and is the same.

    Parameters
    ----------
    bins : Bins
        Without rows.
    signs : int array over the features
    parts : Parts
    counts : Counts
        Of all parts.
    threads : int
    """

    looks_ahead = True
    state: PartedState
    #: Which rows to draw for the next tree; None for all.
    draw: RowDraw | None = None

    def __init__(self, bins: Bins, signs: Ints, parts: Parts, counts: Counts, threads: int) -> None:
        nothing = np.zeros(0)
        facts = (bins.n_bins, bins.has_missing, signs)
        with part_of(counts):
            super().__init__(bins.codes, 0, *facts, nothing, threads)
        self._remote = parts
        self.rows = np.zeros(0, np.int32)
        self._whole = True
        self._foreseen: Sequence[LeafPlan] = ()
        self._known: dict[_Asked, tuple[SplitOrder, LeafSums]] = {}

    def start(
        self, gradient: Floats, curvature: Floats, rows: NDArray[np.int32] | None
    ) -> tuple[float, float]:
        """Begin a tree; return the sums of absolute gradient and curvature."""
        if self.draw is None:
            self.sizes = self.state.sizes()
            return self.sizes
        drawn: DrawnRows = self._ask_parts("sample", self.draw)
        if not drawn.n_rows:
            drawn = self._ask_parts("sample", replace(self.draw, least=drawn.least))
        gradient_sum, curvature_sum = drawn.sizes
        self.sizes = gradient_sum.value, curvature_sum.value
        return self.sizes

    def _ask_parts(self, method: str, *args: Any) -> Any:
        """Call a method of the tree of every part, which moves its rows."""
        return self._remote.total("tree", method, *args, changes=True)

    def quantise(self, units: tuple[float, float], allowed: Bools) -> None:
        """Let the parts round gradient and curvature, and add up all rows."""
        sampled = self.draw is not None
        sums: LeafSums = self._ask_parts("root", units, allowed, sampled)
        everything = (0, sums.n_rows)
        self.n_rows, self._hists = sums.n_rows, {everything: sums.hist}
        # Leaves are numbered here, as only here it is known where they begin.
        self._number = {everything: 0}
        self._total = {everything: sums.total}
        self._weights = {everything: sums.weights[0]}
        self._free = 1
        self._known.clear()

    def total(self, begin: int, end: int) -> int:
        """Return the sum of the words of a leaf."""
        return int(self._total[begin, end])

    def weight(self, begin: int, end: int) -> float:
        """Return the summed weight of a leaf."""
        return float(self._weights[begin, end])

    def partition(
        self,
        begin: int,
        end: int,
        feature: int,
        place: int,
        allowed: Bools | None = None,
        hist: NDArray[np.int64] | None = None,
    ) -> int:
        """Split a leaf; return the number of rows that go left."""
        asked = _Asked(begin, end, feature, place)
        if asked not in self._known:
            assert hist is not None
            self._ask([(asked, self._order(asked, hist, allowed)), *self._ahead(asked)])
        order, sums = self._known.pop(asked)
        self._small = order.adds_up
        both = ((begin, begin + sums.n_rows), (begin + sums.n_rows, end))
        self._hists[both[self._small]] = sums.hist
        totals = (sums.total, self._total[begin, end] - sums.total)
        self._number.update(zip(both, order.children, strict=True))
        self._total.update(zip(both, totals, strict=True))
        self._weights.update(zip(both, sums.weights, strict=True))
        return sums.n_rows

    def foresee(self, leaves: Sequence[LeafPlan]) -> None:
        """Take notice of leaves that may be split after the next one, the likeliest first."""
        self._foreseen = leaves

    def _ask(self, splits: list[tuple[_Asked, SplitOrder]]) -> None:
        """Let the parts split leaves, and keep what they return."""
        leaves = self._ask_parts("split", [order for _, order in splits])
        for (asked, order), sums in zip(splits, leaves, strict=True):
            self._known[asked] = order, sums

    def _ahead(self, first: _Asked) -> Iterator[tuple[_Asked, SplitOrder]]:
        """Yield the splits that are likely to follow the first and not known yet."""
        known = {(one.begin, one.end) for one in (first, *self._known)}
        for one in self._foreseen:
            if (one.begin, one.end) not in known:
                place = one.place
                if place is None:
                    place = self.place(one.hist, one.limits, one.split)
                asked = _Asked(one.begin, one.end, one.split.feature, place)
                yield asked, self._order(asked, one.hist, one.allowed)

    def _order(self, asked: _Asked, parent: NDArray[np.int64], allowed: Bools | None) -> SplitOrder:
        """Return the order to the parts to split a leaf."""
        begin, end, feature, place = asked
        left, whole = self.left_total(parent, feature, place), self._total[begin, end]
        # The child of less curvature is mostly the one of fewer rows, which are not known yet.
        small = 0 if 2 * (left & _LOW) <= whole & _LOW else 1
        children, self._free = (self._free, self._free + 1), self._free + 2
        return SplitOrder(self._number[begin, end], feature, place, children, small, allowed)

    def smaller(self, ranges: tuple[tuple[int, int], tuple[int, int]]) -> int:
        """Return the child that the parts have added up."""
        return self._small

    def sort(self, begin: int, end: int) -> None:
        """Do nothing: the order of rows changes no sum."""

    def _add(
        self, part: FeatureBlocks, begin: int, end: int, whole: bool, hist: NDArray[np.int64]
    ) -> None:
        """Write the histograms that the parts have added up."""
        sums = self._hists[begin, end]
        assert sums is not None
        for block in part.blocks.tolist():
            features = slice(8 * block, min(8 * block + 8, self._n_features))
            hist[8 * block : 8 * block + 8] = 0
            hist[features, : sums.shape[1]] = sums[features]

    def counts(self, begin: int, end: int, feature: int) -> Floats:
        """Return the weight of the rows of a leaf per bin of a feature."""
        number = self._number[begin, end]
        counts: Floats = self._remote.total("tree", "bin_weights", number, feature)
        return counts

    def leaf_sums(self, starts: Ints, units: tuple[float, float]) -> NDArray[np.int64]:
        """Return gradient and curvature of every leaf, as whole numbers of units."""
        leaves = np.array([self._number[one] for one in pairwise(starts.tolist())])
        sums: NDArray[np.int64] = self._remote.total("tree", "leaf_totals", leaves, units)
        return sums


class _Parted(TreeLearner):
    """Base of the learners of trees over rows in parts."""

    def over(self, parts: Parts, counts: Counts) -> Self:
        """Set the parts, and how much they have."""
        self._remote, self._counts = parts, counts
        return self

    def _splits(self, bins: Bins, weight: Floats, threads: int) -> PartedSearch:
        return PartedSearch(bins, self._signs, self._remote, self._counts, threads)

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, or None if no split helps."""
        state, search = potentials.pairs, self._search
        assert isinstance(state, PartedState)
        assert isinstance(search, PartedSearch)
        # (where rows are drawn, the sums are those of others)
        search.state, state.trees = state, self.sampling.rows >= 1.0
        return super().propose(potentials)

    def _drawn_rows(self, share: float) -> NDArray[np.int32]:
        """Let the parts draw rows as soon as the tree begins."""
        search = self._search
        assert isinstance(search, PartedSearch)
        search.draw = None
        if share < 1.0:
            search.draw = RowDraw(share, self.sampling.seed, self._round)
        return np.zeros(0, np.int32)

    def _outcome(
        self, tree: Tree, grown: GrownTree, potentials: Potentials
    ) -> tuple[Output, float]:
        if self._search.n_rows < self._counts.rows:
            (slope,) = self._remote.total("slope_sums", tree)
            return as_output(tree), slope.value
        return as_output(tree), exact_dot(np.array(grown.values), grown.gradients)

    def _output(self, tree: Tree) -> Output:
        return as_output(tree)

    def _moved(self, candidate: Candidate, folded: Tree, alpha: float) -> Output:
        return as_output(folded)


class PartedTrees(_Parted):
    """The best tree under the potentials of all parts; parameters as in `TreeLearner`."""


class PartedUnitTrees(_Parted, UnitTreeLearner):
    """Trees over rows in parts, divided by the span of their values, as in `UnitTreeLearner`."""

    def _divided(self, found: Candidate, divided: Tree, unit: float) -> Output:
        return as_output(divided)


def _stumps(learner: Any, parts: Parts, counts: Counts) -> WeakLearner:
    return PartedStumps(learner.choice, learner.default_rank, learner.max_bins).over(counts)


def _trees(kind: type[_Parted], learner: Any, parts: Parts, counts: Counts) -> WeakLearner:
    trees = kind(learner.limits, learner.max_bins, learner.sampling)
    trees.pairs = learner.pairs
    return trees.over(parts, counts)


#: The learners over parts, by ``parted`` of the learners that they stand for.
_LEARNERS: dict[str, Callable[[Any, Parts, Counts], WeakLearner]] = {
    "stumps": _stumps,
    "trees": partial(_trees, PartedTrees),
    "unit trees": partial(_trees, PartedUnitTrees),
}


# --- The rows in parts that a ranker fits


@dataclass(frozen=True)
class PartedTraining:
    """Rows in parts, for `BoostedRanker.fit_prepared`.

    Attributes
    ----------
    parts : Parts
        Of `crucial.distributed.part.Part`, new ones.
    schema : Schema
    progress : function, optional
        Called after every round.
    earlier : sequence of Round
        Rounds of an earlier fit to the same rows. They are replayed, and the rounds that follow
        are those of one longer fit.
    """

    parts: Parts
    schema: Schema
    progress: Progress | None = None
    earlier: Sequence[Round] = ()

    @property
    def with_qid(self) -> bool:
        """Whether the rows belong to queries."""
        return self.schema.with_qid

    def watch(self, ranker: Any, seed: int) -> PartedWatch | None:
        """Return the eval rows of the parts, or queries that are held out; None without either."""
        survey: PartSurvey = self.parts.total("survey") or PartSurvey(Least(math.inf))
        patience, lowest = ranker.early_stopping_rounds, survey.lowest_eval
        if lowest is None:
            if patience is None:
                return None
            numbers = self.parts.total("weighing") or [np.zeros(0, np.int64)]
            queries: Ints = np.sort(np.concatenate(numbers))
            if not self.with_qid or len(queries) < 2:
                raise DataError(
                    "early_stopping_rounds on parts of the rows holds out whole queries, and all "
                    "rows are of one: pass an eval set, or set early_stopping_rounds=None."
                )
            count = n_held_out(ranker.validation_fraction, len(queries))
            self.parts.total("hold_out", queries, count, (seed, HELD_OUT), changes=True)
            lowest, survey = survey.lowest, self.parts.total("survey")
        metric = ranker.eval_metric or default_measure(np.array([lowest]), self.with_qid)
        measures = [
            replace(one, highest=survey.highest_eval)
            if isinstance(one, ExpectedReciprocalRank) and one.highest is None
            else one
            for one in get_measures(metric, required=True)
        ]
        return PartedWatch(self.parts, measures, patience, ranker.stopping_tolerance)

    def feedback(self, balance: str, gain: Any) -> PartedFeedback:
        """Let the parts sort and weigh their pairs; parameters as of `RankBoost`."""
        return PartedFeedback.of(self.parts, balance, gain)

    def training(self, feedback: PartedFeedback, threads: int) -> TrainingRows:
        """Return an empty `TrainingRows`; the rows are on the workers."""
        instances = self.schema.instances(feedback.facts.absent)
        return TrainingRows(instances, np.arange(0), None, Groups.single(0), threads)

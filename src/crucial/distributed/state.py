"""Feedback, objectives and eval sets whose rows are in parts: they have totals, and no row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from crucial.boosting.pair_losses import ExponentialLoss, LogisticLoss, LogisticTotals, ScoreReach
from crucial.boosting.parts import Objective
from crucial.boosting.row_losses import LossTotals
from crucial.boosting.watch import Watch
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.distributed.messages import (
    EvalFacts,
    Exact,
    Move,
    Parts,
    Question,
    RoundAnswer,
    RowFacts,
    Setup,
    Tallies,
    Totals,
)
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, Potentials, finite_total, whole_of
from crucial.feedback.labels import PairMass, QueryTotals, wrong_unit_of
from crucial.kernels.sums import round_unit, unit_for
from crucial.measures.base import Measure
from crucial.measures.names import Measures, default_measure, get_measures
from crucial.measures.positions import ExpectedReciprocalRank
from crucial.model.weak import Tree, WeakRankerLike
from crucial.rankers.boosted import BoostedRanker
from crucial.types import Floats, Ints
from crucial.wording import counted

# --- The eval set of a fit whose eval rows are in parts


def measures_of(
    metric: Measures | None, facts: EvalFacts, with_qid: bool, lowest: float | None = None
) -> list[Measure]:
    """Return the measures of an eval set, by what is known of all of its rows.

    Parameters
    ----------
    metric : as ``eval_metric``
    facts : EvalFacts
    with_qid : bool
        Whether its rows belong to queries.
    lowest : float, optional
        The lowest label of the training set, where the eval set is a part of it.
    """
    if metric is None:
        metric = default_measure(np.array([facts.lowest if lowest is None else lowest]), with_qid)
    found = get_measures(metric, required=True)
    return [
        replace(one, highest=facts.highest)
        if isinstance(one, ExpectedReciprocalRank) and one.highest is None
        else one
        for one in found
    ]


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
        """Do nothing: the parts have codes."""

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


def as_output(stands_for: RankerOutput) -> Output:
    """Return what stands for scores where scores are expected."""
    return cast(Output, stands_for)


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

    #: Whether the scores are those of a trial.
    trial = False

    def __init__(self, parts: Parts, log_total: float) -> None:
        self.parts, self._log_total = parts, log_total
        self.scores: Floats = np.zeros(0)
        self.trees = False
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
        self._sizes: Exact | None = None
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
        self.totals, self.hist, self._sizes = answer.totals, answer.hist, answer.sizes
        self.features = question.features
        found = self._finished(answer.totals)
        self._scale, self.drift = found[0], math.inf
        if question.scales is not None:
            wrong = abs(1.0 - question.scales[1] / self._scale)
            self.drift = 0.5 * answer.distance * (1.0 + _ROUNDING) + wrong + _ROUNDING
        self.unit = round_unit(before, whole_of(self._scale))
        if self.unit != guess:
            self.hist = None
        return found

    def _finished(self, totals: Totals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        assert isinstance(totals, LossTotals)
        if self._start is None:
            self._start = totals.loss.value
        return totals.finish(self._start)

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
            self.parts.call("use_logarithms", self.trial, changes=True)
            answer = self.parts.total("ask", question, changes=True)
        if answer.totals is None:
            assert answer.peaks is not None
            question = replace(question, peaks=answer.peaks)
            answer = self.parts.total("ask", question, changes=True)
        return answer

    def histogram(self, features: Ints) -> Ints:
        """Return the sums of potentials per bin of features, one after the other."""
        sums: Ints = self.parts.total("histogram", self.unit, features).sums
        return sums

    def sizes(self) -> tuple[float, float]:
        """Return the sums of absolute potentials and of curvature."""
        if self._sizes is None:
            self._sizes = self.parts.total("sizes")
        assert self._sizes is not None
        size, curvature = self._sizes.values
        return size, curvature

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        found: tuple[float, float] = self.parts.total("risks").shares(self._log_total)
        return found

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries until the next draw."""
        if self._counting is None:
            self._counting = self.parts.total("counting").numbers
            self.parts.call("set_counting", self._counting, changes=True)
        seeds: Any = random.bit_generator.seed_seq
        self.parts.call("draw", fraction, tuple(seeds.entropy), changes=True)


class PartedPairs(PartedState):
    """The state of the exponential loss over pairs, which step rules ask for more."""

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, QueryTotals)
        return totals.finish(self._log_total)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        assert isinstance(self.totals, QueryTotals)
        ranker = cast(RankerOutput, output).ranker
        right, wrong = self.parts.total("sums_along", "weight_sums", self.trial, ranker).values
        total = self.totals.drawn.value
        return right / total, wrong / total

    def prepare_scan(self) -> None:
        """Nothing here: the parts do so once they are asked for weights."""

    def scanned_weights(self, scans: Sequence[tuple[int, int]]) -> Floats:
        """Return W- of all thresholds, for (feature, rank of abstentions) one after the other."""
        assert isinstance(self.totals, QueryTotals)
        total = self.totals.drawn.value
        unit = wrong_unit_of(total)
        units: Ints = self.parts.total("wrong_units", scans, unit).sums
        # (as in `LabelState.wrong_weights`)
        weights: Floats = np.maximum(units, 0) * (unit / total)
        return weights

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        own = cast(RankerOutput, output)
        value, slope, curvature = self.parts.total(
            "sums_along", "moment_sums", self.trial, own.ranker, own.span(1.0)
        ).values
        return slope / value, curvature / value

    def copy(self) -> PartedPairs:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        self.parts.call("begin_trial", changes=True)
        return PartedTrial(self.parts, self._log_total)


class PartedTrial(PartedPairs):
    """A copy of the state that steps are tried on."""

    trial = True


# --- The state of the logistic loss over pairs whose rows are in parts


class PartedLogistic(PartedState):
    """The state of the logistic loss over pairs."""

    _pair_weight: float | None = None

    def _asked(self, question: Question) -> RoundAnswer:
        answer = super()._asked(question)
        if answer.reach is not None and not answer.reach.narrow:
            # Scores of some query are far apart: all parts have to compute as that one does.
            reach: ScoreReach = self.parts.total("reach")
            again = replace(question, reach=reach)
            answer = replace(self.parts.total("ask", again, changes=True), distance=math.inf)
        return answer

    def _finished(self, totals: Totals) -> tuple[float, float]:
        assert isinstance(totals, LogisticTotals)
        if self._pair_weight is None:
            (half,) = self.parts.total("pair_sums").values
            self._pair_weight = 2.0 * half
        return totals.finish(self._pair_weight)


# --- Feedback whose rows are in parts, and the objective over it


class PartedFeedback(Feedback):
    """What is known of the feedback of all parts together: counts and weights, no pairs.

    Parameters
    ----------
    facts : RowFacts
    mass : PairMass
    """

    def __init__(self, facts: RowFacts, mass: PairMass) -> None:
        self.facts, self.log_total = facts, mass.log_total
        self.n_rows, self.n_pairs = facts.rows, facts.counts.pairs
        # (of the rows only their number is asked for)
        self.rows = np.broadcast_to(np.int64(0), facts.counts.rows)
        self.weight = None
        self.total = finite_total(mass.total.value)
        self.n_queries = facts.counts.queries
        self.n_skipped = facts.queries - facts.counts.queries

    @classmethod
    def of(cls, parts: Parts, ranker: BoostedRanker) -> PartedFeedback:
        """Let the parts sort and weigh the pairs that a ranker learns from."""
        facts: RowFacts | None = parts.total("look", changes=True)
        if facts is None:
            raise DataError("No comparable pair: the parts have no rows.")
        balance, gain = ranker.balance, ranker.gain
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
        return cls(facts, mass)


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
        self._parts.call("begin", setup, changes=True)
        state = _state_of(self._objective)(self._parts, log_total)
        state.watch = self._watch
        return state

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the notes of the objective."""
        return self._objective.notes(potentials)


def _state_of(objective: Objective) -> type[PartedState]:
    """Return what adds up the totals of an objective."""
    if isinstance(objective, ExponentialLoss):
        return PartedPairs
    return PartedLogistic if isinstance(objective, LogisticLoss) else PartedState

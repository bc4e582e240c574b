"""A part of the rows: what a worker keeps of a fit, and the questions it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from crucial.distributed.coded_rows import CodedRows
from crucial.distributed.messages import (
    Answer,
    Exact,
    Histogram,
    Move,
    Numbers,
    Question,
    Range,
    Setup,
    Totals,
    places_of,
)
from crucial.distributed.part_feedback import PartFeedback
from crucial.distributed.part_rows import PartRows
from crucial.distributed.part_setup import PartSetup
from crucial.distributed.part_tree import (
    BinWeights,
    DrawnRows,
    LeafSums,
    LeafTotals,
    PartTree,
    RowDraw,
    SplitOrder,
    SplitSums,
)
from crucial.distributed.replay import Call, needed_calls
from crucial.errors import DataError
from crucial.feedback.explicit_state import ExplicitState
from crucial.feedback.label_state import LabelState, Risks
from crucial.feedback.states import Output, ScoreState, draw_share, padded
from crucial.kernels.features import StumpSums
from crucial.kernels.fixed_point import to_fixed
from crucial.kernels.gradient_trees import summable
from crucial.kernels.sizes import Counts, part_of
from crucial.kernels.threads import run_all
from crucial.model.weak import WeakRankerLike
from crucial.objectives.logistic import LabelLogistic, ScoreReach
from crucial.objectives.push import LabelPush
from crucial.types import Bools, Floats, Ints

__all__ = ["Part"]


class _State(ScoreState, Protocol):
    """A state whose totals can be added to those of other parts."""

    @property
    def curvature(self) -> Floats: ...
    @property
    def counting(self) -> Ints: ...
    def sums(self, pi: Floats) -> Totals: ...
    def count_only(self, chosen: Ints) -> None: ...


class Part(PartSetup):
    """Rows of whole queries with their scores, on the worker that has them.

    Parameters are those of `PartSetup`.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        super().__init__(rows, eval_rows)
        self._tree: PartTree | None = None

    def lightest(self) -> Range | None:
        """Return the logarithm of the weight of the lightest pair, as a range of one number."""
        if not isinstance(self._feedback, PartFeedback):
            return None
        found = self._feedback.lightest()
        return Range(found, found)

    def begin(self, setup: Setup) -> None:
        """Make the state of the objective at scores of 0."""
        self._watches, self._tree = setup.watched, None
        if self._feedback is None:
            return
        self._feedback.finish(setup.log_total, setup.total)
        labelled = self._feedback.labelled()
        self._numbers = np.zeros(0, np.int64) if labelled is None else labelled.layout.queries
        self._counts: Counts = setup.counts
        with part_of(setup.counts):
            state = setup.objective.begin(self._feedback, self.threads)
        self._state, self._trial = cast(_State, state), cast(_State, state)
        bins = self._bins = replace(self._bins, has_missing=setup.has_missing)
        self._coded, self._first = CodedRows(bins), bins.first
        self._pi = np.zeros(padded(bins.n_rows))
        # (memory for every round: fresh arrays would cost more time than what is done with them)
        self._pi_before, self._fixed = np.empty_like(self._pi), np.empty(len(self._pi), np.int64)
        self._stumps: StumpSums | None = None
        self._last: tuple[WeakRankerLike, Output] | None = None
        weight = self._feedback.weight
        weight = np.ones(bins.n_rows) if weight is None else weight
        self._row_weight = summable(weight, setup.row_weight)

    # -- rounds -----------------------------------------------------------------------

    def ask(self, question: Question) -> Answer | None:
        """Return totals of the scores as they are."""
        if self._feedback is None:
            return None
        state, pi = (self._trial, self._spare) if question.trial else (self._state, self._pi)
        scales = question.scales
        if scales is not None:
            self._pi_before[:] = self._pi
        if isinstance(state, LabelState | ExplicitState) and state.logarithmic:
            if question.peaks is None:
                return Answer(None, state.peaks())
            totals: Totals = state.log_sums(pi, question.peaks)
        elif isinstance(state, LabelLogistic):
            totals = state.sums(pi, question.reach or state.score_reach())
        elif isinstance(state, LabelPush):
            assert question.peaks is not None
            totals = state.sums(pi, question.peaks)
        else:
            totals = state.sums(pi)
        if question.trial:
            return Answer(totals)
        self._curvature: Floats | None = None
        found, distance = None, 0.0
        if question.unit is not None:
            found = self.histogram(question.unit, question.features)
        if scales is not None:
            sums = self._stump_sums()
            distance = sums.distance(pi, scales[1], self._pi_before, scales[0])
        hist, sizes = None if found is None else found.sums, None
        if question.sizes:
            sizes = self.sizes()
        reach = None
        if isinstance(state, LabelLogistic):
            reach = question.reach or state.score_reach()
        margins = self.margins() if question.margins else None
        return Answer(totals, None, hist, sizes, None, distance, reach, margins)

    def advance(self, move: Move, question: Question) -> Answer | None:
        """Move the scores; return totals of those that they are then."""
        self.move(move, question.trial)
        answer = self.ask(question)
        if self._watch is None or question.trial or not self._watches:
            return answer
        # (a part may have eval rows alone)
        return replace(answer or Answer(None), tallies=self._watch.tallies())

    def move(self, move: Move, trial: bool = False) -> None:
        """Move the scores."""
        if self._watch is not None and self._watches and not trial:
            if move.best:
                self._watch.keep_best()
            self._watch.move(move.ranker, move.alpha)
        if self._feedback is None:
            return
        output, state = self._output(move.ranker), self._trial if trial else self._state
        with part_of(self._counts):
            if isinstance(state, LabelState) and output.dtype != np.uint8:
                state.advance(output, move.alpha, move.span)
            else:
                state.advance(output, move.alpha)

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker: mostly the last one is asked for again."""
        if self._last is None or self._last[0] != ranker:
            self._last = ranker, self._coded.output(ranker)
        return self._last[1]

    def begin_trial(self) -> None:
        """Copy the state, to try steps on the copy."""
        if self._feedback is not None:
            self._trial = cast(_State, self._pairs(False).fork())
            self._spare = np.zeros_like(self._pi)

    def _pairs(self, trial: bool) -> LabelState | ExplicitState:
        """Return the state of pairs, of the fit or of a trial."""
        state = self._trial if trial else self._state
        assert isinstance(state, LabelState | ExplicitState)
        return state

    def histogram(self, unit: float, features: Ints | None) -> Histogram | None:
        """Return the sums of potentials per bin of features; None if the unit is too small."""
        if self._feedback is None:
            return None
        sums = self._stump_sums()
        try:
            fixed = to_fixed(self._pi, unit, self.threads, self._fixed)
        except DataError:  # (they make too many units)
            return None
        if features is None:
            return Histogram(sums.histogram(np.arange(len(self._bins.features)), fixed))
        return Histogram(sums.histogram(features, fixed)[places_of(self._first, features)])

    def _stump_sums(self) -> StumpSums:
        """Return what adds up the potentials of stumps."""
        if self._stumps is None:
            facts = (self._first, self._bins.has_missing, -1, False, self.threads)
            with part_of(self._counts):
                self._stumps = StumpSums(self._bins.codes, self._bins.n_rows, *facts)
        return self._stumps

    def wrong_units(self, scans: Sequence[tuple[int, int]], unit: float) -> Histogram | None:
        """Return W- of all thresholds of features, one scan after the other.

        Parameters
        ----------
        scans : sequence of (feature, rank of abstentions)
        unit : float
            What the whole numbers returned are multiples of.
        """
        if self._feedback is None:
            return None
        state, bins = self._pairs(False), self._bins
        state.prepare_scan()
        work = [
            partial(state.wrong_units, bins.codes[f], int(bins.n_bins[f]), default, unit)
            for f, default in scans
        ]
        return Histogram(np.concatenate(run_all(self.threads, work)))

    def sums_along(self, method: str, trial: bool, ranker: WeakRankerLike, *args: Any) -> Any:
        """Return what a method of the state adds up for a weak ranker: see the states."""
        if self._feedback is None:
            return None
        state = self._trial if trial else self._state
        found = getattr(state, method)(self._output(ranker), *args)
        return Exact(found) if isinstance(found, tuple) else found

    def pair_sums(self) -> Exact | None:
        """Return half of what the pairs weigh in the logistic loss."""
        return None if self._feedback is None else Exact((self._logistic().pair_sums,))

    def reach(self) -> ScoreReach | None:
        """Return how far apart scores are."""
        return None if self._feedback is None else self._logistic().score_reach(whole=True)

    def _logistic(self) -> LabelLogistic:
        assert isinstance(self._state, LabelLogistic)
        return self._state

    def risks(self) -> Risks | None:
        """Return what is in the wrong order, and tied."""
        if self._feedback is None:
            return None
        state = self._state
        if isinstance(state, LabelState | ExplicitState):
            return state.risk_sums()
        assert isinstance(self._feedback, PartFeedback)  # (pairs have that state alone)
        with part_of(self._counts):
            pairs = self._feedback.pairs(self.threads)
        pairs.advance(state.scores, 1.0)
        return pairs.risk_sums()

    def margins(self) -> Range | None:
        """Return the smallest and the largest margin of a pair."""
        if self._feedback is None:
            return None
        return Range(*self._feedback.margin_range(self._state.scores))

    # -- queries drawn ----------------------------------------------------------------

    def counting(self) -> Numbers | None:
        """Return the numbers of the queries that count."""
        if self._feedback is None:
            return None
        return Numbers(self._numbers[self._state.counting])

    def set_counting(self, numbers: Ints) -> None:
        """Remember all queries of all parts that count, in rising order."""
        self._all_counting = numbers

    def draw(self, fraction: float, seed: Sequence[int]) -> None:
        """Count only a random share of the queries of all parts until the next draw."""
        if self._feedback is None:
            return
        count, random = len(self._all_counting), np.random.default_rng(seed)
        drawn = self._all_counting[draw_share(np.arange(count), fraction, random)]
        self._state.count_only(np.flatnonzero(np.isin(self._numbers, drawn)))

    def use_logarithms(self, trial: bool) -> None:
        """Compute weights from the logarithms of exponentials from now on."""
        if self._feedback is not None:
            state = self._pairs(trial)
            assert isinstance(state, LabelState)
            state.use_logarithms()

    # -- trees ------------------------------------------------------------------------

    def sizes(self) -> Exact | None:
        """Return the sums of absolute potentials and of curvature."""
        if self._feedback is None:
            return None
        gradient, curvature = self._derivatives()
        return Exact.of(np.abs(gradient), curvature)

    def _derivatives(self) -> tuple[Floats, Floats]:
        """Return potentials and curvature of the rows."""
        n = self._bins.n_rows
        if self._curvature is None:
            self._curvature = self._state.curvature[:n]
        return self._pi[:n], self._curvature

    def _new_tree(self) -> PartTree:
        """Return what grows trees on the rows of the run."""
        if self._tree is None:
            query = self._rows.query[: self._bins.n_rows]
            with part_of(self._counts):
                self._tree = PartTree(self._bins, self._row_weight, query, self.threads)
        return self._tree

    def tree_sample(self, draw: RowDraw) -> DrawnRows | None:
        """Draw the rows that the next tree is grown on."""
        if self._feedback is None:
            return None
        return self._new_tree().sample(*self._derivatives(), draw)

    def tree_root(
        self, units: tuple[float, float], allowed: Bools, sampled: bool = False
    ) -> LeafSums | None:
        """Begin a tree; return the sums of all rows, or of those that were drawn."""
        if self._feedback is None:
            return None
        return self._new_tree().root(*self._derivatives(), units, allowed, sampled)

    def tree_slope(self, ranker: WeakRankerLike) -> Exact | None:
        """Return the potentials times the scores of a tree that not all rows grew."""
        if self._feedback is None:
            return None
        return Exact.of(self._pi[: self._bins.n_rows] * self._output(ranker))

    def tree_split(self, orders: Sequence[SplitOrder]) -> SplitSums | None:
        """Split leaves; return sums of their children."""
        tree = self._tree
        return None if tree is None else SplitSums(tuple(tree.split(one) for one in orders))

    def tree_weights(self, leaf: int, feature: int) -> BinWeights | None:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return None if self._tree is None else self._tree.bin_weights(leaf, feature)

    def tree_leaves(self, leaves: Ints, units: tuple[float, float]) -> LeafTotals | None:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        return None if self._tree is None else self._tree.leaf_totals(leaves, units)

    # -- after a loss -----------------------------------------------------------------

    def replay(self, calls: Sequence[Call]) -> None:
        """Bring a part that was loaded again up to date.

        Parameters
        ----------
        calls : sequence of (method, arguments)
            All calls so far that changed the parts, the oldest first.
        """
        for method, arguments in needed_calls(calls):
            getattr(self, method)(*arguments)

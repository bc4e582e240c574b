"""A part of the rows: what a worker keeps of a fit, and the sums it answers with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.pair_losses import LabelLogistic, ScoreReach
from crucial.boosting.trees import RowDraws, drawn_rows
from crucial.data.bins import Bins, abstains
from crucial.data.groups import Groups
from crucial.distributed.messages import (
    CodedRows,
    EvalFacts,
    Exact,
    Histogram,
    Move,
    Numbers,
    PartRows,
    PartSurvey,
    PartWatch,
    Question,
    RoundAnswer,
    RowFacts,
    Setup,
    Tallies,
    Totals,
    places_of,
)
from crucial.errors import DataError
from crucial.feedback.base import Layout, Output, ScoreState, draw_share, padded
from crucial.feedback.labels import (
    LabelFeedback,
    LabelState,
    Largest,
    PairMass,
    Risks,
    check_labels,
    gains_of,
    weigh,
)
from crucial.kernels.runtime import Counts, part_of, run_all
from crucial.kernels.stumps import StumpSums
from crucial.kernels.sums import ExactSum, to_fixed
from crucial.kernels.trees import SplitSearch, summable
from crucial.measures.base import Measure
from crucial.model.weak import WeakRankerLike
from crucial.types import Bools, Floats, Ints

# --- The feedback of a part: its pairs, weighed together with those of all other parts


class PartFeedback(LabelFeedback):
    """The pairs that the labels of a part imply.

    Parameters
    ----------
    rows : PartRows
    left_out : bool array over the rows, optional
        Rows that count as if they weighed 0.
    """

    def __init__(self, rows: PartRows, left_out: Bools | None = None) -> None:
        labels = check_labels(rows.labels)
        self.n_rows = len(labels)
        self.groups = Groups.from_qid(rows.query, self.n_rows)
        keep = _kept_rows(rows, left_out)
        layout = Layout.of(labels, self.groups, keep)
        self.rows = layout.rows
        self.n_queries = layout.n_queries
        self.n_skipped = self.groups.n_groups - layout.n_queries
        self.n_pairs = layout.n_pairs if len(self.rows) else 0
        self.weight = None if rows.weight is None else rows.weight[self.rows]
        self._factor: Floats | None = None
        if rows.query_weight is not None:
            self._factor = rows.query_weight[self.rows][layout.row_start[:-1]]
        # (queries by the numbers that they have in all parts, which seed what is random)
        numbers: Ints = self.groups.ids[layout.queries].astype(np.int64)
        self._layout = replace(layout, queries=numbers)

    @property
    def facts(self) -> RowFacts:
        """What other parts have to know of these rows."""
        layout, weight = self._layout, self.weight
        numbers = (layout.n_queries, layout.n_segments, self.n_pairs, layout.deepest)
        counts = Counts(len(self.rows), *numbers)
        largest = Largest(1.0, 1.0)
        if len(self.rows):
            largest = Largest.of(weight, self._factor)
        weighted = weight is not None and bool((weight != 1.0).any())
        mass = ExactSum.of(np.ones(len(self.rows)) if weight is None else weight)
        return RowFacts(
            self.n_rows, self.groups.n_groups, counts, largest, weighted, mass, np.zeros(0, bool)
        )

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass:
        """Weigh the pairs together with those of all parts."""
        if not facts.weighted:
            self.weight = None
        layout, factor = self._layout, self._factor
        gains = gains_of(gain, layout)
        self._labelled, mass = weigh(
            layout, self.weight, gains, balance == "queries", factor, facts.largest
        )
        return mass

    def pairs(self, threads: int) -> LabelState:
        """Return the state of the pairs at scores of 0."""
        return LabelState(self._labelled, threads)

    def finish(self, log_total: float) -> None:
        """Set the logarithm of the weight of the pairs of all parts."""
        self._labelled = replace(self._labelled, log_total=log_total)


def _kept_rows(rows: PartRows, left_out: Bools | None) -> Bools | None:
    """Return which rows weigh anything; None where all do."""
    keep = None if left_out is None else ~left_out
    for name in ("weight", "query_weight"):
        values: Floats | None = getattr(rows, name)
        if values is None:
            continue
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if len(wrong):
            raise DataError(
                f"{name} must be finite and not negative. Row {wrong[0]} of a part is "
                f"{values[wrong[0]]}."
            )
        keep = values > 0 if keep is None else keep & (values > 0)
    return keep


def weighing(rows: PartRows) -> Bools:
    """Return which rows weigh more than 0, and so do their queries."""
    keep = _kept_rows(rows, None)
    return np.ones(rows.n_rows, bool) if keep is None else keep


# --- The rows of a part before the first round: which count, and what their pairs weigh


class PartSetup:
    """Rows of whole queries and their eval rows, on the worker that has them.

    Parameters
    ----------
    rows : PartRows
        The training rows; none is fine.
    eval_rows : PartRows, optional
        Rows of the eval set. All parts have some, or none has; a part may have 0 of them.

    Attributes
    ----------
    threads : int
        How many to use.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        self._rows, self._eval_rows = rows, eval_rows
        self.threads = 1
        self._feedback: PartFeedback | None = None
        self._watch: PartWatch | None = None
        self._left_out: Bools | None = None

    def survey(self) -> PartSurvey:
        """Return the lowest label, and what is known of the eval rows."""
        found, labels = self._eval_rows, self._rows.labels
        facts = None if found is None or not found.n_rows else EvalFacts.of(found)
        lowest = float(labels[weighing(self._rows)].min(initial=math.inf))
        return PartSurvey(lowest, facts)

    def hold_out(self, queries: Ints, count: int, seed: tuple[int, ...]) -> None:
        """Set some queries of all parts aside, to be the eval set.

        Parameters
        ----------
        queries : int array
            Numbers of the queries of all parts that weigh anything, in rising order.
        """
        drawn = queries[np.random.default_rng(seed).permutation(len(queries))[:count]]
        self._left_out = np.isin(self._rows.query, drawn)
        self._eval_rows = self._rows.taken(np.flatnonzero(self._left_out & weighing(self._rows)))

    def weighing(self) -> Numbers | None:
        """Return the numbers of the queries that have a row that weighs anything."""
        found = np.unique(self._rows.query[weighing(self._rows)])
        return Numbers(found.astype(np.int64)) if len(found) else None

    def watch(self, measures: tuple[Measure, ...]) -> Tallies | None:
        """Begin to measure the eval rows; return the measures at scores of 0."""
        if self._eval_rows is None or not self._eval_rows.n_rows:
            return None
        self._watch = PartWatch(self._eval_rows, measures)
        return self._watch.tallies()

    def look(self) -> RowFacts | None:
        """Sort the rows; return what all parts have to know of them."""
        if not self._rows.n_rows:
            return None
        feedback = PartFeedback(self._rows, self._left_out)
        used = feedback.rows
        if not np.array_equal(used, np.arange(len(used))):
            # (one copy of the codes: all rows take the order in which they are used)
            order = _first(used, self._rows.n_rows)
            self._rows = self._rows.taken(order)
            if self._left_out is not None:
                self._left_out = self._left_out[order]
            feedback = PartFeedback(self._rows, self._left_out)
        self._feedback = feedback if len(used) else None
        return replace(feedback.facts, absent=self._use_first(len(used)))

    def _use_first(self, n: int) -> Bools:
        """Use the first rows; return which features abstain on one of them."""
        bins = self._rows.bins
        codes = bins.codes[:, : padded(n)]
        absent = abstains(codes[:, :n], bins.n_bins, bins.has_missing)
        self._bins = replace(bins, codes=codes, n_rows=n, has_missing=absent)
        return absent

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass | None:
        """Weigh the pairs; return what they weigh together."""
        if self._feedback is None:
            return None
        return self._feedback.weigh(facts, balance, gain)


def _first(used: Ints, n_rows: int) -> Ints:
    """Return all row numbers, those in use first."""
    others = np.ones(n_rows, bool)
    others[used] = False
    return np.concatenate((used, np.flatnonzero(others)))


# --- The tree that grows on the rows of a part, leaf by leaf as the client asks


@dataclass(frozen=True)
class LeafSums:
    """What is known of the rows of a leaf, and of a child of it.

    Attributes
    ----------
    count : int
        Rows.
    total : int
        Gradient and curvature of the rows, in one word.
    weights : tuple of float
        Weight of the rows; for two children, of both.
    hist : int64 array of shape (n_features, n_bins), or None
        Histograms of gradient and curvature.
    """

    count: int
    total: int
    weights: tuple[float, ...]
    hist: NDArray[np.int64] | None

    def merge(self, other: LeafSums) -> LeafSums:
        """Return the sums of both parts."""
        hist = None if self.hist is None or other.hist is None else self.hist + other.hist
        weights = tuple(a + b for a, b in zip(self.weights, other.weights, strict=True))
        return LeafSums(self.count + other.count, self.total + other.total, weights, hist)


@dataclass(frozen=True)
class SplitLeafSums:
    """What is known of several leaves that were split."""

    leaves: tuple[LeafSums, ...]

    def merge(self, other: SplitLeafSums) -> SplitLeafSums:
        """Return the sums of both parts."""
        both = zip(self.leaves, other.leaves, strict=True)
        return SplitLeafSums(tuple(own.merge(added) for own, added in both))


@dataclass(frozen=True)
class BinWeights:
    """Weight of the rows of a leaf per bin of a feature."""

    counts: Floats

    def merge(self, other: BinWeights) -> BinWeights:
        """Return the weights of both parts."""
        return BinWeights(self.counts + other.counts)


@dataclass(frozen=True)
class LeafTotals:
    """Gradient and curvature of every leaf, as whole numbers of units."""

    sums: NDArray[np.int64]

    def merge(self, other: LeafTotals) -> LeafTotals:
        """Return the totals of both parts."""
        return LeafTotals(self.sums + other.sums)


@dataclass(frozen=True)
class SplitOrder:
    """How to split a leaf.

    Attributes
    ----------
    leaf : int
        Number of the leaf, 0 for the root.
    feature, place : int
        As in `crucial.boosting.tree_growth.GrownTree`.
    children : (int, int)
        Numbers that the children get.
    adds_up : int
        The child whose histograms are wanted, 0 for the left one.
    allowed : bool array over the features, or None
        Features to add up; None: no histograms.
    """

    leaf: int
    feature: int
    place: int
    children: tuple[int, int]
    adds_up: int
    allowed: Bools | None


@dataclass(frozen=True)
class RowDraw:
    """Which rows to draw for a tree; see `crucial.boosting.trees`.

    Attributes
    ----------
    share : float
    seed, number : int
        Of the draw, and of the round.
    least : float or None
        The smallest random number of all rows, where none is below the share.
    """

    share: float
    seed: int
    number: int
    least: float | None = None


@dataclass(frozen=True)
class DrawnRows:
    """What is known of the rows that were drawn.

    Attributes
    ----------
    count : int
    least : float
        The smallest random number of any row.
    sizes : Exact
        Absolute potentials and curvature of the drawn rows.
    """

    count: int
    least: float
    sizes: Exact

    def merge(self, other: DrawnRows) -> DrawnRows:
        """Return what is known of the rows of both parts."""
        least, sizes = min(self.least, other.least), self.sizes.merge(other.sizes)
        return DrawnRows(self.count + other.count, least, sizes)


class PartTree:
    """Where the rows of a part are in a growing tree.

    Parameters
    ----------
    bins : Bins
        Of the rows.
    weight : float64 array over the rows
    query : int array over the rows
        Numbers of their queries.
    threads : int
    """

    def __init__(self, bins: Bins, weight: Floats, query: Ints, threads: int) -> None:
        signs = np.zeros(len(bins.features), np.int64)  # (only who chooses splits looks at them)
        facts = (bins.n_bins, bins.has_missing, signs)
        self._search = SplitSearch(bins.codes, bins.n_rows, *facts, weight, threads)
        self._width = int(bins.n_bins.max(initial=1)) + 1
        self._leaves: dict[int, tuple[int, int]] = {}
        self._query, self._threads = query, threads
        self._draws: RowDraws | None = None
        self._drawn: NDArray[np.int32] | None = None

    def sample(self, gradient: Floats, curvature: Floats, draw: RowDraw) -> DrawnRows:
        """Draw the rows that the next tree is grown on."""
        if self._draws is None:
            self._draws = RowDraws(self._query, draw.seed, self._threads)
        uniforms = self._draws.uniforms(draw.number)
        rows = self._drawn = drawn_rows(uniforms, draw.share, draw.least)
        sizes = Exact.of(np.abs(gradient[rows]), curvature[rows])
        return DrawnRows(len(rows), float(uniforms.min()), sizes)

    def root(
        self,
        gradient: Floats,
        curvature: Floats,
        units: tuple[float, float],
        allowed: Bools,
        sampled: bool,
    ) -> LeafSums:
        """Begin a tree; return the sums of all rows, or of those that were drawn."""
        search = self._search
        search.start(gradient, curvature, self._drawn if sampled else None)
        search.quantise(units, allowed)
        n = search.n_rows
        self._leaves = {0: (0, n)}
        hist = search.histogram(0, n, allowed)[:, : self._width]
        return LeafSums(n, search.total(0, n), (search.weight(0, n),), hist)

    def split(self, order: SplitOrder) -> LeafSums:
        """Split a leaf; return the rows and total of the left child, and the weights of both.

        A leaf may be split again, otherwise: its rows are the same, in another order.
        """
        search, (begin, end) = self._search, self._leaves[order.leaf]
        middle = begin + search.partition(begin, end, order.feature, order.place)
        both = ((begin, middle), (middle, end))
        self._leaves.update(zip(order.children, both, strict=True))
        hist = None
        if order.allowed is not None:
            hist = search.histogram(*both[order.adds_up], order.allowed)[:, : self._width]
        weights = tuple(search.weight(*one) for one in both)
        return LeafSums(middle - begin, search.total(begin, middle), weights, hist)

    def bin_weights(self, leaf: int, feature: int) -> BinWeights:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return BinWeights(self._search.counts(*self._leaves[leaf], feature))

    def leaf_totals(self, leaves: Ints, units: tuple[float, float]) -> LeafTotals:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        sums = np.zeros((len(leaves), 2), np.int64)
        for at, leaf in enumerate(leaves.tolist()):
            starts = np.array(self._leaves[leaf], np.int64)
            sums[at] = self._search.leaf_sums(starts, units)[0]
        return LeafTotals(sums)


# --- What a part of the rows adds up under its scores as they are


class PartState(ScoreState, Protocol):
    """A state whose totals can be added to those of other parts."""

    @property
    def curvature(self) -> Floats:
        """Second derivatives of the loss, in the units of potentials."""

    @property
    def counting(self) -> Ints:
        """The queries that weigh anything."""

    def sums(self, pi: Floats) -> Totals:
        """Write the potentials; return what losses and weights add up to."""

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""


class PartSums(PartSetup):
    """Rows of whole queries with their scores, and the sums over them that other parts need too.

    Parameters are those of `PartSetup`.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        super().__init__(rows, eval_rows)
        self._tree: PartTree | None = None
        self._curvature: Floats | None = None

    def begin(self, setup: Setup) -> None:
        """Make the state of the objective at scores of 0."""
        self._watches, self._tree = setup.watched, None
        if self._feedback is None:
            return
        self._feedback.finish(setup.log_total)
        self._numbers = self._feedback.labelled().layout.queries
        self._counts: Counts = setup.counts
        with part_of(setup.counts):
            state = setup.objective.begin(self._feedback, self.threads)
        self._state, self._trial = cast(PartState, state), cast(PartState, state)
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

    # -- the scores as they are -------------------------------------------------------

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker: mostly the last one is asked for again."""
        if self._last is None or self._last[0] != ranker:
            self._last = ranker, self._coded.output(ranker)
        return self._last[1]

    def _pairs(self, trial: bool) -> LabelState:
        """Return the state of pairs, of the fit or of a trial."""
        state = self._trial if trial else self._state
        assert isinstance(state, LabelState)
        return state

    def sums_along(
        self, method: str, trial: bool, ranker: WeakRankerLike, *args: Any
    ) -> Exact | None:
        """Return what a method of the state of pairs adds up for a weak ranker."""
        if self._feedback is None:
            return None
        return Exact(getattr(self._pairs(trial), method)(self._output(ranker), *args))

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
        if isinstance(state, LabelState):
            return state.risk_sums()
        with part_of(self._counts):
            pairs = self._feedback.pairs(self.threads)
        pairs.advance(state.scores, 1.0)
        return pairs.risk_sums()

    # -- stumps -----------------------------------------------------------------------

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

    def tree_split(self, orders: Sequence[SplitOrder]) -> SplitLeafSums | None:
        """Split leaves; return sums of their children."""
        tree = self._tree
        return None if tree is None else SplitLeafSums(tuple(tree.split(one) for one in orders))

    def tree_weights(self, leaf: int, feature: int) -> BinWeights | None:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return None if self._tree is None else self._tree.bin_weights(leaf, feature)

    def tree_leaves(self, leaves: Ints, units: tuple[float, float]) -> LeafTotals | None:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        return None if self._tree is None else self._tree.leaf_totals(leaves, units)


# --- Which of the calls that changed the parts a part has to repeat after it was loaded again


#: A method of a part, with its arguments.
Call: TypeAlias = tuple[str, tuple[Any, ...]]

# What happens once, before the first round.
_PREPARE = ("hold_out", "watch", "look", "weigh")


def needed_calls(calls: Sequence[Call]) -> list[Call]:
    """Return the calls to repeat, the oldest first.

    Parameters
    ----------
    calls : sequence of (method, arguments)
        All calls so far that changed the parts, the oldest first. A call "move" is one to
        "advance" whose questions nobody asks again.
    """
    begun = _last(calls, lambda method, args: method == "begin")
    best = _last(calls, lambda method, args: method == "advance" and args[0].best)
    asked = _last(calls, _asks)
    needed: list[Call] = []
    for number, (method, arguments) in enumerate(calls):
        if number < begun and method not in _PREPARE:
            continue  # (of a trial that is over)
        if method == "advance":
            move, question = arguments
            if number < best:
                move = replace(move, best=False)
            if number >= asked:
                needed.append((method, (move, question)))
            elif not question.trial:
                needed.append(("move", (move,)))
        elif number >= asked or not _prepares_questions(method, arguments):
            needed.append((method, arguments))
    return needed


def _last(calls: Sequence[Call], what: Callable[[str, Any], bool]) -> int:
    """Return the number of the last call of some kind, or -1."""
    return max((n for n, call in enumerate(calls) if what(*call)), default=-1)


def _prepares_questions(method: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a call only prepared questions about scores that have moved since.

    Once scores move again, potentials are others, and trees and trials are forgotten.
    """
    if method == "use_logarithms":
        return bool(arguments[0])
    return method.startswith("tree_") or method in ("ask", "begin_trial")


def _asks(method: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether a call is a question about the scores of the fit."""
    return method in ("ask", "advance") and not arguments[-1].trial


# --- A part of the rows: what a worker keeps of a fit, and the questions it answers


class Part(PartSums):
    """Rows of whole queries with their scores, on the worker that has them.

    Parameters are those of `PartSetup`.
    """

    def ask(self, question: Question) -> RoundAnswer | None:
        """Return totals of the scores as they are."""
        if self._feedback is None:
            return None
        state, pi = (self._trial, self._spare) if question.trial else (self._state, self._pi)
        scales = question.scales
        if scales is not None:
            self._pi_before[:] = self._pi
        if isinstance(state, LabelState) and state.logarithmic:
            if question.peaks is None:
                return RoundAnswer(None, state.peaks())
            totals: Totals = state.log_sums(pi, question.peaks)
        elif isinstance(state, LabelLogistic):
            totals = state.sums(pi, question.reach or state.score_reach())
        else:
            totals = state.sums(pi)
        if question.trial:
            return RoundAnswer(totals)
        self._curvature = None
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
        return RoundAnswer(totals, None, hist, sizes, None, distance, reach)

    def advance(self, move: Move, question: Question) -> RoundAnswer | None:
        """Move the scores; return totals of those that they are then."""
        self.move(move, question.trial)
        answer = self.ask(question)
        if self._watch is None or question.trial or not self._watches:
            return answer
        # (a part may have eval rows alone)
        return replace(answer or RoundAnswer(None), tallies=self._watch.tallies())

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

    def begin_trial(self) -> None:
        """Copy the state, to try steps on the copy."""
        if self._feedback is not None:
            self._trial = cast(PartState, self._pairs(False).copy())
            self._spare = np.zeros_like(self._pi)

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
            self._pairs(trial).use_logarithms()

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

"""A part of the rows: what a worker keeps of a fit, the requests it answers, and the answers.

A round sends a `Move` and a `Question` to every part and gets a `RoundAnswer` back. Answers of
several parts are added up field by field (`crucial.distributed.transport.merge`), and all of their
sums are exact: neither the cut into parts nor their order changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.loop import Differences, Objective
from crucial.boosting.pair_losses import LabelLogistic, LogisticTotals, ScoreReach
from crucial.boosting.row_losses import LossTotals
from crucial.boosting.stumps import StumpGrid
from crucial.boosting.trees import RowDraws, drawn_rows, tree_output
from crucial.data.bins import Bins, abstains
from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Layout, Least, Most, Output, ScoreState, draw_share, padded
from crucial.feedback.labels import (
    LabelFeedback,
    LabelState,
    Largest,
    PairMass,
    Peaks,
    QueryTotals,
    Risks,
    check_labels,
    gains_of,
    weigh,
)
from crucial.kernels.elementary import ExactSum, to_fixed
from crucial.kernels.runtime import Counts, part_of, run_all
from crucial.kernels.stumps import StumpSums
from crucial.kernels.trees import SplitSearch, summable
from crucial.measures.base import Measure, Tally
from crucial.model.weak import Presence, Stump, Tree, WeakRankerLike
from crucial.types import Bools, Floats, Ints

# --- What a part is made from: codes, labels, queries and weights of whole queries


@dataclass(frozen=True)
class PartRows:
    """Rows of whole queries, by the bins that all parts share.

    Attributes
    ----------
    bins : Bins
        The thresholds of all parts, with the codes of these rows: one byte each, of shape
        (n_kept, n_rows padded to a multiple of 8).
    labels : float64 array of shape (n_rows,)
    query : int64 array of shape (n_rows,)
        The place of the id of the row's query among the sorted ids of all parts. Rows of one
        query keep the order that they had in the input.
    weight : float64 array of shape (n_rows,), optional
        A row of weight 2 counts as two rows. All parts have weights, or none.
    query_weight : float64 array of shape (n_rows,), optional
        Factor on the pairs of the row's query. All parts have these, or none.
    """

    bins: Bins
    labels: Floats
    query: Ints
    weight: Floats | None = None
    query_weight: Floats | None = None

    def taken(self, places: Ints) -> PartRows:
        """Return some of the rows, in this order."""
        weight, factor = self.weight, self.query_weight
        return PartRows(
            self.bins.taken(places),
            self.labels[places],
            self.query[places],
            None if weight is None else weight[places],
            None if factor is None else factor[places],
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.bins.n_rows


# --- Requests to a part, and its answers


#: What the losses of queries, or of their pairs, add up to.
Totals: TypeAlias = QueryTotals | LossTotals | LogisticTotals


class PartSurvey(NamedTuple):
    """Labels of a part.

    Attributes
    ----------
    lowest : Least
        Label of the training rows that weigh anything; infinite without any.
    lowest_eval, highest_eval : Least and Most, or None
        Labels of the eval rows; None without eval rows.
    """

    lowest: Least
    lowest_eval: Least | None = None
    highest_eval: Most | None = None


class RowFacts(NamedTuple):
    """Facts about the rows of all parts that every part needs before it can begin.

    Attributes
    ----------
    rows, queries : int
        Rows and queries of the input.
    counts : Counts
        Of the rows that occur in a pair.
    largest : Largest
        Weights of those rows.
    weighted : int
        Parts in which such a row weighs other than 1.
    weight : ExactSum
        Summed weight of those rows.
    absent : bool array over the features
        Whether one of those rows abstains there.
    """

    rows: int
    queries: int
    counts: Counts
    largest: Largest
    weighted: int
    weight: ExactSum
    absent: Bools


@dataclass(frozen=True)
class Setup:
    """Facts about all parts with which a part begins.

    Attributes
    ----------
    objective : Objective
    log_total : float
        Logarithm of the weight of the pairs of all parts.
    counts : Counts
        Of all parts: their size decides which kernels run.
    row_weight : float
        Weight of all rows.
    has_missing : bool array over the features
        Whether any row of any part abstains.
    watched : bool
        Whether eval rows, if there are some, are measured after every round.
    """

    objective: Objective
    log_total: float
    counts: Counts
    row_weight: float
    has_missing: Bools
    watched: bool


@dataclass(frozen=True)
class Move:
    """A weak ranker with its weight, which moves the scores.

    Attributes
    ----------
    span : (float, float) or None
        Smallest and largest step of any row of any part, for a ranker of other scores than 0
        and 1.
    best : bool
        Whether the scores before it are the best so far on the eval set.
    """

    ranker: WeakRankerLike
    alpha: float
    span: tuple[float, float] | None = None
    best: bool = False


@dataclass(frozen=True)
class Question:
    """The sums that the parts should return under their current scores.

    Attributes
    ----------
    unit : float or None
        Unit of the potentials in histograms; None: no histograms.
    features : int array or None
        Features of the histograms; None: all.
    scales : (float, float) or None
        The scale of the potentials before the move, and a guess of that after it: the distance
        between both potentials shows which features can have the best stump.
    shared : Peaks, ScoreReach or None
        Extremes over all parts, where the loss is computed relative to them.
    sizes : bool
        Whether absolute potentials and curvature are added up, for a tree.
    trial : bool
        Whether it is about the scores of a trial, which move beside those of the fit.
    """

    unit: float | None = None
    features: Ints | None = None
    scales: tuple[float, float] | None = None
    shared: Peaks | ScoreReach | None = None
    sizes: bool = False
    trial: bool = False


class Tallies(NamedTuple):
    """Measures of the eval set after a round.

    Attributes
    ----------
    measures : tuple of Tally
        One per measure.
    worse : Differences or None
        How much worse queries are than in the best round, by the first measure.
    """

    measures: tuple[Tally, ...]
    worse: Differences | None


class RoundAnswer(NamedTuple):
    """The sums of a part after a round.

    Attributes
    ----------
    totals : of the kind that the objective has, or None
        None where the extremes of all parts have to be known first.
    shared : Peaks, ScoreReach or None
        Extremes that the sums of all parts depend on.
    hist : int64 array or None
        Histograms, one feature after the other.
    lacking : int
        Parts without histograms, since the unit was too small for them.
    sizes : (ExactSum, ExactSum) or None
        Absolute potentials and curvature.
    tallies : Tallies or None
        Of the eval set.
    distance : float
        Summed distance of potentials from those before, under the scales of the question.
    """

    totals: Totals | None = None
    shared: Peaks | ScoreReach | None = None
    hist: Ints | None = None
    lacking: int = 0
    sizes: tuple[ExactSum, ...] | None = None
    tallies: Tallies | None = None
    distance: float = 0.0


class LeafSums(NamedTuple):
    """Sums over the rows of a leaf, and of a child of it.

    Attributes
    ----------
    n_rows : int
    total : int
        Gradient and curvature of the rows, in one word.
    weights : tuple of float
        Weight of the rows; for two children, of both. Parts round the weights of rows so that
        their sums are exact.
    hist : int64 array of shape (n_features, n_bins), or None
        Histograms of gradient and curvature.
    """

    n_rows: int
    total: int
    weights: tuple[float, ...]
    hist: NDArray[np.int64] | None


@dataclass(frozen=True)
class SplitOrder:
    """The order to split a leaf.

    Attributes
    ----------
    leaf : int
        Number of the leaf, 0 for the root.
    feature, place : int
        As in `crucial.boosting.trees.GrownTree`.
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
    """The draw of rows for a tree; see `crucial.boosting.trees`.

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


class DrawnRows(NamedTuple):
    """Sums over the rows that were drawn.

    Attributes
    ----------
    n_rows : int
    least : Least
        The smallest random number of any row.
    sizes : (ExactSum, ExactSum)
        Absolute potentials and curvature of the drawn rows.
    """

    n_rows: int
    least: Least
    sizes: tuple[ExactSum, ...]


def exact_sums(*arrays: Floats) -> tuple[ExactSum, ...]:
    """Return the sum of every array, not rounded."""
    return tuple(ExactSum.of(one) for one in arrays)


def places_of(first: Ints, features: Ints) -> Ints:
    """Return where the bins of features are, one feature after the other.

    Parameters
    ----------
    first : int array of shape (n_features + 1,)
        Where the bins of each feature begin.

    Examples
    --------
    >>> places_of(np.array([0, 2, 5, 9]), np.array([2, 0])).tolist()
    [5, 6, 7, 8, 0, 1]
    """
    sizes = (first[1:] - first[:-1])[features]
    begins = np.repeat(first[features] - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(begins + np.arange(int(sizes.sum())))


# --- The eval rows of a part: their scores, and the sums of the measures of their queries


class CodedRows:
    """Binned rows that stumps and trees can score.

    Parameters
    ----------
    bins : Bins
        Of the rows, in the order in which scores are wanted.
    """

    def __init__(self, bins: Bins) -> None:
        self.bins, self._grid = bins, StumpGrid(bins, "learned")

    def output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker: uint8 for a stump, float64 for a tree."""
        if isinstance(ranker, Stump | Presence):
            return self._grid.output(*self._grid.find(ranker))
        if isinstance(ranker, Tree):
            return tree_output(self.bins, ranker)
        raise ParameterError(f"parts of the rows cannot score a {type(ranker).__name__}.")


class PartWatch:
    """Eval rows with their scores.

    Parameters
    ----------
    rows : PartRows
    measures : sequence of Measure
        The first one decides which round is best.
    """

    def __init__(self, rows: PartRows, measures: Sequence[Measure]) -> None:
        # (values may be missing here where none is in training)
        bins = replace(rows.bins, has_missing=np.ones(len(rows.bins.features), bool))
        self._coded, self._scores = CodedRows(bins), np.zeros(rows.n_rows)
        groups = Groups.from_qid(rows.query, rows.n_rows)
        self._measures = [one.prepare(rows.labels, groups) for one in measures]
        self._values: Floats | None = None  # of every query, by the first measure
        self._best: Floats | None = None  # the same in the best round

    def move(self, move: Move) -> None:
        """Add a weak ranker to the scores."""
        if move.best and self._values is None:
            self._values = self._measures[0].per_query(self._scores)
        if move.best:
            self._best = self._values
        self._values = None
        self._scores += move.alpha * self._coded.output(move.ranker)

    def tallies(self) -> Tallies:
        """Return the tallies of each measure at the present scores of the eval rows."""
        values = [one.per_query(self._scores) for one in self._measures]
        first, worse, self._values = self._measures[0], None, values[0]
        if self._best is not None:
            better = first.measure.higher_is_better
            worse = self._best - values[0] if better else values[0] - self._best
        weights = None if first.measure.aggregate == "mean" else first.bound.weights
        return Tallies(
            tuple(one.tally(own) for one, own in zip(self._measures, values, strict=True)),
            None if worse is None else Differences.of(worse, weights),
        )


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
        keep = weighing(rows)
        if left_out is not None:
            keep &= ~left_out
        layout = Layout.of(labels, self.groups, None if keep.all() else keep)
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

    def facts(self, absent: Bools) -> RowFacts:
        """Return the facts about these rows that are added up over all parts."""
        layout, weight = self._layout, self.weight
        numbers = (layout.n_queries, layout.n_segments, self.n_pairs, layout.deepest)
        return RowFacts(
            self.n_rows,
            self.groups.n_groups,
            Counts(len(self.rows), *numbers),
            Largest.of(weight, self._factor) if len(self.rows) else Largest(Most(1.0), Most(1.0)),
            int(weight is not None and bool((weight != 1.0).any())),
            ExactSum.of(np.ones(len(self.rows)) if weight is None else weight),
            absent,
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


def weighing(rows: PartRows) -> Bools:
    """Return which rows weigh more than 0, and so do their queries."""
    keep = np.ones(rows.n_rows, bool)
    for values in (rows.weight, rows.query_weight):
        if values is not None:
            keep &= values > 0
    return keep


# --- The tree that grows on the rows of a part, leaf by leaf as the client asks


class PartTree:
    """The rows of a part in the leaves of a growing tree.

    Parameters
    ----------
    bins : Bins
        Of the rows.
    weight : float64 array over the rows
    query : int array over the rows
        Numbers of their queries.
    derivatives : function
        Returns potentials and curvature of the rows.
    threads : int
    """

    def __init__(
        self,
        bins: Bins,
        weight: Floats,
        query: Ints,
        derivatives: Callable[[], tuple[Floats, Floats]],
        threads: int,
    ) -> None:
        signs = np.zeros(len(bins.features), np.int64)  # (only who chooses splits looks at them)
        facts = (bins.n_bins, bins.has_missing, signs)
        self._search = SplitSearch(bins.codes, bins.n_rows, *facts, weight, threads)
        self._width = int(bins.n_bins.max(initial=1)) + 1
        self._leaves: dict[int, tuple[int, int]] = {}
        self._query, self._threads, self._derivatives = query, threads, derivatives
        self._draws: RowDraws | None = None
        self._drawn: NDArray[np.int32] | None = None

    def sample(self, draw: RowDraw) -> DrawnRows:
        """Draw the rows that the next tree is grown on."""
        if self._draws is None:
            self._draws = RowDraws(self._query, draw.seed, self._threads)
        uniforms = self._draws.uniforms(draw.number)
        rows = self._drawn = drawn_rows(uniforms, draw.share, draw.least)
        gradient, curvature = self._derivatives()
        sizes = exact_sums(np.abs(gradient[rows]), curvature[rows])
        return DrawnRows(len(rows), Least(uniforms.min()), sizes)

    def root(self, units: tuple[float, float], allowed: Bools, sampled: bool) -> LeafSums:
        """Begin a tree; return the sums of all rows, or of those that were drawn."""
        search = self._search
        search.start(*self._derivatives(), self._drawn if sampled else None)
        search.quantise(units, allowed)
        n = search.n_rows
        self._leaves = {0: (0, n)}
        hist = search.histogram(0, n, allowed)[:, : self._width]
        return LeafSums(n, search.total(0, n), (search.weight(0, n),), hist)

    def split(self, orders: Sequence[SplitOrder]) -> tuple[LeafSums, ...]:
        """Split leaves; return the rows and total of left children, and the weights of both.

        A leaf may be split again, otherwise: its rows are the same, in another order.
        """
        return tuple(self._split(one) for one in orders)

    def _split(self, order: SplitOrder) -> LeafSums:
        search, (begin, end) = self._search, self._leaves[order.leaf]
        middle = begin + search.partition(begin, end, order.feature, order.place)
        both = ((begin, middle), (middle, end))
        self._leaves.update(zip(order.children, both, strict=True))
        hist = None
        if order.allowed is not None:
            hist = search.histogram(*both[order.adds_up], order.allowed)[:, : self._width]
        weights = tuple(search.weight(*one) for one in both)
        return LeafSums(middle - begin, search.total(begin, middle), weights, hist)

    def bin_weights(self, leaf: int, feature: int) -> Floats:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return self._search.counts(*self._leaves[leaf], feature)

    def leaf_totals(self, leaves: Ints, units: tuple[float, float]) -> NDArray[np.int64]:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        sums = np.zeros((len(leaves), 2), np.int64)
        for at, leaf in enumerate(leaves.tolist()):
            starts = np.array(self._leaves[leaf], np.int64)
            sums[at] = self._search.leaf_sums(starts, units)[0]
        return sums


# --- A part of the rows


class PartState(ScoreState, Protocol):
    """A state whose totals can be added to those of other parts."""

    @property
    def curvature(self) -> Floats:
        """Second derivatives of the loss, in the units of potentials."""

    @property
    def counting(self) -> Ints:
        """The queries that weigh anything."""

    def sums(self, pi: Floats) -> Totals:
        """Write the potentials; return the sums of losses and weights."""

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""


_Result = TypeVar("_Result")


def _of_pairs(method: Callable[..., _Result]) -> Callable[..., _Result | None]:
    """Make a method return None on a part without pairs."""

    @wraps(method)
    def answer(self: Part, *arguments: Any) -> _Result | None:
        return None if self._feedback is None else method(self, *arguments)

    return answer


# Changes of a part that last; all others are about potentials that change with the next move.
_LASTING = ("hold_out", "watch", "look", "weigh", "begin", "set_counting", "draw")


class Part:
    """Rows of whole queries with their scores, on the worker that has them.

    Parameters
    ----------
    rows : PartRows
        The training rows; none is fine.
    eval_rows : PartRows, optional
        Rows of the eval set, which other parts may have too.

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
        self._tree: PartTree | None = None
        self._curvature: Floats | None = None

    # -- before the first round: which rows count, and what their pairs weigh ----------

    def survey(self) -> PartSurvey:
        """Return the smallest and largest label of the part."""
        lowest = Least(self._rows.labels[weighing(self._rows)].min(initial=math.inf))
        if self._eval_rows is None or not self._eval_rows.n_rows:
            return PartSurvey(lowest)
        labels = self._eval_rows.labels
        return PartSurvey(lowest, Least(labels.min()), Most(labels.max()))

    def weighing(self) -> list[Ints]:
        """Return the numbers of the queries that have a row that weighs anything."""
        return [np.unique(self._rows.query[weighing(self._rows)]).astype(np.int64)]

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
            others = np.ones(self._rows.n_rows, bool)
            others[used] = False
            order = np.concatenate((used, np.flatnonzero(others)))
            self._rows = self._rows.taken(order)
            if self._left_out is not None:
                self._left_out = self._left_out[order]
            feedback = PartFeedback(self._rows, self._left_out)
        self._feedback = feedback if len(used) else None
        bins, n = self._rows.bins, len(used)
        codes = bins.codes[:, : padded(n)]
        absent = abstains(codes[:, :n], bins.n_bins, bins.has_missing)
        self._bins = replace(bins, codes=codes, n_rows=n, has_missing=absent)
        return feedback.facts(absent)

    @_of_pairs
    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass:
        """Weigh the pairs; return what they weigh together."""
        assert self._feedback is not None
        return self._feedback.weigh(facts, balance, gain)

    def begin(self, setup: Setup) -> None:
        """Make the state of the objective at scores of 0."""
        self._watches, self._tree, self._curvature = setup.watched, None, None
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

    # -- a round: the scores move, and the sums are those of the new scores -----------

    def advance(self, move: Move, question: Question) -> RoundAnswer | None:
        """Add a weak ranker to the scores; return the sums under the new ones."""
        self.move(move, question.trial)
        answer = self.ask(question)
        if self._watch is None or question.trial or not self._watches:
            return answer
        # (a part may have eval rows alone)
        return (answer or RoundAnswer())._replace(tallies=self._watch.tallies())

    def move(self, move: Move, trial: bool = False) -> None:
        """Add the outputs of a weak ranker, times its weight, to the scores."""
        if self._watch is not None and self._watches and not trial:
            self._watch.move(move)
        if self._feedback is None:
            return
        output, state = self._output(move.ranker), self._trial if trial else self._state
        with part_of(self._counts):
            if isinstance(state, LabelState) and output.dtype != np.uint8:
                state.advance(output, move.alpha, move.span)
            else:
                state.advance(output, move.alpha)

    @_of_pairs
    def ask(self, question: Question) -> RoundAnswer:
        """Return the sums under the current scores."""
        state, pi = (self._trial, self._spare) if question.trial else (self._state, self._pi)
        scales, shared = question.scales, question.shared
        if scales is not None:
            self._pi_before[:] = self._pi
        if isinstance(state, LabelState) and state.logarithmic:
            if shared is None:
                return RoundAnswer(shared=state.peaks())
            totals: Totals = state.log_sums(pi, cast(Peaks, shared))
        elif isinstance(state, LabelLogistic):
            shared = state.score_reach(whole=True) if shared is None else shared
            totals = state.sums(pi, cast(ScoreReach, shared))
        else:
            totals = state.sums(pi)
        if question.trial:
            return RoundAnswer(totals)
        self._curvature = None
        hist, distance = None, 0.0
        if question.unit is not None:
            with suppress(DataError):  # (they make too many units)
                hist = self.histogram(question.unit, question.features)
        if scales is not None:
            sums = self._stump_sums()
            distance = sums.distance(pi, scales[1], self._pi_before, scales[0])
        return RoundAnswer(
            totals,
            shared,
            hist,
            int(question.unit is not None and hist is None),
            self.sizes() if question.sizes else None,
            distance=distance,
        )

    @_of_pairs
    def begin_trial(self) -> None:
        """Copy the state, to try steps on the copy."""
        self._trial = cast(PartState, self._pairs(False).copy())
        self._spare = np.zeros_like(self._pi)

    @_of_pairs
    def use_logarithms(self, trial: bool) -> None:
        """Compute weights from the logarithms of exponentials from now on."""
        self._pairs(trial).use_logarithms()

    @_of_pairs
    def counting(self) -> list[Ints]:
        """Return the numbers of the queries that count."""
        return [self._numbers[self._state.counting]]

    def set_counting(self, numbers: Ints) -> None:
        """Remember all queries of all parts that count, in rising order."""
        self._all_counting = numbers

    @_of_pairs
    def draw(self, fraction: float, seed: Sequence[int]) -> None:
        """Count only a random share of the queries of all parts until the next draw."""
        count, random = len(self._all_counting), np.random.default_rng(seed)
        drawn = self._all_counting[draw_share(np.arange(count), fraction, random)]
        self._state.count_only(np.flatnonzero(np.isin(self._numbers, drawn)))

    def restore(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        """Bring a part that was loaded again up to date: repeat the moves so far.

        Sums are not computed again, except for those since the last move.

        Parameters
        ----------
        calls : sequence of (method, arguments)
            All calls so far that changed the parts, the oldest first.
        """
        asks = [
            number
            for number, (method, arguments) in enumerate(calls)
            if method in ("ask", "advance") and not arguments[-1].trial
        ]
        last = max(asks, default=0)
        for number, (method, arguments) in enumerate(calls):
            if number >= last or method in _LASTING:
                getattr(self, method)(*arguments)
            elif method == "advance" and not arguments[-1].trial:
                self.move(arguments[0])
            elif method == "use_logarithms" and not arguments[0]:
                self.use_logarithms(False)

    # -- sums along a weak ranker ------------------------------------------------------

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

    @_of_pairs
    def sums_along(
        self, method: str, trial: bool, ranker: WeakRankerLike, *args: Any
    ) -> tuple[ExactSum, ...]:
        """Return the sums of a method of the state of pairs for a weak ranker."""
        sums: tuple[ExactSum, ...] = getattr(self._pairs(trial), method)(
            self._output(ranker), *args
        )
        return sums

    @_of_pairs
    def slope_sums(self, ranker: WeakRankerLike) -> tuple[ExactSum, ...]:
        """Return the potentials times the scores of a tree that not all rows grew."""
        return exact_sums(self._pi[: self._bins.n_rows] * self._output(ranker))

    @_of_pairs
    def pair_sums(self) -> tuple[ExactSum, ...]:
        """Return half of what the pairs weigh in the logistic loss."""
        assert isinstance(self._state, LabelLogistic)
        return (self._state.pair_sums,)

    @_of_pairs
    def risks(self) -> Risks:
        """Return the weights of pairs in the wrong order, and of tied ones."""
        assert self._feedback is not None
        state = self._state
        if isinstance(state, LabelState):
            return state.risk_sums()
        with part_of(self._counts):
            pairs = self._feedback.pairs(self.threads)
        pairs.advance(state.scores, 1.0)
        return pairs.risk_sums()

    # -- stumps -----------------------------------------------------------------------

    @_of_pairs
    def histogram(self, unit: float, features: Ints | None) -> Ints:
        """Return the sums of potentials per bin of features, as whole numbers of a unit."""
        sums = self._stump_sums()
        fixed = to_fixed(self._pi, unit, self.threads, self._fixed)
        if features is None:
            return sums.histogram(np.arange(len(self._bins.features)), fixed)
        return sums.histogram(features, fixed)[places_of(self._first, features)]

    def _stump_sums(self) -> StumpSums:
        """Return the sums of potentials for stumps."""
        if self._stumps is None:
            bins, stumps = self._bins, (self._first, self._bins.has_missing, -1)
            with part_of(self._counts):
                self._stumps = StumpSums(bins.codes, bins.n_rows, stumps, False, self.threads)
        return self._stumps

    @_of_pairs
    def wrong_units(self, scans: Sequence[tuple[int, int]], unit: float) -> Ints:
        """Return W- of all thresholds of features, one scan after the other.

        Parameters
        ----------
        scans : sequence of (feature, rank of abstentions)
        unit : float
            What the whole numbers returned are multiples of.
        """
        state, bins = self._pairs(False), self._bins
        state.prepare_scan()
        work = [
            partial(state.wrong_units, bins.codes[f], int(bins.n_bins[f]), default, unit)
            for f, default in scans
        ]
        return np.concatenate(run_all(self.threads, work))

    # -- trees ------------------------------------------------------------------------

    @_of_pairs
    def sizes(self) -> tuple[ExactSum, ...]:
        """Return the sums of absolute potentials and of curvature."""
        gradient, curvature = self._derivatives()
        return exact_sums(np.abs(gradient), curvature)

    def _derivatives(self) -> tuple[Floats, Floats]:
        """Return potentials and curvature of the rows."""
        n = self._bins.n_rows
        if self._curvature is None:
            self._curvature = self._state.curvature[:n]
        return self._pi[:n], self._curvature

    @_of_pairs
    def tree(self, method: str, *args: Any) -> Any:
        """Call a method of the tree that grows on the rows."""
        if self._tree is None:
            query = self._rows.query[: self._bins.n_rows]
            with part_of(self._counts):
                self._tree = PartTree(
                    self._bins, self._row_weight, query, self._derivatives, self.threads
                )
        return getattr(self._tree, method)(*args)

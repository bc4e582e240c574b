"""The parts of the rows as the loop sees them: requests of a round and their answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from crucial.boosting.pair_losses import LogisticTotals, ScoreReach
from crucial.boosting.parts import Objective
from crucial.boosting.row_losses import LossTotals
from crucial.boosting.stump_search import StumpGrid
from crucial.boosting.trees import tree_output
from crucial.boosting.watch import Differences
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Output
from crucial.feedback.labels import Largest, Peaks, QueryTotals
from crucial.kernels.runtime import Counts
from crucial.kernels.sums import ExactSum
from crucial.measures.base import Measure, Tally
from crucial.model.weak import Presence, Stump, Tree, WeakRankerLike
from crucial.types import Bools, Floats, Ints

# --- Scores of weak rankers on binned rows


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

    def __post_init__(self) -> None:
        n = self.bins.n_rows
        for name in ("labels", "query", "weight", "query_weight"):
            values = getattr(self, name)
            if values is not None and values.shape != (n,):
                raise DataError(f"a part of {n} rows has {name} of shape {values.shape}.")
        if self.bins.codes.dtype != np.uint8 or self.bins.sparse is not None:
            raise DataError("parts need codes of one byte: use at most 255 bins per feature.")

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


# --- The eval rows of a part: their scores, and what the measures of their queries add up to


@dataclass(frozen=True)
class EvalFacts:
    """What is known of eval rows.

    Attributes
    ----------
    lowest, highest : float
        Labels.
    """

    lowest: float
    highest: float

    @classmethod
    def of(cls, rows: PartRows) -> EvalFacts:
        """Look at some rows."""
        labels = rows.labels
        return cls(float(labels.min()), float(labels.max()))

    def merge(self, other: EvalFacts) -> EvalFacts:
        """Return the facts of both parts."""
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return EvalFacts(lowest, highest)


@dataclass(frozen=True)
class Tallies:
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

    def merge(self, other: Tallies) -> Tallies:
        """Return the measures of both parts."""
        both = zip(self.measures, other.measures, strict=True)
        worse = None
        if self.worse is not None and other.worse is not None:
            worse = self.worse.merge(other.worse)
        return Tallies(tuple(one.merge(two) for one, two in both), worse)


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

    def keep_best(self) -> None:
        """Remember the scores as those of the best round."""
        if self._values is None:
            self.tallies()
        self._best = self._values

    def move(self, ranker: WeakRankerLike, alpha: float) -> None:
        """Add a weak ranker to the scores."""
        self._scores += alpha * self._coded.output(ranker)
        self._values = None

    def tallies(self) -> Tallies:
        """Measure the scores."""
        values = [one.per_query(self._scores) for one in self._measures]
        first, self._values = self._measures[0], values[0]
        worse = None
        if self._best is not None:
            better = first.measure.higher_is_better
            worse = self._best - values[0] if better else values[0] - self._best
        weights = None if first.measure.aggregate == "mean" else first.bound.weights
        return Tallies(
            tuple(one.tally(own) for one, own in zip(self._measures, values, strict=True)),
            None if worse is None else Differences.of(worse, weights),
        )


# --- What goes to the parts and comes back from them in a round


#: What the losses of queries, or of their pairs, add up to.
Totals: TypeAlias = QueryTotals | LossTotals | LogisticTotals


@dataclass(frozen=True)
class PartSurvey:
    """What there is in parts.

    Attributes
    ----------
    lowest : float
        Label of the training rows that weigh anything; infinite without any.
    eval_facts : EvalFacts or None
        None without eval rows.
    """

    lowest: float
    eval_facts: EvalFacts | None

    def merge(self, other: PartSurvey) -> PartSurvey:
        """Return what there is in both parts."""
        facts = _both(self.eval_facts, other.eval_facts)
        return PartSurvey(min(self.lowest, other.lowest), facts)


@dataclass(frozen=True)
class Setup:
    """What a part needs to know of the whole in order to begin.

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
    """What the parts should return of the scores that they have.

    Attributes
    ----------
    unit : float or None
        Unit of the potentials in histograms; None: no histograms.
    features : int array or None
        Features of the histograms; None: all.
    scales : (float, float) or None
        The scale of the potentials before the move, and a guess of that after it: how far
        potentials are apart tells which features can have the best stump.
    peaks : Peaks or None
        Largest losses of all parts, where weights are computed from logarithms.
    reach : ScoreReach or None
        How far apart the scores of all parts are, where the logistic loss depends on it.
    sizes : bool
        Whether absolute potentials and curvature are added up, for a tree.
    trial : bool
        Whether it is about the scores of a trial, which move beside those of the fit.
    """

    unit: float | None = None
    features: Ints | None = None
    scales: tuple[float, float] | None = None
    peaks: Peaks | None = None
    reach: ScoreReach | None = None
    sizes: bool = False
    trial: bool = False


@dataclass(frozen=True)
class Histogram:
    """Sums of potentials, or of weights of pairs, per bin, as whole numbers of a unit."""

    sums: Ints

    def merge(self, other: Histogram) -> Histogram:
        """Return the sums of both parts."""
        return Histogram(self.sums + other.sums)


@dataclass(frozen=True)
class Numbers:
    """Numbers of queries."""

    numbers: Ints

    def merge(self, other: Numbers) -> Numbers:
        """Return the numbers of both parts, in rising order."""
        return Numbers(np.sort(np.concatenate((self.numbers, other.numbers))))


@dataclass(frozen=True)
class RoundAnswer:
    """What a part returns of a round.

    Attributes
    ----------
    totals : of the kind that the objective has, or None
        None where the peaks of all parts have to be known first.
    peaks : Peaks or None
    hist : int64 array or None
        Histograms, one feature after the other; None where the unit was too small, or they were
        not asked for.
    distance : float
        Summed distance of potentials from those before, under the scales that were asked for.
    reach : ScoreReach or None
        How far apart scores are, for the logistic loss.
    sizes : Exact or None
        Absolute potentials and curvature.
    tallies : Tallies or None
        Of the eval set.
    """

    totals: Totals | None
    peaks: Peaks | None = None
    hist: Ints | None = None
    sizes: Exact | None = None
    tallies: Tallies | None = None
    distance: float = 0.0
    reach: ScoreReach | None = None

    @property
    def _has_rows(self) -> bool:
        return self.totals is not None or self.peaks is not None

    def merge(self, other: RoundAnswer) -> RoundAnswer:
        """Return the answer of both parts."""
        hist = None
        if not (self._has_rows and other._has_rows):
            hist = self.hist if self._has_rows else other.hist
        elif self.hist is not None and other.hist is not None:
            hist = self.hist + other.hist
        return RoundAnswer(
            _both(self.totals, other.totals),
            _both(self.peaks, other.peaks),
            hist,
            _both(self.sizes, other.sizes),
            _both(self.tallies, other.tallies),
            self.distance + other.distance,
            _both(self.reach, other.reach),
        )


@dataclass(frozen=True)
class Exact:
    """Several sums of floats, none of them rounded."""

    sums: tuple[ExactSum, ...]

    @classmethod
    def of(cls, *arrays: Floats) -> Exact:
        """Return the sum of every array."""
        return cls(tuple(ExactSum.of(one) for one in arrays))

    def merge(self, other: Exact) -> Exact:
        """Return the sums of both parts."""
        return Exact(tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))

    @property
    def values(self) -> tuple[float, ...]:
        """The sums, each rounded once."""
        return tuple(one.value for one in self.sums)


def _both(one: Any, other: Any) -> Any:
    """Merge two results, of which either may be missing."""
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)


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


# --- The parts of the rows, wherever they are: call a method of every part, merge what it returns


def merged(results: Iterable[Any]) -> list[Any]:
    """Merge results that offer `merge`, in order; return all others as they are.

    Merging adds exactly: neither the cut into parts nor their order changes the result.

    A part without rows may return None, which takes no part in a merge.

    Examples
    --------
    >>> class Total(int):
    ...     merge = int.__add__
    >>> merged([Total(1), None, Total(2)])
    [3]
    >>> merged(["x", "y"])
    ['x', 'y']
    """
    listed = list(results)
    there = [one for one in listed if one is not None]
    if there and all(hasattr(one, "merge") for one in there):
        return [reduce(lambda one, other: one.merge(other), there)]
    return listed


class Parts(Protocol):
    """The parts of the rows, in a fixed order.

    Attributes
    ----------
    n_parts : int
    """

    n_parts: int

    @abstractmethod
    def call(self, method: str, *args: Any, changes: bool = False) -> list[Any]:
        """Call a method of every part; return the results in the order of the parts.

        Results that offer `merge` come back merged, per worker or all together.

        Parameters
        ----------
        changes : bool
            Whether the call alters the parts. Such calls are kept: a part that has to be loaded
            again is brought up to date by its method ``replay(calls)``, with all of them as pairs
            (method, arguments), the oldest first. So arguments are small, and what a call does
            depends on them alone.
        """

    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        """Call a method of every part; return its results merged into one.

        None where no part has a result.
        """
        found = merged(self.call(method, *args, changes=changes))
        (one,) = merged(one for one in found if one is not None) or (None,)
        return one


class LocalParts(Parts):
    """Parts in this process.

    Parameters
    ----------
    parts : sequence of objects with the methods to call

    Examples
    --------
    >>> LocalParts(["one", "three"]).call("upper")
    ['ONE', 'THREE']
    """

    def __init__(self, parts: Sequence[object]) -> None:
        self._parts = list(parts)
        self.n_parts = len(self._parts)

    def call(self, method: str, *args: Any, changes: bool = False) -> list[Any]:
        """Call a method of every part; return the results, merged where they offer it."""
        return merged(cast(Any, getattr(part, method))(*args) for part in self._parts)


# --- What has to be known of the rows of all parts before any part can begin


@dataclass(frozen=True)
class RowFacts:
    """What has to be known of the rows of all parts before any part can begin.

    Attributes
    ----------
    rows, queries : int
        All there are.
    counts : Counts
        Of the rows that occur in a pair.
    largest : Largest
        Weights of those rows.
    weighted : bool
        Whether such a row weighs other than 1.
    weight : ExactSum
        What they weigh together.
    absent : bool array over the features
        Whether one of them abstains there.
    """

    rows: int
    queries: int
    counts: Counts
    largest: Largest
    weighted: bool
    weight: ExactSum
    absent: Bools

    def merge(self, other: RowFacts) -> RowFacts:
        """Return the facts of both parts."""
        return RowFacts(
            self.rows + other.rows,
            self.queries + other.queries,
            self.counts.merge(other.counts),
            self.largest.merge(other.largest),
            self.weighted or other.weighted,
            self.weight + other.weight,
            self.absent | other.absent,
        )

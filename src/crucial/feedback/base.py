"""Feedback: a weighted set of crucial pairs.

Its states under scores, its potentials by row, and rows sorted by query and label, from which
pairs, margins and agreement follow.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.kernels.elementary import exact_dot, exact_sum, exp, log, round_unit, to_fixed
from crucial.kernels.pairs import count_margins, count_pairs, sums_below
from crucial.kernels.predict import order_rows
from crucial.kernels.runtime import Levels
from crucial.types import Bools, Codes, Floats, Ints, VectorLike

# --- Rows sorted by query and label, and the pairs, margins and agreement that follow


# --- Pairs as arrays of row numbers and weights


class ListedPairs(NamedTuple):
    """Distinct pairs.

    Attributes
    ----------
    high, low : int arrays
        Winner and loser, as places in ``Feedback.rows``.
    weight : array
        Weight of every pair.
    """

    high: Ints
    low: Ints
    weight: Floats

    def take(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers."""
        return ListedPairs(self.high[numbers], self.low[numbers], self.weight[numbers])

    def margins(self, scores: Floats) -> Floats:
        """Return ``H(hi) - H(lo)`` of every pair."""
        return np.subtract(scores[self.high], scores[self.low])

    def write_potentials(self, d: Floats, n_rows: int, pi: Floats) -> None:
        """Write the potentials of pair weights d into the padded array pi."""
        pi[:n_rows] = np.bincount(self.high, d, n_rows)
        pi[:n_rows] -= np.bincount(self.low, d, n_rows)
        pi[n_rows:] = 0.0


# --- Rows sorted by query and label, which is all that label feedback needs of its pairs


@dataclass(frozen=True)
class Layout(Levels):
    """Usable rows by query and, inside it, by rising label.

    Attributes
    ----------
    level_start, query_first : int64 arrays
        See `Levels`.
    rows : int array
        Row numbers in that order; rows of queries without a pair are left out.
    values : array of shape (n_segments,)
        Label of every segment.
    queries : int array of shape (n_queries,)
        Number of the query among all groups.
    """

    rows: Ints
    values: Floats
    queries: Ints

    @classmethod
    def of(cls, y: Floats, groups: Groups, keep: Bools | None) -> Layout:
        """Sort the rows; ``keep`` leaves out rows of weight 0."""
        rows = groups.permutation
        query = np.repeat(np.arange(groups.n_groups, dtype=np.int32), groups.sizes)
        if keep is not None:
            kept = np.flatnonzero(keep if rows is None else keep[rows])
            rows, query = kept if rows is None else rows[kept], query[kept]
        labels = y if rows is None else y[rows]
        same = query[1:] == query[:-1]
        if np.any(same & (labels[1:] < labels[:-1])):
            # The queries are in order already, so sorting leaves them where they are.
            order = np.lexsort((labels, query))
            labels = labels[order]
            rows = order if rows is None else rows[order]
        elif rows is None:
            rows = np.arange(len(query))
        usable = np.zeros(groups.n_groups, bool)
        usable[query[1:][same & (labels[1:] > labels[:-1])]] = True
        live = usable[query]
        if not live.all():
            rows, labels, query = rows[live], labels[live], query[live]
        change = np.ones(len(rows), bool)
        change[1:] = (query[1:] != query[:-1]) | (labels[1:] != labels[:-1])
        starts = np.flatnonzero(change)
        owner = query[starts]
        queries, first = np.unique(owner, return_index=True)
        return cls(
            np.append(starts, len(rows)),
            np.append(first, len(starts)).astype(np.int64),
            rows,
            labels[starts],
            queries.astype(np.int64),
        )

    def repeated(self, counts: Ints) -> Layout:
        """Return the layout with every row as often as it counts."""
        ends = np.concatenate(([0], np.cumsum(counts)))
        rows = np.repeat(self.rows, counts)
        return replace(self, rows=rows, level_start=ends[self.level_start])

    @property
    def n_levels(self) -> int:
        """Number of different labels in pairs."""
        return len(np.unique(self.values))

    @property
    def n_pairs(self) -> int:
        """Number of pairs: rows of one query with different labels."""
        wins = self.level_start[:-1] - np.repeat(self.row_start[:-1], np.diff(self.query_first))
        return int(np.dot(wins, np.diff(self.level_start)))


@dataclass(frozen=True)
class LabelledRows:
    """The rows of label feedback with all that their pairs weigh.

    Pair (lo, hi) of query q weighs ``coefficient[q] * weight[lo] * weight[hi]``, times the
    difference of the gains of their labels, if there are any.

    Attributes
    ----------
    layout : Layout
    weight : array over the rows of the layout, or None
        Instance weights, scaled so that sums over pairs do not overflow; None where all are 1.
    gains : array over the segments, or of length 0
        Gain of every level; empty where all pairs count the same.
    coefficient : array over the queries
        Factor on the pairs of each query, balance and query weights together.
    balanced : bool
        Whether all queries weigh the same.
    log_total : float
        Logarithm of the weight of all pairs.
    uncut_labels : array over the rows of the layout, or None
        The labels before `crucial.feedback.labels` made the lower ones of a query equal.
    query_weight : array over the queries, or None
        Weight of each query over the largest, without balance; None where all weigh the same.
    """

    layout: Layout
    weight: Floats | None
    gains: Floats
    coefficient: Floats
    balanced: bool
    log_total: float
    uncut_labels: Floats | None = None
    query_weight: Floats | None = None

    @property
    def gap(self) -> Floats:
        """Gain of a level minus that of the level below it in its query; empty without gains."""
        return self.layout.gaps(self.gains)

    @property
    def labels(self) -> Floats:
        """Label of every row, as it was passed in."""
        if self.uncut_labels is not None:
            return self.uncut_labels
        return np.repeat(self.layout.values, np.diff(self.layout.level_start))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers; see `Feedback.pairs_at`.

        A row beats the rows before its level in its query.
        """
        layout = self.layout
        sizes = np.diff(layout.level_start)
        first = layout.row_start[:-1][layout.query_of_segment]  # for every segment
        wins = np.repeat(layout.level_start[:-1] - first, sizes)
        start = np.concatenate(([0], np.cumsum(wins)))
        high = np.searchsorted(start, numbers, "right") - 1
        low = numbers - start[high] + first[layout.segment_of_row[high]]
        return ListedPairs(high, low, self.pair_weights(high, low))

    def taken(self, layout: Layout, places: Ints) -> LabelledRows | None:
        """Return some of the rows; None if their pairs weigh nothing.

        Parameters
        ----------
        layout : Layout
            Of these rows.
        places : int array
            Their places here, in the order of the layout.
        """
        segment = self.layout.segment_of_row[places[layout.level_start[:-1]]]
        query = np.searchsorted(self.layout.queries, layout.queries)
        gains = self.gains[segment] if len(self.gains) else self.gains
        weight = None if self.weight is None else self.weight[places]
        coefficient = self.coefficient[query]
        mass = np.diff(layout.level_start).astype(np.float64)
        if weight is not None:
            mass = np.add.reduceat(weight, layout.level_start[:-1])
        pairs = mass * sums_below(mass, layout.gaps(gains), layout.query_first)
        per_query = np.add.reduceat(pairs, layout.query_first[:-1])
        whole = exact_dot(coefficient, per_query)
        if not whole > 0.0:
            return None
        uncut = None if self.uncut_labels is None else self.uncut_labels[places]
        relative = None if self.query_weight is None else self.query_weight[query]
        return LabelledRows(
            layout, weight, gains, coefficient, self.balanced, log(whole), uncut, relative
        )

    def pair_weights(self, high: Ints, low: Ints) -> Floats:
        """Return the weights of pairs of places, as shares of the weight of all pairs."""
        above, below = self.layout.segment_of_row[high], self.layout.segment_of_row[low]
        query = self.layout.query_of_segment[above]
        weight: Floats = self.coefficient[query] / exp(self.log_total)
        if self.weight is not None:
            weight = weight * self.weight[high] * self.weight[low]
        if len(self.gains):
            weight = weight * (self.gains[above] - self.gains[below])
        return weight

    def are_pairs(self, high: Ints, low: Ints) -> Bools:
        """Return which pairs of places the labels imply; a place of -1 is no row of any."""
        above, below = self.layout.segment_of_row[high], self.layout.segment_of_row[low]
        query = self.layout.query_of_segment
        return np.asarray(
            (high >= 0) & (low >= 0) & (query[above] == query[below]) & (above > below)
        )

    def count_pairs_of(self, chosen: Ints) -> int:
        """Return the number of `pairs_of` at most."""
        return int(sum(part.sum() for part in self._opponents(chosen)))

    def pairs_of(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return winner and loser of all pairs in which a chosen place occurs, each once."""
        layout = self.layout
        segment = layout.segment_of_row[chosen]
        query = layout.query_of_segment[segment]
        below, above = self._opponents(chosen)
        first, after = layout.row_start[query], layout.level_start[segment + 1]
        wins = np.repeat(chosen, below), _counted_from(first, below)
        losses = _counted_from(after, above), np.repeat(chosen, above)
        # A pair of two chosen places is listed with the winner.
        is_chosen = np.zeros(layout.n_rows, bool)
        is_chosen[chosen] = True
        once = ~is_chosen[losses[0]]
        high = np.concatenate((wins[0], losses[0][once]))
        return high, np.concatenate((wins[1], losses[1][once]))

    def _opponents(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return how many rows of its query are below, and above, each place."""
        layout = self.layout
        segment = layout.segment_of_row[chosen]
        query = layout.query_of_segment[segment]
        below = layout.level_start[segment] - layout.row_start[query]
        return below, layout.row_start[query + 1] - layout.level_start[segment + 1]


def _counted_from(first: Ints, counts: Ints) -> Ints:
    """Return ``first[i], first[i] + 1, ...``, so many for every i."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts))


# --- The extreme pairs of label feedback, found from its levels: lightest, closest, farthest


def _largest_below(values: Floats, layout: Layout) -> Floats:
    """Return the largest value among the lower levels of the same query; -inf at the lowest level.

    Windows of 1, 2, 4, ... levels are joined, so deep queries cost a logarithm.
    """
    query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_first))
    below = np.full(len(values), -np.inf)
    inside = query[1:] == query[:-1]
    below[1:][inside] = values[:-1][inside]
    reach = 1
    while reach < layout.deepest - 1:
        inside = query[reach:] == query[:-reach]
        further = np.where(inside, below[:-reach], -np.inf)
        below[reach:] = np.maximum(below[reach:], further)
        reach *= 2
    return below


def margin_range(layout: Layout, scores: Floats) -> tuple[float, float]:
    """Return the smallest and largest ``H(hi) - H(lo)`` over all pairs, in one pass over the rows.

    Equivalent to, and much faster than::

        margins = [scores[a] - scores[b] for all pairs (a above b)]
        return min(margins), max(margins)

    Parameters
    ----------
    layout : Layout
    scores : array over the rows of the layout
    """
    starts = layout.level_start[:-1]
    low = np.minimum.reduceat(scores, starts)
    high = np.maximum.reduceat(scores, starts)
    # (the lowest level of a query has nothing below it: inf and -inf, which are never the extremes)
    smallest = (low - _largest_below(high, layout)).min()
    largest = (high + _largest_below(-low, layout)).max()
    return float(smallest), float(largest)


def log_lightest_pairs(layout: Layout, weight: Floats | None, gains: Floats) -> Floats:
    """Return the logarithm of the weight of every query's lightest pair.

    Rows of weight 2 and more count as repeated rows of weight 1 or more, so a weight
    above 1 makes no pair heavier here. Of gains the smallest difference counts, whichever
    rows it belongs to: the result is then a lower bound where weights below 1 differ.

    Parameters
    ----------
    layout : Layout
    weight : array over the rows of the layout, or None
    gains : array over the segments, or of length 0
    """
    first = layout.query_first[:-1]
    found = np.zeros(layout.n_queries)
    if weight is not None:
        level = log(np.minimum(np.minimum.reduceat(weight, layout.level_start[:-1]), 1.0))
        lightest = np.minimum.reduceat(level, first)
        # The partner is on another level: leave the first level that attains it out.
        query = np.repeat(np.arange(layout.n_queries), np.diff(layout.query_first))
        at = np.flatnonzero(level == lightest[query])
        _, once = np.unique(query[at], return_index=True)
        others = level.copy()
        others[at[once]] = np.inf
        found = lightest + np.minimum.reduceat(others, first)
    if len(gains):
        gap = np.diff(gains, prepend=gains[:1])
        gap[first] = np.inf
        found = found + log(np.minimum.reduceat(gap, first))
    return found


# --- The margins ``H(hi) - H(lo)`` of all pairs of a feedback, as a distribution


# Sums of weights that are no whole numbers round: a share within this of q has reached q.
_ROUNDING = 1e-12


class MarginCounts(Protocol):
    """Counts the pairs by margin.

    Attributes
    ----------
    minimum, maximum : float
        The extreme margins.
    total : float
        Weight of all pairs.
    whole : bool
        Whether all weights are whole numbers, so that counts are exact.
    """

    minimum: float
    maximum: float
    total: float
    whole: bool

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""


class LabelMargins:
    """Margins of the pairs that labels imply, which are not listed.

    Parameters
    ----------
    rows : LabelledRows
        A pair weighs the product of its rows' weights; gains and balance are ignored.
    scores : array over the rows
    threads : int
    """

    def __init__(self, rows: LabelledRows, scores: Floats, threads: int = 1) -> None:
        layout, self._threads = rows.layout, threads
        self.minimum, self.maximum = margin_range(layout, scores)
        order = np.lexsort((-scores, layout.query_of_row()))
        self._score = scores[order]
        self._level = layout.level_of_row()[order].astype(np.int64)
        self._weight = np.ones(len(order)) if rows.weight is None else rows.weight[order]
        self._starts = layout.row_start
        self.whole = rows.weight is None
        self.total = float(self.at_most(np.array([self.maximum]))[0])

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        rows = (self._score, self._level, self._weight, self._starts)
        return count_margins(*rows, thresholds, self._threads)


class PairMargins:
    """Margins of explicit pairs.

    Parameters
    ----------
    pairs : ListedPairs
    scores : array over the rows
    """

    def __init__(self, pairs: ListedPairs, scores: Floats) -> None:
        margin = pairs.margins(scores)
        order = np.argsort(margin, kind="stable")
        self._margin = margin[order]
        weight = pairs.weight[order]
        self.whole = bool((weight == weight[0]).all())
        weight = np.ones(len(weight)) if self.whole else weight
        self._upto = np.concatenate(([0.0], np.cumsum(weight)))
        self.minimum, self.maximum = float(self._margin[0]), float(self._margin[-1])
        self.total = float(self._upto[-1])

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        return self._upto[np.searchsorted(self._margin, thresholds, "right")]


class SumMargins:
    """Margins of several feedbacks, each with the weight of its pairs."""

    whole = False

    def __init__(self, parts: Sequence[tuple[MarginCounts, float]]) -> None:
        self._parts = parts
        self.minimum = min(part.minimum for part, _ in parts)
        self.maximum = max(part.maximum for part, _ in parts)
        self.total = math.fsum(weight for _, weight in parts)

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        found = np.zeros(len(thresholds))
        for part, weight in self._parts:
            found += shares_at_most(part, thresholds) * weight
        return found


def shares_at_most(counts: MarginCounts, thresholds: Floats) -> Floats:
    """Return the share of the weight at or below each threshold, 1 from the largest margin on."""
    share = np.minimum(counts.at_most(thresholds) / counts.total, 1.0)
    return np.where(thresholds >= counts.maximum, 1.0, share)


def quantiles(counts: MarginCounts, q: Floats) -> Floats:
    """Return the smallest margin at or below which a share q of the weight lies, for every q.

    Exact: bisection goes on until two neighbouring floating point numbers are left.
    """
    need = q * counts.total - (0.0 if counts.whole else _ROUNDING * counts.total)
    low = np.full(len(q), _place(np.array([counts.minimum]))[0] - 1)
    high = np.full(len(q), _place(np.array([counts.maximum]))[0])
    while True:
        open_ = np.flatnonzero(low + 1 < high)
        if not len(open_):
            break
        below, above = low[open_], high[open_]
        middle = (below & above) + ((below ^ above) >> 1)  # (their mean: the sum may overflow)
        distinct, again = np.unique(middle, return_inverse=True)
        reached = counts.at_most(_number(distinct))[again] >= need[open_]
        high[open_] = np.where(reached, middle, high[open_])
        low[open_] = np.where(reached, low[open_], middle)
    return _number(high) + 0.0  # (no negative zero)


def _place(values: Floats) -> Ints:
    """Return whole numbers in the order of the floating point numbers, next to next."""
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits, bits)


def _number(places: Ints) -> Floats:
    """Return the inverse of `_place`."""
    bits = np.where(places < 0, np.int64(np.iinfo(np.int64).min) - places, places)
    return bits.view(np.float64)


# --- The agreement of a ranking with the labels, query by query


class Agreement:
    """Counts, for any scores, the pairs of different labels in the right and wrong order.

    Parameters
    ----------
    layout : Layout
        The rows, by query and label.
    weight : array over the rows of the layout, or None
        A pair weighs the product.
    threads : int
        Threads share the queries; the result does not depend on them.
    """

    def __init__(self, layout: Layout, weight: Floats | None = None, threads: int = 1) -> None:
        self._starts, self._threads = layout.row_start, threads
        self._level = layout.level_of_row().astype(np.int64)
        self._query = layout.query_of_row()
        self._weight = weight

    def counts(self, scores: Floats) -> Floats:
        """Return the weight of right, wrong and tied pairs per query: shape (n_queries, 3)."""
        order = order_rows(scores, self._starts, self._threads)
        ranked = scores[order]
        new = np.ones(len(order), bool)
        new[1:] = (ranked[1:] != ranked[:-1]) | (self._query[1:] != self._query[:-1])
        blocks = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
        lists = np.searchsorted(blocks, self._starts)
        weight = None if self._weight is None else self._weight[order]
        return count_pairs(self._level[order], weight, blocks, lists, self._threads)

    def of(self, scores: Floats) -> Floats:
        """Return ``E = 1 - 2 T`` per query, T being the Kendall distance with ties counted half.

        A ranking of ties only has 0, the right one 1 and its opposite -1 (Wang et al.,
        equation 9, where no ranks tie).
        """
        net, pairs = self.net(scores)
        return np.asarray(net / pairs)

    def net(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the weight of right minus wrong pairs, and of all pairs, per query."""
        right, wrong, tied = self.counts(scores).T
        return right - wrong, right + wrong + tied


# --- Feedback: a weighted set of crucial pairs, its states under scores, and its potentials by row


# --- States: a feedback under changing scores, as objectives, weak learners and steps ask it


#: Scores of a weak ranker on the rows: uint8 for a {0, 1} ranker, else float64.
Output: TypeAlias = NDArray[Any]


class ScoreState(Protocol):
    """An objective at the current scores H.

    This is all that the boosting loop needs. A step rule or a weak learner that needs more,
    such as the curvature of the loss, names it in ``needs``.
    """

    @property
    def scores(self) -> Floats:
        """H of every row of ``Feedback.rows``, in that order."""

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials: minus the gradient of the loss by the score of each row.

        Returns
        -------
        scale : float
            ``scale * pi`` belongs to pair weights that sum to 1.
        log_loss : float
            Logarithm of the loss, over its value at scores of 0.
        """

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to H; an output of uint8 is 0 or 1."""

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""


class PairState(ScoreState, Protocol):
    """The pairs of a feedback, weighted by the exponential loss.

    Weights of pairs are ``D = w exp(H(lo) - H(hi))``, normalised to sum 1 wherever they are
    returned, so that the potentials are ``pi(x) = sum_{hi=x} D - sum_{lo=x} D`` and the loss
    is E1, the weighted mean of ``exp(H(lo) - H(hi))``.
    """

    @property
    def curvature(self) -> Floats:
        """Second derivative of the loss by the score of each row, in the units of ``pi``.

        It is the weight of all pairs that the row is in; of the scores that potentials were
        last asked for.
        """

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of ``output(hi) - output(lo)`` under D."""

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of a binned feature; ``out[k]``: ones are codes >= k."""

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""

    def copy(self) -> PairState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""


def padded(n_rows: int) -> int:
    """Round a number of rows up to a multiple of 8, which kernels read at a time."""
    return -(-n_rows // 8) * 8


def draw_share(items: Ints, fraction: float, random: np.random.Generator) -> Ints:
    """Draw a share of some numbers, at least one."""
    return random.permutation(items)[: max(1, round(fraction * len(items)))]


class Least(float):
    """A number of which the smallest of all parts of the rows counts.

    Sums over parts are added up field by field (`crucial.distributed.transport.merge`).
    """

    def merge(self, other: Least) -> Least:
        """Return the smaller of both numbers."""
        return min(self, other)


class Most(float):
    """A number of which the largest of all parts of the rows counts; see `Least`."""

    def merge(self, other: Most) -> Most:
        """Return the larger of both numbers."""
        return max(self, other)


class DrawnShare:
    """Base of states that can count a random share of the queries, or of explicit pairs.

    Attributes
    ----------
    nothing : float
        The weight of a query that does not count; minus infinity for logarithms.
    """

    nothing = 0.0
    _all: Floats  # weights of the queries, or pairs
    _drawn: Floats  # the same of those that count until the next draw

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs), at least one."""
        self.count_only(draw_share(self.counting, fraction, random))

    @property
    def counting(self) -> Ints:
        """The queries (or pairs) that weigh anything."""
        return np.flatnonzero(self._all > self.nothing)

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries (or pairs) until the next draw."""
        self._drawn = np.full_like(self._all, self.nothing)
        self._drawn[chosen] = self._all[chosen]


def risks_of(wrong: float, tied: float) -> tuple[float, float]:
    """Return R1 and R2 of the shares of wrong and tied pairs, which may round to above 1."""
    return min(1.0, wrong + tied), min(1.0, wrong + tied / 2)


# --- Feedback: a weighted set of crucial pairs
#
# A *crucial pair* (lo, hi) says that hi must rank above lo. A feedback never changes; a
# `PairState` follows the scores of its rows while they are learned.


class TwoClasses(NamedTuple):
    """A classification into two: labels of two values, and no queries.

    Attributes
    ----------
    low, high : float
        The two labels.
    n_low : int
        How many of the rows, the first of ``Feedback.rows``, have the lower label.
    """

    low: float
    high: float
    n_low: int


class RowMass(NamedTuple):
    """What the rows of a feedback weigh: the lightest, the heaviest, and all together.

    Attributes
    ----------
    weighted : bool
        Whether one of them weighs other than 1.
    """

    lightest: float
    heaviest: float
    total: float
    weighted: bool


class Feedback:
    """Base of all feedbacks.

    Attributes
    ----------
    n_rows : int
        Rows of the instances.
    rows : int array
        Rows that occur in a pair, in the order in which a state works on them.
    weight : array like ``rows``, or None
        Instance weights of those rows, if any; bins follow them.
    n_pairs : int
        Number of pairs.
    total : float
        Weight of all pairs, before any balancing; positive, and clipped to the range of
        floats.
    n_queries, n_skipped : int
        Queries with at least one pair, and those without.
    """

    n_rows: int
    rows: Ints
    weight: Floats | None
    n_pairs: int
    total: float
    n_queries: int
    n_skipped: int

    # -- the pairs --------------------------------------------------------------------

    def state(self, threads: int = 1) -> PairState:
        """Return the state of ``self.rows`` at scores of 0."""
        raise NotImplementedError

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers, ``0 <= number < n_pairs``.

        Pairs of labels, and explicit ones, come by rising winner. Weights are shares of the
        weight of all pairs.
        """
        raise DataError(f"the pairs of a {type(self).__name__} cannot be listed.")

    def labelled(self) -> LabelledRows | None:
        """Return the rows by query and label, with their weights; None without labels."""
        return None

    def listed(self) -> ListedPairs | None:
        """Return the pairs of a feedback that consists of explicit ones; else None."""
        return None

    def pieces(self, objective: Any, learner: Any, step: Any, watch: Any) -> tuple[Any, Any]:
        """Return the objective and the weak learner to use; others where rows are in parts."""
        return objective, learner

    def two_classes(self) -> TwoClasses | None:
        """Return the classes of a classification into two; None for any other feedback."""
        return None

    def row_mass(self) -> RowMass:
        """Return the lightest, heaviest and total weight of the rows."""
        if self.weight is None:
            return RowMass(1.0, 1.0, float(len(self.rows)), False)
        lightest, heaviest = float(self.weight.min()), float(self.weight.max())
        return RowMass(lightest, heaviest, exact_sum(self.weight), True)

    def least_row_margin(self, scores: Floats) -> float:
        """Return the smallest ``y_i H(x_i)`` of two classes y in {-1, 1}.

        Parameters
        ----------
        scores : array like ``rows``
        """
        classes = self.two_classes()
        assert classes is not None
        bad, good = scores[: classes.n_low], scores[classes.n_low :]
        return float(min(good.min(initial=math.inf), -bad.max(initial=-math.inf)))

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight.

        A row of weight 2 counts as two rows, so its pairs are as light as theirs. With both
        gains and weights below 1, this is a lower bound.
        """
        raise NotImplementedError

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin ``H(hi) - H(lo)``.

        Parameters
        ----------
        scores : array like ``rows``
        """
        raise NotImplementedError

    def margin_counts(self, scores: Floats, threads: int = 1) -> MarginCounts:
        """Return the distribution of the margins of all pairs.

        Parameters
        ----------
        scores : array like ``rows``
        """
        raise NotImplementedError

    def summary(self) -> dict[str, float]:
        """Return counts for reports."""
        return {
            "pairs": self.n_pairs,
            "pair_weight": self.total,
            "queries": self.n_queries,
            "skipped_queries": self.n_skipped,
        }

    def class_summary(self) -> dict[str, float]:
        """Return counts for reports; without rounding where rows are in two classes."""
        classes = self.two_classes()
        if classes is None:
            return self.summary()
        weight = np.ones(len(self.rows)) if self.weight is None else self.weight
        bad, good = exact_sum(weight[: classes.n_low]), exact_sum(weight[classes.n_low :])
        return self.summary() | {"pair_weight": finite_total(bad * good)}

    def risks_at(self, scores: Floats, threads: int = 1) -> tuple[float, float]:
        """Return R1 and R2 at scores of ``self.rows``."""
        state = self.state(threads)
        state.advance(scores, 1.0)
        return state.risks()

    # -- at given scores, one per row of the instances --------------------------------

    def _at(self, scores: VectorLike) -> PairState:
        """Return the state at checked scores."""
        values = np.asarray(scores, np.float64)
        if values.shape != (self.n_rows,):
            raise DataError(
                f"scores must have one number for each of the {self.n_rows} rows. "
                f"Got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DataError(f"scores must be finite. Row {row} is {values[row]}.")
        with np.errstate(over="ignore"):
            if not np.isfinite(np.ptp(values)):
                raise DataError("scores are so far apart that their difference overflows.")
        state = self.state()
        state.advance(values[self.rows], 1.0)
        return state

    def potentials(self, scores: VectorLike) -> Floats:
        """Return the weight of the pairs a row should win minus that of those it should lose."""
        pi = np.zeros(len(self.rows))
        scale, _ = self._at(scores).potentials(pi)
        out = np.zeros(self.n_rows)
        out[self.rows] = scale * pi
        return out

    def log_loss(self, scores: VectorLike) -> float:
        """Return the logarithm of `loss`, which does not underflow."""
        return self._at(scores).potentials(np.zeros(len(self.rows)))[1]

    def loss(self, scores: VectorLike) -> float:
        """Return E1, the weighted mean over pairs of ``exp(H(lo) - H(hi))``."""
        return exp(self.log_loss(scores))

    def r1(self, scores: VectorLike) -> float:
        """Return the weighted share of pairs not ordered right (ties count in full)."""
        return self._at(scores).risks()[0]

    def r2(self, scores: VectorLike) -> float:
        """Return the weighted share of pairs ordered wrong, plus half of the ties."""
        return self._at(scores).risks()[1]

    def z(self, scores: VectorLike, output: VectorLike, alpha: float) -> float:
        """Return Z(alpha), the factor on the loss of adding ``alpha * output`` to the scores."""
        after = np.asarray(scores, np.float64) + alpha * np.asarray(output, np.float64)
        return exp(self.log_loss(after) - self.log_loss(scores))


def power_of_two_scale(largest: float) -> float:
    """Return a power of two that brings the largest weight near 1: scaling stays exact."""
    return math.ldexp(1.0, min(1023, max(-1022, -math.frexp(largest)[1])))


def finite_total(total: float) -> float:
    """Clip a weight to the positive finite floats, for reports and divisions."""
    return min(max(total, sys.float_info.min), sys.float_info.max)


def smoothing_of(total: float) -> float:
    """Return the share of the weight that a perfect round adds to both sides.

    Half a pair, so that weights and repeated rows are smoothed alike; within
    [1e-12, 1e-2] whatever the weights are.

    Examples
    --------
    >>> smoothing_of(1000.0)
    0.0005
    """
    return min(max(0.5 / total if total > 0 else 1.0, 1e-12), 1e-2)


# --- Potentials: feedback seen from the rows, which is all that most weak learners need of it


class Potentials:
    """The potentials of an objective at the current scores, which renew themselves.

    Parameters
    ----------
    pairs : ScoreState
        The state of the objective.
    threads : int

    Attributes
    ----------
    pi : float64 array, padded to a multiple of 8
        ``scale * pi[x]`` is the weight of the pairs that x should win minus the weight of
        those it should lose; pair weights sum to 1.
    scale : float
    unit : float
        A power of two. Sums of potentials as whole numbers of units are exact, so that they do not
        depend on the order of the rows, nor on who adds up which of them.
    log_loss : float
        Logarithm of the objective, relative to its value at scores of 0.
    pairs : ScoreState
        For what does not follow from the potentials alone.
    """

    pi: Floats
    scale: float
    unit: float
    log_loss: float

    def __init__(self, pairs: ScoreState, threads: int = 1) -> None:
        self.pairs, self._threads = pairs, threads
        self.pi = np.zeros(padded(len(pairs.scores)))
        self._before: float | None = None  # scale before the scores moved last
        self.renew()

    def renew(self) -> None:
        """Follow the scores of the state."""
        self.scale, self.log_loss = self.pairs.potentials(self.pi)
        before = None if self._before is None else whole_of(self._before)
        self.unit = round_unit(before, whole_of(self.scale))
        self._fixed: Ints | None = None

    @property
    def fixed(self) -> Ints:
        """The potentials as whole numbers of units."""
        if self._fixed is None:
            self._fixed = to_fixed(self.pi, self.unit, self._threads)
        return self._fixed

    @property
    def factor(self) -> float:
        """What a unit is worth where pair weights sum to 1."""
        return self.scale * self.unit

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._before = self.scale
        self.pairs.advance(output, alpha)
        self.renew()

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        self.pairs.subsample(fraction, random)
        self.renew()


def whole_of(scale: float) -> float:
    """Return an upper bound on the sum of magnitudes of potentials of this scale."""
    # (pair weights sum to 1, and each counts for two rows)
    return 2.0 / scale if scale > 0.0 else math.inf


def exponential_pairs(potentials: Potentials) -> PairState:
    """Return the state behind the potentials, for a part that names what it uses in ``needs``."""
    return cast(PairState, potentials.pairs)

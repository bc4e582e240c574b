"""Measures over pairs that have a right order: AUC and its kin, volume, agreement of features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import factorial
from typing import Any, ClassVar, Literal

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.kernels.pairs import count_pairs, running, sum_higher
from crucial.kernels.predict import run_starts
from crucial.kernels.runtime import count_threads
from crucial.measures.base import (
    REL,
    Aggregate,
    BoundMeasure,
    Measure,
    Option,
    Relevance,
    flag,
    number,
    register,
    word,
)
from crucial.measures.lists import JudgedLists, Ranking, TieBlocks, size_classes, slots
from crucial.parameters import one_of
from crucial.types import Floats, Ints

# --- Measures over the pairs of a query that have a right order
#
# Every pair of items with different labels counts once, graded labels too. The weights of
# concordant, discordant and tied pairs are kept apart, and the definition of each measure
# determines what a tie counts: the rule for ties of other measures has no effect.


_TIED = {0.0: "not at all", 0.5: "half", 1.0: "in full"}


def levels_of(judged: JudgedLists, y: Floats) -> Ints:
    """Return the labels as 0, 1, 2, ... inside each query."""
    blocks = judged.sort(y)
    first = np.repeat(blocks.lists[:-1], np.diff(blocks.lists))
    level = np.arange(len(blocks.query)) - first
    out = np.empty(len(y), np.int64)
    out[blocks.items] = np.repeat(level, blocks.sizes)
    return out


def weighted_levels(judged: JudgedLists) -> tuple[Ints, Ints]:
    """Return the labels as 0, 1, 2, ... and how many there are in each query.

    Labels that only rows of weight 0 have are not counted.
    """
    level, n_levels = levels_of(judged, judged.y), np.zeros(judged.n_queries, np.int64)
    np.maximum.at(n_levels, judged.codes, level + 1)
    if judged.weight is None or judged.weight.min() > 0:
        return level, n_levels
    starts = np.append(0, np.cumsum(n_levels))
    mass = np.bincount(starts[judged.codes] + level, judged.weight, minlength=starts[-1])
    place = running((mass > 0).astype(np.float64), starts, True).astype(np.int64)
    query = np.repeat(np.arange(judged.n_queries), n_levels)
    kept = np.bincount(query[mass > 0], minlength=judged.n_queries)
    # Rows of weight 0 need a place that exists.
    at = np.minimum(place, np.maximum(kept - 1, 0)[query])
    return at[starts[judged.codes] + level], kept


@dataclass(frozen=True)
class PairMeasure(Measure):
    """Share of the pairs ``y_hi > y_lo`` of a query that are in the wrong, or right, order.

    Attributes
    ----------
    kind : {"wrong", "right", "balance"}
        Share of the discordant pairs; of the concordant ones; the second minus the first.
    tied : {0, 0.5, 1}
        How much a pair with equal scores counts as wrong.
    aggregate_as : {"mean", "pool"}
        Average of queries, or all pairs together.
    relevance : Relevance or None
        Compare relevant items with the others only, instead of all labels.
    among : {"comparable", "all"}
        Pairs that a share is of: those with different labels, or all pairs of the query, those
        with equal labels included (they are never wrong). A pair of rows weighs the product of
        their weights in either case.
    title : str
        The measure in words.
    """

    takes_weights: ClassVar[bool] = True

    kind: Literal["wrong", "right", "balance"] = "wrong"
    tied: float = 0.5
    aggregate_as: Aggregate = "mean"
    relevance: Relevance | None = None
    among: Literal["comparable", "all"] = "comparable"
    title: str = ""

    @property
    def meaning(self) -> str:
        """Which pairs count, in words."""
        which = "y_hi > y_lo" if self.relevance is None else f"{self.relevance.text} above others"
        of = ", of all pairs" if self.among == "all" else ""
        return f"{self.title}, pairs {which}{of}, ties count {_TIED[self.tied]}"

    @property
    def aggregate(self) -> Aggregate:
        """Average of queries, or all pairs together."""
        return self.aggregate_as

    @property
    def higher_is_better(self) -> bool:
        """Lower is better for a share of wrong pairs."""
        return self.kind != "wrong"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the levels of the labels and the weight of the pairs of each query."""
        n, threads = judged.n_queries, count_threads(None)
        y = judged.y if self.relevance is None else self.relevance.of(judged).astype(float)
        level, weight, scale = levels_of(judged, y), judged.weight, np.ones(n)
        if weight is not None:
            # Each query on its own scale, so that no product overflows.
            np.maximum.at(most := np.zeros(n), judged.codes, weight)
            weight = weight / np.where(most > 0, most, 1.0)[judged.codes]
            scale = most / most.max() if most.max() > 0 else most

        total = _count_comparable(judged, level, weight)
        all_pairs = count_all_pairs(judged, weight) if self.among == "all" else None

        def values(ranking: Ranking) -> Floats:
            right, wrong, tied = pairs_of_blocks(ranking.all_blocks, level, weight, n, threads).T
            pairs = right + wrong + tied if all_pairs is None else all_pairs.copy()
            pairs[total == 0] = np.nan
            if self.kind == "wrong":
                return np.asarray((wrong + self.tied * tied) / pairs)
            if self.kind == "right":
                return np.asarray((right + (1.0 - self.tied) * tied) / pairs)
            return np.asarray((right - wrong) / pairs)

        return BoundMeasure(values, (total if all_pairs is None else all_pairs) * scale**2)


_POOL = flag("aggregate_as", "pool")
_SHARE = Option("tied", number(one_of(0.0, 0.5, 1.0)), "0, 0.5 or 1")
_AMONG = Option("among", word({"all": "all", "comparable": "comparable"}), "all or comparable")
_RIGHT = partial(PairMeasure, kind="right", title="share of pairs in the right order")
_WRONG = partial(PairMeasure, title="share of pairs in the wrong order")
_WRONG_1 = partial(_WRONG, tied=1.0)
_HARD = partial(PairMeasure, among="all", title="hard ranking loss, share of discordant pairs")


def _kendall(name: str, **fields: Any) -> Measure:
    coefficient = fields.get("kind") == "balance"
    if coefficient and "tied" in fields:
        raise ParameterError(f"measure {name!r}: tau counts no ties; leave out 'tied'.")
    title = "Kendall's tau" if coefficient else "Kendall distance (share of discordant pairs)"
    return PairMeasure(name, title=title, **fields)


register("auc", _RIGHT, "share of pairs in the right order, a tie counts half", pool=_POOL, rel=REL)
register(
    "r1", _WRONG_1, "share of pairs in the wrong order, a tie counts in full", pool=_POOL, rel=REL
)
register("r2", _WRONG, "share of pairs in the wrong order, a tie counts half", pool=_POOL, rel=REL)
register("disagreement", _WRONG, "r2, by its name in Freund et al. (2003)", pool=_POOL, rel=REL)
_DISTANCE = "Kendall distance: share of discordant pairs"
register(
    "kendall", _kendall, _DISTANCE, tau=flag("kind", "balance"), tied=_SHARE, pool=_POOL, rel=REL
)
_OF_ALL = "share of all pairs that are in the wrong order, a tie counts half"
register("hard_loss", _HARD, _OF_ALL, tied=_SHARE, pairs=_AMONG, pool=_POOL)


def pairs_of_blocks(
    blocks: TieBlocks, level: Ints, weight: Floats | None, n_queries: int, threads: int
) -> Floats:
    """Return the weight of concordant, discordant and tied pairs of each query."""
    weights = None if weight is None else weight[blocks.items]
    found = np.zeros((n_queries, 3))
    if len(blocks.query):
        found[blocks.query[blocks.lists[:-1]]] = count_pairs(
            level[blocks.items], weights, blocks.starts, blocks.lists, threads
        )
    return found


def _count_comparable(judged: JudgedLists, level: Ints, weight: Floats | None) -> Floats:
    """Return the weight of the pairs with different levels, per query."""
    n_levels = np.zeros(judged.n_queries, np.int64)
    np.maximum.at(n_levels, judged.codes, level + 1)
    starts = np.append(0, np.cumsum(n_levels))
    sums = np.bincount(starts[judged.codes] + level, weight, minlength=starts[-1])
    # Sums of products, and not the difference of two squares: 0 stays 0.
    query = np.repeat(np.arange(judged.n_queries), n_levels)
    lower = running(sums.astype(np.float64, copy=False), starts, weight is None)
    pairs = np.bincount(query, sums * lower, minlength=judged.n_queries)
    return pairs.astype(np.float64, copy=False)


def count_all_pairs(judged: JudgedLists, weight: Floats | None) -> Floats:
    """Return the weight of all pairs of rows, per query."""
    if weight is None:
        size = judged.groups.sizes.astype(np.float64)
        return np.asarray(size * (size - 1.0) / 2.0)
    order, starts = judged.groups.order, judged.groups.starts
    pairs = weight[order] * running(weight[order], starts, False)
    sums = np.bincount(judged.codes[order], pairs, minlength=judged.n_queries)
    return sums.astype(np.float64, copy=False)


# --- AUCs of many labels: between neighbouring ones, and averaged over every threshold


@dataclass(frozen=True)
class IntegratedAUC(Measure):
    """AUC between the items above a label and those below it, averaged over thresholds.

    The threshold is the label of every item of the query in turn; items of that label are on
    neither side, and a threshold with an empty side is left out (Clémençon & Achab 2017;
    Werner 2019, section 3.3). A tie in score counts half. A pair of items of ranks ``a < b`` of
    their labels counts ``A(b - 1) - A(a)``, where A sums the weights of thresholds: one weighted
    inversion count, O(n log n). A query of fewer than three labels has no value.

    Attributes
    ----------
    triples : bool
        Weigh a threshold by the product of both sides: the share of the triples
        ``y_i < y_t < y_j`` with ``s_i < s_j``.
    """

    takes_weights: ClassVar[bool] = True

    triples: bool = False

    @property
    def meaning(self) -> str:
        """Which thresholds count, in words."""
        each = "every triple of labels" if self.triples else "every threshold"
        return f"integrated AUC: items above a label against those below, {each} weighs the same"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the weight of each threshold, and its sums up to every label."""
        n, threads = judged.n_queries, count_threads(None)
        weight = _scaled_weights(judged)
        level = levels_of(judged, judged.y)
        n_levels = np.zeros(n, np.int64)
        np.maximum.at(n_levels, judged.codes, level + 1)
        starts = np.append(0, np.cumsum(n_levels))
        at = starts[judged.codes] + level
        mass = np.bincount(at, weight, minlength=starts[-1]).astype(np.float64, copy=False)
        sums, each, total = threshold_sums(mass, starts, self.triples, judged.weight is None)
        # A pair of rows i below j counts below[j] - above[i].
        below, above = sums[at], (sums + each)[at]
        total[total == 0] = np.nan

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.all_blocks
            items = blocks.items
            high = np.column_stack([weight[items] * below[items], weight[items]])
            sums = sum_higher(level[items], high, blocks.starts, blocks.lists, threads)
            won = weight[items] * (sums[:, 0] - above[items] * sums[:, 1])
            query = np.repeat(blocks.query, blocks.sizes)
            found = np.bincount(query, won, minlength=n) / total
            return np.clip(found, 0.0, 1.0)  # (outside by rounding only)

        return BoundMeasure(values)


_IAUC = "AUC of the items above a label against those below, averaged over labels"
register("iauc", IntegratedAUC, _IAUC, triples=flag("triples", True))


def _scaled_weights(judged: JudgedLists) -> Floats:
    """Return the weights of rows, the largest of each query 1, so that no product overflows."""
    if judged.weight is None:
        return np.ones(len(judged.y))
    np.maximum.at(most := np.zeros(judged.n_queries), judged.codes, judged.weight)
    return judged.weight / np.where(most > 0, most, 1.0)[judged.codes]


def threshold_sums(
    mass: Floats, starts: Ints, triples: bool, whole: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return the weights of thresholds, from the weights of the labels of each query.

    Parameters
    ----------
    mass : array of shape (n_labels,)
        Weight of the rows of each label, query by query, labels rising.
    starts : int array of shape (n_queries + 1,)
        Query ``q`` has the labels ``starts[q]:starts[q + 1]``.
    triples : bool
        Weigh a threshold by the product of both sides.
    whole : bool
        All weights are whole numbers.

    Returns
    -------
    sums, each : arrays of shape (n_labels,)
        The weights of the thresholds at lower labels of the query, and of the one at the label
        itself: a pair of labels a < b counts ``sums[b] - (sums[a] + each[a])``.
    total : array of shape (n_queries,)
        Weight of all thresholds, in units of the pairs that they compare.
    """
    low = running(mass, starts, whole)
    high = running(mass[::-1], starts[-1] - starts[::-1], whole)[::-1]
    sides = low * high
    counts = (sides > 0) & (mass > 0)
    each = np.where(counts, mass if triples else mass / np.where(counts, sides, 1.0), 0.0)
    sums = running(each, starts, whole and triples)
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    worth = each * sides if triples else mass * counts
    total = np.bincount(query, worth, minlength=len(starts) - 1)
    return sums, each, total.astype(np.float64, copy=False)


@dataclass(frozen=True)
class NeighbourAUC(Measure):
    """Mean over neighbouring labels of the AUC between the rows of the two.

    Every two neighbouring labels of a query count the same, a tie in score counts half. It is
    the AUC for two labels. Time is O(n log n) for any number of labels.
    """

    takes_weights: ClassVar[bool] = True

    @property
    def meaning(self) -> str:
        """Which pairs count, in words."""
        return "AUC between neighbouring labels, averaged over them, ties count half"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Number the pairs of neighbouring labels, each a list of its own."""
        n, threads = judged.n_queries, count_threads(None)
        weight = None if judged.weight is None else _scaled_weights(judged)
        level, n_levels = weighted_levels(judged)
        starts = np.append(0, np.cumsum(np.maximum(n_levels - 1, 0)))
        query = np.repeat(np.arange(n), np.maximum(n_levels - 1, 0))
        lower = starts[judged.codes] + level  # list in which a row has the lower label
        is_low, is_high = level < n_levels[judged.codes] - 1, level > 0

        def values(ranking: Ranking) -> Floats:
            items = ranking.all_blocks.items
            block = np.repeat(np.arange(len(ranking.all_blocks.query)), ranking.all_blocks.sizes)
            low, high = is_low[items], is_high[items]
            lists = np.concatenate([lower[items[low]], lower[items[high]] - 1])
            blocks = np.concatenate([block[low], block[high]])
            rows = np.concatenate([items[low], items[high]])
            upper = np.repeat([0, 1], [low.sum(), high.sum()])
            order = np.lexsort((blocks, lists))
            lists, blocks = lists[order], blocks[order]
            first = run_starts(lists, blocks)
            bounds = np.append(np.searchsorted(lists[first], np.arange(len(query))), len(first))
            block_starts = np.append(first, len(order)).astype(np.int64)
            weights = None if weight is None else weight[rows[order]]
            counts = count_pairs(upper[order], weights, block_starts, bounds, threads)
            right, wrong, tied = counts.T
            pairs = right + wrong + tied
            share = (right + 0.5 * tied) / np.where(pairs > 0, pairs, np.nan)
            there = ~np.isnan(share)
            sums = np.bincount(query[there], share[there], minlength=n)
            number = np.bincount(query[there], minlength=n).astype(np.float64)
            return np.asarray(sums / np.where(number > 0, number, np.nan))

        return BoundMeasure(values)


register("neighbour_auc", NeighbourAUC, "mean AUC of neighbouring labels, a tie counts half")


# --- Volume under the ROC surface: whether all labels are in order at once (d-partite ranking)


MAX_LABELS = 30
"""Largest number of different labels of a query: chance is 1 / d!, and time grows as d^2."""


def volume_of_counts(counts: Floats) -> Floats:
    """Return the volume under the ROC surface of lists of score blocks.

    Over the blocks of equal scores in rising order, ``F_k`` is the weight of the ways to place
    one item of each of the first k labels in order; a run of m labels in one block counts
    ``1/m!``.

    Parameters
    ----------
    counts : array of shape (n_labels, n_lists, n_blocks)
        Weight of the items of each label in each block, lowest label and lowest score first;
        blocks of weight 0 change nothing.

    Returns
    -------
    array of shape (n_lists,)
        NaN where a label has no weight.

    Examples
    --------
    >>> volume_of_counts(np.array([[[1.0, 0.0, 0.0]], [[0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0]]]))
    array([0.75])
    """
    totals = counts.sum(axis=2)
    # Shares in place of weights: no product overflows, and F is the volume itself.
    shares = counts / np.where(totals > 0, totals, 1.0)[:, :, None]
    before = [np.ones(counts.shape[1:])]  # F_0, F_1, ... before each block
    last = np.ones(counts.shape[1])
    for k in range(1, len(counts) + 1):
        step, together = np.zeros(counts.shape[1:]), np.ones(counts.shape[1:])
        for j in range(k - 1, -1, -1):
            together = together * shares[j]
            if not together.any():
                break
            step += before[j] * together / factorial(k - j)
        summed = np.cumsum(step, axis=1)
        last = summed[:, -1]
        before.append(np.hstack([np.zeros((len(last), 1)), summed[:, :-1]]))
    return np.where((totals > 0).all(axis=0), last, np.nan)


@dataclass(frozen=True)
class VolumeUnderSurface(Measure):
    """Chance that one random item of every label of a query is ranked in order.

    ``P(s_0 < s_1 < .. < s_(d-1))`` for one random item of each of the d labels; m neighbouring
    labels tied in score count ``1/m!`` (Clémençon, Robbiano & Vayatis 2013). It is 1/d! by
    chance and the AUC for two labels. Time is O(n log n + n d^2).

    With weights of rows, an item is drawn by its weight.
    """

    takes_weights: ClassVar[bool] = True

    @property
    def meaning(self) -> str:
        """The definition of the volume, in words."""
        return "volume under the ROC surface, one random item per label in order, m tied count 1/m!"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the levels of the labels, and refuse too many."""
        level, n_levels = weighted_levels(judged)
        most = int(n_levels.max(initial=0))
        if most > MAX_LABELS:
            raise DataError(
                f"{self.name} is for at most {MAX_LABELS} different labels in a query. Got "
                f"{most}. Use iauc or hard_loss for continuous labels."
            )
        weight = np.ones(len(level)) if judged.weight is None else judged.weight

        def values(ranking: Ranking) -> Floats:
            return _volumes(ranking.all_blocks, level, n_levels, weight)

        return BoundMeasure(values)


_VUS = "chance that one random item per label is ranked in the order of the labels"
register("vus", VolumeUnderSurface, _VUS)


def _volumes(blocks: TieBlocks, level: Ints, n_levels: Ints, weight: Floats) -> Floats:
    """Return the volume of every query; NaN where it has fewer than two labels."""
    out = np.full(len(n_levels), np.nan)
    first = blocks.lists[:-1]
    query, sizes = blocks.query[first], np.diff(blocks.lists)
    block_of = np.repeat(np.arange(len(blocks.query)), blocks.sizes)
    column = block_of - np.repeat(first, np.add.reduceat(blocks.sizes, first))
    place = np.full(len(n_levels), -1)
    list_of_item = blocks.query[block_of]
    levels, weights = level[blocks.items], weight[blocks.items]
    for d in np.unique(n_levels[n_levels > 1]):
        chosen = np.flatnonzero(n_levels[query] == d)
        for members in size_classes(sizes[chosen]):
            lists = chosen[members]
            columns, _ = slots(sizes[lists])
            place[:] = -1
            place[query[lists]] = np.arange(len(lists))
            at = place[list_of_item]
            here = slice(None) if (at >= 0).all() else at >= 0
            # Best first in the blocks, lowest first in the counts.
            backwards = sizes[lists][at[here]] - 1 - column[here]
            cells = (levels[here] * len(lists) + at[here]) * len(columns) + backwards
            counts = np.bincount(cells, weights[here], minlength=d * len(lists) * len(columns))
            table = counts.astype(np.float64, copy=False).reshape(d, len(lists), len(columns))
            out[query[lists]] = volume_of_counts(table)
    return out


# --- How alike features order the rows of queries


def order_agreement(columns: Floats, groups: Groups, threads: int = 1) -> Floats:
    """Return, for every two columns, the share of pairs of rows that both order alike.

    All pairs of rows of a query count, whatever their labels are; a pair that is tied in either
    column counts half. The share is the mean over queries, as in Geng et al. (2007), and is 1/2
    where no query has two rows. It takes O(n log n) per two columns.

    Parameters
    ----------
    columns : array of shape (n_rows, n_columns)
        No value is NaN.
    groups : Groups
    threads : int
        They share out queries and cannot change a result.

    Returns
    -------
    array of shape (n_columns, n_columns)
        Symmetric.

    Examples
    --------
    >>> columns = np.array([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
    >>> order_agreement(columns, Groups.single(3)).round(3).tolist()
    [[1.0, 0.667, 0.0], [0.667, 1.0, 0.333], [0.0, 0.333, 1.0]]
    """
    n_columns = columns.shape[1]
    rows = groups.order[np.repeat(groups.sizes > 1, groups.sizes)]
    sizes = groups.sizes[groups.sizes > 1]
    alike = np.full((n_columns, n_columns), 0.5)
    if not len(rows):
        return alike
    query = np.repeat(np.arange(len(sizes)), sizes)
    all_pairs = sizes * (sizes - 1) / 2.0
    sorted_rows, blocks = zip(*(_falling(columns[rows, j], query) for j in range(n_columns)))
    levels = [_levels(order, starts, query) for order, starts in zip(sorted_rows, blocks)]
    for j in range(n_columns):
        lists = np.append(run_starts(query[blocks[j]]), len(blocks[j]))
        starts = np.append(blocks[j], len(rows))
        for k in range(j, n_columns):
            counts = count_pairs(levels[k][sorted_rows[j]], None, starts, lists, threads)
            share = 0.5 + 0.5 * (counts[:, 0] - counts[:, 1]) / all_pairs
            alike[j, k] = alike[k, j] = float(share.mean())
    return alike


def _falling(values: Floats, query: Ints) -> tuple[Ints, Ints]:
    """Return the order of the values inside every query, the largest first, and where equal ones
    start.
    """
    order = np.lexsort((-values, query))
    return order, run_starts(query[order], values[order])


def _levels(order: Ints, starts: Ints, query: Ints) -> Ints:
    """Return the values of every query as whole numbers from 0, in the same order."""
    of_block = query[order[starts]]
    ends = np.append(run_starts(of_block)[1:], len(starts)) - 1
    last = np.repeat(ends, np.diff(np.append(run_starts(of_block), len(starts))))
    level = np.empty(len(order), np.int64)
    level[order] = np.repeat(last - np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    return level


# --- The order with the least summed Kendall distance to given ones


_EXACT = 15  # up to so many items of a circle are ordered by trying every subset


def kemeny_order(above: Floats, start: Ints) -> tuple[Ints, bool]:
    """Order the items of a matrix of wins; also return whether no order is better."""
    n = len(above)
    # In a best order, i is below j only if a majority of j reaches i: groups that lose to no other
    # come first.
    high, low = np.nonzero((above >= above.T) & ~np.eye(n, dtype=bool))
    group = strong_parts(n, high, low)
    reach = np.zeros(int(group.max()) + 1, np.int64)
    for k in range(len(reach)):
        # (between two groups all majorities point one way, so that one member decides)
        member = int(np.flatnonzero(group == k)[0])
        reach[k] = int((above[member] > above[:, member])[group != k].sum())
    place = np.empty(n, np.int64)
    place[start] = np.arange(n)
    out: list[Ints] = []
    exact = True
    for k in np.argsort(-reach, kind="stable").tolist():
        inside = np.flatnonzero(group == k)
        inside = inside[np.argsort(place[inside], kind="stable")]
        block = above[np.ix_(inside, inside)]
        if len(inside) <= _EXACT:
            out.append(inside[_by_subsets(block)])
        else:
            out.append(inside[_by_moves(block)])
            exact = False
    return np.concatenate(out), exact


def _by_subsets(above: Floats) -> Ints:
    """Return the best order by dynamic programming over the subsets that come first."""
    n = len(above)
    if n == 1:
        return np.zeros(1, np.int64)
    masks = np.arange(1 << n)
    # against[i][mask]: weight of item i above members of the mask
    against = np.zeros((n, 1 << n))
    for j in range(n):
        against[:, (masks >> j & 1) == 1] += above[:, j, None]
    cost = np.zeros(1 << n)
    last = np.zeros(1 << n, np.int8)
    size = np.zeros(1 << n, np.int64)
    for j in range(n):
        size += masks >> j & 1
    for count in range(1, n + 1):
        some = masks[size == count]
        best = np.full(len(some), np.inf)
        pick = np.zeros(len(some), np.int8)
        for j in range(n):
            has = (some >> j & 1) == 1
            rest = some[has] & ~(1 << j)
            value = cost[rest] + against[j, rest]
            better = value < best[has]
            where = np.flatnonzero(has)[better]
            best[where], pick[where] = value[better], j
        cost[some], last[some] = best, pick
    order = []
    mask = (1 << n) - 1
    while mask:
        order.append(int(last[mask]))
        mask &= ~(1 << order[-1])
    return np.array(order[::-1], np.int64)


def _by_moves(above: Floats) -> Ints:
    """Return an order in which no move of a single item helps."""
    net = above.T - above  # net[i, j] > 0: the majority has j above i
    order = np.arange(len(above))
    smallest = 1e-9 * float(np.abs(net).max(initial=1.0))
    improved = True
    while improved:
        improved = False
        for item in range(len(above)):
            at = int(np.flatnonzero(order == item)[0])
            rest = np.delete(order, at)
            # cost of a place before rest[k:], less that of the first place
            gains = np.concatenate(([0.0], np.cumsum(-net[item, rest])))
            target = int(np.argmin(gains))
            if gains[target] < gains[at] - smallest:
                order = np.insert(rest, target, item)
                improved = True
    return order


def strong_parts(n_items: int, high: Ints, low: Ints) -> Ints:
    """Return the strongly connected part of each item.

    Within a part, every item has beaten every other through others; between two parts all wins go
    one way.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(high)), (high, low)), shape=(n_items, n_items))
    part: Ints = connected_components(edges, connection="strong")[1].astype(np.int64)
    return part

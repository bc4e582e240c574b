"""AUCs of many labels: between neighbouring ones, and averaged over every threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.pairs import count_pairs, running, sum_higher
from crucial.kernels.runtime import count_threads
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.pairs import levels_of, weighted_levels
from crucial.measures.ragged import runs
from crucial.types import Floats, Ints

__all__ = ["IntegratedAUC", "NeighbourAUC", "threshold_sums"]


@dataclass(frozen=True)
class IntegratedAUC(Measure):
    """AUC between the items above a label and those below it, averaged over thresholds.

    The threshold is the label of every item of the query in turn; items of that label are on
    neither side, and a threshold with an empty side is left out (Clémençon & Achab 2017;
    Werner 2019, section 3.5). A tie in score counts half. A pair of items of ranks ``a < b`` of
    their labels counts ``A(b - 1) - A(a)``, where A sums the weights of thresholds: one weighted
    inversion count, O(n log n). A query of fewer than three labels has no value.

    Attributes
    ----------
    triples : bool
        Weigh a threshold by the product of both sides: the share of the triples
        ``y_i < y_t < y_j`` with ``s_i < s_j``.
    """

    triples: bool = False

    @property
    def meaning(self) -> str:
        """Which thresholds count, in words."""
        each = "every triple of labels" if self.triples else "every threshold"
        return f"integrated AUC: items above a label against those below, {each} weighs the same"

    @property
    def takes_weights(self) -> bool:
        """A row of weight 2 counts as two rows, as a threshold too."""
        return True

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
            items, first = blocks.items, runs(blocks.query)
            lists = np.append(first, len(blocks.query)).astype(np.int64)
            high = np.column_stack([weight[items] * below[items], weight[items]])
            sums = sum_higher(level[items], high, blocks.starts, lists, threads)
            won = weight[items] * (sums[:, 0] - above[items] * sums[:, 1])
            query = np.repeat(blocks.query, blocks.sizes)
            found = np.bincount(query, won, minlength=n) / total
            return np.clip(found, 0.0, 1.0)  # (outside by rounding only)

        return BoundMeasure(values)


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

    @property
    def meaning(self) -> str:
        """Which pairs count, in words."""
        return "AUC between neighbouring labels, averaged over them, ties count half"

    @property
    def takes_weights(self) -> bool:
        """A pair weighs the product of its rows' weights."""
        return True

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
            new = np.ones(len(order), bool)
            new[1:] = (lists[1:] != lists[:-1]) | (blocks[1:] != blocks[:-1])
            first = np.flatnonzero(new)
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

"""Measures over the pairs of a query that have a right order.

Every pair of items with different labels counts once, graded labels too. The weights of
concordant, discordant and tied pairs are kept apart, and the definition of each measure
determines what a tie counts: the rule for ties of other measures has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crucial.kernels.pairs import count_pairs, running
from crucial.kernels.runtime import count_threads
from crucial.measures.base import Aggregate, BoundMeasure, Measure, Relevance
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.ragged import runs
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats, Ints

__all__ = ["PairMeasure", "count_all_pairs", "levels_of", "weighted_levels"]

_TIED = {0.0: "not at all", 0.5: "half", 1.0: "in full"}


def levels_of(judged: JudgedLists, y: Floats) -> Ints:
    """Return the labels as 0, 1, 2, ... inside each query."""
    blocks = judged.sort(y)
    first = runs(blocks.query)
    lengths = np.diff(np.append(first, len(blocks.query)))
    level = np.arange(len(blocks.query)) - np.repeat(first, lengths)
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

    @property
    def takes_weights(self) -> bool:
        """A pair weighs the product of its rows' weights."""
        return True

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

        def count(blocks: TieBlocks) -> Floats:
            """Count right, wrong and tied pairs per query."""
            first = runs(blocks.query)
            lists = np.append(first, len(blocks.query)).astype(np.int64)
            items = blocks.items
            found = np.zeros((n, 3))
            found[blocks.query[first]] = count_pairs(
                level[items],
                None if weight is None else weight[items],
                blocks.starts,
                lists,
                threads,
            )
            return found

        total = _count_comparable(judged, level, weight)
        all_pairs = count_all_pairs(judged, weight) if self.among == "all" else None

        def values(ranking: Ranking) -> Floats:
            right, wrong, tied = count(ranking.all_blocks).T
            pairs = right + wrong + tied if all_pairs is None else all_pairs.copy()
            pairs[total == 0] = np.nan
            if self.kind == "wrong":
                return np.asarray((wrong + self.tied * tied) / pairs)
            if self.kind == "right":
                return np.asarray((right + (1.0 - self.tied) * tied) / pairs)
            return np.asarray((right - wrong) / pairs)

        return BoundMeasure(values, (total if all_pairs is None else all_pairs) * scale**2)


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
    inside = weight[judged.groups.order]
    starts = judged.groups.starts
    return judged.per_query(_scattered(inside * running(inside, starts, False), judged))


def _scattered(values: Floats, judged: JudgedLists) -> Floats:
    """Return values in the order of the lists as values of rows."""
    out = np.empty_like(values)
    out[judged.groups.order] = values
    return out

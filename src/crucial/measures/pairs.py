"""Measures over the pairs of a query that have a right order.

Every pair of items with different labels counts once, graded labels too. The weights of
concordant, discordant and tied pairs are kept apart, and the definition of each measure
determines what a tie counts: the rule for ties of other measures has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from crucial.kernels.inversions import count_pairs
from crucial.kernels.threads import count_threads
from crucial.measures.base import Aggregate, BoundMeasure, Measure, Relevance
from crucial.measures.judged import Judged, Ranking
from crucial.measures.ragged import runs
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats, Ints

__all__ = ["PairMeasure", "levels_of"]

_TIED = {0.0: "not at all", 0.5: "half", 1.0: "in full"}


def levels_of(judged: Judged, y: Floats) -> Ints:
    """Return the labels as 0, 1, 2, ... inside each query."""
    blocks = judged.sort(y)
    first = runs(blocks.query)
    lengths = np.diff(np.append(first, len(blocks.query)))
    level = np.arange(len(blocks.query)) - np.repeat(first, lengths)
    out = np.empty(len(y), np.int64)
    out[blocks.items] = np.repeat(level, blocks.sizes)
    return out


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
    title : str
        The measure in words.
    """

    kind: Literal["wrong", "right", "balance"] = "wrong"
    tied: float = 0.5
    aggregate_as: Aggregate = "mean"
    relevance: Relevance | None = None
    title: str = ""

    @property
    def meaning(self) -> str:
        """Which pairs count, in words."""
        which = "y_hi > y_lo" if self.relevance is None else f"{self.relevance.text} above others"
        return f"{self.title}, pairs {which}, ties count {_TIED[self.tied]}"

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

    def bind(self, judged: Judged) -> BoundMeasure:
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

        # Ranked by the labels themselves, every pair is concordant.
        total = count(judged.sort(-y))[:, 0]

        def values(ranking: Ranking) -> Floats:
            right, wrong, tied = count(ranking.all_blocks).T
            pairs = right + wrong + tied
            pairs[total == 0] = np.nan
            if self.kind == "wrong":
                return np.asarray((wrong + self.tied * tied) / pairs)
            if self.kind == "right":
                return np.asarray((right + (1.0 - self.tied) * tied) / pairs)
            return np.asarray((right - wrong) / pairs)

        return BoundMeasure(values, total * scale**2)

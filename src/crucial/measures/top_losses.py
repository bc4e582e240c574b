"""Losses of the best K: who is among them, and in which order (Werner 2019, section 2).

A *weak* ranking problem asks only who is among the best K, a *localised* one for their order
too. Both count the items of the true best K that the ranking misses there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.inversions import count_pairs
from crucial.kernels.threads import count_threads
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import Judged, Ranking
from crucial.measures.linear import weighted_sum
from crucial.measures.pairs import levels_of
from crucial.measures.ragged import runs
from crucial.measures.ranking import TieBlocks
from crucial.types import Bools, Floats, Ints

__all__ = ["TopLoss"]


@dataclass(frozen=True)
class TopLoss(Measure):
    """Weak or localised loss of the best K; exact expectation over ties.

    The weak loss is ``2 missed / n``. The localised one is ``(n_-/n)`` times that plus the share
    of pairs, of all pairs of the list, that are discordant inside the predicted best K; ``n_-``
    is the number of negatives where there are two labels, else ``n - K``. Items of equal labels
    are each as likely to be of the true best K as the others. In a list of K items or fewer
    nothing can be missed. A query whose labels are all equal has no value.

    Attributes
    ----------
    cutoff : int
        K.
    ordered : bool
        Localised: the order inside the best K counts too.
    standard : bool
        Divide by the largest value that the paper gives: ``2K/n``, or ``K(K-1)/(n(n-1)) +
        (n-K)/n 2K/n`` (which is not attained for K > n/2).
    """

    cutoff: int = 10
    ordered: bool = False
    standard: bool = False

    @property
    def meaning(self) -> str:
        """Kind and cutoff, in words."""
        kind = "localised" if self.ordered else "weak"
        much = ", standardised" if self.standard else ""
        order = ", and their order" if self.ordered else ""
        return f"{kind} loss of the best {self.cutoff}{much}: who is among them{order}"

    @property
    def higher_is_better(self) -> bool:
        """Lower is better."""
        return False

    def bind(self, judged: Judged) -> BoundMeasure:
        """Compute each item's chance to be of the true best K, and the sizes of the lists."""
        n_queries, threads = judged.n_queries, count_threads(None)
        size = judged.groups.sizes.astype(np.float64)
        k = np.minimum(size, self.cutoff)
        truth = judged.sort(-judged.y)
        chance = np.clip((self.cutoff - truth.before) / truth.sizes, 0.0, 1.0)
        gains = np.zeros(len(judged.y))
        gains[truth.items] = np.repeat(chance, truth.sizes)
        ones = np.ones(min(self.cutoff, judged.longest))
        n_levels = np.bincount(truth.query, minlength=n_queries)
        lowest = np.zeros(n_queries)
        lowest[truth.query] = truth.sizes  # (the last block of a query stays)
        negatives = np.where(n_levels == 2, lowest, size - k)
        pairs = np.maximum(size * (size - 1.0), 1.0)
        most = 2.0 * k / size
        if self.ordered:
            most = k * (k - 1.0) / pairs + (size - k) / size * most
        undefined = n_levels < 2
        level = levels_of(judged, judged.y)

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            loss = 2.0 * (k - weighted_sum(blocks, gains, ones, n_queries)) / size
            if self.ordered:
                inside = _discordant(blocks, level, self.cutoff, n_queries, threads)
                loss = negatives / size * loss + 2.0 * inside / pairs
            if self.standard:
                loss = loss / most
            loss[undefined] = np.nan
            return np.maximum(loss, 0.0)  # (below 0 by rounding only)

        return BoundMeasure(values)


def _discordant(blocks: TieBlocks, level: Ints, k: int, n_queries: int, threads: int) -> Floats:
    """Return the expected number of discordant pairs among the first k of every query."""
    sizes, before = blocks.sizes, blocks.before
    whole = before + sizes <= k
    sure = _counts(blocks, level, whole, n_queries, threads)
    everything = _counts(blocks, level, before < k, n_queries, threads)
    # Of the block that reaches past k, some are among the first k, each as likely as the others.
    drawn, drawn_pair = np.zeros(n_queries), np.zeros(n_queries)
    cut = ~whole & (before < k)
    taken, of = (k - before[cut]).astype(np.float64), sizes[cut].astype(np.float64)
    drawn[blocks.query[cut]] = taken / of
    drawn_pair[blocks.query[cut]] = taken * (taken - 1.0) / np.maximum(of * (of - 1.0), 1.0)
    wrong, tied = sure[:, 1], sure[:, 2]
    more_wrong, more_tied = (everything - sure)[:, 1], (everything - sure)[:, 2]
    return np.asarray(wrong + tied / 2 + drawn * more_wrong + drawn_pair * more_tied / 2)


def _counts(blocks: TieBlocks, level: Ints, kept: Bools, n_queries: int, threads: int) -> Floats:
    """Count concordant, discordant and tied pairs of the items in the blocks that are kept."""
    found = np.zeros((n_queries, 3))
    query = blocks.query[kept]
    if not len(query):
        return found
    first = runs(query)
    starts = np.append(0, np.cumsum(blocks.sizes[kept])).astype(np.int64)
    items = blocks.items[np.repeat(kept, blocks.sizes)]
    lists = np.append(first, len(query)).astype(np.int64)
    found[query[first]] = count_pairs(level[items], None, starts, lists, threads)
    return found

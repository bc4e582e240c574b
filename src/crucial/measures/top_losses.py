"""Losses of the best K: who is among them, and in which order (Werner 2019, section 2).

A *weak* ranking problem asks only who is among the best K, a *localised* one for their order
too. Both count the items of the true best K that the ranking misses there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from crucial.errors import ParameterError
from crucial.kernels.runtime import count_threads
from crucial.measures.base import BoundMeasure, Measure, Option, register, word
from crucial.measures.lists import JudgedLists, Ranking, TieBlocks
from crucial.measures.pairs import count_all_pairs, levels_of, pairs_of_blocks
from crucial.measures.positions import weighted_sum
from crucial.types import Bools, Floats, Ints

_NOTHING = 1e-12
"""Largest losses at or below this are treated as zero."""


@dataclass(frozen=True)
class TopLoss(Measure):
    """Weak or localised loss of the best K; exact expectation over ties.

    The weak loss is ``2 missed / n``. The localised one is ``(n_-/n)`` times that plus the share
    of pairs, of all pairs of the list, that are discordant inside the predicted best K; ``n_-``
    is the number of negatives where there are two labels, else ``n - K``. Items of equal labels
    are each as likely to be of the true best K as the others. In a list of K items or fewer
    nothing can be missed. A query whose labels are all equal has no value.

    With weights of rows, K remains a number of rows; a missed row counts its weight, a pair the
    product of two, and n and n_- are sums of weights.

    Attributes
    ----------
    cutoff : int
        K.
    ordered : bool
        Localised: the order inside the best K counts too.
    standard : {None, "paper", "attained"}
        Divide by the largest value that the paper gives: ``2K/n``, or ``K(K-1)/(n(n-1)) +
        (n-K)/n 2K/n`` (which is not attained for K > n/2, nor with equal labels); or by the
        largest value that any ranking of these labels attains.
    """

    takes_weights: ClassVar[bool] = True

    cutoff: int = 10
    ordered: bool = False
    standard: Literal["paper", "attained"] | None = None

    @property
    def meaning(self) -> str:
        """Kind and cutoff, in words."""
        kind = "localised" if self.ordered else "weak"
        by = {None: "", "paper": ", standardised", "attained": ", of its attained maximum"}
        order = ", and their order" if self.ordered else ""
        return f"{kind} loss of the best {self.cutoff}{by[self.standard]}: " + (
            f"who is among them{order}"
        )

    @property
    def higher_is_better(self) -> bool:
        """Lower is better."""
        return False

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute each item's chance to be of the true best K, and the sizes of the lists."""
        if judged.weight is not None and self.ordered and self.standard == "attained":
            raise ParameterError(
                f"{self.name} has no closed form with weights of rows (sample_weight): use "
                f"localised_loss@{self.cutoff}(standard), or no weights."
            )
        n, threads = judged.n_queries, count_threads(None)
        truth = judged.sort(-judged.y)
        lists = _Lists.of(judged, truth, self.cutoff)
        most = _largest(lists, judged, self.ordered, self.standard)
        ones = np.ones(min(self.cutoff, judged.longest))
        level = levels_of(judged, judged.y)
        due = lists.weight * lists.chance

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            missed = lists.due - weighted_sum(blocks, due, ones, n)
            loss = 2.0 * missed / lists.size
            if self.ordered:
                inside = _discordant(blocks, level, judged.weight, self.cutoff, n, threads)
                loss = lists.negatives / lists.size * loss + inside / lists.pairs
            if self.standard:
                # Where nothing can be lost, nothing is.
                loss = np.divide(loss, most, out=np.zeros(n), where=most > 0)
            loss[lists.undefined] = np.nan
            return np.maximum(loss, 0.0)  # (below 0 by rounding only)

        return BoundMeasure(values)


_STANDARD = Option("standard", word({"": "paper", "attained": "attained"}), "attained", bare=True)
_WEAK = "2/n times the number of best k items missed in the first k"
register("weak_loss", TopLoss, _WEAK, cutoff="must", standard=_STANDARD)
_ORDERED = partial(TopLoss, ordered=True)
_LOCALISED = "weak loss and the discordant pairs among the first k"
register("localised_loss", _ORDERED, _LOCALISED, cutoff="must", standard=_STANDARD)


@dataclass(frozen=True)
class _Lists:
    """What the labels of every list determine.

    Attributes
    ----------
    weight, chance : arrays of shape (n_rows,)
        Weight of a row (1 without weights) and its chance to be of the true best K.
    k, size, due, outside, negatives, pairs : arrays of shape (n_queries,)
        Rows among the best K; weights of all rows, of the true best K, of the others, of the
        negatives and of all pairs of rows.
    undefined : bool array of shape (n_queries,)
        Whether all labels are equal.
    """

    weight: Floats
    chance: Floats
    k: Floats
    size: Floats
    due: Floats
    outside: Floats
    negatives: Floats
    pairs: Floats
    undefined: Bools

    @classmethod
    def of(cls, judged: JudgedLists, truth: TieBlocks, cutoff: int) -> _Lists:
        """Compute the fields of all lists from their labels in falling order."""
        n = judged.n_queries
        weight = np.ones(len(judged.y)) if judged.weight is None else judged.weight
        chance = np.zeros(len(judged.y))
        share = np.clip((cutoff - truth.before) / truth.sizes, 0.0, 1.0)
        chance[truth.items] = np.repeat(share, truth.sizes)
        size, due = judged.per_query(weight), judged.per_query(weight * chance)
        lowest = np.zeros(n)
        lowest[truth.query] = truth.sums(weight)  # (the last block of a query stays)
        n_levels = np.bincount(truth.query, minlength=n)
        outside = judged.per_query(weight * (1.0 - chance))
        pairs = count_all_pairs(judged, judged.weight)
        undefined = (n_levels < 2) | (size <= 0)
        k = np.minimum(judged.groups.sizes, cutoff).astype(np.float64)
        size, pairs = np.where(undefined, 1.0, size), np.where(pairs > 0, pairs, 1.0)
        negatives = np.where(n_levels == 2, lowest, outside)
        return cls(weight, chance, k, size, due, outside, negatives, pairs, undefined)


def _largest(
    lists: _Lists, judged: JudgedLists, ordered: bool, standard: Literal["paper", "attained"] | None
) -> Floats:
    """Return the value of each list that a standardised loss is divided by."""
    if standard == "attained":
        return _attained(lists, judged, ordered)
    most = 2.0 * lists.due / lists.size
    if not ordered:
        return most
    # The K heaviest rows have the heaviest pairs.
    heaviest = judged.sort_by_name(-lists.weight)
    first = heaviest.position <= lists.k[heaviest.query]
    weight = np.zeros(len(lists.weight))
    weight[heaviest.items[first]] = lists.weight[heaviest.items[first]]
    order = count_all_pairs(judged, weight) / lists.pairs
    return np.asarray(order + lists.outside / lists.size * most)


def _attained(lists: _Lists, judged: JudgedLists, ordered: bool) -> Floats:
    """Return the largest loss over all choices and orders of the predicted best K.

    A choice of K rows loses what is due outside it and, in the worst order, the pairs of
    different labels inside it: with ``a_l`` rows of label l that is a sum over labels of a
    concave function of ``a_l``. So the K rows of the lowest cost are the best choice, where the
    j-th row of a label costs what is due of it plus the j pairs of equal labels that it makes.
    """
    scale = 2.0 / lists.size
    if ordered:
        scale = scale * lists.negatives / lists.size
    cost = scale[judged.codes] * lists.weight * lists.chance
    if ordered:
        labels = judged.sort(judged.y)
        earlier = np.empty(len(cost))
        starts = np.repeat(labels.starts[:-1], labels.sizes)
        earlier[labels.items] = np.arange(len(cost)) - starts
        cost = cost + earlier / lists.pairs[judged.codes]
    cheapest = judged.sort_by_name(cost)
    first = cheapest.position <= lists.k[cheapest.query]
    spent = np.bincount(
        cheapest.query[first], cost[cheapest.items[first]], minlength=len(lists.size)
    )
    most = scale * lists.due - spent
    if ordered:
        most = most + lists.k * (lists.k - 1.0) / 2.0 / lists.pairs
    return np.where(most > _NOTHING, most, 0.0)


def _discordant(
    blocks: TieBlocks, level: Ints, weight: Floats | None, k: int, n_queries: int, threads: int
) -> Floats:
    """Return the expected weight of discordant pairs among the first k of every query."""
    sizes, before = blocks.sizes, blocks.before
    whole = before + sizes <= k
    sure, everything = (
        pairs_of_blocks(_kept(blocks, kept), level, weight, n_queries, threads)
        for kept in (whole, before < k)
    )
    # Of the block that reaches past k, some are among the first k, each as likely as the others.
    drawn, drawn_pair = np.zeros(n_queries), np.zeros(n_queries)
    cut = ~whole & (before < k)
    taken, of = (k - before[cut]).astype(np.float64), sizes[cut].astype(np.float64)
    drawn[blocks.query[cut]] = taken / of
    drawn_pair[blocks.query[cut]] = taken * (taken - 1.0) / np.maximum(of * (of - 1.0), 1.0)
    wrong, tied = sure[:, 1], sure[:, 2]
    more_wrong, more_tied = (everything - sure)[:, 1], (everything - sure)[:, 2]
    return np.asarray(wrong + tied / 2 + drawn * more_wrong + drawn_pair * more_tied / 2)


def _kept(blocks: TieBlocks, kept: Bools) -> TieBlocks:
    """Return some of the blocks."""
    items = np.repeat(kept, blocks.sizes)
    starts = np.append(0, np.cumsum(blocks.sizes[kept]))
    return TieBlocks(blocks.items[items], blocks.position[items], starts, blocks.query[kept])

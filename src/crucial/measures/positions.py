"""Measures by position: discounted gains, ERR, MRR, average precision, profit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import exp2, log, log1p, log2
from crucial.kernels.predict import run_starts
from crucial.measures.base import (
    LEAST,
    REL,
    RELEVANT,
    TOP,
    Aggregate,
    BoundMeasure,
    Measure,
    Option,
    Relevance,
    flag,
    number,
    register,
    whole_number,
)
from crucial.measures.lists import JudgedLists, Ranking, TieBlocks, size_classes, slots
from crucial.parameters import between
from crucial.types import Floats, Ints

# --- Measures that sum gains of items times weights of their positions
#
# ``sum over positions p of weight(p) * gain(item at p)``: a tied item is at each
# position of its block equally often, so the exact expectation over random tie order is
# the block's mean gain times the sum of its positions' weights (McSherry & Najork 2008).


#: The sum of a list of 2^1000 is still finite.
_MOST_EXPONENT = 1000


def weighted_sum(blocks: TieBlocks, gains: Floats, weights: Floats, n_queries: int) -> Floats:
    """Return the expected sum of gain times position weight, per query.

    Parameters
    ----------
    blocks : TieBlocks
        The ranking.
    gains : array of shape (n_rows,)
        Gain of each row.
    weights : array
        Weights of positions 1, 2, ...; positions past the end have the weight 0.
    """
    weights = np.append(weights, 0.0)
    at = weights[np.minimum(blocks.position, len(weights)) - 1]
    sums = blocks.sums(gains) * blocks.totals(at)
    return blocks.per_query(sums / blocks.sizes if blocks.tied else sums, n_queries)


def share_of_best(gains: Floats, weights: Floats, best: Floats, cutoff: int | None) -> BoundMeasure:
    """Return the weighted sum of gains over its best value per query; NaN where that is 0."""
    best = np.where(best > 0, best, np.nan)

    def values(ranking: Ranking) -> Floats:
        found = weighted_sum(ranking.blocks(cutoff), gains, weights, len(best))
        return np.minimum(found / best, 1.0)  # (above 1 by rounding only)

    return BoundMeasure(values)


def discounts(length: int, base: float | None) -> Floats:
    """Return the discounts of positions 1 to ``length``.

    None is ``1 / log2(position + 1)``. A base b is that of Järvelin & Kekäläinen (2002),
    which LETOR (b = 2) and Wang et al., equation 3, use: 1 before position b, then
    ``1 / log_b(position)``.

    Examples
    --------
    >>> discounts(3, None).tolist(), discounts(4, 2.0).tolist()
    ([1.0, 0.6309297535714575, 0.5], [1.0, 1.0, 0.6309297535714575, 0.5])
    """
    position = np.arange(1, length + 1, dtype=float)
    if base is None:
        return np.asarray(1.0 / log2(position + 1.0))
    out = np.ones(length)
    late = position >= base
    # log2 and not log, so that base 2 divides exactly at powers of two.
    out[late] = log2(base) / log2(position[late])
    return out


@dataclass(frozen=True)
class NDCG(Measure):
    """Discounted gain over that of the best order of all judged items.

    Attributes
    ----------
    cutoff : int or None
        Positions that count.
    exponential : bool
        Gain 2^y - 1 instead of y.
    base : float or None
        Base of the discount, see `discounts`.
    """

    cutoff: int | None = None
    exponential: bool = False
    base: float | None = None

    @property
    def meaning(self) -> str:
        """Gain and discount, in words."""
        gain = "gain 2^y - 1" if self.exponential else "linear gain y"
        fall = "1/log2(i + 1)"
        if self.base is not None:
            fall = f"1/log_{self.base:g}(i), 1 before position {self.base:g}"
        return f"NDCG{f' at {self.cutoff}' if self.cutoff else ''}, {gain}, discount {fall}"

    def _gains(self, judged: JudgedLists) -> Floats:
        """Return the gain of every row; a run's negative judgements are not relevant."""
        y = judged.y if judged.retrieved is None else np.maximum(judged.y, 0.0)
        self.refuse_labels(judged, y < 0, "of at least 0, since a gain is never negative")
        if self.exponential:
            rule = f"of at most {_MOST_EXPONENT}, since its gain is 2^y - 1"
            self.refuse_labels(judged, y > _MOST_EXPONENT, rule)
            return np.asarray(exp2(y) - 1.0)
        # Only the ratio matters; this keeps the sum of a list finite.
        return y / y.max() if y.max() > 1e200 else y

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute gains, discounts and the best possible sum."""
        gains, n = self._gains(judged), judged.n_queries
        weights = discounts(min(judged.longest, self.cutoff or judged.longest), self.base)
        ideal = weighted_sum(judged.sort(-gains, depth=self.cutoff), gains, weights, n)
        return share_of_best(gains, weights, ideal, self.cutoff)


_DISCOUNT = {
    "b": Option("base", number(between(1.0, 1e9, low_open=True)), "a number above 1"),
    "letor": flag("base", 2.0),
}
register("ndcg", NDCG, "discounted gain, linear gain y", cutoff="may", **_DISCOUNT)
_NDCG_EXP = partial(NDCG, exponential=True)
register("ndcg_exp", _NDCG_EXP, "discounted gain, gain 2^y - 1", cutoff="may", **_DISCOUNT)


@dataclass(frozen=True)
class _Binary(Measure):
    """A weighted sum over relevant items."""

    relevance: Relevance = RELEVANT

    @abstractmethod
    def _weights(self, judged: JudgedLists) -> Floats:
        """Return the weights of positions 1, 2, ..."""

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant and the weights of positions."""
        good, weights = self.relevance.of(judged).astype(float), self._weights(judged)
        scale = np.where(judged.per_query(good) > 0, 1.0, np.nan)

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.depth)
            return weighted_sum(blocks, good, weights, judged.n_queries) * scale

        return BoundMeasure(values)


@dataclass(frozen=True)
class Precision(_Binary):
    """Share of relevant items among the first k positions, filled or not."""

    cutoff: int = 1

    @property
    def meaning(self) -> str:
        """Cutoff and relevance, in words."""
        return f"share of relevant items ({self.relevance.text}) in the first {self.cutoff}"

    def _weights(self, judged: JudgedLists) -> Floats:
        return np.full(min(self.cutoff, judged.longest), 1.0 / self.cutoff)


register("p", Precision, "share of relevant items in the first k", cutoff="must", rel=REL)


@dataclass(frozen=True)
class RankBiasedPrecision(_Binary):
    """What a reader gains who goes on to the next item with probability p.

    ``(1 - p) sum over relevant items of p^(position - 1)`` (Moffat & Zobel 2008).
    """

    persistence: float = 0.8
    cutoff: int | None = None

    @property
    def meaning(self) -> str:
        """Persistence and relevance, in words."""
        at = f" at {self.cutoff}" if self.cutoff else ""
        return f"rank-biased precision{at}, p = {self.persistence:g}, of {self.relevance.text}"

    def _weights(self, judged: JudgedLists) -> Floats:
        length = min(judged.longest, self.cutoff or judged.longest)
        # (by multiplication: powers differ in their last digit between CPUs)
        reached = np.full(length, self.persistence)
        reached[:1] = 1.0
        return np.asarray((1 - self.persistence) * np.multiply.accumulate(reached))


_INSIDE_1 = between(0.0, 1.0, low_open=True, high_open=True)
_P = Option("persistence", number(_INSIDE_1), _INSIDE_1.wording)
register("rbp", RankBiasedPrecision, "rank-biased precision", cutoff="may", p=_P, rel=REL)


@dataclass(frozen=True)
class Recall(Measure):
    """Share of all relevant items found among the first k positions."""

    relevance: Relevance = RELEVANT
    cutoff: int = 1

    @property
    def meaning(self) -> str:
        """Cutoff and relevance, in words."""
        return (
            f"share of all relevant items ({self.relevance.text}) found in the first {self.cutoff}"
        )

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Keep the rows that are relevant and their number per query."""
        good = self.relevance.of(judged).astype(float)
        weights = np.ones(min(self.cutoff, judged.longest))
        return share_of_best(good, weights, judged.per_query(good), self.cutoff)


register(
    "recall", Recall, "share of the relevant items found in the first k", cutoff="must", rel=REL
)


@dataclass(frozen=True)
class Persistence(Measure):
    """Share of the k items with the highest labels found among the first k positions.

    Wang et al., section 5.5, for k = 10. Items of equal labels are each as likely to be of
    the highest k as the others; a list of fewer than k items has that many. A query whose
    labels are all equal has no value.
    """

    cutoff: int = 10

    @property
    def meaning(self) -> str:
        """Cutoff, in words."""
        return f"share of the {self.cutoff} highest-labelled items found in the first {self.cutoff}"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Keep how likely every item is to be one of the highest k."""
        # (a run's negative judgements are not relevant, as everywhere)
        y = judged.y if judged.retrieved is None else np.maximum(judged.y, 0.0)
        truth, n = judged.sort(-y), judged.n_queries
        chance = np.clip((self.cutoff - truth.before) / truth.sizes, 0.0, 1.0)
        gains = np.zeros(len(judged.y))
        gains[truth.items] = np.repeat(chance, truth.sizes)
        weights = np.ones(min(self.cutoff, judged.longest))
        total = np.minimum(judged.groups.sizes, self.cutoff).astype(np.float64)
        levels = np.bincount(truth.query, minlength=n)
        total[levels < 2] = np.nan
        return share_of_best(gains, weights, total, self.cutoff)


_PERSISTENCE = "share of the k highest-labelled items found in the first k"
register("persistence", Persistence, _PERSISTENCE, cutoff="must")


@dataclass(frozen=True)
class RPrecision(Measure):
    """Share of relevant items among the first R positions, for R relevant items."""

    relevance: Relevance = RELEVANT

    @property
    def meaning(self) -> str:
        """Relevance, in words."""
        return f"share of relevant items ({self.relevance.text}) in the first R, if there are R"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant and their number per query."""
        good = self.relevance.of(judged).astype(float)
        total = judged.per_query(good)

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks()
            places = np.clip(total[blocks.query] - blocks.before, 0.0, blocks.sizes)
            found = blocks.sums(good) * places / blocks.sizes
            return blocks.per_query(found, judged.n_queries) / np.where(total > 0, total, np.nan)

        return BoundMeasure(values)


register("rprec", RPrecision, "share of relevant items in the first R, if there are R", rel=REL)


@dataclass(frozen=True)
class Judged(Measure):
    """Share of a run's first k documents that have a judgement, relevant or not.

    Rows with labels are all judged. A run of fewer documents is measured on those.
    """

    cutoff: int | None = None

    @property
    def meaning(self) -> str:
        """Cutoff, in words."""
        return (
            f"share of items with a judgement{f' in the first {self.cutoff}' * bool(self.cutoff)}"
        )

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Keep which rows have a judgement."""
        every = np.ones(len(judged.y))
        known = every if judged.judged is None else judged.judged.astype(float)
        weights = np.ones(min(judged.longest, self.cutoff or judged.longest))

        def values(ranking: Ranking) -> Floats:
            blocks, n = ranking.blocks(self.cutoff), judged.n_queries
            seen = weighted_sum(blocks, every, weights, n)
            return weighted_sum(blocks, known, weights, n) / np.where(seen > 0, seen, np.nan)

        return BoundMeasure(values)


register("judged", Judged, "share of a run's first k documents with a judgement", cutoff="may")


@dataclass(frozen=True)
class BinaryPreference(Measure):
    """How few judged items that are not relevant precede the relevant ones (bpref).

    With R relevant items and N judged ones that are not, a relevant item that is retrieved counts
    ``1 - min(n, R) / min(N, R)`` for n of those before it, as in trec_eval (Buckley & Voorhees
    2004); items without a judgement, or with one below 0, are passed over. In a block of ties with
    m of those, n is each of 0 to m more equally often.
    """

    relevance: Relevance = RELEVANT

    @property
    def meaning(self) -> str:
        """Relevance, in words."""
        return f"bpref: judged items before relevant ones ({self.relevance.text}), unjudged ignored"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Count the relevant items and those judged not to be."""
        good = self.relevance.of(judged)
        bad = ~good if judged.judged is None else judged.judged & ~good & (judged.y >= 0)
        total = judged.per_query(good)
        most = np.minimum(total, judged.per_query(bad))

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks()
            here = blocks.sums(bad)
            before, limit = blocks.earlier(here), total[blocks.query]
            below = np.clip(limit - before, 0.0, here + 1.0)  # of the here + 1 values of n
            count = below * before + below * (below - 1.0) / 2 + (here + 1.0 - below) * limit
            scale = np.maximum(most[blocks.query], 1.0) * (here + 1.0)
            worth = np.where(most[blocks.query] > 0, 1.0 - count / scale, 1.0)
            found = blocks.per_query(blocks.sums(good) * worth, judged.n_queries)
            return np.clip(found / np.where(total > 0, total, np.nan), 0.0, 1.0)

        return BoundMeasure(values)


register("bpref", BinaryPreference, "bpref: relevant items before judged others", rel=REL)


# --- Expected reciprocal rank, as an exact expectation over random tie order


#: Places that the reader reaches with a lower probability are left out.
_UNREACHED = 2.0**-60

#: Cells of a batch.
_CELLS = 2**15


def stopping_places(stop: Floats, size: Ints, width: int) -> Floats:
    """Return the probability that a reader of a block in random order stops at each place.

    A reader stops at item i with probability ``stop[i]``, else reads on. Items are added
    one by one. With i of them added, ``passed[j]`` is the mean, over the sets of j of them,
    of the product of ``1 - stop``, and ``halts[j]`` the mean, over the ordered choices of
    j, of passing the first j - 1 and stopping at the last. The next item is in such a
    choice, or last in it, with probability j/i and 1/i::

        passed[j] <- (1 - j/i) passed[j] + j/i (1 - stop) passed[j-1]
        halts[j]  <- (1 - j/i) halts[j] + (j-1)/i (1 - stop) halts[j-1] + stop/i passed[j-1]

    Every term is positive, so nothing cancels. Items with ``stop = 0`` come first, where
    ``passed = 1`` and ``halts = 0`` in one step: O(width) for each of the other items.

    Parameters
    ----------
    stop : array of shape (n_blocks, most)
        The items that may stop the reader, 0 to fill up.
    size : int array of shape (n_blocks,)
        Items of each block, those with ``stop = 0`` included.
    width : int
        Places needed.

    Returns
    -------
    array of shape (n_blocks, width)
    """
    there = stop > 0
    let_in = size - there.sum(axis=1)
    place = np.arange(1.0, width + 1)
    passed = np.ones((len(size), width + 1))
    passed[:, 1:] = place <= let_in[:, None]
    halts = np.zeros((len(size), width + 1))
    for column in range(stop.shape[1]):
        let_in = let_in + there[:, column]
        # A filling cell lets nothing in: every share is 0 there.
        share = (there[:, column] / np.maximum(let_in, 1))[:, None]
        chance = stop[:, column, None]
        going_on = share * (1.0 - chance)
        stay = 1.0 - place * share
        gain = (going_on * (place - 1.0)) * halts[:, :-1]
        gain += (share * chance) * passed[:, :-1]
        halts[:, 1:] *= stay
        halts[:, 1:] += gain
        np.multiply(going_on * place, passed[:, :-1], out=gain)
        passed[:, 1:] *= stay
        passed[:, 1:] += gain
    return halts[:, 1:]


def _places_needed(size: Ints, mean_stop: Floats, before: Ints, cutoff: int | None) -> Ints:
    """Return the number of places of each block that can matter.

    The mean chance to pass j items in random order is at most ``(1 - mean_stop)^j``
    (Maclaurin's inequality), so from some place on no reader is left.
    """
    far = np.ceil(log(_UNREACHED) / log1p(-mean_stop))
    need = np.minimum(size, far).astype(np.int64)
    return need if cutoff is None else np.clip(cutoff - before, 0, need)


def _batches(able: Ints, need: Ints) -> Iterator[Ints]:
    """Yield blocks of similar numbers, few enough at a time to stay in the cache."""
    for rough in size_classes(able):
        for part in size_classes(need[rough]):
            members = rough[part]
            rows = max(1, _CELLS // int(need[members].max()))
            for begin in range(0, len(members), rows):
                yield members[begin : begin + rows]


def _within_blocks(blocks: TieBlocks, stop: Floats, cutoff: int | None) -> Floats:
    """Return the expected (chance to stop / position) per block, for a reader who reaches it."""
    single = stop[blocks.items[blocks.starts[:-1]]] / (blocks.before + 1.0)
    if cutoff is not None:
        single[blocks.before >= cutoff] = 0.0
    if not blocks.tied:
        return single
    at = stop[blocks.items]
    sums, able = blocks.totals(at), blocks.totals((at > 0).astype(float)).astype(np.int64)
    out = np.where(blocks.sizes == 1, single, 0.0)
    tied = np.flatnonzero((blocks.sizes > 1) & (sums > 0))
    size, before, able, sums = blocks.sizes[tied], blocks.before[tied], able[tied], sums[tied]
    need = _places_needed(size, sums / size, before, cutoff)
    # The able items of the tied blocks, block after block.
    block_of = np.repeat(np.arange(len(blocks.query)), blocks.sizes)
    chosen = at[(at > 0) & (blocks.sizes > 1)[block_of]]
    first = np.cumsum(able) - able
    for members in _batches(able, need):
        columns, filled = slots(able[members])
        picked = np.where(filled, first[members, None] + columns, 0)
        width = int(need[members].max())
        halts = stopping_places(np.where(filled, chosen[picked], 0.0), size[members], width)
        place = np.arange(1, width + 1)
        worth = np.where(place <= need[members, None], 1.0 / (before[members, None] + place), 0)
        out[tied[members]] = (halts * worth).sum(axis=1)
    return out


def _still_reading(blocks: TieBlocks, stop: Floats) -> Floats:
    """Return the chance to reach each block: to stop in no better one, in any order."""
    passed = 1.0 - stop[blocks.items]
    if blocks.tied:
        passed = np.multiply.reduceat(passed, blocks.starts[:-1])
    out = np.ones(len(passed))
    first, lengths = blocks.lists[:-1], np.diff(blocks.lists)
    for members in size_classes(lengths):
        columns, filled = slots(lengths[members])
        at = np.where(filled, first[members, None] + columns, 0)
        product = np.cumprod(np.where(filled, passed[at], 1.0), axis=1)
        later = filled[:, 1:]
        out[at[:, 1:][later]] = product[:, :-1][later]
    return out


@dataclass(frozen=True)
class ExpectedReciprocalRank(Measure):
    """One over the position at which a reader stops, who stops at graded items by chance.

    The chance to stop at an item is ``(2^y - 1) / 2^max`` (Chapelle et al. 2009). Ties
    cost O(q places) for a block with q items of positive label; places that no reader
    reaches are left out.

    Attributes
    ----------
    cutoff : int or None
        Positions that count.
    highest : float or None
        The highest possible label; None is the highest one in the data.
    """

    cutoff: int | None = None
    highest: float | None = None

    @property
    def meaning(self) -> str:
        """Cutoff and highest label, in words."""
        at = f" at {self.cutoff}" if self.cutoff else ""
        most = "the data's highest y" if self.highest is None else f"{self.highest:g}"
        return f"expected reciprocal rank{at}, stop probability (2^y - 1)/2^max, max = {most}"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute the chance to stop at every row."""
        y = judged.y if judged.retrieved is None else np.maximum(judged.y, 0.0)
        self.refuse_labels(judged, y < 0, "of at least 0, since 2^y - 1 is part of a chance")
        self.refuse_labels(judged, y > _MOST_EXPONENT, f"of at most {_MOST_EXPONENT}")
        highest = float(y.max()) if self.highest is None else self.highest
        self.refuse_labels(judged, y > highest, f"of at most max = {highest:g}")
        stop = (exp2(y) - 1.0) / exp2(highest)
        nothing = judged.per_query(stop) == 0

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            inside = _within_blocks(blocks, stop, self.cutoff)
            found = blocks.per_query(inside * _still_reading(blocks, stop), judged.n_queries)
            found[nothing] = np.nan
            return found

        return BoundMeasure(values)


_GRADE = between(0.0, _MOST_EXPONENT, low_open=True, noun="label")
_ERR = "expected reciprocal rank, stop probability (2^y - 1)/2^max"
_MAX = Option("highest", number(_GRADE), _GRADE.wording)
register("err", ExpectedReciprocalRank, _ERR, cutoff="may", max=_MAX)


# --- Measures of the position of the first, or the last, relevant item
#
# In a block of Q tied items with q good ones, the first good one is at place l with
# probability ``C(Q - l, q - 1) / C(Q, q)`` (Freund et al. 2003, equation 24 with j = 1),
# and the last one mirrors it. The probabilities are built as a running product, which
# neither overflows nor cancels.


def first_place(size: Ints, good: Floats) -> Floats:
    """Return the probability of each place of the first good item, one row per block.

    Examples
    --------
    >>> first_place(np.array([3]), np.array([2.0])).round(4).tolist()
    [[0.6667, 0.3333]]
    """
    spare = size - good
    place, _ = slots((spare + 1).astype(np.int64))
    left = np.maximum(size[:, None] - place, 1)
    still_none = np.cumprod(np.maximum(spare[:, None] - place, 0.0) / left, axis=1)
    reached = np.concatenate((np.ones((len(size), 1)), still_none[:, :-1]), axis=1)
    return np.asarray(reached * np.minimum(good[:, None] / left, 1.0))


@dataclass(frozen=True)
class _FirstRelevant(Measure):
    """Expected worth of the first relevant item's position."""

    relevance: Relevance = RELEVANT

    @abstractmethod
    def worth(self, position: Floats) -> Floats:
        """Return the worth of each position."""

    @property
    def never(self) -> float:
        """The worth where no relevant item is within the depth."""
        return 0.0

    def _expected(self, blocks: TieBlocks, good: Floats, n_queries: int) -> Floats:
        """Return the expected worth per query, from the first block with a relevant item."""
        out = np.full(n_queries, self.never)
        inside = blocks.sums(good)
        some = np.flatnonzero(inside > 0)
        first = some[run_starts(blocks.query[some])]
        size, q = blocks.sizes[first], inside[first]
        before, query = blocks.before[first], blocks.query[first]
        for batch in size_classes((size - q + 1).astype(np.int64)):
            chance = first_place(size[batch], q[batch])
            position = np.asarray(before[batch, None] + np.arange(1, chance.shape[1] + 1), float)
            worth = self.worth(position)
            mean = (chance * worth).sum(axis=1)
            # (outside by rounding only)
            out[query[batch]] = np.clip(mean, worth.min(axis=1), worth.max(axis=1))
        return out

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant."""
        good = self.relevance.of(judged).astype(float)
        nothing = judged.per_query(good) == 0

        def values(ranking: Ranking) -> Floats:
            found = self._expected(ranking.blocks(self.depth), good, judged.n_queries)
            found[nothing] = np.nan
            return found

        return BoundMeasure(values)


@dataclass(frozen=True)
class ReciprocalRank(_FirstRelevant):
    """One over the position of the first relevant item, 0 if not in the first k."""

    cutoff: int | None = None

    @property
    def meaning(self) -> str:
        """Cutoff and relevance, in words."""
        at = f" at {self.cutoff}" if self.cutoff else ""
        return f"reciprocal rank{at} of the first relevant item ({self.relevance.text})"

    def worth(self, position: Floats) -> Floats:
        """Return the worth of positions: one over the position."""
        if self.cutoff is None:
            return 1.0 / position
        return np.where(position <= self.cutoff, 1.0 / position, 0.0)


register(
    "mrr", ReciprocalRank, "one over the rank of the first relevant item", cutoff="may", rel=REL
)
_PROT = "one over the rank of the first item with the query's highest label"
register("prot", partial(ReciprocalRank, relevance=TOP), _PROT, rel=REL)


@dataclass(frozen=True)
class TopHits(_FirstRelevant):
    """Whether a relevant item is among the first k (Freund et al. 2003, table 1)."""

    cutoff: int = 1
    count: bool = False

    @property
    def meaning(self) -> str:
        """Cutoff and relevance, in words."""
        return f"1 if a relevant item ({self.relevance.text}) is in the first {self.cutoff}, else 0"

    @property
    def aggregate(self) -> Aggregate:
        """Share of the queries, or their number."""
        return "sum" if self.count else "mean"

    def worth(self, position: Floats) -> Floats:
        """Return 1 within the first k, else 0."""
        return (position <= self.cutoff).astype(float)


_BEST_HIT = partial(TopHits, relevance=TOP)
_TOP = "share of queries with a best-labelled item in the first k"
register("top", _BEST_HIT, _TOP, cutoff="must", count=flag("count", True), rel=REL)
_SUCCESS = "share of queries with a relevant item in the first k"
register("success", TopHits, _SUCCESS, cutoff="must", rel=REL)


@dataclass(frozen=True)
class AverageRank(_FirstRelevant):
    """Position of the first relevant item, no more than a cap (Freund et al. 2003, table 1)."""

    cap: int = 31

    @property
    def meaning(self) -> str:
        """Cap and relevance, in words."""
        return f"rank of the first relevant item ({self.relevance.text}), at most {self.cap}"

    @property
    def higher_is_better(self) -> bool:
        """Lower is better."""
        return False

    @property
    def depth(self) -> int | None:
        """Number of positions that count."""
        return self.cap

    @property
    def never(self) -> float:
        """An item that is not retrieved has the cap as its rank."""
        return float(self.cap)

    def worth(self, position: Floats) -> Floats:
        """Return the position, capped."""
        return np.minimum(position, float(self.cap))


_BEST_RANK = partial(AverageRank, relevance=TOP)
_CAP = Option("cap", whole_number, "an int of at least 1")
_RANK = "rank of the first best-labelled item, at most 31"
register("avg_rank", _BEST_RANK, _RANK, cap=_CAP, rel=REL)


@dataclass(frozen=True)
class Coverage(Measure):
    """Precision at the last relevant item; 0 if one is never retrieved.

    ``K / rank(t_K)`` for K relevant items (Freund et al. 2003, section 6.2.4, with the K
    of its expectation, which its definition leaves out).
    """

    relevance: Relevance = RELEVANT

    @property
    def meaning(self) -> str:
        """Relevance, in words."""
        return f"precision at the last relevant item ({self.relevance.text})"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant and their number per query."""
        good = self.relevance.of(judged).astype(float)
        total = judged.per_query(good)

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks()
            inside = blocks.sums(good)
            some = np.flatnonzero(inside > 0)
            last = some[np.append(run_starts(blocks.query[some])[1:], len(some))[: len(some)] - 1]
            size, q, query = blocks.sizes[last], inside[last], blocks.query[last]
            out = np.where(total > 0, 0.0, np.nan)
            for batch in size_classes((size - q + 1).astype(np.int64)):
                chance = first_place(size[batch], q[batch])
                end = blocks.before[last[batch], None] + size[batch, None]
                # Counted from the end of the block; places past its start have no chance.
                position = np.maximum(end - np.arange(chance.shape[1]), 1)
                worth = total[query[batch], None] / position
                out[query[batch]] = np.minimum((chance * worth).sum(axis=1), 1.0)
            out[blocks.per_query(inside, judged.n_queries) < total] = 0.0
            return out

        return BoundMeasure(values)


_COVERAGE = "precision at the last item with the query's highest label"
register("coverage", partial(Coverage, relevance=TOP), _COVERAGE, rel=REL)


# --- Average precision, as an exact expectation over random tie order


def expected_precisions(
    blocks: TieBlocks, good: Floats, cutoff: int | None, n_queries: int
) -> Floats:
    """Return the expected sum of precisions at the good items, per query.

    With R items and r good ones before a block of Q items and q good ones, position
    R + l holds a good item with probability q/Q, and then the l - 1 positions before it
    in the block hold ``(l - 1)(q - 1)/(Q - 1)`` good ones on average. Summing Freund et
    al. (2003), equation 22, over k gives the same, in one pass over the items.
    """
    inside = blocks.sums(good)
    earlier = blocks.earlier(inside)
    useful = np.flatnonzero(inside > 0)
    size, start = blocks.sizes[useful], blocks.starts[useful]
    query, q, r = blocks.query[useful], inside[useful], earlier[useful]
    if not blocks.tied:
        position = blocks.position[start]
        terms = (r + 1.0) / position
    else:
        ends = np.cumsum(size)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - size, size)
        position = blocks.position[np.repeat(start, size) + within]
        slope = (q - 1.0) / np.maximum(size - 1, 1)
        expected = np.repeat(r + 1.0, size) + within * np.repeat(slope, size)
        terms = np.repeat(q / size, size) * expected / position
        query = np.repeat(query, size)
    if cutoff is not None:
        terms = np.where(position <= cutoff, terms, 0.0)
    return np.bincount(query, terms, minlength=n_queries).astype(np.float64, copy=False)


@dataclass(frozen=True)
class AveragePrecision(Measure):
    """Mean of the precision at each relevant item; one never found counts 0.

    Attributes
    ----------
    relevance : Relevance
        Which items are relevant.
    cutoff : int or None
        Positions that count; the mean is over all relevant items nevertheless.
    """

    relevance: Relevance = RELEVANT
    cutoff: int | None = None

    @property
    def meaning(self) -> str:
        """Cutoff and relevance, in words."""
        at = f" at {self.cutoff}" if self.cutoff else ""
        return f"average precision{at} of relevant items ({self.relevance.text})"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant and their number per query."""
        good = self.relevance.of(judged).astype(float)
        total = judged.per_query(good)
        total[total == 0] = np.nan

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            found = expected_precisions(blocks, good, self.cutoff, judged.n_queries)
            return np.minimum(found / total, 1.0)  # (above 1 by rounding only)

        return BoundMeasure(values)


register("map", AveragePrecision, "average precision", cutoff="may", rel=REL)
_FREUND_AP = "average precision of the items with the query's highest label (Freund et al. 2003)"
register("freund_ap", partial(AveragePrecision, relevance=TOP), _FREUND_AP, rel=REL)


@dataclass(frozen=True)
class GeometricMAP(AveragePrecision):
    """Average precision, of at least 1e-5, with the geometric mean over queries."""

    @property
    def meaning(self) -> str:
        """Relevance, in words."""
        return f"{super().meaning}, at least {LEAST:g}"

    @property
    def aggregate(self) -> Aggregate:
        """The queries that go badly count most."""
        return "geometric"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Compute which rows are relevant and their number per query."""
        plain = super().bind(judged)
        return BoundMeasure(lambda ranking: np.maximum(plain.values(ranking), LEAST))


register("gm_map", GeometricMAP, "average precision, geometric mean over queries", rel=REL)


# --- What examining the first items yields: the amounts found less the cost of looking


_LARGEST = 1e290  # (sums of 10^18 such labels are finite)


@dataclass(frozen=True)
class Profit(Measure):
    """Sum of the labels of the first k items less k times the cost of an item.

    Labels are amounts: the back tax that an audit finds, the margin of a sale (Werner 2019,
    section 1). `crucial.inspection.profit_curve` draws it over all k. In a list of fewer than k
    items only those cost. Ties count by exact expectation.

    Attributes
    ----------
    cutoff : int
        k.
    cost : float
        Cost of examining one item.
    """

    cutoff: int = 10
    cost: float = 0.0

    @property
    def meaning(self) -> str:
        """Cutoff and cost, in words."""
        return f"sum of the labels of the first {self.cutoff} less {self.cost:g} for each"

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Keep the amounts and the cost of each list."""
        n = judged.n_queries
        large = np.flatnonzero(np.abs(judged.y) > _LARGEST)
        if len(large):
            raise DataError(
                f"{self.name} needs labels of at most {_LARGEST:g}, since it adds them up. "
                f"Got {judged.y[large[0]]:g} in row {large[0]}."
            )
        weights = np.ones(min(self.cutoff, judged.longest))

        def values(ranking: Ranking) -> Floats:
            blocks = ranking.blocks(self.cutoff)
            amounts = weighted_sum(blocks, judged.y, weights, n)
            examined = weighted_sum(blocks, np.ones(len(judged.y)), weights, n)
            return np.asarray(amounts - self.cost * examined)

        return BoundMeasure(values)


_COST = Option("cost", number(between(-1e300, 1e300)), "a number")
_PROFIT = "sum of the first k labels less the cost of each"
register("profit", Profit, _PROFIT, cutoff="must", cost=_COST)

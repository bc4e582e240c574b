"""Measures that sum gains of items times weights of their positions.

``sum over positions p of weight(p) * gain(item at p)``: a tied item is at each
position of its block equally often, so the exact expectation over random tie order is
the block's mean gain times the sum of its positions' weights (McSherry & Najork 2008).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import exp2, log2
from crucial.measures.base import RELEVANT, BoundMeasure, Measure, Relevance
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats

__all__ = [
    "NDCG",
    "Persistence",
    "Precision",
    "RankBiasedPrecision",
    "Recall",
    "discounts",
    "weighted_sum",
]

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
        ideal[ideal <= 0] = np.nan

        def values(ranking: Ranking) -> Floats:
            found = weighted_sum(ranking.blocks(self.cutoff), gains, weights, n)
            return np.minimum(found / ideal, 1.0)  # (above 1 by rounding only)

        return BoundMeasure(values)


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
        reached = np.multiply.accumulate([1.0, *[self.persistence] * (length - 1)])[:length]
        return np.asarray((1 - self.persistence) * reached)


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
        """Keep what is relevant and how much of it there is."""
        good = self.relevance.of(judged).astype(float)
        weights = np.ones(min(self.cutoff, judged.longest))
        total = judged.per_query(good)
        total[total == 0] = np.nan

        def values(ranking: Ranking) -> Floats:
            found = weighted_sum(ranking.blocks(self.cutoff), good, weights, judged.n_queries)
            return np.minimum(found / total, 1.0)  # (above 1 by rounding only)

        return BoundMeasure(values)


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

        def values(ranking: Ranking) -> Floats:
            found = weighted_sum(ranking.blocks(self.cutoff), gains, weights, n)
            return np.minimum(found / total, 1.0)  # (above 1 by rounding only)

        return BoundMeasure(values)

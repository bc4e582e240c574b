"""Measures of the position of the first, or the last, relevant item.

In a block of Q tied items with q good ones, the first good one is at place l with
probability ``C(Q - l, q - 1) / C(Q, q)`` (Freund et al. 2003, equation 24 with j = 1),
and the last one mirrors it. The probabilities are built as a running product, which
neither overflows nor cancels.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from crucial.measures.base import RELEVANT, Aggregate, BoundMeasure, Measure, Relevance
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.ragged import runs, size_classes, slots
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats, Ints

__all__ = ["AverageRank", "Coverage", "ReciprocalRank", "TopHits", "first_place"]


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
        first = some[runs(blocks.query[some])]
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
        """Return one over the position."""
        if self.cutoff is None:
            return 1.0 / position
        return np.where(position <= self.cutoff, 1.0 / position, 0.0)


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
            last = some[np.append(runs(blocks.query[some])[1:], len(some))[: len(some)] - 1]
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

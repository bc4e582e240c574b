"""Average precision, as an exact expectation over random tie order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.measures.base import RELEVANT, BoundMeasure, Measure, Relevance
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.ranking import TieBlocks
from crucial.types import Floats

__all__ = ["AveragePrecision", "expected_precisions"]


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

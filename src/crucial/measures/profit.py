"""What examining the first items yields: the amounts found less the cost of looking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.errors import DataError
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import JudgedLists, Ranking
from crucial.measures.linear import weighted_sum
from crucial.types import Floats

__all__ = ["Profit"]

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

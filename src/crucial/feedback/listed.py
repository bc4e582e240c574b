"""Pairs as arrays of row numbers and weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["ListedPairs"]


class ListedPairs(NamedTuple):
    """Distinct pairs.

    Attributes
    ----------
    high, low : int arrays
        Winner and loser, as places in ``Feedback.rows``.
    weight : array
        Weight of every pair.
    """

    high: Ints
    low: Ints
    weight: Floats

    def take(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers."""
        return ListedPairs(self.high[numbers], self.low[numbers], self.weight[numbers])

    def margins(self, scores: Floats) -> Floats:
        """Return ``H(hi) - H(lo)`` of every pair."""
        return np.subtract(scores[self.high], scores[self.low])

    def write_potentials(self, d: Floats, n_rows: int, pi: Floats) -> None:
        """Write the potentials of pair weights d into the padded array pi."""
        pi[:n_rows] = np.bincount(self.high, d, n_rows)
        pi[:n_rows] -= np.bincount(self.low, d, n_rows)
        pi[n_rows:] = 0.0

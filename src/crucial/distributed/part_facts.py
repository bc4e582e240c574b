"""What has to be known of the rows of all parts before any part can begin."""

from __future__ import annotations

from dataclasses import dataclass

from crucial.feedback.labels import Largest
from crucial.kernels.runtime import Counts
from crucial.kernels.sums import ExactSum
from crucial.types import Bools

__all__ = ["RowFacts"]


@dataclass(frozen=True)
class RowFacts:
    """What has to be known of the rows of all parts before any part can begin.

    Attributes
    ----------
    rows, queries : int
        All there are.
    counts : Counts
        Of the rows that occur in a pair.
    largest : Largest
        Weights of those rows.
    weighted : bool
        Whether such a row weighs other than 1.
    weight : ExactSum
        What they weigh together.
    absent : bool array over the features
        Whether one of them abstains there.
    """

    rows: int
    queries: int
    counts: Counts
    largest: Largest
    weighted: bool
    weight: ExactSum
    absent: Bools

    def merge(self, other: RowFacts) -> RowFacts:
        """Return the facts of both parts."""
        return RowFacts(
            self.rows + other.rows,
            self.queries + other.queries,
            self.counts.merge(other.counts),
            self.largest.merge(other.largest),
            self.weighted or other.weighted,
            self.weight + other.weight,
            self.absent | other.absent,
        )

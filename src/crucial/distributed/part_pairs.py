"""Explicit pairs of the rows of a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.distributed.part_facts import RowFacts
from crucial.errors import DataError
from crucial.feedback.base import power_of_two_scale
from crucial.feedback.explicit_state import ExplicitState
from crucial.feedback.label_weights import Largest, PairMass
from crucial.feedback.labels import check_weights
from crucial.feedback.listed import ListedPairs
from crucial.feedback.pairs import PairFeedback, add_up, check_pairs
from crucial.kernels.exact_sums import ExactSum
from crucial.kernels.sizes import Counts
from crucial.types import Bools, Floats, Ints

__all__ = ["NumberedPairs", "PartPairs"]


@dataclass(frozen=True)
class NumberedPairs:
    """Pairs (winner, loser) of rows, by their numbers in the whole input.

    Attributes
    ----------
    rows : int64 array of shape (n_pairs, 2)
    weight : float64 array of shape (n_pairs,), or None
    """

    rows: Ints
    weight: Floats | None = None

    @classmethod
    def checked(cls, pairs: Any, weight: Any, n_rows: int) -> NumberedPairs:
        """Return pairs of so many rows, checked as `PairFeedback` does."""
        table = check_pairs(pairs, n_rows)
        return cls(table, check_weights(weight, len(table), "pair_weight"))

    def blocks(self, size: int) -> list[NumberedPairs]:
        """Return the pairs in pieces of this size."""
        weight, cuts = self.weight, range(0, max(1, len(self.rows)), size)
        return [
            NumberedPairs(
                self.rows[at : at + size], None if weight is None else weight[at : at + size]
            )
            for at in cuts
        ]

    def among(self, numbers: Ints, query: Ints) -> NumberedPairs:
        """Return the pairs of some rows, which are whole queries; refuse pairs of two queries.

        Parameters
        ----------
        numbers, query : int arrays over the rows
            Number of every row in the whole input, and of its query.
        """
        order = np.argsort(numbers, kind="stable")
        there, places = _found(numbers[order], self.rows)
        wrong = there[:, 0] != there[:, 1]
        own = np.where(there, query[order[places]], -1)
        wrong |= own[:, 0] != own[:, 1]
        if wrong.any():
            winner, loser = self.rows[np.flatnonzero(wrong)[0]].tolist()
            raise DataError(
                f"rows {winner} and {loser} are of different queries: on parts of the rows, pairs "
                "compare rows of one query.",
                parameter="pairs",
            )
        kept = there[:, 0]
        return NumberedPairs(self.rows[kept], None if self.weight is None else self.weight[kept])

    def places(self, numbers: Ints) -> Ints:
        """Return the pairs as places of their rows among those with these numbers."""
        order = np.argsort(numbers, kind="stable")
        _, places = _found(numbers[order], self.rows)
        return order[places]


def _found(ascending: Ints, wanted: Ints) -> tuple[Bools, Ints]:
    """Return which numbers occur among others, and where."""
    if not len(ascending):
        return np.zeros(wanted.shape, bool), np.zeros(wanted.shape, np.int64)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.asarray(ascending[places] == wanted), places


class PartPairs(PairFeedback):
    """The explicit pairs of a part, weighed together with those of all other parts.

    Parameters
    ----------
    pairs : NumberedPairs
    numbers : int array over the rows of the part
        Their numbers in the whole input, rising in every query.
    contradictions : {"keep", "net"}
        As in `PairFeedback`.
    """

    def __init__(self, pairs: NumberedPairs, numbers: Ints, contradictions: str) -> None:
        self.n_rows = len(numbers)
        weight = np.ones(len(pairs.rows)) if pairs.weight is None else pairs.weight
        places = pairs.places(numbers) if len(numbers) else np.zeros((0, 2), np.int64)
        high, low, self._own = add_up(places, weight, self.n_rows, contradictions)
        self.weight, self.n_pairs = None, len(high)
        self.n_queries, self.n_skipped = 0, 0
        self.rows = np.unique(np.concatenate((high, low)))
        self._places = np.searchsorted(self.rows, high), np.searchsorted(self.rows, low)

    @property
    def facts(self) -> RowFacts:
        """What other parts have to know of these rows."""
        n = len(self.rows)
        largest = Largest(float(self._own.max(initial=0.0)), 1.0)
        mass, counts = ExactSum.of(np.ones(n)), Counts(n, 0, 0, self.n_pairs, 0)
        return RowFacts(self.n_rows, 0, counts, largest, False, mass, np.zeros(0, bool))

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass:
        """Weigh the pairs together with those of all parts."""
        self._pairs = ListedPairs(
            *self._places, self._own * power_of_two_scale(facts.largest.weight)
        )
        whole = ExactSum.of(self._pairs.weight)
        return PairMass(ExactSum.of(self._own), whole, whole)

    def finish(self, log_total: float, total: float) -> None:
        """Set the weight of the pairs of all parts."""
        self._log_total, self.total = log_total, total

    def _state(self, threads: int) -> ExplicitState:
        return ExplicitState(self._pairs, len(self.rows), self._log_total)

"""Means inside queries, for losses in which every query has an intercept of its own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["QueryMeans"]

# Sums of weights that agree so far are equal.
_SAME = 1e-12


class QueryMeans:
    """Weighted means inside queries, of rows that lie query after query.

    Parameters
    ----------
    mass : array over the rows
        Weights, above 0.
    starts : int array of shape (n_queries + 1,)
        First row of every query.
    """

    def __init__(self, mass: Floats, starts: Ints) -> None:
        self.mass, self._starts = mass, starts
        self._sizes = np.diff(starts)
        self.whole = float(mass.sum())
        self._of_query = np.add.reduceat(mass, starts[:-1])

    @property
    def single(self) -> bool:
        """Whether all rows are of one query."""
        return len(self._sizes) == 1

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over every query."""
        if self.single:
            return np.array([values.sum()])
        return np.asarray(np.add.reduceat(values, self._starts[:-1]))

    def means(self, values: Floats) -> Floats:
        """Return the weighted mean of every query."""
        return self.sums(self.mass * values) / self._of_query

    def spread(self, per_query: Floats) -> Floats:
        """Return, for every row, the number of its query."""
        return np.repeat(per_query, self._sizes)

    def centred(self, values: Floats) -> Floats:
        """Return values less the mean of their query."""
        return values - self.spread(self.means(values))

    def balanced(self, sums: Floats) -> Floats:
        """Return values times mass, less the mean of their query times mass: it sums to 0.

        Parameters
        ----------
        sums : array over the rows
            Values, times mass already.
        """
        return sums - self.mass * self.spread(self.sums(sums) / self._of_query)

    def medians(self, values: Floats) -> Floats:
        """Return the weighted median of every query, half-way where two values share it."""
        out = np.empty(len(self._sizes))
        for q, (begin, end) in enumerate(pairwise(self._starts.tolist())):
            order = begin + np.argsort(values[begin:end], kind="stable")
            running = np.cumsum(self.mass[order])
            half = running[-1] / 2.0
            at = int(np.searchsorted(running, half * (1.0 - _SAME)))
            after = min(at + 1, len(order) - 1) if running[at] <= half * (1.0 + _SAME) else at
            out[q] = (values[order[at]] + values[order[after]]) / 2.0
        return out

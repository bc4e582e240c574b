"""Logistic pairs weighted by the change of a measure, on several threads."""

from __future__ import annotations

import numpy as np

from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["AVERAGE_PRECISION", "NDCG", "RECIPROCAL_RANK", "How", "LambdaSums"]

NDCG, AVERAGE_PRECISION, RECIPROCAL_RANK = 0, 1, 2

#: Measure, depth of the measure, truncation, sigmoid, whether to normalise.
How = tuple[int, int, int, float, bool]


class LambdaSums:
    """Sums over the pairs of a query with a row among the first; see `compiled.lambdas`.

    O(truncation n) per query and O(n log n) for its order.

    Parameters
    ----------
    row_start : int array of shape (n_queries + 1,)
    worth : array over the rows
    weight : array over the rows, or None where all are 1
    inverse : array over the queries
    discount : array as long as the largest query
    how : measure, depth, truncation, sigmoid, normalise
    threads : int
    """

    def __init__(
        self,
        row_start: Ints,
        worth: Floats,
        weight: Floats | None,
        inverse: Floats,
        discount: Floats,
        how: How,
        threads: int,
    ) -> None:
        self._row_start, self._threads = row_start, threads
        self._worth, self._inverse, self._discount = worth, inverse, discount
        self._weight = np.ones(len(worth)) if weight is None else weight
        self._how = how
        self._bounds = cut_lists(row_start, 4 * threads)

    def sums(
        self, scores: Floats, coefficient: Floats, pi: Floats, curvature: Floats, value: Floats
    ) -> None:
        """Write potentials, curvature and the measure of every query."""
        from crucial.kernels.compiled.lambdas import lambda_sums

        inputs = (scores, self._worth, self._weight, coefficient, self._inverse)
        more = (self._discount, self._how, self._row_start)

        def sums(begin: int, end: int) -> None:
            lambda_sums(*inputs, *more, begin, end, pi, curvature, value)

        over_ranges(self._bounds, self._threads, sums)

"""Logistic pairs weighted by the change of a measure, by the kernel that suits the size."""

from __future__ import annotations

import numpy as np

from crucial.kernels.plain import lambdas as plain
from crucial.kernels.plain.lambdas import AVERAGE_PRECISION, NDCG, RECIPROCAL_RANK, How
from crucial.kernels.sizes import in_all, is_small
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["AVERAGE_PRECISION", "NDCG", "RECIPROCAL_RANK", "How", "LambdaSums"]

# Rows whose cost equals that of one query in NumPy, which takes 0.12 ms at least: 25 queries lose
# in 1,500 rounds what compiling takes once.
_QUERY_COST = 1_200


class LambdaSums:
    """Sums over the pairs of a query with a row among the first; see `plain.lambdas`.

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
        self._small = is_small(
            in_all("rows", len(worth)) + _QUERY_COST * in_all("queries", len(inverse))
        )
        self._bounds = cut_lists(row_start, 4 * threads)

    def sums(
        self, scores: Floats, coefficient: Floats, pi: Floats, curvature: Floats, value: Floats
    ) -> None:
        """Write potentials, curvature and the measure of every query."""
        inputs = (scores, self._worth, self._weight, coefficient, self._inverse)
        more = (self._discount, self._how, self._row_start)
        if self._small:
            plain.lambda_sums(*inputs, *more, pi, curvature, value)
            return
        from crucial.kernels.compiled.lambdas import lambda_sums

        def sums(begin: int, end: int) -> None:
            lambda_sums(*inputs, *more, begin, end, pi, curvature, value)

        over_ranges(self._bounds, self._threads, sums)

"""Losses of whole queries with their gradients: squares, cross entropy, XE-NDCG."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["QueryLosses"]


class QueryLosses:
    """Losses over the rows of each query, on several threads, no query split.

    The arguments and the meaning of each loss are documented in
    `crucial.kernels.compiled.query_losses`.

    Parameters
    ----------
    row_start : int array of shape (n_queries + 1,)
    weight : array over the rows, or None where all are 1
    threads : int
    """

    def __init__(self, row_start: Ints, weight: Floats | None, threads: int) -> None:
        self._row_start, self._threads = row_start, threads
        self._weight = np.ones(int(row_start[-1])) if weight is None else weight
        self._bounds = cut_lists(row_start, threads)

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)

    def squares(
        self,
        scores: Floats,
        target: Floats,
        coefficient: Floats,
        pi: Floats,
        curvature: Floats,
        loss: Floats,
    ) -> None:
        """Write potentials, curvature and loss of the squared error up to a shift per query."""
        from crucial.kernels.compiled.query_losses import squares

        inputs = (scores, target, self._weight, coefficient, self._row_start)
        self._over_queries(lambda a, b: squares(*inputs, a, b, pi, curvature, loss))

    def cross_entropy(
        self,
        scores: Floats,
        target: Floats,
        coefficient: Floats,
        pi: Floats,
        curvature: Floats,
        loss: Floats,
    ) -> None:
        """Write potentials, curvature and loss of the cross entropy of a softmax."""
        from crucial.kernels.compiled.query_losses import cross_entropy

        inputs = (scores, target, self._weight, coefficient, self._row_start)
        self._over_queries(lambda a, b: cross_entropy(*inputs, a, b, pi, curvature, loss))

    def xendcg(
        self,
        scores: Floats,
        worth: Floats,
        unit: Floats,
        noise: Floats,
        coefficient: Floats,
        pi: Floats,
        curvature: Floats,
        loss: Floats,
    ) -> None:
        """Write potentials, curvature and loss of XE-NDCG."""
        from crucial.kernels.compiled.query_losses import xendcg

        inputs = (scores, worth, unit, noise, self._weight, coefficient, self._row_start)
        self._over_queries(lambda a, b: xendcg(*inputs, a, b, pi, curvature, loss))

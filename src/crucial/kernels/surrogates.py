"""Surrogates of the hard ranking loss, summed over the pairs that labels imply."""

from __future__ import annotations

import math

import numpy as np

from crucial.kernels.levels import Levels
from crucial.types import Floats

__all__ = ["SURROGATES", "SurrogateSums"]

#: Losses of ``z = (y_i - y_j) (f_i - f_j)``, and their numbers in the compiled kernel.
SURROGATES = {"exp": 0, "hinge": 1, "piecewise": 2}


class SurrogateSums:
    """Loss and gradient of a surrogate, by pairs of label levels.

    A pair (i above j) costs ``c_q u_i u_j phi(z)`` with ``z = (y_i - y_j) (f_i - f_j)``::

        exp         e^-z
        hinge       max(0, 1 - z)
        piecewise   1 below 0, 1 - z / width up to width, 0 beyond

    Rows are sorted inside their level, and every two levels of a query are merged: a query of n
    rows and d labels takes O(n log n + n d).

    Parameters
    ----------
    surrogate : {"exp", "hinge", "piecewise"}
    width : float
        Of the sloping part of the piecewise linear loss.
    levels : Levels
    values : array over the segments
        Their labels y.
    weight : array over the rows, or None
        u; None where all are 1.
    coefficient : array over the queries
        c.
    """

    def __init__(
        self,
        surrogate: str,
        width: float,
        levels: Levels,
        values: Floats,
        weight: Floats | None,
        coefficient: Floats,
    ) -> None:
        self._surrogate, self._width = surrogate, width
        self._levels, self._values, self._coefficient = levels, values, coefficient
        self._weight = np.ones(levels.n_rows) if weight is None else weight

    def loss(self, scores: Floats) -> float:
        """Return the sum of the loss over all pairs; infinite where it overflows."""
        return self._sum(scores, np.zeros(0))

    def gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and ``sum_j c_q u_j (y_i - y_j) (-phi'(z))`` for every row i."""
        out = np.zeros(len(scores))
        return self._sum(scores, out), out

    def _sum(self, scores: Floats, gradient: Floats) -> float:
        """Return the loss; write the gradient, unless it is of length 0."""
        from crucial.kernels.compiled.surrogates import surrogate_sums

        if not math.isfinite(float(scores.sum())):
            return math.nan
        order = np.lexsort((scores, self._levels.segment_of_row))
        found = np.zeros(len(gradient))
        total: float = surrogate_sums(
            SURROGATES[self._surrogate],
            self._width,
            scores[order],
            self._weight[order],
            self._values,
            self._coefficient,
            *self._levels.arrays,
            found,
        )
        if len(gradient):
            gradient[order] = found
        return total

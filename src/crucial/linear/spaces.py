"""Where the weights of a linear or kernel ranker lie.

The scores of rows are linear in the weights, and a ridge ``(l2 / 2) <w, w>`` keeps them small. Of
features, weights are one number per column. Of a kernel, they are one number per row: the ranker is
``f = sum_i a_i K(x_i, .)``, its scores are ``K a`` and its ridge is ``(l2 / 2) a'Ka``. A gradient
by the scores is itself a ranker of that form, so that solvers which use nothing but the operations
below need neither inverse nor root of K.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from crucial.errors import DataError
from crucial.kernels import elementary
from crucial.kernels.runtime import TallTable
from crucial.linear.design import Matrix
from crucial.types import Floats, Ints

__all__ = ["FeatureSpace", "KernelSpace", "Space"]


class Space(Protocol):
    """Weights, with an inner product and the scores that they give."""

    @property
    def n_weights(self) -> int:
        """Length of a vector of weights."""

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the rows."""

    def back(self, by_score: Floats) -> Floats:
        """Return the gradient by the weights of a loss, given that by the scores."""

    def dot(self, one: Floats, other: Floats, scores: Floats) -> float:
        """Return the inner product of two vectors of weights; ``scores`` are those of the other."""


class FeatureSpace:
    """Weights of columns.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    threads : int
    """

    def __init__(self, matrix: Matrix, threads: int = 1) -> None:
        self._matrix = matrix
        self._dense = TallTable(matrix, threads) if isinstance(matrix, np.ndarray) else None

    @property
    def n_weights(self) -> int:
        """Number of columns."""
        return int(self._matrix.shape[1])

    def some(self, columns: Ints) -> FeatureSpace:
        """Return the weights of some columns."""
        if isinstance(self._matrix, np.ndarray):
            return FeatureSpace(self._matrix.take(columns, axis=1))  # (rows stay contiguous)
        return FeatureSpace(self._matrix[:, columns])

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the rows."""
        return np.asarray(self._matrix @ w) if self._dense is None else self._dense.times(w)

    def back(self, by_score: Floats) -> Floats:
        """Return the gradient by the weights of a loss, given that by the scores."""
        if self._dense is not None:
            return self._dense.turned_times(by_score)
        return np.asarray(self._matrix.T @ by_score)

    def dot(self, one: Floats, other: Floats, scores: Floats) -> float:
        """Return the inner product of two vectors of weights."""
        return elementary.dot(one, other)


class KernelSpace:
    """Coefficients of rows in a kernel expansion.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows)
        The kernel of every two rows; symmetric and positive semidefinite.
    threads : int
    """

    def __init__(self, gram: Floats, threads: int = 1) -> None:
        self._gram, self._table = gram, TallTable(gram, threads)
        # What rounding can take off the squared length of coefficients of length 1.
        self._rounding = 1e-10 * len(gram) * float(np.abs(gram).max(initial=0.0))

    @property
    def n_weights(self) -> int:
        """Number of rows."""
        return len(self._gram)

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the rows."""
        return self._table.times(w)

    def back(self, by_score: Floats) -> Floats:
        """Return the gradient as a ranker, which has the same coefficients."""
        return by_score

    def dot(self, one: Floats, other: Floats, scores: Floats) -> float:
        """Return the inner product of two rankers, ``a'Kb``."""
        value = elementary.dot(one, scores)
        if one is other and value < -self._rounding * elementary.dot(one, one):
            raise DataError(
                "the kernel is not positive semidefinite: a function of it has the squared length "
                f"{value:.3g}.",
                remedy="Use another kernel, or add a constant to its diagonal.",
                parameter="kernel",
            )
        return value

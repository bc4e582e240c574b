"""Which weak rankers are linear combinations of others, seen from the pairs.

To a pair (lo, hi) a weak ranker is the number ``h(hi) - h(lo)``, so rankers are vectors
over pairs (Connamacher et al. 2019, section 4). With B the incidence matrix of the pairs,
``B h`` is in the span of ``B S`` exactly where ``h - S beta`` is constant on every connected
component of the comparison graph. So h is centred in each component and tested in as many
dimensions as there are rows, however many pairs there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.feedback.base import Output
from crucial.kernels.elementary import matrix_product, row_products
from crucial.types import Bools, Floats

__all__ = ["TOLERANCE", "Span"]


# A ranker is independent if this share of it, or more, lies outside the span. It is the
# square root of the machine's precision: members so close to dependence make coefficients
# of up to 1 / TOLERANCE, with which rounding (2e-16) still stays below TOLERANCE.
TOLERANCE = 1e-7


class Span:
    """A growing set of independent weak rankers, as an orthonormal basis: S = Q R.

    Parameters
    ----------
    component : int array of shape (n_rows,)
        Connected component of every row, from 0.

    Examples
    --------
    >>> span = Span(np.array([0, 0, 0]))
    >>> span.add(np.array([1, 0, 0])), span.add(np.array([0, 1, 0]))
    (True, True)
    >>> span.add(np.array([0, 0, 1]))  # minus the sum of both, but for a constant
    False
    >>> span.coordinates(np.array([[0, 0, 1]]))[1].round(9).tolist()
    [[-1.0, -1.0]]
    """

    def __init__(self, component: NDArray[np.integer]) -> None:
        self._component = component
        self._sizes = np.bincount(component).astype(np.float64)
        n = len(component)
        # Q by column, so that one more is a row at the end.
        self._basis = np.zeros((8, n))
        self._triangle = np.zeros((8, 8))
        self.size = 0

    @property
    def largest(self) -> int:
        """Largest size of a set of independent rankers: rows minus components."""
        return len(self._component) - len(self._sizes)

    @property
    def newest(self) -> Floats:
        """Unit vector that the last member added."""
        found: Floats = self._basis[self.size - 1]
        return found

    def centred(self, outputs: Output) -> Floats:
        """Return every row of ``outputs`` minus its mean in each component."""
        if len(self._sizes) == 1:
            centred: Floats = outputs - outputs.mean(axis=1, keepdims=True, dtype=np.float64)
            return centred
        centred = outputs.astype(np.float64)
        for row in centred:
            row -= (np.bincount(self._component, row) / self._sizes)[self._component]
        return centred

    def _split(self, centred: Floats) -> tuple[Floats, Floats]:
        """Return coefficients on the basis and the rest; done twice, to stay orthogonal."""
        basis = self._basis[: self.size]
        inside = row_products(centred, basis)
        rest = centred - matrix_product(inside, basis)
        again = row_products(rest, basis)
        return inside + again, rest - matrix_product(again, basis)

    def outside(self, outputs: Output) -> Bools:
        """Return which rows of ``outputs`` are independent of the members."""
        centred = self.centred(outputs)
        if self.size == self.largest:
            return np.zeros(len(outputs), bool)
        rest = self._split(centred)[1]
        return _norm(rest) > TOLERANCE * _norm(centred)

    def add(self, output: Output) -> bool:
        """Make a ranker a member, if it is independent; return whether it is."""
        if self.size == self.largest:
            return False
        centred = self.centred(output[None, :])
        inside, rest = self._split(centred)
        left = float(_norm(rest)[0])
        if not left > TOLERANCE * float(_norm(centred)[0]):
            return False
        if self.size == len(self._basis):
            self._grow()
        self._basis[self.size] = rest[0] / left
        self._triangle[: self.size, self.size] = inside[0]
        self._triangle[self.size, self.size] = left
        self.size += 1
        return True

    def _grow(self) -> None:
        more = min(2 * self.size, max(self.largest, self.size + 1))
        basis, triangle = self._basis, self._triangle
        self._basis = np.zeros((more, basis.shape[1]))
        self._triangle = np.zeros((more, more))
        self._basis[: self.size] = basis
        self._triangle[: self.size, : self.size] = triangle

    def coordinates(self, outputs: Output) -> tuple[Bools, Floats]:
        """Return which rows of ``outputs`` are in the span, and their beta: ``B h = B S beta``.

        Returns
        -------
        dependent : bool array of shape (n_outputs,)
        beta : array of shape (n_outputs, size)
            Over the members in the order they came; meaningless where independent.
        """
        centred = self.centred(outputs)
        inside, rest = self._split(centred)
        dependent = ~(_norm(rest) > TOLERANCE * _norm(centred))
        if not self.size:
            return dependent, np.zeros((len(outputs), 0))
        triangle = self._triangle[: self.size, : self.size]
        # Back substitution: the last member first.
        left, beta = inside.T.copy(), np.zeros((self.size, len(outputs)))
        for k in range(self.size - 1, -1, -1):
            beta[k] = left[k] / triangle[k, k]
            left[:k] -= triangle[:k, k, None] * beta[k]
        return dependent, beta.T


def _norm(rows: Floats) -> Floats:
    found: Floats = np.sqrt((rows * rows).sum(axis=1))
    return found

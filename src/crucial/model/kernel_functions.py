"""Kernels: how alike two rows are, as the inner product of functions of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import (
    column_sums,
    exp,
    matrix_product,
    power,
    row_products,
    row_sums,
)
from crucial.types import Floats

__all__ = ["KERNELS", "Kernel", "KernelCall"]

#: From two tables of rows to the kernel of every two of them.
KernelCall: TypeAlias = Callable[[Floats, Floats], Floats]

#: Kernels by name, beside functions of the user's own.
KERNELS = ("linear", "rbf", "poly", "precomputed")

# Rows of which a function gives the kernel of every two, for the kernel of each with itself.
_BLOCK = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters.

    Attributes
    ----------
    form : {"linear", "rbf", "poly"} or callable
        ``x.z``, ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, or a function of two
        tables of rows that returns the kernel of every two of them.
    gamma, coef0 : float
    degree : int

    Examples
    --------
    >>> Kernel("rbf", gamma=1.0)(np.array([[0.0], [1.0]]), np.array([[0.0]])).ravel().round(4)
    array([1.    , 0.3679])
    """

    form: str | KernelCall
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    @property
    def name(self) -> str:
        """Its name, for people."""
        if isinstance(self.form, str):
            return self.form
        return str(getattr(self.form, "__name__", type(self.form).__name__))

    def __call__(self, A: Floats, B: Floats) -> Floats:
        """Return the kernel of every row of A and row of B."""
        if not isinstance(self.form, str):
            return self._own(A, B)
        products = row_products(A, B)
        if self.form == "linear":
            return products
        if self.form == "poly":
            return power(self.gamma * products + self.coef0, float(self.degree))
        apart = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * products
        return np.asarray(exp(-self.gamma * np.maximum(apart, 0.0)))

    def _own(self, A: Floats, B: Floats) -> Floats:
        """Return the values of a function of the user's own, checked."""
        assert callable(self.form)
        found = np.asarray(self.form(A, B), np.float64)
        if found.shape != (len(A), len(B)):
            raise DataError(
                f"the kernel {self.name!r} must return the kernel of every two rows, an array of "
                f"shape {(len(A), len(B))}. Got {found.shape}.",
                parameter="kernel",
            )
        if not np.isfinite(found).all():
            raise DataError(
                f"the kernel {self.name!r} must return finite numbers.", parameter="kernel"
            )
        return found

    def diagonal(self, rows: Floats) -> Floats:
        """Return the kernel of every row with itself."""
        if self.form == "rbf":
            return np.ones(len(rows))
        if not isinstance(self.form, str):
            blocks = [rows[first : first + _BLOCK] for first in range(0, len(rows), _BLOCK)]
            return np.concatenate([np.diag(self(block, block)) for block in blocks])
        squares: Floats = (rows * rows).sum(axis=1)
        if self.form == "linear":
            return squares
        return power(self.gamma * squares + self.coef0, float(self.degree))

    def bounds(self, support: Floats, reach: Floats) -> tuple[Floats, Floats]:
        """Return how large a kernel and its slopes can be, at least what is computed on the way.

        Parameters
        ----------
        support : array of shape (n_support, n_columns)
        reach : array of shape (n_columns,)
            Largest absolute value of every column.

        Returns
        -------
        values : array of shape (n_support,)
        slopes : array of shape (n_support, n_columns)
        """
        rows = np.abs(support)
        products = rows @ reach
        if self.form == "linear":
            return products, rows
        if self.form == "poly":
            bases = self.gamma * products + abs(self.coef0)
            steep = self.degree * self.gamma * bases ** (self.degree - 1)
            return bases**self.degree, steep[:, None] * rows
        apart = (rows * rows).sum(axis=1) + reach @ reach + 2.0 * products
        values = np.where(np.isfinite(self.gamma * apart), 1.0, np.inf)
        return values, 2.0 * self.gamma * values[:, None] * (rows + reach)

    def slopes(self, support: Floats, coefficients: Floats, rows: Floats) -> Floats:
        """Return how fast ``f = sum_i a_i K(x_i, .)`` rises along every column, at some rows.

        A kernel of the user's own is differenced.
        """
        if self.form == "linear":
            return np.tile(column_sums(support, coefficients), (len(rows), 1))
        if self.form == "poly":
            bases = self.gamma * row_products(rows, support) + self.coef0
            pull = self.degree * self.gamma * power(bases, self.degree - 1.0)
            return matrix_product(pull, coefficients[:, None] * support)
        if self.form == "rbf":
            alike = self(rows, support)
            pull = matrix_product(alike, coefficients[:, None] * support)
            own = row_sums(alike, coefficients)[:, None] * rows
            return np.asarray(2.0 * self.gamma * (pull - own))
        out, step = np.empty(rows.shape), 1e-4
        for j in range(rows.shape[1]):
            move = np.zeros(rows.shape[1])
            move[j] = step
            above, below = (
                row_sums(self(rows + side * move, support), coefficients) for side in (1, -1)
            )
            out[:, j] = (above - below) / (2.0 * step)
        return out

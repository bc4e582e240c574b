"""Products of vectors and matrices that are the same to the last bit on every machine.

BLAS adds in an order that depends on the CPU and on its threads. Here the terms of a product of
matrices are added one after the other, vectorised over the sums, at 30 to 90% of the speed of one
thread of BLAS; NumPy does it for small matrices with the same bytes, so that any size or state
may choose between the two.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats

__all__ = [
    "column_sums", "dot", "expect_products", "matrix_product", "row_products", "row_sums",
]  # fmt: skip

Numbers: TypeAlias = NDArray[np.number | np.bool_]

# Numbers of products from which a compiled loop pays off: where it is loaded, where Numba is, and
# where neither is.
_PRODUCT_LOADED, _PRODUCT_COMPILED, _ALWAYS_COMPILED = 500, 50_000, 30_000_000


def _compiled(n_products: int) -> bool:
    if "crucial.kernels.compiled.products" in sys.modules:
        return n_products >= _PRODUCT_LOADED
    return n_products >= (_PRODUCT_COMPILED if "numba" in sys.modules else _ALWAYS_COMPILED)


def expect_products(n_products: int) -> None:
    """Load Numba where so many products, in all calls to come, make up for it."""
    if n_products >= _ALWAYS_COMPILED:
        import_module("crucial.kernels.compiled.products")


def dot(a: Numbers, b: Numbers) -> float:
    """Return the sum of products of two vectors, by NumPy's sum in pairs.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    4.0
    """
    return float(np.multiply(a, b, dtype=np.float64).sum())


def matrix_product(a: Numbers, b: Numbers) -> Floats:
    """Return ``a @ b`` for two matrices."""
    if b.shape[1] == 1:
        return row_sums(a, np.asarray(b[:, 0], np.float64))[:, None]
    out = np.zeros((len(a), b.shape[1]))
    if _compiled(a.size * b.shape[1]):
        from crucial.kernels.compiled.products import matrix_product as add

        add(np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64), out)
        return out
    if len(a) < len(b):
        for row, sums in zip(a, out, strict=True):
            sums += np.cumsum(row[:, None] * b, axis=0)[-1]
        return out
    for column, row in zip(a.T, b, strict=True):
        out += column[:, None] * row
    return out


def row_products(a: Numbers, b: Numbers) -> Floats:
    """Return ``a @ b.T``: the sum of products of every row of a with every row of b."""
    return matrix_product(a, b.T)


def row_sums(table: Numbers, weights: Floats) -> Floats:
    """Return ``table @ weights`` for a vector of weights."""
    if _compiled(table.size):
        from crucial.kernels.compiled.products import row_sums as write

        out = np.empty(len(table))
        write(np.ascontiguousarray(table, np.float64), np.ascontiguousarray(weights), out)
        return out
    if not table.size:
        return np.zeros(len(table))
    return np.asarray(np.cumsum(table * weights, axis=1)[:, -1]) + 0.0


def column_sums(table: Numbers, weights: Floats) -> Floats:
    """Return ``weights @ table`` for a vector of weights."""
    return np.asarray(matrix_product(weights[None, :], table)[0])

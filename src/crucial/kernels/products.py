"""Products of vectors and matrices that are the same to the last bit on every machine.

BLAS adds in an order that depends on the CPU and on its threads. Here the terms of a product of
matrices are added one after the other, vectorised over the sums, at 30 to 90% of the speed of one
thread of BLAS; NumPy does it for small matrices with the same bytes, so that any size or state
may choose between the two.
"""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np

from crucial.types import Floats, Reals

__all__ = [
    "column_sums",
    "dot",
    "expect_products",
    "matrix_product",
    "row_products",
    "row_sums",
]

_COMPILED = 50_000  # products from which a compiled loop pays off, where Numba is loaded anyway
_ALWAYS_COMPILED = 30_000_000  # products from which loading Numba does


def _compiled(n_products: int) -> bool:
    return n_products >= (_COMPILED if "numba" in sys.modules else _ALWAYS_COMPILED)


def expect_products(n_products: int) -> None:
    """Load Numba where so many products, in all calls to come, make up for it."""
    if n_products >= _ALWAYS_COMPILED:
        import_module("crucial.kernels.compiled.products")


def dot(a: Reals, b: Reals) -> float:
    """Return the sum of products of two vectors, by NumPy's sum in pairs.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    4.0
    """
    return float(np.multiply(a, b, dtype=np.float64).sum())


def matrix_product(a: Floats, b: Floats) -> Floats:
    """Return ``a @ b`` for two matrices."""
    if b.shape[1] == 1 and _compiled(a.size):
        return row_sums(a, b[:, 0])[:, None]
    out = np.zeros((len(a), b.shape[1]))
    if _compiled(a.size * b.shape[1]):
        from crucial.kernels.compiled.products import matrix_product as add

        add(np.ascontiguousarray(a, np.float64), np.ascontiguousarray(b, np.float64), out)
        return out
    if len(b) > len(a):
        for i, row in enumerate(a):
            out[i] = column_sums(b, row)
        return out
    for column, row in zip(a.T, b, strict=True):
        out += column[:, None] * row
    return out


def row_products(a: Floats, b: Floats) -> Floats:
    """Return ``a @ b.T``: the sum of products of every row of a with every row of b."""
    return matrix_product(a, b.T)


def row_sums(table: Floats, weights: Floats) -> Floats:
    """Return ``table @ weights`` for a vector of weights."""
    if _compiled(table.size):
        from crucial.kernels.compiled.products import row_sums as write

        out = np.empty(len(table))
        write(np.ascontiguousarray(table, np.float64), np.ascontiguousarray(weights), out)
        return out
    return matrix_product(table, weights[:, None])[:, 0]


def column_sums(table: Floats, weights: Floats) -> Floats:
    """Return ``weights @ table`` for a vector of weights."""
    if _compiled(table.size):
        return np.asarray(matrix_product(weights[None, :], table)[0])
    products = np.multiply(weights[:, None], table, order="C")
    # (rows are added one after the other; NumPy adds a single column in pairs)
    sums = products.sum(axis=0) if table.shape[1] > 1 else np.cumsum(products)[-1:]
    return np.asarray(sums + 0.0 if len(table) else np.zeros(table.shape[1]))

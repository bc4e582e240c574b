"""Products with tall tables, in blocks of rows over our own threads.

Sums run in one order within a block, and over the blocks, which depend on the size of a table
alone: neither the number of threads nor the CPU changes a byte. Where BLAS or LAPACK is called
nevertheless it gets one thread: its own wait for each other in a loop, which takes a hundred times
as long on a busy machine, and change the order of sums.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from crucial.kernels.products import column_sums, expect_products, matrix_product, row_sums
from crucial.kernels.threads import over_ranges
from crucial.types import Floats

__all__ = ["TallTable", "gram_of", "one_blas_thread", "solve_positive"]

# Columns up to which equations are made and solved in one order of sums: beyond, BLAS is faster by
# more than their bytes are worth.
_PORTABLE = 256
_STRIP = 64
# Cells of a block.
_CELLS = 1 << 18
# Products with one table that a solver makes, at least.
_PRODUCTS = 100


@lru_cache(maxsize=1)
def _controller() -> Any:
    # (looking up the libraries of the process takes longer than a small fit)
    return import_module("threadpoolctl").ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


def gram_of(columns: Floats) -> Floats:
    """Return ``columns.T @ columns``, the same bytes everywhere up to `_PORTABLE` columns."""
    width = columns.shape[1]
    if width > _PORTABLE:
        with one_blas_thread():
            return np.asarray(columns.T @ columns)
    out, turned = np.zeros((width, width)), np.ascontiguousarray(columns.T)
    for begin in range(0, width, _STRIP):
        strip = slice(begin, begin + _STRIP)
        out[strip, begin:] = matrix_product(turned[strip], columns[:, begin:])
    return np.triu(out) + np.triu(out, 1).T


def solve_positive(system: Floats, right: Floats) -> Floats:
    """Solve equations with a positive definite matrix, by its Cholesky factor.

    The same bytes everywhere for up to `_PORTABLE` equations. Raises LinAlgError if the matrix is
    not positive definite.
    """
    n = len(right)
    if n > _PORTABLE:
        from scipy.linalg import cho_factor, cho_solve

        with one_blas_thread():
            return np.asarray(cho_solve(cho_factor(system), right))
    upper, x = system.copy(), right.astype(np.float64)
    for k in range(n):
        if not upper[k, k] > 0.0:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        upper[k, k:] /= np.sqrt(upper[k, k])
        row = upper[k, k + 1 :]
        upper[k + 1 :, k + 1 :] -= row[:, None] * row
        x[k] /= upper[k, k]
        x[k + 1 :] -= x[k] * row
    for k in range(n - 1, -1, -1):
        x[k] /= upper[k, k]
        x[:k] -= x[k] * upper[:k, k]
    return x


class TallTable:
    """Products of a dense table with vectors.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
    threads : int
    """

    def __init__(self, table: Floats, threads: int) -> None:
        self._table, self._threads = np.ascontiguousarray(table), threads
        n, width = table.shape
        expect_products(_PRODUCTS * table.size)
        step = max(64, _CELLS // max(1, width))
        self._bounds = [*range(0, n, step), n]

    def times(self, weights: Floats) -> Floats:
        """Return ``table @ weights``."""
        out = np.zeros(len(self._table))

        def part(a: int, b: int) -> None:
            out[a:b] = row_sums(self._table[a:b], weights)

        over_ranges(self._bounds, self._threads, part)
        return out

    def turned_times(self, values: Floats) -> Floats:
        """Return ``table.T @ values``; blocks are added in order."""
        out = np.zeros(self._table.shape[1])
        for own in over_ranges(
            self._bounds, self._threads, lambda a, b: column_sums(self._table[a:b], values[a:b])
        ):
            out += own
        return out

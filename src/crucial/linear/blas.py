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

from crucial.kernels.products import column_sums, expect_products, row_sums
from crucial.kernels.threads import over_ranges
from crucial.types import Floats

__all__ = ["TallTable", "one_blas_thread"]

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

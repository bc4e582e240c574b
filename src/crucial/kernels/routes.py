"""The leaf of every row in a tree of tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels import sizes
from crucial.kernels.plain.routes import PlainRoutes
from crucial.kernels.threads import count_threads, over_ranges
from crucial.types import Ints, Reals

__all__ = ["Routes"]

_BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Routes(PlainRoutes):
    """The tests of several trees, and the quickest way to follow them."""

    def leaves(self, X: Reals, n_jobs: int | None = 1) -> Ints:
        """Return the leaf of every row of ``X`` in every tree; NaN where a feature abstains."""
        if len(X) * len(self.roots) * 8 < sizes.PREDICT_COMPILED:
            return self.plain_leaves(X)
        from crucial.kernels.compiled.routes import find_leaves

        table = np.ascontiguousarray(X)
        table.flags.writeable = False  # (Numba compiles anew for writable arrays)
        out = np.empty((len(X), len(self.roots)), np.int64)
        tests = (self.feature, self.threshold, self.missing, self.yes, self.no, self.roots)
        bounds = [*range(0, len(X), _BLOCK_ROWS), len(X)]
        over_ranges(
            bounds,
            count_threads(n_jobs),
            lambda begin, end: find_leaves(table, begin, *tests, out[begin:end]),
        )
        return out

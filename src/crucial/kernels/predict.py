"""Scores of rows from the step functions of a model.

Three ways, chosen by size alone, add the same numbers in the same order and so give the same
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels import sizes
from crucial.kernels.plain.predict import PlainSteps, look_up, searchable
from crucial.kernels.threads import count_threads, over_ranges
from crucial.types import Floats, Reals

__all__ = ["BLOCK_ROWS", "StepTables", "look_up", "searchable"]

# Measured: comparing with all thresholds at once costs 4.5 ns for each (row, threshold);
# searching costs 1.5 us for each feature and 14 ns for each (row, feature).
_COMPARE_ROWS = 128
BLOCK_ROWS = 4096  # rows of one task, a few megabytes


@dataclass(frozen=True, eq=False)
class StepTables(PlainSteps):
    """The step functions of all used features, and the quickest way to add them up."""

    def scores(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Score every row of ``X``: real numbers without infinities, NaN where abstaining."""
        n, used, rungs = len(X), len(self.features), len(self.thresholds)
        if n * used >= sizes.PREDICT_COMPILED:
            return self.by_kernel(X, n_jobs)
        if used and n <= _COMPARE_ROWS and n * (rungs - 3 * used) <= 200 * used:
            return self.by_comparison(X)
        return self.by_search(X)

    def by_kernel(self, X: Reals, n_jobs: int | None = 1) -> Floats:
        """Run the compiled kernel over blocks of rows."""
        from crucial.kernels.compiled.predict import add_steps

        out = np.empty(len(X))
        direct = (
            X.dtype in (np.float32, np.float64)
            and X.flags.aligned
            and (X.flags.c_contiguous or X.flags.f_contiguous)
        )
        flat = X.ravel(order="K") if direct else np.zeros(0)
        flat.flags.writeable = False  # (Numba compiles anew for writable arrays)
        by_row, by_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])

        def block(begin: int, end: int) -> None:
            tables = (self.thresholds, self.starts, self.values, out[begin:end])
            if direct:
                add_steps(flat, by_row, by_column, begin, self.features, *tables)
                return
            part = X[begin:end].take(self.features, axis=1)
            dense = np.ascontiguousarray(part, np.float64).ravel()
            dense.flags.writeable = False
            slots = np.arange(len(self.features))
            slots.flags.writeable = False
            add_steps(dense, len(slots), 1, 0, slots, *tables)

        bounds = [*range(0, len(X), BLOCK_ROWS), len(X)]
        over_ranges(bounds, count_threads(n_jobs), block)
        return out

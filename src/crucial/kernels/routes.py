"""The leaf of every row in a tree of tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.threads import count_threads, over_ranges
from crucial.types import Bools, Floats, Ints, Reals

__all__ = ["Routes"]

_BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Routes:
    """The tests of several trees in one row of arrays.

    Attributes
    ----------
    feature : int array of shape (n_tests,)
    threshold : array of shape (n_tests,)
        A test asks whether the value is above its threshold; minus infinity asks whether there
        is a value.
    missing : bool array of shape (n_tests,)
        The answer where the feature abstains.
    yes, no : int array of shape (n_tests,)
        The next test, or ``~leaf`` for a leaf.
    roots : int array of shape (n_trees,)
        The first test of each tree, or ``~leaf``.
    """

    feature: Ints
    threshold: Floats
    missing: Bools
    yes: Ints
    no: Ints
    roots: Ints

    def leaves(self, X: Reals, n_jobs: int | None = 1) -> Ints:
        """Return the leaf of every row of ``X`` in every tree; NaN where a feature abstains."""
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

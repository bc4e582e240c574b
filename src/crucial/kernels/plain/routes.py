"""The leaf of every row in a tree of tests, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.types import Bools, Floats, Ints, Reals

__all__ = ["PlainRoutes"]


@dataclass(frozen=True, eq=False)
class PlainRoutes:
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

    def plain_leaves(self, X: Reals) -> Ints:
        """Return the leaf of every row (first axis) in every tree (second axis)."""
        out = np.empty((len(X), len(self.roots)), np.int64)
        for tree, root in enumerate(self.roots.tolist()):
            at = np.full(len(X), root, np.int64)
            moving = np.arange(len(X)) if root >= 0 else np.zeros(0, np.int64)
            while len(moving):
                test = at[moving]
                value = X[moving, self.feature[test]]
                answer = np.where(np.isnan(value), self.missing[test], value > self.threshold[test])
                at[moving] = np.where(answer, self.yes[test], self.no[test])
                moving = moving[at[moving] >= 0]
            out[:, tree] = ~at
        return out

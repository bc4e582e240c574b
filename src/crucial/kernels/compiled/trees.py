"""Fenwick trees: sums over a prefix that change one place at a time.

Indices are unsigned numbers: a signed one makes Numba test it for its sign.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["tree_add", "tree_sum"]


@kernel
def tree_add(tree, base, size, place, amount):
    """Add to a place (from 1) of the tree of ``size`` places that begins at ``base``."""
    while place <= size:
        tree[np.uint64(base + place - 1)] += amount
        place += place & -place


@kernel
def tree_sum(tree, base, place):
    """Return the sum of the places 1 to ``place``."""
    total = 0.0
    while place > 0:
        total += tree[np.uint64(base + place - 1)]
        place -= place & -place
    return total

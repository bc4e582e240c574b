"""Fenwick trees: sums over a prefix that change one place at a time.

Indices are unsigned numbers: a signed one makes Numba test it for its sign.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["tree_add", "tree_sum", "triple_add", "triple_sum"]


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


@kernel
def triple_add(tree, size, place, first, second, third):
    """Add to a place (from 1) of three trees whose numbers lie side by side.

    One line of the cache then serves all three.
    """
    while place <= size:
        at = np.uint64(3 * (place - 1))
        tree[at] += first
        tree[at + np.uint64(1)] += second
        tree[at + np.uint64(2)] += third
        place += place & -place


@kernel
def triple_sum(tree, place):
    """Return the sums of the places 1 to ``place`` of three trees side by side."""
    first = second = third = 0.0
    while place > 0:
        at = np.uint64(3 * (place - 1))
        first += tree[at]
        second += tree[at + np.uint64(1)]
        third += tree[at + np.uint64(2)]
        place -= place & -place
    return first, second, third

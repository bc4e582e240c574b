"""Growing one tree on gradients and curvatures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.trees import LeafLimits, SplitSearch
from crucial.types import Bools, Floats, Ints
from crucial.weak.leaf_growth import Growth, Leaf, PairLimit, TreeLimits
from crucial.weak.level_growth import grow_levels

__all__ = ["GrownTree", "PairLimit", "TreeLimits", "grow_tree"]

# Sums of gradients and curvatures stay below this, in units.
_LARGEST_SUM = float(2**30)
# A leaf has at least this share of the curvature of all rows.
_LEAST_CURVATURE = 1e-12


@dataclass(frozen=True)
class GrownTree:
    """A tree over binned features.

    Attributes
    ----------
    feature, place, left, right : lists, one entry per node
        The split: codes below ``place // 2`` go left, abstentions left if ``place`` is even. A
        child is a later node, or ``~leaf``.
    gain : list of float
        What each split took off the quadratic loss.
    heavier : list of bool
        Whether more weight of the rows went right.
    values : list of float, one per leaf
    rows : int32 array
        The rows of the root, leaf after leaf.
    starts : int array
        Where each leaf begins in ``rows``, and where the last one ends.
    gradients : float64 array of shape (n_leaves,)
        Summed gradient of every leaf.
    """

    feature: list[int]
    place: list[int]
    left: list[int]
    right: list[int]
    gain: list[float]
    heavier: list[bool]
    values: list[float]
    rows: NDArray[np.int32]
    starts: Ints
    gradients: Floats


def grow_tree(
    search: SplitSearch,
    gradient: Floats,
    curvature: Floats,
    rows: NDArray[np.int32],
    limits: TreeLimits,
    free: Bools,
    signs: Ints,
    pairs: PairLimit,
) -> GrownTree | None:
    """Grow a tree that lowers ``sum .5 c h^2 - g h`` over the rows; None if no split helps.

    Splits are found on whole numbers: gradient and curvature are rounded to a share of 2^-30 of
    their sums, so that sums are exact and no order of rows changes a split. The values of the
    leaves are ``g / (c + l2)`` of numbers rounded to 2^-59 of their sums, within the bounds of
    monotone splits.

    Parameters
    ----------
    gradient, curvature : arrays over all rows
        Minus the derivative of the loss, and its second derivative.
    rows : int32 array
        The rows to grow on, ascending.
    free : bool array
        The features that may be used.
    """
    every = len(rows) == len(gradient)
    sum_g, sum_c = search.start(gradient, curvature, None if every else rows)
    if not (sum_g > 0.0 and sum_c > 0.0):
        return None
    growth = Growth(search, limits, pairs, free, signs)
    unit_g, unit_c = sum_g / _LARGEST_SUM, sum_c / _LARGEST_SUM
    search.quantise((unit_g, unit_c), growth.allowed)
    end = search.n_rows
    weight = search.weight(0, end)
    l2 = limits.l2 * sum_c / weight
    root = LeafLimits(
        search.total(0, end), weight, unit_g, unit_c, l2, -math.inf, math.inf,
        _LEAST_CURVATURE * sum_c, max(limits.min_rows, 0.0),
    )  # fmt: skip
    if limits.symmetric:
        grow_levels(growth, Leaf(0, end, root, 0, -1, False))
    else:
        hist, peaks = search.root(root, growth.allowed)
        growth.add(Leaf(0, end, root, 0, -1, False, hist, peaks))
        growth.split_best_first()
    for leaf in growth.leaves:
        if leaf.hist is not None:
            search.release(leaf.hist)
    return _finished(growth, l2) if growth.feature else None


def _finished(growth: Growth, l2: float) -> GrownTree:
    """Return the grown tree with the values of its leaves."""
    leaves = growth.leaves
    for number, leaf in enumerate(leaves):
        growth.children[leaf.parent][0 if leaf.is_left else 1] = ~number
    starts = np.array([*(leaf.begin for leaf in leaves), leaves[-1].end])
    low, high = (
        np.array([getattr(leaf.limits, name) for leaf in leaves]) for name in ("low", "high")
    )
    values, gradients = growth.search.settle(starts, l2, low, high)
    left, right = ([pair[side] for pair in growth.children] for side in (0, 1))
    return GrownTree(
        growth.feature, growth.place, left, right, growth.gain, growth.heavier, values.tolist(),
        growth.search.rows, starts, gradients,
    )  # fmt: skip

"""Symmetric trees: all leaves of a level have the same split.

A tree of 64 leaves then has six splits to choose instead of 63, each by the gain in all rows. What
few rows of a small leaf would suggest by chance is not followed, so that such trees bear more
leaves on little data (oblivious trees: Prokhorenkova et al. 2018, section 4, of CatBoost).

A leaf that the split of its level does not help, or would leave too little on one side, stays as
it is and takes part in the next level.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import log2
from crucial.kernels.trees import NO_COUNTS, TIE, LeafLimits, LeafPlan, LeafSplit, LevelLeaf
from crucial.types import Bools, Floats
from crucial.weak.leaf_growth import Growth, Leaf

__all__ = ["grow_levels"]


def grow_levels(growth: Growth, root: Leaf) -> None:
    """Split all leaves alike, level after level, as far as the limits allow.

    Parameters
    ----------
    growth : Growth
        Without leaves; gets those of the tree.
    root : Leaf
    """
    limits = growth.limits
    levels = int(log2(limits.max_leaves))
    if limits.max_depth is not None:
        levels = min(levels, limits.max_depth)
    search = growth.search
    growth.leaves = [root]
    fresh = []
    if not root.limits.too_small:
        root.hist = search.histogram_room()
        fresh = [LevelLeaf(root.begin, root.end, root.hist, root.limits, True, None)]
    for level in range(levels):
        found = _split_level(growth, fresh, level + 1 == levels) if fresh else None
        if found is None:
            return
        fresh = found


def _split_level(growth: Growth, leaves: list[LevelLeaf], last: bool) -> list[LevelLeaf] | None:
    """Split all leaves by the best split that one of them takes; None if there is none.

    What a split gains does not respect the least weight of a leaf, which costs a pass over the
    rows. Where no leaf takes the best one for want of weight, its feature is weighed.
    """
    search, allowed = growth.search, growth.allowed
    totals, weighed = search.level(leaves, allowed), set[int]()
    while True:
        best = _best_split(totals, leaves, allowed)
        if best is None:
            return None
        before = len(growth.feature)
        fresh = _split_all(growth, *best, last)
        if len(growth.feature) > before:
            return fresh
        feature = best[0]
        if feature in weighed:
            totals[feature] = 0.0
        else:
            weighed.add(feature)
            search.weigh_level(leaves, feature, totals)


def _best_split(totals: Floats, leaves: list[LevelLeaf], allowed: Bools) -> tuple[int, int] | None:
    """Return feature and place of the largest gain by the tie rule; None if nothing gains."""
    peaks = np.where(allowed, totals.max(axis=1), 0.0)
    best = float(peaks.max(initial=0.0))
    # (under monotone bounds a leaf may be worth less than nothing)
    worth = best + sum(max(one.limits.gain, 0.0) for one in leaves if not one.limits.too_small)
    if not best > TIE * worth:
        return None
    # (of equals the first in the order of features, thresholds and sides)
    least = best - TIE * worth
    feature = int((peaks >= least).argmax())
    by_place = totals[feature].reshape(2, 256).T.ravel()
    return feature, int((by_place >= least).argmax())


def _split_all(growth: Growth, feature: int, place: int, last: bool) -> list[LevelLeaf]:
    """Split every leaf that gains by it; return the leaves that may be split in the next level."""
    search, leaves, fresh = growth.search, list[Leaf](), list[LevelLeaf]()
    if search.looks_ahead:
        search.foresee(_plans(growth, feature, place, last))
    for leaf in growth.leaves:
        pair = _children(growth, leaf, feature, place, last)
        if pair is None:
            leaves.append(leaf)
            if leaf.hist is not None and not leaf.limits.too_small:
                fresh.append(LevelLeaf(leaf.begin, leaf.end, leaf.hist, leaf.limits, False, None))
            continue
        leaves += pair
        parent = leaf.hist
        assert parent is not None
        if last or all(one.limits.too_small for one in pair):
            search.release(parent)
            continue
        small = search.smaller(((pair[0].begin, pair[0].end), (pair[1].begin, pair[1].end)))
        room = search.histogram_room()
        pair[small].hist, pair[1 - small].hist = room, parent
        for number, one in enumerate(pair):
            assert one.hist is not None
            own = number == small
            fresh.append(
                LevelLeaf(one.begin, one.end, one.hist, one.limits, own, None if own else room)
            )
    growth.leaves = leaves
    return [] if last else fresh


def _plans(growth: Growth, feature: int, place: int, last: bool) -> list[LeafPlan]:
    """Return the splits of a level, for a search that makes them all at a time."""
    found = []
    for leaf in growth.leaves:
        gain = _gain(growth, leaf, feature, place)
        if gain is not None and leaf.hist is not None:
            split = LeafSplit(feature, gain, 0.0, NO_COUNTS)
            allowed = None if last else growth.allowed
            found.append(
                LeafPlan(leaf.begin, leaf.end, leaf.hist, leaf.limits, split, allowed, place)
            )
    return found


def _gain(growth: Growth, leaf: Leaf, feature: int, place: int) -> float | None:
    """Return what a split of a leaf gains, whatever its weights; None if it is not on offer."""
    limits = leaf.limits
    if leaf.hist is None or limits.too_small:
        return None
    total = growth.search.left_total(leaf.hist, feature, place)
    # (the weights of the children are not known yet, and do not matter here)
    left, right = (
        LeafLimits(one, limits.weight, *limits[2:]) for one in (total, limits.total - total)
    )
    if min(left.curvature, right.curvature) < limits.least_curvature:
        return None
    rise = right.gradient * (left.curvature + limits.l2)
    rise -= left.gradient * (right.curvature + limits.l2)
    has_threshold = place // 2 < growth.search.n_bins(feature)
    if has_threshold and int(growth.signs[feature]) * rise < 0.0:
        return None
    gain = left.gain + right.gain - limits.gain
    return gain if gain > TIE * max(left.gain + right.gain, 0.0) else None


def _children(
    growth: Growth, leaf: Leaf, feature: int, place: int, last: bool
) -> list[Leaf] | None:
    """Return the children of a leaf; None if it gains nothing, or a child would be too small."""
    gain = _gain(growth, leaf, feature, place)
    if gain is None:
        return None
    search, limits = growth.search, leaf.limits
    assert leaf.hist is not None
    total = search.left_total(leaf.hist, feature, place)
    totals = (total, limits.total - total)
    allowed = None if last else growth.allowed
    n_left = search.partition(leaf.begin, leaf.end, feature, place, allowed, leaf.hist)
    middle = leaf.begin + n_left
    weights = search.weight(leaf.begin, middle), search.weight(middle, leaf.end)
    if min(weights) < limits.least_weight:
        search.sort(leaf.begin, leaf.end)
        return None
    node = growth.add_node(leaf, feature, place, gain, weights)
    both = growth.child_limits(leaf, feature, place, totals, weights)
    depth = leaf.depth + 1
    return [
        Leaf(leaf.begin, middle, both[0], depth, node, True),
        Leaf(middle, leaf.end, both[1], depth, node, False),
    ]

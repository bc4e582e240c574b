"""Grow one tree on gradients and curvatures: leaf by leaf, or level by level (symmetric)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.elementary import log2
from crucial.kernels.trees import (
    NO_COUNTS,
    NO_SPLIT,
    TIE,
    LeafLimits,
    LeafPlan,
    LeafSplit,
    LevelLeaf,
    SplitSearch,
)
from crucial.types import Bools, Floats, Ints

# --- The leaves of a growing tree, and splitting the best of them


@dataclass(frozen=True)
class TreeLimits:
    """How far a tree grows.

    Attributes
    ----------
    max_leaves : int
    max_depth : int or None
    min_rows : float
        Least weight of the rows of a leaf.
    l2 : float
        Curvature that every leaf has beside that of its rows, in average rows of weight 1.
    interactions : int or None
        Most features of one tree.
    max_pairs : int or None
        Most pairs of features in all trees of two, which are chosen before the first round
        (`crucial.boosting.loop`).
    symmetric : bool
        Split all leaves of a level alike (`crucial.boosting.tree_growth`).
    """

    max_leaves: int = 31
    max_depth: int | None = None
    min_rows: float = 20.0
    l2: float = 1.0
    interactions: int | None = None
    max_pairs: int | None = None
    symmetric: bool = False


class PairLimit:
    """The pairs of features that trees may combine.

    Parameters
    ----------
    pairs : set of (int, int), or None
        Pairs in rising order; None allows all.
    """

    def __init__(self, pairs: set[tuple[int, int]] | None = None) -> None:
        self._partners: dict[int, set[int]] | None = None
        if pairs is not None:
            self._partners = {}
            for a, b in pairs:
                self._partners.setdefault(a, {a}).add(b)
                self._partners.setdefault(b, {b}).add(a)

    def allowed(self, used: set[int], interactions: int | None, free: Bools) -> Bools:
        """Return which features may split a tree that has used some already."""
        if interactions is None or not used:
            return free
        if len(used) >= interactions:
            out = np.zeros_like(free)
            out[list(used)] = True
            return out
        if self._partners is None:
            return free
        out = np.zeros_like(free)
        out[list(set.intersection(*(self._partners.get(f, {f}) for f in used)))] = True
        return out & (free | np.isin(np.arange(len(free)), list(used)))


@dataclass(eq=False)
class Leaf:
    """A leaf that may still be split."""

    begin: int
    end: int
    limits: LeafLimits
    depth: int
    parent: int  # the node above, or -1
    is_left: bool
    hist: NDArray[np.int64] | None = None  # (None: it is not split)
    peaks: Floats | None = None
    split: LeafSplit = NO_SPLIT


@dataclass
class Growth:
    """The tree so far."""

    search: SplitSearch
    limits: TreeLimits
    pairs: PairLimit
    free: Bools
    signs: Ints
    leaves: list[Leaf] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    feature: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    heavier: list[bool] = field(default_factory=list)

    @property
    def allowed(self) -> Bools:
        """The features that may be used for the next split."""
        return self.pairs.allowed(self.used, self.limits.interactions, self.free)

    def add(self, leaf: Leaf, counted: bool = False) -> None:
        """Find the best split of a leaf and keep it among those that may be split."""
        leaf.split = NO_SPLIT
        if leaf.hist is not None and leaf.peaks is not None:
            peaks, allowed = leaf.peaks, self.allowed
            if counted or self.limits.interactions is not None:
                peaks = np.where(allowed, peaks, 0.0)
            leaf.split = self.search.choose(
                leaf.hist, leaf.begin, leaf.end, leaf.limits, peaks, counted
            )
            if counted:
                leaf.peaks = np.minimum(leaf.peaks, np.where(allowed, peaks, np.inf))
        self.leaves.append(leaf)

    def split_best_first(self) -> None:
        """Split the leaf that gains most, again and again."""
        while len(self.leaves) < self.limits.max_leaves:
            leaf = self.best()
            if leaf is None:
                return
            self.split(leaf)

    def best(self) -> Leaf | None:
        """Return the leaf with the largest gain, the first of equals."""
        top = max(leaf.split.gain for leaf in self.leaves)
        if top <= 0.0:
            return None
        return next(leaf for leaf in self.leaves if leaf.split.gain >= top - TIE * top)

    def split(self, leaf: Leaf) -> None:
        """Split a leaf, or find it another split if this one leaves too little on a side."""
        search, feature = self.search, leaf.split.feature
        at = self.leaves.index(leaf)
        assert leaf.hist is not None
        if not self.allowed[feature]:
            self._renew(at, counted=False)
            return
        place = search.place(leaf.hist, leaf.limits, leaf.split)
        last = len(self.feature) + 2 >= self.limits.max_leaves or self.deep(leaf.depth + 1)
        allowed = None if last else self.allowed
        if search.looks_ahead:
            search.foresee(self._next_splits(leaf))
        n_left = search.partition(leaf.begin, leaf.end, feature, place, allowed, leaf.hist)
        middle = leaf.begin + n_left
        weights = search.weight(leaf.begin, middle), search.weight(middle, leaf.end)
        if min(weights) < leaf.limits.least_weight:
            search.sort(leaf.begin, leaf.end)
            self._renew(at, counted=True)
            return
        self.leaves.pop(at)
        node = self.add_node(leaf, feature, place, leaf.split.gain, weights)
        total = search.left_total(leaf.hist, feature, place)
        both = self.child_limits(leaf, feature, place, (total, leaf.limits.total - total), weights)
        ranges = ((leaf.begin, middle), (middle, leaf.end))
        found = self._searched(leaf, ranges, both)
        # The children take the place of their parent, so that leaves stay in order.
        tail, self.leaves = self.leaves[at:], self.leaves[:at]
        for side in (0, 1):
            self.add(Leaf(*ranges[side], both[side], leaf.depth + 1, node, side == 0, *found[side]))
        self.leaves += tail

    def add_node(
        self, leaf: Leaf, feature: int, place: int, gain: float, weights: tuple[float, float]
    ) -> int:
        """Make a node of a leaf; return its number."""
        node = len(self.feature)
        if leaf.parent >= 0:
            self.children[leaf.parent][0 if leaf.is_left else 1] = node
        self.feature.append(feature)
        self.place.append(place)
        self.children.append([0, 0])
        self.gain.append(gain)
        self.heavier.append(weights[1] > weights[0])
        self.used.add(feature)
        return node

    def _next_splits(self, leaf: Leaf) -> list[LeafPlan]:
        """Return the leaves that may be split after this one, as far as there is room for them."""
        if self.limits.interactions is not None:
            return []  # (a split changes what others may use)
        limits = self.limits
        room = limits.max_leaves - len(self.leaves) - 1
        if limits.max_depth is None or 2**limits.max_depth > limits.max_leaves:
            room //= 2  # (the other half goes to children)
        others = [one for one in self.leaves if one is not leaf and one.split.gain > 0.0]
        others.sort(key=lambda one: -one.split.gain)
        return [
            LeafPlan(
                one.begin, one.end, one.hist, one.limits, one.split,
                None if self.deep(one.depth + 1) else self.allowed,
            )
            for one in others[:room] if one.hist is not None
        ]  # fmt: skip

    def _searched(
        self,
        leaf: Leaf,
        ranges: tuple[tuple[int, int], tuple[int, int]],
        limits: tuple[LeafLimits, LeafLimits],
    ) -> Sequence[tuple[NDArray[np.int64] | None, Floats | None]]:
        """Return the histograms and peaks of both children, or none if no child can be split."""
        assert leaf.hist is not None
        full = len(self.feature) + 1 >= self.limits.max_leaves
        if full or self.deep(leaf.depth + 1) or (limits[0].too_small and limits[1].too_small):
            self.search.release(leaf.hist)
            return [(None, None), (None, None)]
        small = self.search.smaller(ranges)
        order = (limits[small], limits[1 - small])
        hist, peaks, more = self.search.children(leaf.hist, *ranges[small], order, self.allowed)
        found = [(hist, peaks), (leaf.hist, more)]
        return found if small == 0 else found[::-1]

    def deep(self, depth: int) -> bool:
        """Whether a node of this depth must be a leaf."""
        return self.limits.max_depth is not None and depth >= self.limits.max_depth

    def _renew(self, at: int, counted: bool) -> None:
        """Find the split of a leaf again."""
        leaf = self.leaves.pop(at)
        tail, self.leaves = self.leaves[at:], self.leaves[:at]
        self.add(leaf, counted)
        self.leaves += tail

    def child_limits(
        self,
        leaf: Leaf,
        feature: int,
        place: int,
        totals: tuple[int, int],
        weights: tuple[float, float],
    ) -> tuple[LeafLimits, LeafLimits]:
        """Return the limits of both children; a monotone split bounds their values."""
        left, right = (
            LeafLimits(total, weight, *leaf.limits[2:])
            for total, weight in zip(totals, weights, strict=True)
        )
        sign = int(self.signs[feature])
        if sign == 0 or place // 2 >= self.search.n_bins(feature):
            return left, right
        middle = 0.5 * (left.value + right.value)
        if sign > 0:
            return left._replace(high=middle), right._replace(low=middle)
        return left._replace(low=middle), right._replace(high=middle)


# --- Symmetric trees: all leaves of a level have the same split
#
# A tree of 64 leaves then has six splits to choose instead of 63, each by the gain in all rows.
# What
# few rows of a small leaf would suggest by chance is not followed, so that such trees bear more
# leaves on little data (oblivious trees: Prokhorenkova et al. 2018, section 4, of CatBoost).
#
# A leaf that the split of its level does not help, or would leave too little on one side, stays as
# it is and takes part in the next level.


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


# --- Growing one tree on gradients and curvatures


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

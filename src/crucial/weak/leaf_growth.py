"""The leaves of a growing tree, and splitting the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.trees import NO_SPLIT, TIE, LeafLimits, LeafPlan, LeafSplit, SplitSearch
from crucial.types import Bools, Floats, Ints

__all__ = ["Growth", "Leaf", "PairLimit", "TreeLimits"]


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
        (`crucial.boosting.feature_pairs`).
    symmetric : bool
        Split all leaves of a level alike (`crucial.weak.level_growth`).
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

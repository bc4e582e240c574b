"""Trees as weak learners: how they grow, their values, and the pairs of features they combine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from msgspec.structs import replace as replaced
from numpy.typing import NDArray

from crucial.boosting.loop import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.data.bins import Bins
from crucial.feedback.base import Output, Potentials, ScoreState
from crucial.kernels.elementary import QueryNoise, exact_dot, exact_sum, log2
from crucial.kernels.trees import (
    NO_COUNTS,
    NO_SPLIT,
    TIE,
    LeafLimits,
    LeafPlan,
    LeafSplit,
    LevelLeaf,
    SplitSearch,
    summable,
)
from crucial.model.weak import Tree, WeakRankerLike
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
        Split all leaves of a level alike (`crucial.boosting.trees`).
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
    hist: Ints | None = None  # (None: it is not split)
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
    ) -> Sequence[tuple[Ints | None, Floats | None]]:
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
    worth = best + math.fsum(
        max(one.limits.gain, 0.0) for one in leaves if not one.limits.too_small
    )
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


# --- Which rows a tree is grown on, if it sees a share of them


# Keeps these numbers apart from those of losses that add noise under the same seed.
_OWN = 20047 << 32


class RowDraws:
    """One random number per row and round, by which rows are drawn.

    It depends on the seed, the round, the number of the query and the place of the row in it
    alone: rows in parts of whole queries get the numbers that they have in one table.

    Parameters
    ----------
    query : int array over the rows
        Number of the query of every row; at least one row.
    seed : int
    threads : int

    Examples
    --------
    >>> draws = RowDraws(np.array([3, 3, 8]), 0, 1)
    >>> bool(draws.uniforms(5)[2] == RowDraws(np.array([8, 9]), 0, 1).uniforms(5)[0])
    True
    """

    def __init__(self, query: Ints, seed: int, threads: int) -> None:
        self._order: Ints | None = None
        if np.any(query[1:] < query[:-1]):
            self._order = np.argsort(query, kind="stable")
            query = query[self._order]
        starts = np.flatnonzero(np.concatenate(([True], query[1:] != query[:-1])))
        row_start = np.append(starts, len(query))
        self._noise = QueryNoise(seed + _OWN, query[starts], row_start, threads)

    def uniforms(self, number: int) -> Floats:
        """Return the number in [0, 1) of every row in a round."""
        found = self._noise.uniforms(number)
        if self._order is None:
            return found
        out = np.empty_like(found)
        out[self._order] = found
        return out


def drawn_rows(uniforms: Floats, share: float, least: float | None = None) -> NDArray[np.int32]:
    """Return the rows whose number is below a share.

    Parameters
    ----------
    least : float, optional
        The smallest number of all rows, which are drawn where none is below the share.

    Examples
    --------
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.5).tolist()
    [0, 1]
    >>> drawn_rows(np.array([0.4, 0.2, 0.9]), 0.1, least=0.2).tolist()
    [1]
    """
    found = np.flatnonzero(uniforms < share)
    if not len(found) and least is not None:
        found = np.flatnonzero(uniforms <= least)
    return found.astype(np.int32)


# --- Trees as weak rankers, grown on the potentials and the curvature of an objective
#
# A tree ``h`` minimises the quadratic model ``sum_x .5 c(x) h(x)^2 - pi(x) h(x)`` of the loss
# greedily: the value of a leaf is a Newton step, ``sum pi / (sum c + l2)``. A tree of two leaves is
# the Newton form of a stump.


# The values of leaves are whole multiples of this share of the largest value of the first tree,
# rounded to a power of two: sums of up to 2^16 such values are exact in float64, in any order.
_GRID = 2.0**-36


def grid_unit(values: Floats) -> float:
    """Return the distance of two numbers of the grid, for a first tree of these values.

    Examples
    --------
    >>> grid_unit(np.array([0.5, -3.0])) == 4.0 * 2.0**-36
    True
    """
    return _GRID * 2.0 ** math.ceil(log2(float(np.abs(values).max())))


def scaled(tree: Tree, factor: float, unit: float) -> Tree:
    """Return a tree with its values multiplied by a factor and rounded to a grid."""
    values = np.rint(factor * np.array(tree.values) / unit) * unit
    return replaced(tree, values=tuple(values.tolist()))


class CurvedState(ScoreState, Protocol):
    """A state whose loss has a second derivative by the score of each row."""

    @property
    def curvature(self) -> Floats:
        """Second derivative by the score of each row, in the units of the potentials."""


@dataclass(frozen=True)
class Sampling:
    """What a tree sees of the data.

    Attributes
    ----------
    rows, features : float
        Share of the rows and of the features, drawn anew for every tree. Each row is drawn for
        itself, so that the number of rows varies.
    seed : int
    """

    rows: float = 1.0
    features: float = 1.0
    seed: int = 0


class TreeLearner(WeakLearner):
    """The best tree under the current potentials and curvature.

    Parameters
    ----------
    limits : TreeLimits
    max_bins : int
        Bins per feature, at most 255.
    sampling : Sampling
    pairs : set of (int, int), optional
        Pairs of columns that a tree may combine; by default any.
    drawn_by : int, optional
        Seed to draw thresholds at random; None for quantiles.
    """

    needs = ("curvature",)

    parted = "trees"

    def __init__(
        self,
        limits: TreeLimits | None = None,
        max_bins: int = 255,
        sampling: Sampling | None = None,
        pairs: set[tuple[int, int]] | None = None,
        drawn_by: int | None = None,
    ) -> None:
        self.limits, self.max_bins, self.drawn_by = limits or TreeLimits(), max_bins, drawn_by
        self.sampling, self.pairs = sampling or Sampling(), pairs

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        bins = self.bins = training.binned(self.max_bins, self.drawn_by)
        self._signs = np.zeros(len(bins.features), np.int64)
        if constraints.monotone is not None:
            self._signs = constraints.monotone[bins.features].astype(np.int64)
        weight = np.ones(bins.n_rows) if training.weight is None else training.weight
        self._search = self._splits(bins, summable(weight, exact_sum(weight)), training.threads)
        self._pairs = PairLimit(self._slots(self.pairs))
        self._row_draws: RowDraws | None = None
        if self.sampling.rows < 1.0 and bins.n_rows:
            query = training.groups.codes[training.rows]
            self._row_draws = RowDraws(query, self.sampling.seed, training.threads)
        self._round = 0
        self._unit = 0.0
        return bins

    def _splits(self, bins: Bins, weight: Floats, threads: int) -> SplitSearch:
        """Return the search for splits among rows of these weights."""
        facts = (bins.n_bins, bins.has_missing, self._signs)
        return SplitSearch(bins.codes, bins.n_rows, *facts, weight, threads)

    def _slots(self, pairs: set[tuple[int, int]] | None) -> set[tuple[int, int]] | None:
        """Return pairs of columns as pairs of binned features."""
        if pairs is None:
            return None
        slot = {int(column): f for f, column in enumerate(self.bins.features)}
        return {(slot[a], slot[b]) for a, b in pairs if a in slot and b in slot}

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, or None if no split helps."""
        n = self.bins.n_rows
        if not len(self.bins.features):
            return None
        rows, free = self._drawn()
        curvature = cast(CurvedState, potentials.pairs).curvature[:n]
        grown = grow_tree(
            self._search, potentials.pi[:n], curvature, rows, self.limits, free, self._signs,
            self._pairs,
        )  # fmt: skip
        if grown is None:
            return None
        tree = self._frozen(grown)
        output, slope = self._outcome(tree, grown, potentials)
        return Candidate(tree, output, slope * potentials.scale)

    def _outcome(
        self, tree: Tree, grown: GrownTree, potentials: Potentials
    ) -> tuple[Output, float]:
        """Return the scores of a tree on the training rows, and their sum times potentials."""
        if len(grown.rows) < self.bins.n_rows:
            output = self._output(tree)
            return output, exact_dot(potentials.pi[: self.bins.n_rows], output)
        values = np.array(grown.values)
        return self._search.outputs(grown.starts, values), exact_dot(values, grown.gradients)

    def _drawn(self) -> tuple[NDArray[np.int32], Bools]:
        """Return the rows and features of the next tree; rows of weight 0 never count."""
        n_features = len(self.bins.features)
        free = np.ones(n_features, bool)
        if self.sampling.features < 1.0:
            random = np.random.default_rng([self.sampling.seed, self._round])
            count = max(1, round(self.sampling.features * n_features))
            free[random.permutation(n_features)[count:]] = False
        return self._drawn_rows(self._row_share()), free

    def _row_share(self) -> float:
        """Return the share of the rows that the next tree is grown on."""
        return self.sampling.rows

    def _drawn_rows(self, share: float) -> NDArray[np.int32]:
        """Draw a share of the rows, at least one."""
        if share >= 1.0 or self._row_draws is None:
            return np.arange(self.bins.n_rows, dtype=np.int32)
        uniforms = self._row_draws.uniforms(self._round)
        return drawn_rows(uniforms, share, float(uniforms.min()))

    def _frozen(self, grown: GrownTree) -> Tree:
        """Return a grown tree as it goes into a model."""
        thresholds: list[float | None] = []
        missing = []
        for feature, place, heavier in zip(grown.feature, grown.place, grown.heavier, strict=True):
            k, cuts = place // 2, self.bins.thresholds[feature]
            thresholds.append(float(cuts[k - 1]) if k <= len(cuts) else None)
            # Where training had no abstention, it goes the way of most rows.
            missing.append(place % 2 if self.bins.has_missing[feature] else int(heavier))
        return Tree(
            tuple(int(self.bins.features[f]) for f in grown.feature),
            tuple(thresholds),
            tuple(missing),
            tuple(grown.left),
            tuple(grown.right),
            tuple(grown.gain),
            tuple(grown.values),
        )

    def apply_weight(self, candidate: Candidate, alpha: float) -> tuple[Candidate, float]:
        """Multiply the values of the leaves by the weight, and round them to a common grid.

        On the grid the sums of values are exact, so that an ensemble has the same scores to the
        bit in every form: trees, tables of features, and what exports make of them.
        """
        tree = candidate.ranker
        assert isinstance(tree, Tree)
        if self._unit == 0.0:
            self._unit = grid_unit(alpha * np.array(tree.values))
            # (the grid that a later call finds from the rounded values)
            self._unit = grid_unit(np.array(scaled(tree, alpha, self._unit).values))
        folded = scaled(tree, alpha, self._unit)
        return replace(candidate, ranker=folded, output=self._moved(candidate, folded, alpha)), 1.0

    def _moved(self, candidate: Candidate, folded: Tree, alpha: float) -> Output:
        """Return the scores of a folded tree, by those that the candidate had before."""
        moved = alpha * candidate.output
        moved /= self._unit
        np.rint(moved, out=moved)
        moved *= self._unit
        return moved

    def _output(self, tree: Tree) -> Output:
        """Return the scores of a tree on the training rows."""
        return tree_output(self.bins, tree)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Count the round, for the next draw."""
        self._round += 1

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a tree of an earlier call was."""
        assert isinstance(ranker, Tree)
        if self._unit == 0.0:
            self._unit = grid_unit(np.array(ranker.values))
        return Candidate(ranker, self._output(ranker), slope)


def tree_output(bins: Bins, tree: Tree) -> Floats:
    """Return the scores of a tree on binned rows, by their codes."""
    place = {int(column): f for f, column in enumerate(bins.features)}
    out = np.zeros(bins.n_rows)
    waiting = {0: np.arange(bins.n_rows)}
    for node, (column, threshold) in enumerate(zip(tree.features, tree.thresholds, strict=True)):
        f, rows = place[column], waiting.pop(node)
        cuts, codes = bins.thresholds[f], bins.codes[f, rows]
        k = len(cuts) + 1 if threshold is None else np.searchsorted(cuts, threshold) + 1
        right = codes >= k
        if bins.has_missing[f]:
            right = np.where(codes == len(cuts) + 1, bool(tree.missing[node]), right)
        for child, part in ((tree.left[node], rows[~right]), (tree.right[node], rows[right])):
            if child < 0:
                out[part] = tree.values[~child]
            else:
                waiting[child] = part
    return out


# --- Trees whose values span one unit, for step rules that choose the weight


class UnitTreeLearner(TreeLearner):
    """Trees divided by what their values span, so that no pair gains a margin above 1.

    Such a tree is a weak ranker in [0, 1] but for a shift, which no pair sees: methods 1 and 3 of
    Freund et al. (2003, section 3.2) give it a weight with their guarantees, and its slope r lies
    in [-1, 1].

    Attributes
    ----------
    votes : bool
        Divide by the largest absolute value instead: a vote in [-1, 1] on every row, for
        classification.
    """

    parted = "unit trees"
    votes = False
    _sampled = True

    def _row_share(self) -> float:
        return super()._row_share() if self._sampled else 1.0

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, divided by its unit; None if no split helps."""
        found = super().propose(potentials)
        if found is not None and not found.slope > 0.0:
            # Grown on a sample, it may order all rows backwards: a weight below 0 would turn it
            # round, and break monotone constraints.
            self._sampled = False
            found = super().propose(potentials)
            self._sampled = True
        if found is None or not found.slope > 0.0:
            return None
        tree = found.ranker
        assert isinstance(tree, Tree)
        unit = tree.size if self.votes else tree.span
        values = tuple((np.array(tree.values) / unit).tolist())
        divided = replaced(tree, values=values)
        output = self._divided(found, divided, unit)
        return replace(found, ranker=divided, output=output, slope=found.slope / unit)

    def _divided(self, found: Candidate, divided: Tree, unit: float) -> Output:
        """Return the scores of a divided tree, by those that the candidate had before."""
        return found.output / unit


# --- Which pairs of features trees of two features may combine: those that gain most in a trial


def gains_of_pairs(rankers: Iterable[WeakRankerLike]) -> dict[tuple[int, int], float]:
    """Return what the trees of each pair of features gained, most first.

    Examples
    --------
    >>> one = Tree((0,), (0.5,), (0,), (~0,), (~1,), (9.0,), (0.0, 1.0))
    >>> two = Tree((0, 1), (0.5, 0.5), (0, 0), (1, ~0), (~2, ~1), (2.0, 1.0), (0.0, 1.0, 2.0))
    >>> gains_of_pairs([one, two, two])
    {(0, 1): 6.0}
    """
    gains: dict[tuple[int, int], float] = {}
    for tree in rankers:
        if not isinstance(tree, Tree):
            continue
        features = sorted(set(tree.features))
        if len(features) == 2:
            pair = features[0], features[1]
            gains[pair] = gains.get(pair, 0.0) + math.fsum(tree.gains)
    return dict(sorted(gains.items(), key=lambda entry: (-entry[1], entry[0])))

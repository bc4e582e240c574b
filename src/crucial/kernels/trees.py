"""Grow trees on binned features: histograms, splits, the rows of every leaf."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.elementary import exact_sum, unit_for
from crucial.kernels.runtime import count_threads, cut_evenly, cut_lists, over_ranges, run_all
from crucial.types import Bools, Bytes, Codes, Floats, Ints, Reals

# --- Splits of a leaf, and what its children must respect


#: Gains that agree to this share of what the leaf is worth are equal: sums have 32 bits, so that
#: a row twice and a row of weight 2 may differ in the eighth digit.
TIE = 1e-6

NO_COUNTS = np.zeros(0)

#: Rows whose words stay in the second cache.
CHUNK = 2048
#: Words from one block to the next, and sums from one feature to the next: no powers of two,
#: which would put all of them into the same few places of the cache.
NEAR, WIDE = CHUNK + 8, 264


@dataclass(frozen=True, eq=False)
class LeafSplit:
    """A split of a leaf.

    Attributes
    ----------
    feature : int
        -1 if there is none.
    gain : float
        What it takes off the quadratic loss, twice.
    least : float
        Its place is the first whose children are worth as much.
    counts : float64 array
        Weight of the rows of the leaf per bin, where the least weight of a leaf decides about
        the place; else empty.
    """

    feature: int
    gain: float
    least: float
    counts: Floats


NO_SPLIT = LeafSplit(-1, 0.0, 0.0, NO_COUNTS)


class LeafLimits(NamedTuple):
    """What the children of a leaf must respect.

    Attributes
    ----------
    total : int
        Sum of gradient and curvature over the rows of the leaf, in one word.
    weight : float
        Summed weight of the rows.
    unit_gradient, unit_curvature : float
        What 1 stands for in either half of the word.
    l2 : float
        Added to the curvature of a leaf.
    low, high : float
        Bounds on the values of the children, from monotone splits above.
    least_curvature, least_weight : float
        What either child must have.
    """

    total: int
    weight: float
    unit_gradient: float
    unit_curvature: float
    l2: float
    low: float
    high: float
    least_curvature: float
    least_weight: float

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers in the order in which kernels take them: a plain tuple, as Numba knows it."""
        return tuple(self)

    @property
    def gradient(self) -> float:
        """Summed gradient of the rows."""
        return self.unit_gradient * (self.total >> 32)

    @property
    def curvature(self) -> float:
        """Summed curvature of the rows."""
        return self.unit_curvature * (self.total & 0xFFFFFFFF)

    @property
    def value(self) -> float:
        """The best value of the leaf within its bounds."""
        return min(max(self.gradient / (self.curvature + self.l2), self.low), self.high)

    @property
    def gain(self) -> float:
        """Twice the drop of the quadratic loss at the best value."""
        value = self.value
        return value * (2.0 * self.gradient - (self.curvature + self.l2) * value)

    @property
    def too_small(self) -> bool:
        """Whether no split can leave enough on both sides."""
        return self.curvature < 2 * self.least_curvature or self.weight < 2 * self.least_weight


# --- The rows of a growing tree in the order of its leaves, and sums over leaves


# Rows from which a pass over two columns is worth several threads.
_SHARED_PASS = 50_000


def summable(weight: Floats, total: float) -> Floats:
    """Return weights whose sums are exact in any order, rounded to 2^-52 of the total.

    Examples
    --------
    >>> summable(np.array([0.5, 3.0]), 3.5).tolist()
    [0.5, 3.0]
    """
    unit = math.ldexp(1.0, math.frexp(total)[1] - 52)
    return np.rint(weight / unit) * unit


class TreeRows:
    """Where the rows are in a growing tree, with their gradient and curvature.

    Parameters
    ----------
    codes : uint8 array of shape (n_features, n_padded)
    n_rows : int
    n_bins : int array of shape (n_features,)
        Bins of every feature; its next code is an abstention.
    weight : float64 array of shape (n_rows,)
        Weights of rows, for the least weight of a leaf; see `summable`.
    threads : int

    Attributes
    ----------
    rows : int32 array
        The rows of the tree in the order of its leaves.
    n_rows : int
        How many there are.
    """

    def __init__(
        self, codes: Codes, n_rows: int, n_bins: Ints, weight: Floats, threads: int
    ) -> None:
        from crucial.kernels.compiled import trees

        self._codes, self._n_bins, self._weight = codes, n_bins.tolist(), weight
        self._unweighted = bool((weight == 1.0).all())
        self._threads, self._kernels = threads, trees
        self._sum_room = np.empty(n_rows, np.int64)
        self._spare = np.zeros(n_rows, np.int32), np.zeros(n_rows, np.int64)

    def start(
        self, gradient: Floats, curvature: Floats, rows: NDArray[np.int32] | None
    ) -> tuple[float, float]:
        """Begin a tree at its root; return the sums of absolute gradient and curvature.

        Parameters
        ----------
        gradient, curvature : float64 arrays over all rows of the data
        rows : int32 array, optional
            The rows of the root, ascending; by default all.
        """
        self._whole = rows is None
        self._derivatives = gradient, curvature
        g, c = (gradient, curvature) if rows is None else (gradient[rows], curvature[rows])
        n = self.n_rows = len(g)
        self.rows = np.arange(n, dtype=np.int32) if rows is None else rows.copy()
        self._at_root = g, c
        self._sums = self._sum_room[:n]
        self.sizes = exact_sum(np.abs(g), self._threads), exact_sum(c, self._threads)
        return self.sizes

    def quantise(self, units: tuple[float, float], allowed: Bools) -> None:
        """Round gradient and curvature to whole multiples of units, for sums over leaves.

        Parameters
        ----------
        allowed : bool array over the features
            Those that may split the root.
        """
        n, sums = self.n_rows, self._sums
        parts = self._threads if n > _SHARED_PASS else 1
        over_ranges(
            cut_evenly(0, n, parts), self._threads,
            lambda a, b: self._kernels.quantise(*self._at_root, *units, a, b, sums),
        )  # fmt: skip

    def counts(self, begin: int, end: int, feature: int) -> Floats:
        """Return the weight of the rows of a leaf per bin of a feature."""
        rows = self.rows[begin:end]
        return np.bincount(self._codes[feature, rows], self._weight[rows], 256).astype(np.float64)

    def partition(
        self,
        begin: int,
        end: int,
        feature: int,
        place: int,
        allowed: Bools | None = None,
        hist: Ints | None = None,
    ) -> int:
        """Move the rows that go left before the others; return their number.

        Parameters
        ----------
        allowed : bool array over the features, optional
            Those that may split a child; None where no child is split.
        hist : int64 array, optional
            Histograms of the leaf, for rows in parts.
        """
        column = (self._codes, feature, self._n_bins[feature])
        own = (self.rows, self._sums, *self._spare)
        return int(self._kernels.partition(*column, place, begin, end, *own))

    def settle(self, starts: Ints, l2: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the values of all leaves, ``g / (c + l2)`` within bounds, and their gradients.

        Parameters
        ----------
        starts : int array of shape (n_leaves + 1,)
            Where each leaf begins in ``rows``.
        low, high : float64 arrays of shape (n_leaves,)
        """
        units = unit_for(self.sizes[0]), unit_for(self.sizes[1])
        g, c = (self.leaf_sums(starts, units) * np.array(units)).T
        return np.minimum(np.maximum(g / (c + l2), low), high), g

    def leaf_sums(self, starts: Ints, units: tuple[float, float]) -> Ints:
        """Return gradient and curvature of every leaf, as whole numbers of units."""
        sums = np.zeros((len(starts) - 1, 2), np.int64)
        inverse = (1.0 / units[0], 1.0 / units[1])
        self._over_leaves(
            starts,
            lambda first, last: self._kernels.leaf_sums(
                self.rows, starts, first, last, *self._derivatives, *inverse, sums
            ),
        )
        return sums

    def outputs(self, starts: Ints, values: Floats) -> Floats:
        """Return the value of the leaf of every row of the data; 0 for those not in the tree."""
        out = np.zeros(len(self._derivatives[0]))
        self._over_leaves(
            starts,
            lambda first, last: self._kernels.spread(self.rows, starts, first, last, values, out),
        )
        return out

    def _over_leaves(self, starts: Ints, work: Callable[[int, int], None]) -> None:
        parts = cut_lists(starts, self._threads if len(self.rows) > _SHARED_PASS else 1)
        over_ranges(parts, self._threads, work)

    def total(self, begin: int, end: int) -> int:
        """Return the sum of the words of some rows."""
        return int(self._sums[begin:end].sum())

    def weight(self, begin: int, end: int) -> float:
        """Return the summed weight of some rows."""
        if self._unweighted:
            return float(end - begin)
        return float(self._weight[self.rows[begin:end]].sum())

    def sort(self, begin: int, end: int) -> None:
        """Put the rows of a leaf back in ascending order, after a partition that was no use."""
        order = np.argsort(self.rows[begin:end])
        for array in (self.rows, self._sums):
            array[begin:end] = array[begin:end][order]

    def n_bins(self, feature: int) -> int:
        """Return the number of bins of a feature, without the one for abstentions."""
        return int(self._n_bins[feature])


# --- Histograms of gradient and curvature over the leaves of a growing tree


# Rows times feature blocks from which a pass is worth several threads.
_SHARED_ROWS = 2_000


class FeatureBlocks:
    """The blocks of features that one thread looks at, and its working arrays."""

    def __init__(self, blocks: Ints, allowed: Bools) -> None:
        features = (8 * blocks[:, None] + np.arange(8)).ravel()
        features = features[features < len(allowed)]
        self.blocks, self.features = blocks, features[allowed[features]]
        self.near = np.empty((len(blocks), NEAR), np.uint64)
        gains = np.empty(512)
        self.room = (np.empty(256, np.int64), gains, gains.view(np.int64))


class LeafPlan(NamedTuple):
    """A leaf, and how it may be split."""

    begin: int
    end: int
    hist: Ints
    limits: LeafLimits
    split: LeafSplit
    allowed: Bools | None
    """Features that may split its children; None if none may."""
    place: int | None = None
    """Where it is split; None for the first place with the gain of the split."""


class LevelLeaf(NamedTuple):
    """A leaf of a tree whose leaves are split alike."""

    begin: int
    end: int
    hist: Ints
    limits: LeafLimits
    is_new: bool
    """Whether its histograms have to be added up."""
    less: Ints | None
    """Histograms of its sibling, to be subtracted from its own, which are its parent's."""


class SplitSearch(TreeRows):
    """Finds the best split of every leaf of a tree.

    Parameters
    ----------
    codes : uint8 array of shape (n_features, n_padded)
    n_rows : int
    n_bins : int array of shape (n_features,)
        Bins of every feature; its next code is an abstention.
    has_missing : bool array of shape (n_features,)
    signs : int array of shape (n_features,)
        1 and -1 for a score that must rise or fall with the feature, else 0.
    weight : float64 array of shape (n_rows,)
        Weights of rows, for the least weight of a leaf; see `summable`.
    threads : int
    """

    #: Whether it pays to know which leaves may be split next, see `foresee`.
    looks_ahead = False

    def __init__(
        self,
        codes: Codes,
        n_rows: int,
        n_bins: Ints,
        has_missing: Bools,
        signs: Ints,
        weight: Floats,
        threads: int,
    ) -> None:
        super().__init__(codes, n_rows, n_bins, weight, threads)
        self._n_features = len(codes)
        self._facts = (n_bins, has_missing, signs)
        n_blocks = -(-len(codes) // 8)
        self._by_block = np.empty((n_blocks, n_rows), np.uint64)
        self._by_row = np.empty((n_rows, n_blocks), np.uint64)
        over_ranges(
            cut_evenly(0, n_rows, threads), threads,
            lambda a, b: self._kernels.pack(codes, a, b, self._by_block, self._by_row),
        )  # fmt: skip
        self._room: list[Ints] = []
        self._cut_for = b""
        self._used = np.zeros(0, np.int64)
        self._cut: dict[int, list[FeatureBlocks]] = {}
        self._alone = FeatureBlocks(np.zeros(0, np.int64), np.zeros(0, bool))

    def histogram_room(self) -> Ints:
        """Return room for the histograms of one leaf."""
        if self._room:
            return self._room.pop()
        return np.zeros((8 * len(self._by_block), WIDE), np.int64)

    def release(self, hist: Ints) -> None:
        """Reuse the room of a leaf that needs no more splits."""
        self._room.append(hist)

    def _parts(self, allowed: Bools, n_rows: int) -> list[FeatureBlocks]:
        """Return the blocks that have a feature to look at, cut into one part per thread."""
        key = allowed.tobytes()
        if self._cut_for != key:
            self._cut_for = key
            self._used = np.unique(np.flatnonzero(allowed) // 8)
            self._cut = {}
        threads = 1 if n_rows * len(self._used) < _SHARED_ROWS else self._threads
        if threads not in self._cut:
            blocks = np.array_split(self._used, threads)
            self._cut[threads] = [FeatureBlocks(part, allowed) for part in blocks if len(part)]
        return self._cut[threads]

    def root(self, limits: LeafLimits, allowed: Bools) -> tuple[Ints, Floats]:
        """Return the histograms of the root, and the largest gain of every feature."""
        hist, peaks, end = self.histogram_room(), np.zeros(self._n_features), self.n_rows

        def work(part: FeatureBlocks) -> None:
            self._add(part, 0, end, self._whole, hist)
            self._scan(part, hist, None, limits, peaks)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end)])
        return hist, peaks

    def histogram(self, begin: int, end: int, allowed: Bools) -> Ints:
        """Return the histograms of a leaf, of shape (n_features, at least 256)."""
        hist = np.zeros((8 * len(self._by_block), WIDE), np.int64)
        whole = self._whole and end - begin == self.n_rows
        work = [partial(self._add, part, begin, end, whole, hist)
                for part in self._parts(allowed, end - begin)]  # fmt: skip
        run_all(self._threads, work)
        return hist[: self._n_features]

    def smaller(self, ranges: tuple[tuple[int, int], tuple[int, int]]) -> int:
        """Return which of two children to add up; the other is what is left of the parent."""
        return 0 if ranges[0][1] - ranges[0][0] <= ranges[1][1] - ranges[1][0] else 1

    def children(
        self,
        parent: Ints,
        begin: int,
        end: int,
        limits: tuple[LeafLimits, LeafLimits],
        allowed: Bools,
    ) -> tuple[Ints, Floats, Floats]:
        """Return the histograms of the smaller child, and the peaks of both; smaller child first.

        Parameters
        ----------
        parent : histograms of the parent, which become those of the larger child
        begin, end : int
            The rows of the smaller child.
        limits : of the smaller and the larger child
        """
        hist = self.histogram_room()
        small, large = np.zeros(self._n_features), np.zeros(self._n_features)

        def work(part: FeatureBlocks) -> None:
            self._add(part, begin, end, False, hist)
            self._scan(part, hist, None, limits[0], small)
            self._scan(part, parent, hist, limits[1], large)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end - begin)])
        return hist, small, large

    def level(self, leaves: Sequence[LevelLeaf], allowed: Bools) -> Floats:
        """Return what splitting all leaves alike gains, for every split of every feature.

        Parameters
        ----------
        leaves : sequence of LevelLeaf
            In the order of the tree, which is the order of the sum.
        allowed : bool array over the features

        Returns
        -------
        float64 array of shape (n_features, 512)
            Place ``2 k + side`` is at ``256 side + k``.
        """
        totals = np.zeros((self._n_features, 512))
        count = sum(one.end - one.begin for one in leaves if one.is_new)

        def work(part: FeatureBlocks) -> None:
            for one in leaves:
                if one.is_new:
                    whole = self._whole and one.end - one.begin == self.n_rows
                    self._add(part, one.begin, one.end, whole, one.hist)
            for one in leaves:
                self._level_gains(one, one.less, part.features, NO_COUNTS, part.room[0], totals)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, count)])
        return totals

    def weigh_level(self, leaves: Sequence[LevelLeaf], feature: int, totals: Floats) -> None:
        """Write what the splits of a feature gain that leave enough weight on both sides."""
        totals[feature] = 0.0
        for one in leaves:
            counts = self.counts(one.begin, one.end, feature)
            alone, room = np.array([feature]), self._alone.room[0]
            self._level_gains(one, None, alone, counts, room, totals)

    def _level_gains(
        self,
        leaf: LevelLeaf,
        less: Ints | None,
        features: Ints,
        counts: Floats,
        room: Ints,
        totals: Floats,
    ) -> None:
        """Add the gains of a leaf, after subtracting other histograms from its own."""
        limits = leaf.limits
        if limits.too_small:
            # (then nobody reads its histograms but its sibling, which is not below)
            return
        self._kernels.level_gains(
            leaf.hist, leaf.hist if less is None else less, less is not None, features,
            *self._facts, limits.numbers, counts, limits.gain, room, totals,
        )  # fmt: skip

    def _add(self, part: FeatureBlocks, begin: int, end: int, whole: bool, hist: Ints) -> None:
        """Write the histograms of a leaf."""
        self._kernels.add_rows(
            self._by_block, self._by_row, part.blocks, self.rows, self._sums, begin, end, whole,
            part.near, hist.reshape(len(self._by_block), -1),
        )  # fmt: skip

    def _scan(
        self, part: FeatureBlocks, hist: Ints, less: Ints | None, limits: LeafLimits, peaks: Floats
    ) -> None:
        """Write the largest gain of every feature, after subtracting other histograms."""
        if limits.too_small:
            # (then neither its children nor it have histograms that anybody reads)
            return
        self._kernels.scan(
            hist, hist if less is None else less, less is not None, part.features, *self._facts,
            limits.numbers, NO_COUNTS, 0.0, *part.room, peaks,
        )  # fmt: skip

    def choose(
        self, hist: Ints, begin: int, end: int, limits: LeafLimits, peaks: Floats, counted: bool
    ) -> LeafSplit:
        """Return the best split by the tie rule, without its place.

        Peaks were scanned without regard to the weight of rows. If weights are counted, peaks are
        verified, best first, until no unverified feature can win.

        Parameters
        ----------
        peaks : array of shape (n_features,)
            The largest gain of every feature, 0 for those that may not split.
        counted : bool
            Whether the least weight of a leaf is respected, which costs a pass over the rows.
        """
        if limits.too_small:
            return NO_SPLIT
        base, verified = limits.gain, set[int]()
        while True:
            best = float(peaks.max())
            # (under monotone bounds the leaf may be worth less than the 0 of what is not on offer)
            if not best > 0.0 or not best - base > TIE * best:
                return NO_SPLIT
            # (of equals the first in the order of features, thresholds and sides)
            worst = best - TIE * best
            f = int((peaks >= worst).argmax())
            if not counted or f in verified:
                counts = self.counts(begin, end, f) if counted else NO_COUNTS
                return LeafSplit(f, best - base, worst, counts)
            verified.add(f)
            self._place(hist, limits, f, self.counts(begin, end, f), 0.0, peaks)

    def foresee(self, leaves: Sequence[LeafPlan]) -> None:
        """Take notice of leaves that may be split after the next one, the likeliest first."""

    def place(self, hist: Ints, limits: LeafLimits, split: LeafSplit) -> int:
        """Return the place of a split: the first with its gain."""
        peaks = np.empty(self._n_features)
        return self._place(hist, limits, split.feature, split.counts, split.least, peaks)

    def _place(
        self,
        hist: Ints,
        limits: LeafLimits,
        feature: int,
        counts: Floats,
        target: float,
        peaks: Floats,
    ) -> int:
        leaf = (hist, hist, False, np.array([feature]), *self._facts, limits.numbers)
        return int(self._kernels.scan(*leaf, counts, target, *self._alone.room, peaks))

    def left_total(self, hist: Ints, feature: int, place: int) -> int:
        """Return the sum of the words of the rows that a split sends left."""
        lost = int(hist[feature, self.n_bins(feature)]) if place % 2 == 0 else 0
        return int(hist[feature, : place // 2].sum()) + lost


# --- Criteria of all splits of the cells of a tree, one scan of the binned features per level


#: Rows of cells and where each begins, whether a row is good, weights, and factors of classes.
CellRows: TypeAlias = tuple[NDArray[np.uint32], Ints, Bytes, Floats, Floats]


class SplitSums:
    """Criteria of splits; see `crucial.kernels.compiled.trees` for the arrays.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
    n_bins : int array of shape (n_features,)
    threads : int
    learned : bool
        Whether abstentions may go to either side; else they are below every threshold.
    """

    def __init__(self, codes: Codes, n_bins: Ints, threads: int = 1, learned: bool = True) -> None:
        self._codes, self._n_bins, self._threads = codes, n_bins, threads
        self._learned = learned

    def peaks(self, cells: CellRows, features: Ints, gini: bool) -> Floats:
        """Return the largest criterion per cell and slot of its features."""
        from crucial.kernels.compiled import trees

        n_slots = features.shape[1]
        peak = np.zeros(features.shape)
        inputs = (self._codes, self._n_bins, *cells, features)
        work = partial(trees.peaks, *inputs, gini, self._learned)
        bounds = cut_evenly(0, n_slots, max(1, min(self._threads, n_slots)))
        over_ranges(bounds, self._threads, lambda begin, end: work(begin, end, peak))
        return peak

    def places(
        self, cells: CellRows, chosen: Ints, least: Floats, gini: bool
    ) -> tuple[Ints, Bools, Bools]:
        """Return place, side and side of abstentions of the first split that reaches ``least``."""
        from crucial.kernels.compiled import trees

        place = np.zeros(len(chosen), np.int64)
        above, missing = np.zeros(len(chosen), bool), np.zeros(len(chosen), bool)
        inputs = (self._codes, self._n_bins, *cells, chosen, least, gini, self._learned)
        trees.places(*inputs, place, above, missing)
        return place, above, missing


# --- The leaf of every row in a tree of tests


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
        from crucial.kernels.compiled.trees import find_leaves

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

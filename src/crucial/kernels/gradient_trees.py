"""Histograms of gradient and curvature over the leaves of a growing tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.exact_sums import exact_sum
from crucial.kernels.fixed_point import unit_for
from crucial.kernels.plain import gradient_trees as plain
from crucial.kernels.sizes import in_all
from crucial.kernels.threads import cut_evenly, cut_lists, over_ranges, run_all
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["NO_SPLIT", "FeatureBlocks", "LeafLimits", "Split", "SplitSearch", "summable"]

# Up to this many cells (rows times features) NumPy grows a tree about as fast as compiled
# kernels load.
_PLAIN_CELLS = 10_000
# Gains that agree to this share are equal; the first in (feature, threshold, side) order wins.
_TIE = 1e-10
# Rows times feature blocks from which a pass is worth several threads.
_SHARED_ROWS = 2_000
# Rows from which a pass over two columns is.
_SHARED_PASS = 50_000
_NO_COUNTS = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Split:
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


NO_SPLIT = Split(-1, 0.0, 0.0, _NO_COUNTS)


@dataclass(frozen=True)
class LeafLimits:
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
    def numbers(self) -> tuple[int, float, float, float, float, float, float, float, float]:
        """The numbers in the order in which kernels take them."""
        return (
            self.total, self.weight, self.unit_gradient, self.unit_curvature, self.l2, self.low,
            self.high, self.least_curvature, self.least_weight,
        )  # fmt: skip

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


def summable(weight: Floats, total: float) -> Floats:
    """Return weights whose sums are exact in any order, rounded to 2^-52 of the total.

    Examples
    --------
    >>> summable(np.array([0.5, 3.0]), 3.5).tolist()
    [0.5, 3.0]
    """
    unit = math.ldexp(1.0, math.frexp(total)[1] - 52)
    return np.rint(weight / unit) * unit


class FeatureBlocks:
    """The blocks of features that one thread looks at, and its working arrays."""

    def __init__(self, blocks: Ints, allowed: Bools) -> None:
        features = (8 * blocks[:, None] + np.arange(8)).ravel()
        features = features[features < len(allowed)]
        self.blocks, self.features = blocks, features[allowed[features]]
        self.near = np.empty((len(blocks), plain.NEAR), np.uint64)
        self.sums = np.empty(8 * plain.WIDE, np.int64)
        gains = np.empty(512)
        self.room = (np.empty(256, np.int64), gains, gains.view(np.int64))


class SplitSearch:
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

    Attributes
    ----------
    rows : int32 array
        The rows of the tree in the order of its leaves.
    n_rows : int
        How many there are.
    """

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
        self._n_features, self._threads = len(codes), threads
        self._codes, self._weight = codes, weight
        self._unweighted = bool((weight == 1.0).all())
        self._facts = (n_bins, has_missing, signs)
        self._kernels: ModuleType = plain
        if in_all("rows", n_rows) * len(codes) > _PLAIN_CELLS:
            from crucial.kernels.compiled import gradient_trees as compiled

            self._kernels = compiled
        n_blocks = -(-len(codes) // 8)
        self._by_block = np.empty((n_blocks, n_rows), np.uint64)
        self._by_row = np.empty((n_rows, n_blocks), np.uint64)
        over_ranges(
            cut_evenly(0, n_rows, threads), threads,
            lambda a, b: self._kernels.pack(codes, a, b, self._by_block, self._by_row),
        )  # fmt: skip
        self._room: list[NDArray[np.int64]] = []
        self._sum_room = np.empty(n_rows, np.int64)
        self._spare = np.zeros(n_rows, np.int32), np.zeros(n_rows, np.int64)
        self._cut_for = b""
        self._used = np.zeros(0, np.int64)
        self._cut: dict[int, list[FeatureBlocks]] = {}
        self._alone = FeatureBlocks(np.zeros(0, np.int64), np.zeros(0, bool))

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

    def _take(self) -> NDArray[np.int64]:
        """Return room for the histograms of one leaf."""
        if self._room:
            return self._room.pop()
        return np.zeros((8 * len(self._by_block), 256), np.int64)

    def release(self, hist: NDArray[np.int64]) -> None:
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

    def root(self, limits: LeafLimits, allowed: Bools) -> tuple[NDArray[np.int64], Floats]:
        """Return the histograms of the root, and the largest gain of every feature."""
        hist, peaks, end = self._take(), np.zeros(self._n_features), self.n_rows

        def work(part: FeatureBlocks) -> None:
            self._add(part, 0, end, self._whole, hist)
            self._scan(part, hist, None, limits, peaks)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end)])
        return hist, peaks

    def histogram(self, begin: int, end: int, allowed: Bools) -> NDArray[np.int64]:
        """Return the histograms of a leaf, of shape (n_features, 256)."""
        hist, whole = np.zeros((8 * len(self._by_block), 256), np.int64), self._whole
        whole = whole and end - begin == self.n_rows
        work = [partial(self._add, part, begin, end, whole, hist)
                for part in self._parts(allowed, end - begin)]  # fmt: skip
        run_all(self._threads, work)
        return hist[: self._n_features]

    def smaller(self, ranges: tuple[tuple[int, int], tuple[int, int]]) -> int:
        """Return which of two children to add up; the other is what is left of the parent."""
        return 0 if ranges[0][1] - ranges[0][0] <= ranges[1][1] - ranges[1][0] else 1

    def children(
        self,
        parent: NDArray[np.int64],
        begin: int,
        end: int,
        limits: tuple[LeafLimits, LeafLimits],
        allowed: Bools,
    ) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the histograms of the smaller child, and the peaks of both; smaller child first.

        Parameters
        ----------
        parent : histograms of the parent, which become those of the larger child
        begin, end : int
            The rows of the smaller child.
        limits : of the smaller and the larger child
        """
        hist = self._take()
        small, large = np.zeros(self._n_features), np.zeros(self._n_features)

        def work(part: FeatureBlocks) -> None:
            self._add(part, begin, end, False, hist)
            self._scan(part, hist, None, limits[0], small)
            self._scan(part, parent, hist, limits[1], large)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end - begin)])
        return hist, small, large

    def _add(
        self, part: FeatureBlocks, begin: int, end: int, whole: bool, hist: NDArray[np.int64]
    ) -> None:
        """Write the histograms of a leaf."""
        self._kernels.add_rows(
            self._by_block, self._by_row, part.blocks, self.rows, self._sums, begin, end, whole,
            part.near, part.sums, hist,
        )  # fmt: skip

    def _scan(
        self,
        part: FeatureBlocks,
        hist: NDArray[np.int64],
        less: NDArray[np.int64] | None,
        limits: LeafLimits,
        peaks: Floats,
    ) -> None:
        """Write the largest gain of every feature, after subtracting other histograms."""
        if limits.too_small:
            # (then neither its children nor it have histograms that anybody reads)
            return
        self._kernels.scan(
            hist, hist if less is None else less, less is not None, part.features, *self._facts,
            limits.numbers, _NO_COUNTS, 0.0, *part.room, peaks,
        )  # fmt: skip

    def choose(
        self,
        hist: NDArray[np.int64],
        begin: int,
        end: int,
        limits: LeafLimits,
        peaks: Floats,
        counted: bool,
    ) -> Split:
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
            if not best > 0.0 or not best - base > _TIE * best:
                return NO_SPLIT
            worst = best - _TIE * (best - base)
            f = int((peaks >= worst).argmax())
            if not counted or f in verified:
                counts = self.counts(begin, end, f) if counted else _NO_COUNTS
                return Split(f, best - base, worst, counts)
            verified.add(f)
            self._place(hist, limits, f, self.counts(begin, end, f), 0.0, peaks)

    def place(self, hist: NDArray[np.int64], limits: LeafLimits, split: Split) -> int:
        """Return the place of a split: the first with its gain."""
        peaks = np.empty(self._n_features)
        return self._place(hist, limits, split.feature, split.counts, split.least, peaks)

    def _place(
        self,
        hist: NDArray[np.int64],
        limits: LeafLimits,
        feature: int,
        counts: Floats,
        target: float,
        peaks: Floats,
    ) -> int:
        found: int = self._kernels.scan(
            hist, hist, False, np.array([feature]), *self._facts, limits.numbers, counts, target,
            *self._alone.room, peaks,
        )  # fmt: skip
        return found

    def counts(self, begin: int, end: int, feature: int) -> Floats:
        """Return the weight of the rows of a leaf per bin of a feature."""
        rows = self.rows[begin:end]
        return np.bincount(self._codes[feature, rows], self._weight[rows], 256).astype(np.float64)

    def partition(
        self, begin: int, end: int, feature: int, place: int, allowed: Bools | None = None
    ) -> int:
        """Move the rows that go left before the others; return their number.

        Parameters
        ----------
        allowed : bool array over the features, optional
            Those that may split a child; None where no child is split.
        """
        moved: int = self._kernels.partition(
            self._codes, feature, int(self._facts[0][feature]), place, begin, end, self.rows,
            self._sums, *self._spare,
        )  # fmt: skip
        return moved

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

    def leaf_sums(self, starts: Ints, units: tuple[float, float]) -> NDArray[np.int64]:
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
        return int(self._facts[0][feature])

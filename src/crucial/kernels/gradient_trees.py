"""Histograms of gradient and curvature over the leaves of a growing tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.leaf_limits import NEAR, NO_COUNTS, NO_SPLIT, TIE, WIDE, LeafLimits, LeafSplit
from crucial.kernels.threads import cut_evenly, over_ranges, run_all
from crucial.kernels.tree_rows import TreeRows, summable
from crucial.types import Bools, Codes, Floats, Ints

__all__ = [
    "NO_SPLIT",
    "FeatureBlocks",
    "LeafLimits",
    "LeafPlan",
    "LeafSplit",
    "LevelLeaf",
    "SplitSearch",
    "summable",
]

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
    hist: NDArray[np.int64]
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
    hist: NDArray[np.int64]
    limits: LeafLimits
    is_new: bool
    """Whether its histograms have to be added up."""
    less: NDArray[np.int64] | None
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
        self._room: list[NDArray[np.int64]] = []
        self._cut_for = b""
        self._used = np.zeros(0, np.int64)
        self._cut: dict[int, list[FeatureBlocks]] = {}
        self._alone = FeatureBlocks(np.zeros(0, np.int64), np.zeros(0, bool))

    def _take(self) -> NDArray[np.int64]:
        """Return room for the histograms of one leaf."""
        if self._room:
            return self._room.pop()
        return np.zeros((8 * len(self._by_block), WIDE), np.int64)

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
        less: NDArray[np.int64] | None,
        features: Ints,
        counts: Floats,
        room: NDArray[np.int64],
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

    def histogram_room(self) -> NDArray[np.int64]:
        """Return room for the histograms of one leaf, to be filled by `level`."""
        return self._take()

    def _add(
        self, part: FeatureBlocks, begin: int, end: int, whole: bool, hist: NDArray[np.int64]
    ) -> None:
        """Write the histograms of a leaf."""
        self._kernels.add_rows(
            self._by_block, self._by_row, part.blocks, self.rows, self._sums, begin, end, whole,
            part.near, hist.reshape(len(self._by_block), -1),
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
            limits.numbers, NO_COUNTS, 0.0, *part.room, peaks,
        )  # fmt: skip

    def choose(
        self,
        hist: NDArray[np.int64],
        begin: int,
        end: int,
        limits: LeafLimits,
        peaks: Floats,
        counted: bool,
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

    def place(self, hist: NDArray[np.int64], limits: LeafLimits, split: LeafSplit) -> int:
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

    def left_total(self, hist: NDArray[np.int64], feature: int, place: int) -> int:
        """Return the sum of the words of the rows that a split sends left."""
        lost = int(hist[feature, self.n_bins(feature)]) if place % 2 == 0 else 0
        return int(hist[feature, : place // 2].sum()) + lost

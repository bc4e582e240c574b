"""Histograms of gradient and curvature over the leaves of a growing tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.plain import gradient_trees as plain
from crucial.kernels.threads import cut_evenly, over_ranges, run_all
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["LeafLimits", "SplitSearch"]

# Up to this many cells (rows times features) NumPy grows a tree about as fast as compiled
# kernels load.
_PLAIN_CELLS = 10_000
# Gains that agree to this share are equal; the first in (feature, threshold, side) order wins.
_TIE = 1e-10
# Rows per feature block from which a pass is worth several threads.
_SHARED_ROWS = 2_000


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
    def value(self) -> float:
        """The best value of the leaf within its bounds."""
        gradient = self.unit_gradient * (self.total >> 32)
        curvature = self.unit_curvature * (self.total & 0xFFFFFFFF)
        return min(max(gradient / (curvature + self.l2), self.low), self.high)

    @property
    def too_small(self) -> bool:
        """Whether no split can leave enough on both sides."""
        curvature = self.unit_curvature * (self.total & 0xFFFFFFFF)
        return curvature < 2 * self.least_curvature or self.weight < 2 * self.least_weight


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
        Weights of rows, for the least weight of a leaf.
    threads : int

    Attributes
    ----------
    rows : int32 array
        The rows of the tree in the order of its leaves.
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
        self._facts = (n_bins, has_missing, signs)
        self._kernels: ModuleType = plain
        if n_rows * len(codes) > _PLAIN_CELLS:
            from crucial.kernels.compiled import gradient_trees as compiled

            self._kernels = compiled
        n_blocks = -(-len(codes) // 8)
        self._words = np.zeros((n_blocks, n_rows), np.uint64)
        parts = cut_evenly(0, n_blocks, min(threads, max(1, n_blocks)))
        over_ranges(parts, threads, lambda a, b: self._kernels.pack(codes, a, b, self._words))
        self._room: list[NDArray[np.int64]] = []
        self._spare = np.zeros(n_rows, np.int32), np.zeros(n_rows, np.int64)

    def start(self, sums: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
        """Begin a tree at its root.

        Parameters
        ----------
        sums : int64 array of shape (n_rows,)
            Gradient and curvature of every row, in one word.
        rows : int32 array
            The rows of the root.
        """
        self.rows, self._sums = rows, sums[rows]

    def _take(self) -> NDArray[np.int64]:
        """Return room for the histograms of one leaf."""
        return self._room.pop() if self._room else np.zeros((8 * len(self._words), 256), np.int64)

    def release(self, hist: NDArray[np.int64]) -> None:
        """Reuse the room of a leaf that needs no more splits."""
        self._room.append(hist)

    def _parts(self, allowed: Bools, n_rows: int) -> list[Ints]:
        """Return the blocks that have a feature to look at, cut into one part per thread."""
        used = np.unique(np.flatnonzero(allowed) // 8)
        if self._threads == 1 or n_rows * len(used) < _SHARED_ROWS:
            return [used]
        return [part for part in np.array_split(used, self._threads) if len(part)]

    def root(self, limits: LeafLimits, allowed: Bools) -> tuple[NDArray[np.int64], Floats]:
        """Return the histograms of the root, and the largest gain of every feature."""
        hist, peaks, end = self._take(), np.zeros(self._n_features), len(self.rows)

        def work(blocks: Ints) -> None:
            self._kernels.add_rows(self._words, blocks, self.rows, self._sums, 0, end, hist)
            self._scan(hist, blocks, allowed, limits, peaks)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end)])
        return hist, peaks

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

        def work(blocks: Ints) -> None:
            self._kernels.add_rows(self._words, blocks, self.rows, self._sums, begin, end, hist)
            for b in blocks.tolist():
                parent[8 * b : 8 * b + 8] -= hist[8 * b : 8 * b + 8]
            self._scan(hist, blocks, allowed, limits[0], small)
            self._scan(parent, blocks, allowed, limits[1], large)

        run_all(self._threads, [partial(work, part) for part in self._parts(allowed, end - begin)])
        return hist, small, large

    def _scan(
        self,
        hist: NDArray[np.int64],
        blocks: Ints,
        allowed: Bools,
        limits: LeafLimits,
        peaks: Floats,
    ) -> None:
        if limits.too_small:
            return
        features = (8 * blocks[:, None] + np.arange(8)).ravel()
        features = features[features < self._n_features]
        features = features[allowed[features]]
        self._kernels.scan(hist, features, *self._facts, limits.numbers, peaks)

    def choose(
        self,
        hist: NDArray[np.int64],
        begin: int,
        end: int,
        limits: LeafLimits,
        peaks: Floats,
        counted: bool,
    ) -> tuple[int, int, float]:
        """Return feature, place and gain of the best split; the feature is -1 if there is none.

        Parameters
        ----------
        peaks : array of shape (n_features,)
            The largest gain of every feature, 0 for those that may not split.
        counted : bool
            Whether the least weight of a leaf is respected, which costs a pass over the rows.
        """
        if limits.too_small:
            return -1, -1, 0.0
        found: tuple[int, int, float] = self._kernels.choose(
            hist, self._codes, self._weight, self.rows, begin, end, *self._facts, limits.numbers,
            _TIE, counted, peaks,
        )  # fmt: skip
        return found

    def partition(self, begin: int, end: int, feature: int, place: int) -> int:
        """Move the rows that go left before the others; return their number."""
        moved: int = self._kernels.partition(
            self._codes[feature], self._facts[0][feature], place, begin, end, self.rows,
            self._sums, *self._spare,
        )  # fmt: skip
        return moved

    def total(self, begin: int, end: int) -> int:
        """Return the sum of the words of some rows."""
        return int(self._sums[begin:end].sum())

    def weight(self, begin: int, end: int) -> float:
        """Return the summed weight of some rows."""
        return float(self._weight[self.rows[begin:end]].sum())

    def sort(self, begin: int, end: int) -> None:
        """Put the rows of a leaf back in ascending order, after a partition that was no use."""
        order = np.argsort(self.rows[begin:end])
        for array in (self.rows, self._sums):
            array[begin:end] = array[begin:end][order]

    def n_bins(self, feature: int) -> int:
        """Return the number of bins of a feature, without the one for abstentions."""
        return int(self._facts[0][feature])

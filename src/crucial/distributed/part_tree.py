"""The tree that grows on the rows of a part, leaf by leaf as the client asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.trees import RowDraws, drawn_rows
from crucial.data.bins import Bins
from crucial.distributed.messages import Exact
from crucial.kernels.trees import SplitSearch
from crucial.types import Bools, Floats, Ints

__all__ = [
    "BinWeights",
    "DrawnRows",
    "LeafSums",
    "LeafTotals",
    "PartTree",
    "RowDraw",
    "SplitLeafSums",
    "SplitOrder",
]


@dataclass(frozen=True)
class LeafSums:
    """What is known of the rows of a leaf, and of a child of it.

    Attributes
    ----------
    count : int
        Rows.
    total : int
        Gradient and curvature of the rows, in one word.
    weights : tuple of float
        Weight of the rows; for two children, of both.
    hist : int64 array of shape (n_features, n_bins), or None
        Histograms of gradient and curvature.
    """

    count: int
    total: int
    weights: tuple[float, ...]
    hist: NDArray[np.int64] | None

    def merge(self, other: LeafSums) -> LeafSums:
        """Return the sums of both parts."""
        hist = None if self.hist is None or other.hist is None else self.hist + other.hist
        weights = tuple(a + b for a, b in zip(self.weights, other.weights, strict=True))
        return LeafSums(self.count + other.count, self.total + other.total, weights, hist)


@dataclass(frozen=True)
class SplitLeafSums:
    """What is known of several leaves that were split."""

    leaves: tuple[LeafSums, ...]

    def merge(self, other: SplitLeafSums) -> SplitLeafSums:
        """Return the sums of both parts."""
        both = zip(self.leaves, other.leaves, strict=True)
        return SplitLeafSums(tuple(own.merge(added) for own, added in both))


@dataclass(frozen=True)
class BinWeights:
    """Weight of the rows of a leaf per bin of a feature."""

    counts: Floats

    def merge(self, other: BinWeights) -> BinWeights:
        """Return the weights of both parts."""
        return BinWeights(self.counts + other.counts)


@dataclass(frozen=True)
class LeafTotals:
    """Gradient and curvature of every leaf, as whole numbers of units."""

    sums: NDArray[np.int64]

    def merge(self, other: LeafTotals) -> LeafTotals:
        """Return the totals of both parts."""
        return LeafTotals(self.sums + other.sums)


@dataclass(frozen=True)
class SplitOrder:
    """How to split a leaf.

    Attributes
    ----------
    leaf : int
        Number of the leaf, 0 for the root.
    feature, place : int
        As in `crucial.boosting.tree_growth.GrownTree`.
    children : (int, int)
        Numbers that the children get.
    adds_up : int
        The child whose histograms are wanted, 0 for the left one.
    allowed : bool array over the features, or None
        Features to add up; None: no histograms.
    """

    leaf: int
    feature: int
    place: int
    children: tuple[int, int]
    adds_up: int
    allowed: Bools | None


@dataclass(frozen=True)
class RowDraw:
    """Which rows to draw for a tree; see `crucial.boosting.trees`.

    Attributes
    ----------
    share : float
    seed, number : int
        Of the draw, and of the round.
    least : float or None
        The smallest random number of all rows, where none is below the share.
    """

    share: float
    seed: int
    number: int
    least: float | None = None


@dataclass(frozen=True)
class DrawnRows:
    """What is known of the rows that were drawn.

    Attributes
    ----------
    count : int
    least : float
        The smallest random number of any row.
    sizes : Exact
        Absolute potentials and curvature of the drawn rows.
    """

    count: int
    least: float
    sizes: Exact

    def merge(self, other: DrawnRows) -> DrawnRows:
        """Return what is known of the rows of both parts."""
        least, sizes = min(self.least, other.least), self.sizes.merge(other.sizes)
        return DrawnRows(self.count + other.count, least, sizes)


class PartTree:
    """Where the rows of a part are in a growing tree.

    Parameters
    ----------
    bins : Bins
        Of the rows.
    weight : float64 array over the rows
    query : int array over the rows
        Numbers of their queries.
    threads : int
    """

    def __init__(self, bins: Bins, weight: Floats, query: Ints, threads: int) -> None:
        signs = np.zeros(len(bins.features), np.int64)  # (only who chooses splits looks at them)
        facts = (bins.n_bins, bins.has_missing, signs)
        self._search = SplitSearch(bins.codes, bins.n_rows, *facts, weight, threads)
        self._width = int(bins.n_bins.max(initial=1)) + 1
        self._leaves: dict[int, tuple[int, int]] = {}
        self._query, self._threads = query, threads
        self._draws: RowDraws | None = None
        self._drawn: NDArray[np.int32] | None = None

    def sample(self, gradient: Floats, curvature: Floats, draw: RowDraw) -> DrawnRows:
        """Draw the rows that the next tree is grown on."""
        if self._draws is None:
            self._draws = RowDraws(self._query, draw.seed, self._threads)
        uniforms = self._draws.uniforms(draw.number)
        rows = self._drawn = drawn_rows(uniforms, draw.share, draw.least)
        sizes = Exact.of(np.abs(gradient[rows]), curvature[rows])
        return DrawnRows(len(rows), float(uniforms.min()), sizes)

    def root(
        self,
        gradient: Floats,
        curvature: Floats,
        units: tuple[float, float],
        allowed: Bools,
        sampled: bool,
    ) -> LeafSums:
        """Begin a tree; return the sums of all rows, or of those that were drawn."""
        search = self._search
        search.start(gradient, curvature, self._drawn if sampled else None)
        search.quantise(units, allowed)
        n = search.n_rows
        self._leaves = {0: (0, n)}
        hist = search.histogram(0, n, allowed)[:, : self._width]
        return LeafSums(n, search.total(0, n), (search.weight(0, n),), hist)

    def split(self, order: SplitOrder) -> LeafSums:
        """Split a leaf; return the rows and total of the left child, and the weights of both.

        A leaf may be split again, otherwise: its rows are the same, in another order.
        """
        search, (begin, end) = self._search, self._leaves[order.leaf]
        middle = begin + search.partition(begin, end, order.feature, order.place)
        both = ((begin, middle), (middle, end))
        self._leaves.update(zip(order.children, both, strict=True))
        hist = None
        if order.allowed is not None:
            hist = search.histogram(*both[order.adds_up], order.allowed)[:, : self._width]
        weights = tuple(search.weight(*one) for one in both)
        return LeafSums(middle - begin, search.total(begin, middle), weights, hist)

    def bin_weights(self, leaf: int, feature: int) -> BinWeights:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return BinWeights(self._search.counts(*self._leaves[leaf], feature))

    def leaf_totals(self, leaves: Ints, units: tuple[float, float]) -> LeafTotals:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        sums = np.zeros((len(leaves), 2), np.int64)
        for at, leaf in enumerate(leaves.tolist()):
            starts = np.array(self._leaves[leaf], np.int64)
            sums[at] = self._search.leaf_sums(starts, units)[0]
        return LeafTotals(sums)

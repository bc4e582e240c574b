"""The rows of a growing tree in the order of its leaves, and sums over leaves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.exact_sums import exact_sum
from crucial.kernels.fixed_point import unit_for
from crucial.kernels.threads import cut_evenly, cut_lists, over_ranges
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["TreeRows", "summable"]

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
        self,
        codes: Codes,
        n_rows: int,
        n_bins: Ints,
        weight: Floats,
        threads: int,
    ) -> None:
        from crucial.kernels.compiled import gradient_trees

        self._codes, self._n_bins, self._weight = codes, n_bins.tolist(), weight
        self._unweighted = bool((weight == 1.0).all())
        self._threads, self._kernels = threads, gradient_trees
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
        hist: NDArray[np.int64] | None = None,
    ) -> int:
        """Move the rows that go left before the others; return their number.

        Parameters
        ----------
        allowed : bool array over the features, optional
            Those that may split a child; None where no child is split.
        hist : int64 array, optional
            Histograms of the leaf, for rows in parts.
        """
        moved: int = self._kernels.partition(
            self._codes, feature, self._n_bins[feature], place, begin, end, self.rows,
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
        return int(self._n_bins[feature])

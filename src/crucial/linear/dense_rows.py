"""Rows of a dense table in blocks, and the columns that linear rankers make of them.

A block is small enough to stay in the processor's cache while it is checked, centred and
multiplied, so that a pass costs little more than reading the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.kernels.elementary import column_sums
from crucial.kernels.runtime import one_blas_thread, over_ranges
from crucial.linear.design import NEGLIGIBLE, Design
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints

__all__ = ["ColumnRanges", "DenseRows", "around_mean", "dense_design", "folded"]

# Cells of a block.
_CELLS = 1 << 17
# Rows of a block that are reduced side by side.
_FOLD = 16
# The square of the range of a feature is above this, so that a share of it is no subnormal number.
_LEAST_SQUARE = 1e-280


@dataclass(frozen=True)
class ColumnRanges:
    """Range and mean of features, on the rows where they do not abstain.

    Attributes
    ----------
    features : int array
        The features that are not constant.
    low, high, mean : arrays like features
    mass : array like features
        Weight of the rows where they do not abstain.
    absent : bool
        Whether a feature abstains anywhere.
    """

    features: Ints
    low: Floats
    high: Floats
    mean: Floats
    mass: Floats
    absent: bool

    def rankers(self) -> tuple[ScaledFeature, ...]:
        """Return the features as weak rankers, in [0, 1]."""
        width = self.high - self.low
        default = np.clip((self.mean - self.low) / width, 0.0, 1.0)
        parts = (self.features, self.low, self.high, default)
        return tuple(ScaledFeature(*one) for one in zip(*(part.tolist() for part in parts)))


class DenseRows:
    """Rows of a dense table, in blocks of float64.

    Parameters
    ----------
    instances : Instances
        Not sparse.
    rows : int array
        Which rows, in which order.
    threads : int
    """

    def __init__(self, instances: Instances, rows: Ints, threads: int) -> None:
        self._instances, self._rows, self._threads = instances, rows, threads
        whole = len(rows) == instances.n_rows and bool((rows[1:] > rows[:-1]).all())
        self._in_order = whole
        step = max(64, _CELLS // max(1, instances.n_features))
        self.bounds = [*range(0, len(rows), step), len(rows)]

    def block(self, first: int, last: int) -> Floats:
        """Return rows ``first:last``, which must not be changed."""
        table: NDArray[Any] = self._instances.table
        part = table[first:last] if self._in_order else table[self._rows[first:last]]
        return np.ascontiguousarray(part, np.float64)

    def over_blocks(
        self, call: Callable[[int, int, Floats], Any], most: int | None = None
    ) -> Iterator[Any]:
        """Call a function with the bounds and the rows of every block; yield its results.

        Blocks are the same for any number of threads, and so are sums of the results in order.

        Parameters
        ----------
        call : callable
        most : int, optional
            Results that are in memory at a time; all by default.
        """
        n = len(self.bounds) - 1
        step = n if most is None else most
        with one_blas_thread():
            for first in range(0, n, max(1, step)):
                yield from over_ranges(
                    self.bounds[first : first + step + 1],
                    self._threads,
                    lambda a, b: call(a, b, self.block(a, b)),
                )

    def check_finite(self) -> None:
        """Refuse infinite values; row and column are named."""
        for j in range(self._instances.n_features):
            self._instances.column(j, self._rows)

    def ranges(self, weight: Floats | None) -> ColumnRanges | None:
        """Return range and mean of the features that are not constant.

        None where values are so large that sums of their squares overflow, or so close together
        that squares vanish.
        """

        def first(a: int, b: int, block: Floats) -> tuple[Floats, ...]:
            u = None if weight is None else weight[a:b]
            with np.errstate(over="ignore", invalid="ignore"):
                sums = folded(np.add, block) if u is None else column_sums(block, u)
                if not np.isfinite(sums).all():
                    return _with_absent(block, u)
            mass = np.full(block.shape[1], float(b - a) if u is None else float(u.sum()))
            low, high = folded(np.minimum, block), folded(np.maximum, block)
            return low, high, sums, mass, np.zeros(1)

        found = [np.array(part) for part in zip(*self.over_blocks(first))]
        low, high = np.fmin.reduce(found[0]), np.fmax.reduce(found[1])
        sums, mass = found[2].sum(axis=0), found[3].sum(axis=0)
        absent = bool(found[4].any())
        if np.isinf(low).any() or np.isinf(high).any() or not np.isfinite(sums).all():
            self.check_finite()
        features = np.flatnonzero(low < high)
        low, high = low[features], high[features]
        with np.errstate(over="ignore", under="ignore"):
            squares = (high - low) ** 2
            fits = np.isfinite(squares * mass[features]) & (squares > _LEAST_SQUARE)
            if not fits.all() or not np.isfinite(sums[features]).all():
                return None
        mean = sums[features] / mass[features]
        return ColumnRanges(features, low, high, mean, mass[features], absent)

    def columns(self, ranges: ColumnRanges, spread: Floats | None) -> Floats:
        """Return all rows as columns: around the mean by their spread, or as they are."""
        out = np.empty((len(self._rows), len(ranges.features)))

        def write(a: int, b: int, block: Floats) -> None:
            centred = around_mean(block, ranges)
            out[a:b] = centred + ranges.mean if spread is None else centred / spread

        list(self.over_blocks(write))
        return out

    def spreads(self, ranges: ColumnRanges, weight: Floats | None) -> Floats:
        """Return the standard deviations of the features, on the rows where they are there."""

        def part(a: int, b: int, block: Floats) -> Floats:
            apart = around_mean(block, ranges)
            np.multiply(apart, apart, out=apart)
            return folded(np.add, apart) if weight is None else column_sums(apart, weight[a:b])

        squares = np.array(list(self.over_blocks(part))).sum(axis=0)
        spread = np.sqrt(squares / ranges.mass)
        width = ranges.high - ranges.low
        # (only rows of negligible weight differ)
        return np.asarray(np.where(spread > NEGLIGIBLE * width, spread, width))


def _with_absent(block: Floats, weight: Floats | None) -> tuple[Floats, ...]:
    """Return lowest, highest, sum and mass of the values that are there."""
    absent = np.isnan(block)
    u = np.ones(len(block)) if weight is None else weight
    low = np.where(absent, np.inf, block).min(axis=0)
    high = np.where(absent, -np.inf, block).max(axis=0)
    nothing = absent.all(axis=0)
    low[nothing] = high[nothing] = np.nan
    sums = column_sums(np.where(absent, 0.0, block), u)
    return low, high, sums, column_sums((~absent).astype(np.float64), u), np.ones(1)


def folded(ufunc: np.ufunc, block: Floats) -> Floats:
    """Return ``ufunc.reduce(block)``: several rows side by side make longer, faster loops."""
    n, width = block.shape
    whole = n - n % _FOLD
    if not whole or not width:
        return np.asarray(ufunc.reduce(block, axis=0))
    wide = ufunc.reduce(block[:whole].reshape(-1, _FOLD * width), axis=0).reshape(_FOLD, width)
    return np.asarray(ufunc.reduce(np.vstack([wide, block[whole:]]), axis=0))


def around_mean(block: Floats, ranges: ColumnRanges) -> Floats:
    """Return a block around the means of its columns; 0 where a feature abstains."""
    part = block if len(ranges.features) == block.shape[1] else block[:, ranges.features]
    out: Floats = part - ranges.mean
    if ranges.absent:
        out[np.isnan(out)] = 0.0
    return out


def dense_design(
    instances: Instances, rows: Ints, weight: Floats | None, standard: bool, threads: int
) -> Design:
    """Return the columns of dense rows, as `Design.of` does, by passes over blocks.

    Sums run in the order of the rows, so that another order changes the last digits.

    Parameters
    ----------
    instances : Instances
        Not sparse.
    rows : int array
    weight : array like rows, or None
    standard : bool
        Whether columns have mean 0 and standard deviation 1; else they are as they are.
    threads : int
    """
    blocks = DenseRows(instances, rows, threads)
    ranges = blocks.ranges(weight)
    if ranges is None:
        return Design.of(instances, rows, weight, raw=not standard)
    spread = blocks.spreads(ranges, weight) if standard else None
    width = ranges.high - ranges.low
    scale = width if spread is None else width / spread
    return Design(blocks.columns(ranges, spread), ranges.rankers(), scale)

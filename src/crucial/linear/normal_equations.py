"""The normal equations of RankRLS over dense features, in two passes over blocks of rows.

A block is small enough to stay in the processor's cache while it is checked, centred and
multiplied, so that a pass costs little more than reading the table. No centred copy of the table is
made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.threads import over_ranges
from crucial.linear.blas import one_blas_thread
from crucial.linear.differences import Centring
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints

__all__ = ["ColumnRanges", "DenseRows", "ScaledEquations", "column_spreads", "normal_equations"]

# Cells of a block.
_CELLS = 1 << 17
# Rows of a block that are reduced side by side.
_FOLD = 16


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


@dataclass(frozen=True)
class ScaledEquations:
    """The normal equations of columns, and by what these were divided.

    Attributes
    ----------
    gram, right, square : see `crucial.linear.least_squares.NormalEquations`
    spread : array of shape (n_columns,)
        Standard deviations of the columns, or 1.
    """

    gram: Floats
    right: Floats
    square: float
    spread: Floats


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

    def over_blocks(self, call: Callable[[int, int, Floats], Any]) -> list[Any]:
        """Call a function with the bounds and the rows of every block; return its results.

        Blocks are the same for any number of threads, and so are sums of the results in order.
        """
        with one_blas_thread():
            return over_ranges(
                self.bounds, self._threads, lambda a, b: call(a, b, self.block(a, b))
            )

    def check_finite(self) -> None:
        """Refuse infinite values; row and column are named."""
        for j in range(self._instances.n_features):
            self._instances.column(j, self._rows)

    def ranges(self, weight: Floats | None) -> ColumnRanges:
        """Return range and mean of the features that are not constant."""

        def first(a: int, b: int, block: Floats) -> tuple[Floats, ...]:
            u = None if weight is None else weight[a:b]
            with np.errstate(over="ignore", invalid="ignore"):
                sums = _folded(np.add, block) if u is None else u @ block
                if not np.isfinite(sums).all():
                    return _with_absent(block, u)
            mass = np.full(block.shape[1], float(b - a) if u is None else float(u.sum()))
            low, high = _folded(np.minimum, block), _folded(np.maximum, block)
            return low, high, sums, mass, np.zeros(1)

        found = [np.array(part) for part in zip(*self.over_blocks(first))]
        low, high = np.fmin.reduce(found[0]), np.fmax.reduce(found[1])
        sums, mass = found[2].sum(axis=0), found[3].sum(axis=0)
        absent = bool(found[4].any())
        if np.isinf(low).any() or np.isinf(high).any() or not np.isfinite(sums).all():
            self.check_finite()
            if not np.isfinite(sums).all():
                raise DataError(
                    "the values of a feature add up to infinity; divide them by a constant."
                )
        features = np.flatnonzero(low < high)
        low, high = low[features], high[features]
        mean = sums[features] / mass[features]
        return ColumnRanges(features, low, high, mean, mass[features], absent)

    def columns(self, ranges: ColumnRanges, spread: Floats | None) -> Floats:
        """Return all rows as columns: around the mean by their spread, or as they are."""
        out = np.empty((len(self._rows), len(ranges.features)))

        def write(a: int, b: int, block: Floats) -> None:
            centred = _columns(block, ranges)
            out[a:b] = centred + ranges.mean if spread is None else centred / spread

        self.over_blocks(write)
        return out


def _with_absent(block: Floats, weight: Floats | None) -> tuple[Floats, ...]:
    """Return lowest, highest, sum and mass of the values that are there."""
    absent = np.isnan(block)
    u = np.ones(len(block)) if weight is None else weight
    low = np.where(absent, np.inf, block).min(axis=0)
    high = np.where(absent, -np.inf, block).max(axis=0)
    nothing = absent.all(axis=0)
    low[nothing] = high[nothing] = np.nan
    return low, high, u @ np.where(absent, 0.0, block), u @ ~absent, np.ones(1)


def _folded(ufunc: np.ufunc, block: Floats) -> Floats:
    """Return ``ufunc.reduce(block)``: several rows side by side make longer, faster loops."""
    n, width = block.shape
    whole = n - n % _FOLD
    if not whole:
        return np.asarray(ufunc.reduce(block, axis=0))
    wide = ufunc.reduce(block[:whole].reshape(-1, _FOLD * width), axis=0).reshape(_FOLD, width)
    return np.asarray(ufunc.reduce(np.vstack([wide, block[whole:]]), axis=0))


def _columns(block: Floats, ranges: ColumnRanges) -> Floats:
    """Return a block around the means of its columns; 0 where a feature abstains."""
    part = block if len(ranges.features) == block.shape[1] else block[:, ranges.features]
    out: Floats = part - ranges.mean
    if ranges.absent:
        out[np.isnan(out)] = 0.0
    return out


def normal_equations(
    rows: DenseRows, ranges: ColumnRanges, centring: Centring, labels: Floats, standard: bool
) -> ScaledEquations:
    """Return ``X'LX``, ``X'Ly`` and ``y'Ly``.

    Parameters
    ----------
    rows : DenseRows
    ranges : ColumnRanges
    centring : Centring
    labels : array like the rows
    standard : bool
        Whether the columns of X are divided by their standard deviations.
    """
    target = centring.factor(labels)
    # (the only query has the mean of all rows, which abstentions count as)
    one = len(centring.mass) == 1
    spread, means = (None, None) if one else _spreads_and_means(rows, ranges, centring)
    plain = one and bool((centring.weight == 1.0).all())
    factor = float(centring.scale[0]) if plain else 1.0

    def part(a: int, b: int, block: Floats) -> tuple[Floats, Floats]:
        centred = _columns(block, ranges)
        if means is not None:
            centred -= means[centring.query[a:b]]
        if not plain:
            centred *= centring.scale[a:b, None]
        return centred.T @ centred, centred.T @ target[a:b]

    gram = np.zeros((len(ranges.features),) * 2)
    right = np.zeros(len(ranges.features))
    for own, pulled in rows.over_blocks(part):
        gram += own
        right += pulled
    gram *= factor * factor
    right *= factor
    if not standard:
        spread = np.ones(len(right))
    elif spread is None:
        spread = np.sqrt(np.diag(gram) / (centring.coefficient * centring.mass * ranges.mass))
    spread = np.where(spread > 0, spread, 1.0)  # (only a row of negligible weight differs)
    square = float(np.dot(target, target))
    return ScaledEquations(gram / np.outer(spread, spread), right / spread, square, spread)


def _spreads_and_means(
    rows: DenseRows, ranges: ColumnRanges, centring: Centring
) -> tuple[Floats, Floats]:
    """Return the standard deviations of columns, and their means in queries around those of all."""
    sums = np.zeros((len(centring.mass), len(ranges.features)))
    weighted = bool((centring.weight != 1.0).any())

    def part(a: int, b: int, block: Floats) -> tuple[Ints, Floats, Floats]:
        centred = _columns(block, ranges)
        moved = centred * centring.weight[a:b, None] if weighted else centred
        query = centring.query[a:b]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        found = np.add.reduceat(moved, first, axis=0)
        np.multiply(centred, moved, out=centred)
        return query[first], found, _folded(np.add, centred)

    squares = np.zeros(len(ranges.features))
    for queries, found, own in rows.over_blocks(part):
        sums[queries] += found
        squares += own
    means: Floats = sums / centring.mass[:, None]
    return np.sqrt(squares / ranges.mass), means


def column_spreads(rows: DenseRows, ranges: ColumnRanges, centring: Centring) -> Floats:
    """Return the standard deviations of columns, on the rows where they do not abstain."""
    spread = _spreads_and_means(rows, ranges, centring)[0]
    return np.asarray(np.where(spread > 0, spread, 1.0))

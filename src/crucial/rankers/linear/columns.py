"""Rows as the solvers of linear and kernel rankers see them.

`Design` and `DenseRows` turn features into columns; a `Space` has the weights of columns, of
landmarks or of the rows of a kernel, and turns the weights of a solution into a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.base import Feedback, finite_total
from crucial.feedback.labels import LabelFeedback, QueryWeight, kept_rows, query_factors
from crucial.kernels.elementary import TallTable, column_sums, dot, expect_products
from crucial.kernels.runtime import one_blas_thread, over_ranges
from crucial.model.additive import AdditiveRanker
from crucial.model.kernel import Column, Kernel, KernelRanker, check_kernels, scaled_columns
from crucial.model.weak import Presence, ScaledFeature
from crucial.types import Bools, Floats, Ints

# --- Features as the columns of a linear model, and the weak rankers that they are in it


#: A standard deviation below this share of the range comes from the weights of a few rows.
NEGLIGIBLE = 1e-12
# A width of which one over it is finite.
_NARROW = 1e-300

#: Rows by columns, dense or sparse.
Matrix: TypeAlias = Floats | sp.csr_array

#: What a model file keeps of the training.
Summary: TypeAlias = Mapping[str, Any]
#: See `Design.of`.
Scaling: TypeAlias = Literal["standard", "unit", "raw"]

#: Values of a column, its weak ranker, and the factor from its weight to that of the ranker.
_Column: TypeAlias = tuple[Floats, ScaledFeature | Presence, float]


@dataclass(frozen=True)
class Design:
    """Columns to be weighted, and the weak rankers that they are in a model.

    Features that are constant on the training rows are left out. Where a feature abstains it
    counts as its mean, which is 0 in a standard column: an abstention moves a row neither up nor
    down. Or one more column marks the abstentions, so that their weight is learned.

    Attributes
    ----------
    matrix : float64 array or sparse matrix of shape (n_rows, n_columns)
        Scores of the rankers times scale, each up to a constant, which no difference of scores
        sees. Sparse for sparse input: columns are then not moved, so that zeros remain.
    rankers : tuple of ScaledFeature and Presence
        One per column.
    scale : array of shape (n_columns,)
        The weight of a column times this is the weight of its ranker.
    """

    matrix: Matrix
    rankers: tuple[ScaledFeature | Presence, ...]
    scale: Floats

    @classmethod
    def of(
        cls,
        instances: Instances,
        rows: Ints,
        weight: Floats | None = None,
        *,
        scaling: Scaling = "standard",
        learned: bool = False,
    ) -> Design:
        """Return the columns of some rows.

        Parameters
        ----------
        instances : Instances
        rows : int array
        weight : array like rows, optional
            A row of weight 2 counts twice in the means. All weights are above 0.
        scaling : {"standard", "unit", "raw"}
            Columns of mean 0 and standard deviation 1, in [0, 1], or in the unit of the feature.
        learned : bool
            Whether abstentions have columns of their own; the others are then in [0, 1].
        """
        mass = np.ones(len(rows)) if weight is None else weight / weight.max()
        sparse = instances.is_sparse
        columns: list[Floats | sp.csc_array] = []
        rankers: list[ScaledFeature | Presence] = []
        scale: list[float] = []
        for j in range(instances.n_features):
            values = instances.column(j, rows).astype(np.float64)
            absent = np.isnan(values)
            if absent.all():
                continue
            if learned:
                made = _with_presence(j, values, absent, sparse)
            else:
                made = _at_mean(j, values, absent, mass, scaling, sparse)
            for column, ranker, factor in made:
                columns.append(sp.csc_array(column[:, None]) if sparse else column)
                rankers.append(ranker)
                scale.append(factor)
        if sparse and columns:
            matrix = sp.hstack(columns, format="csr")
        else:
            matrix = _side_by_side(columns, len(rows))
        return cls(matrix, tuple(rankers), np.array(scale))


def _side_by_side(columns: list[Floats], n_rows: int) -> Floats:
    """Copy columns into a table; each is released once it is copied."""
    table = np.empty((n_rows, len(columns)))
    for at in reversed(range(len(columns))):
        table[:, at] = columns.pop()
    return table


def _with_presence(j: int, values: Floats, absent: Bools, sparse: bool) -> Iterator[_Column]:
    """Yield the column of a feature in [0, 1], and one of its abstentions."""
    low, high = _range(values[~absent])
    if low < high:
        ranker = ScaledFeature(j, low, high, 0.0)
        if sparse:
            unit = ranker.unit
            width = high * unit - low * unit
            filled = np.where(absent, low, values)
            # (one over a subnormal width is infinite)
            column = filled * (unit / width) if width > _NARROW else filled * unit / width
            yield column, ranker, 1.0
        else:
            yield _unit_scores(values, low, high), ranker, 1.0
    if absent.any():
        yield absent.astype(np.float64), Presence(j, 1), 1.0


def _at_mean(
    j: int, values: Floats, absent: Bools, mass: Floats, scaling: Scaling, sparse: bool
) -> Iterator[_Column]:
    """Yield the column of a feature, its mean where it abstains; nothing if it is constant."""
    low, high = _range(values[~absent])
    if low == high:
        return
    column = _unit_scores(values, low, high)
    mean, spread = _moments(column[~absent], mass[~absent])
    if not spread > NEGLIGIBLE:  # (only rows of negligible weight differ)
        return
    ranker = ScaledFeature(j, low, high, mean)
    column[absent] = mean
    if scaling == "unit":
        yield column, ranker, 1.0
    elif scaling == "raw":
        if not math.isfinite(high - low):
            raise DataError(
                f"feature {j} goes from {low:g} to {high:g}, too far for the weights of features "
                "as they are.",
                remedy="Set standardise=True.",
                parameter="standardise",
            )
        yield np.where(absent, low + mean * (high - low), values), ranker, high - low
    elif sparse:
        # Of a range of 1, but not from 0 on: what was 0 in the table is 0 here.
        unit = ranker.unit
        moved = np.where(absent, low * unit, values * unit) / (high * unit - low * unit)
        moved[absent] += mean
        yield moved * (1.0 / spread), ranker, 1.0 / spread
    else:
        yield (column - mean) * (1.0 / spread), ranker, 1.0 / spread


def _range(values: Floats) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _unit_scores(values: Floats, low: float, high: float) -> Floats:
    """Scale values to [0, 1]; 0 where they are NaN."""
    return ScaledFeature(0, low, high, 0.0).scores(values[:, None])


def _moments(values: Floats, mass: Floats) -> tuple[float, float]:
    """Return the weighted mean and standard deviation, the same for any order of the rows."""
    whole = _sum(mass)
    mean = min(1.0, max(0.0, _sum(mass * values) / whole))
    return mean, math.sqrt(_sum(mass * (values - mean) ** 2) / whole)


def _sum(values: Floats) -> float:
    # Sorted first: a sum then does not depend on where the rows stood.
    return float(np.sum(np.sort(values)))


# --- Rows of a dense table in blocks, and the columns that linear rankers make of them
#
# A block is small enough to stay in the processor's cache while it is checked, centred and
# multiplied, so that a pass costs little more than reading the table.


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
        return Design.of(instances, rows, weight, scaling="standard" if standard else "raw")
    spread = blocks.spreads(ranges, weight) if standard else None
    width = ranges.high - ranges.low
    scale = width if spread is None else width / spread
    return Design(blocks.columns(ranges, spread), ranges.rankers(), scale)


# --- Feedback from the differences of labels: every two rows of a query, equal labels included


class DifferenceFeedback(Feedback):
    """Every two rows of one query; the difference of their scores should be that of their labels.

    A pair weighs ``c_q u_i u_j``, with instance weights u and c_q set by ``balance``. A row of
    weight u counts as u rows: where u is above 1, ``u (u - 1) / 2`` pairs of the row with itself
    count among all pairs, and their differences are 0.

    Parameters
    ----------
    labels : array of shape (n_rows,)
    groups : Groups
    weight : array of shape (n_rows,), or None
        Instance weights.
    balance : {"pairs", "queries"}
        Whether all pairs weigh the same, or all queries do.
    query_weight : array of shape (n_rows,) or mapping from query id, optional
        A further factor on the pairs of each query.

    Attributes
    ----------
    rows : int array
        Rows of queries with at least two rows, query after query.
    starts : int array of shape (n_queries + 1,)
        Query q is ``rows[starts[q]:starts[q + 1]]``.
    labels : array like rows
    coefficient : array of shape (n_queries,)
        c_q.
    pairs : array of shape (n_queries,)
        Weight of the pairs of each query, before c_q.
    whole : float
        Weight of all pairs.

    Examples
    --------
    >>> feedback = DifferenceFeedback(np.array([2.0, 0.0, 0.0]), Groups.single(3))
    >>> feedback.n_pairs, feedback.whole
    (3, 3.0)
    """

    def __init__(
        self,
        labels: Floats,
        groups: Groups,
        weight: Floats | None = None,
        *,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
    ) -> None:
        self.n_rows, self.groups, self.balanced = len(labels), groups, balance == "queries"
        factor = query_factors(query_weight, groups)
        rows, query = _usable_rows(groups, weight, factor)
        self.rows, self.labels = rows, labels[rows]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        self.starts = np.append(first, len(rows))
        self.queries = query[first]
        highest, lowest = (ufunc.reduceat(self.labels, first) for ufunc in (np.maximum, np.minimum))
        if not (highest > lowest).any():
            LabelFeedback(labels, groups, weight=weight, query_weight=query_weight)  # (says why)
            raise DataError("No comparable pair: no query has two rows of different labels.")
        self.weight = None if weight is None else weight[rows]
        self.n_queries = len(first)
        self.n_skipped = groups.n_groups - self.n_queries
        sizes = np.diff(self.starts)
        self.n_pairs = int(np.sum(sizes * (sizes - 1) // 2))
        u = np.ones(len(rows)) if self.weight is None else self.weight
        self.mass = np.add.reduceat(u, first)
        own = u * np.minimum(u, 1.0)  # (u^2 up to 1, u from there: u (u - 1) pairs of its own)
        self.pairs = 0.5 * (self.mass**2 - np.add.reduceat(own, first))
        self.total = finite_total(float(self.pairs.sum()))
        coefficient = np.ones(self.n_queries)
        if self.balanced:
            coefficient = 1.0 / self.pairs
        if factor is not None:
            coefficient = coefficient * (factor[self.queries] / factor.max())
        self.coefficient = coefficient
        self.whole = dot(coefficient, self.pairs)
        if not (np.isfinite(self.whole) and self.whole > 0):
            raise DataError(
                "the weights of all pairs are too small or too large to add up; use weights of a "
                "similar size."
            )


def _usable_rows(groups: Groups, weight: Floats | None, factor: Floats | None) -> tuple[Ints, Ints]:
    """Return the rows of queries with two rows that count, and the query of each.

    A single row of a weight above 1 counts as several.
    """
    rows = groups.order
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    keep = kept_rows(weight, factor, groups)
    if keep is not None:
        rows, query = rows[keep[rows]], query[keep[rows]]
    sizes = np.bincount(query, minlength=groups.n_groups)
    if (sizes == 1).any():
        several = sizes[query] > 1
        if weight is not None:
            several |= weight[rows] > 1.0
        rows, query = rows[several], query[several]
    return rows, query


# --- Where the weights of a linear or kernel ranker lie
#
# The scores of rows are linear in the weights, and a ridge ``(l2 / 2) <w, w>`` keeps them small. Of
# columns, weights are one number each. Of a kernel, they are one number per row: the ranker is
# ``f = sum_i a_i K(x_i, .)``, its scores are ``K a`` and its ridge is ``(l2 / 2) a'Ka``. A gradient
# by the scores is itself a ranker of that form, so that solvers which use nothing but the
# operations of a `Space` need neither inverse nor root of K.


#: Rows of which the kernel of every two fits into memory.
MAX_KERNEL_ROWS = 20_000
# Coefficients below this share of the largest are rounding.
_NO_SUPPORT = 1e-10
# A landmark is not taken where the others explain all but this share of the largest kernel.
_EXPLAINED = 1e-12
_PRECOMPUTED = Kernel("precomputed")


class Space:
    """Weights of columns, with an inner product and the scores that they give.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    threads : int
    """

    def __init__(self, matrix: Matrix, threads: int = 1) -> None:
        self.matrix = matrix
        self._dense = TallTable(matrix, threads) if isinstance(matrix, np.ndarray) else None

    @property
    def n_weights(self) -> int:
        """Length of a vector of weights."""
        return int(self.matrix.shape[1])

    @property
    def n_columns(self) -> int:
        """Columns that distinguish rows; 0 where nothing can be learned."""
        return self.n_weights

    def some(self, columns: Ints) -> Space:
        """Return the weights of some columns."""
        if isinstance(self.matrix, np.ndarray):
            return Space(self.matrix.take(columns, axis=1))  # (rows stay contiguous)
        return Space(self.matrix[:, columns])

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the rows."""
        return np.asarray(self.matrix @ w) if self._dense is None else self._dense.times(w)

    def back(self, by_score: Floats) -> Floats:
        """Return the gradient by the weights of a loss, given that by the scores."""
        if self._dense is not None:
            return self._dense.turned_times(by_score)
        return np.asarray(self.matrix.T @ by_score)

    def dot(self, one: Floats, other: Floats, scores: Floats) -> float:
        """Return the inner product of two vectors of weights; ``scores`` are those of the other."""
        return dot(one, other)

    def model(
        self, weights: Floats, instances: Instances, training: Summary
    ) -> AdditiveRanker | KernelRanker:
        """Return the model that these weights make."""
        raise NotImplementedError


class FeatureSpace(Space):
    """Weights of the columns of a design."""

    def __init__(self, design: Design, threads: int = 1) -> None:
        super().__init__(design.matrix, threads)
        self.design = design

    def model(self, weights: Floats, instances: Instances, training: Summary) -> AdditiveRanker:
        """Return the weighted features, without those of weight 0."""
        used = np.flatnonzero(weights)
        rankers = [self.design.rankers[j] for j in used.tolist()]
        scaled = (weights * self.design.scale)[used]
        return AdditiveRanker(instances.n_features, rankers, scaled, instances.names, training)


class KernelSpace(Space):
    """Coefficients of rows in the expansion of a kernel.

    Parameters
    ----------
    gram : array of shape (n_rows, n_rows)
        The kernel of every two rows; refused if it is not symmetric.
    rows : int array of shape (n_rows,)
        Their numbers.
    threads : int
    kernel : Kernel
    columns : tuple of Column
    table : array of shape (n_rows, n_columns), optional
        The rows as columns, of a kernel that is not precomputed.
    """

    def __init__(
        self,
        gram: Floats,
        rows: Ints,
        threads: int = 1,
        kernel: Kernel = _PRECOMPUTED,
        columns: tuple[Column, ...] = (),
        table: Floats | None = None,
    ) -> None:
        largest = float(np.abs(gram).max(initial=0.0))
        if not np.allclose(gram, gram.T, rtol=1e-6, atol=1e-8 * largest):
            raise DataError(
                f"the {kernel.name} kernel must be symmetric: K(x, z) = K(z, x).",
                parameter="kernel",
            )
        super().__init__(gram, threads)
        # What rounding can take off the squared length of coefficients of length 1.
        self._rounding = 1e-10 * len(gram) * largest
        self.gram, self.rows = gram, rows
        self._kernel, self._columns = kernel, columns
        self._table = np.zeros((len(rows), 0)) if table is None else table

    @property
    def n_columns(self) -> int:
        """Number of columns of the kernel; of rows, for a precomputed one."""
        return len(self.rows) if self._kernel.form == "precomputed" else len(self._columns)

    def back(self, by_score: Floats) -> Floats:
        """Return the gradient as a ranker, which has the same coefficients."""
        return by_score

    def dot(self, one: Floats, other: Floats, scores: Floats) -> float:
        """Return the inner product of two rankers, ``a'Kb``."""
        value = dot(one, scores)
        if one is other and value < -self._rounding * dot(one, one):
            raise DataError(
                "the kernel is not positive semidefinite: a function of it has the squared length "
                f"{value:.3g}.",
                remedy="Use another kernel, or add a constant to its diagonal.",
                parameter="kernel",
            )
        return value

    def model(self, weights: Floats, instances: Instances, training: Summary) -> KernelRanker:
        """Return the rows with a coefficient other than 0."""
        kept = np.flatnonzero(np.abs(weights) > _NO_SUPPORT * np.abs(weights).max(initial=0.0))
        return KernelRanker(
            instances.n_features,
            self._kernel,
            self._columns,
            self._table[kept],
            weights[kept],
            instances.names,
            training,
            rows=self.rows[kept] if self._kernel.form == "precomputed" else None,
        )


class LandmarkSpace(Space):
    """Rows by their kernels with a few landmarks, after Nystroem.

    Landmarks are chosen one by one, each the row that those before explain worst, which is Cholesky
    factorisation with pivots (Fine & Scheinberg 2001): K is approximated by ``B B'``, and ridge and
    scores of B's columns are those of the kernel on the span of the landmarks.

    Parameters
    ----------
    kernel : Kernel
    columns : tuple of Column
    table : array of shape (n_rows, n_columns)
        The rows as columns.
    n_landmarks, threads : int
    """

    def __init__(
        self,
        kernel: Kernel,
        columns: tuple[Column, ...],
        table: Floats,
        n_landmarks: int,
        threads: int,
    ) -> None:
        n = len(table)
        left = kernel.diagonal(table)
        if not (np.isfinite(left) & (left >= 0.0)).all():
            raise DataError(
                f"the {kernel.name} kernel of a row with itself must be finite and not negative.",
                parameter="kernel",
            )
        smallest = _EXPLAINED * float(left.max(initial=0.0))
        most = min(n_landmarks, n)
        matrix = np.zeros((n, most), order="F")
        chosen: list[int] = []
        expect_products(n * most * most // 2)
        while len(chosen) < most:
            # (of rows that are explained equally badly, the first)
            pivot = int(np.argmax(left >= (1.0 - 1e-10) * left.max(initial=0.0)))
            if not left[pivot] > smallest:
                break
            k = len(chosen)
            column = kernel(table, table[pivot : pivot + 1])[:, 0]
            column = column - column_sums(matrix.T[:k], matrix[pivot, :k])
            matrix[:, k] = column / np.sqrt(left[pivot])
            left = np.maximum(left - matrix[:, k] ** 2, 0.0)
            left[pivot] = 0.0
            chosen.append(pivot)
        super().__init__(np.ascontiguousarray(matrix[:, : len(chosen)]), threads)
        self._kernel, self._columns, self._rows = kernel, columns, table[chosen]
        # The rows of B at the landmarks, lower triangular.
        self._corner = np.tril(self.matrix[chosen])

    @property
    def n_columns(self) -> int:
        """Number of columns of the kernel."""
        return len(self._columns)

    def model(self, weights: Floats, instances: Instances, training: Summary) -> KernelRanker:
        """Return the landmarks with their coefficients."""
        coefficients = np.zeros(len(weights))
        for k in reversed(range(len(weights))):
            known = dot(self._corner[k + 1 :, k], coefficients[k + 1 :])
            coefficients[k] = (weights[k] - known) / self._corner[k, k]
        return KernelRanker(
            instances.n_features,
            self._kernel,
            self._columns,
            self._rows,
            coefficients,
            instances.names,
            training,
        )


def space_of(
    instances: Instances,
    feedback: Feedback,
    kernel: Kernel,
    gamma: float | None,
    n_landmarks: int | None,
    standardise: bool,
    threads: int,
) -> FeatureSpace | KernelSpace | LandmarkSpace:
    """Return where the weights of a linear or kernel ranker lie.

    Parameters
    ----------
    instances : Instances
    feedback : Feedback
        Its rows are learned from; their weights count in means and standard deviations.
    kernel : Kernel
        Also of the form "precomputed", and without its gamma.
    gamma : float or None
        None: one over the number of columns times their mean variance.
    n_landmarks : int, optional
        Else the kernel of every two rows is computed.
    standardise : bool
    threads : int
    """
    rows, weight = feedback.rows, feedback.weight
    if kernel.form == "precomputed":
        return _precomputed(instances, rows, threads)
    if instances.is_sparse:
        scaling: Scaling = "standard" if standardise else "raw"
        design = Design.of(instances, rows, weight, scaling=scaling)
    else:
        design = dense_design(instances, rows, weight, standardise, threads)
    if kernel.form == "linear":
        return FeatureSpace(design, threads)
    columns = kernel_columns(design, "standard" if standardise else "raw")
    if not standardise and kernel.form != "rbf":  # (which sees differences of rows alone)
        columns = (*columns, *_constants(instances, rows, columns))
    table = scaled_columns(columns, instances.take_rows(rows))
    if gamma is None:
        gamma = 1.0 / max(1, len(columns))
        if not standardise and columns:
            mean = np.average(table, axis=0, weights=weight)
            variance = np.average((table - mean) ** 2, axis=0, weights=weight)
            gamma /= float(variance.mean())
    made = replace(kernel, gamma=gamma)
    if n_landmarks is not None:
        return LandmarkSpace(made, columns, table, n_landmarks, threads)
    _check_size(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        gram = made(table, table)
    if not np.isfinite(gram).all():
        raise DataError(
            f"the {made.name} kernel overflows.", remedy="Set standardise=True, or lower degree."
        )
    return KernelSpace(gram, rows, threads, made, columns, table)


def kernel_columns(design: Design, scaling: Scaling) -> tuple[Column, ...]:
    """Return the features of a design as columns of a kernel, or as inputs of a net."""
    out = []
    for ranker, scale in zip(design.rankers, design.scale.tolist(), strict=True):
        assert isinstance(ranker, ScaledFeature)
        offset = {"standard": -ranker.default * scale, "unit": 0.0, "raw": ranker.low}[scaling]
        out.append(Column(ranker, scale, offset))
    return tuple(out)


def _constants(instances: Instances, rows: Ints, columns: Sequence[Column]) -> Iterator[Column]:
    """Yield the features that are one number on all rows, which products of raw rows contain."""
    there = {one.ranker.feature for one in columns}
    for j in sorted({*range(instances.n_features)} - there):
        values = instances.column(j, rows).astype(np.float64)
        values = np.unique(values[~np.isnan(values)])
        if len(values) == 1 and values[0]:
            number = float(values[0])
            yield Column(ScaledFeature(j, min(number, 0.0), max(number, 0.0), 0.0), 0.0, number)


def _check_size(n_rows: int) -> None:
    if n_rows > MAX_KERNEL_ROWS:
        raise DataError(
            f"the kernel of every two of {n_rows:,} rows does not fit into memory; up to "
            f"{MAX_KERNEL_ROWS:,} do.",
            remedy="Set n_landmarks, such as 500, or use kernel='linear'.",
            parameter="n_landmarks",
        )


def _precomputed(instances: Instances, rows: Ints, threads: int) -> KernelSpace:
    """Return the rows of a kernel that was computed by the user."""
    check_kernels(instances)
    n, width = instances.n_rows, instances.n_features
    if n != width:
        raise DataError(
            "a precomputed kernel must be a square matrix, the kernel of every two rows. Got an "
            f"array of shape {(n, width)}.",
            parameter="X",
        )
    _check_size(len(rows))
    gram = np.asarray(instances.dense_table()[np.ix_(rows, rows)], np.float64)
    return KernelSpace(gram, rows, threads)

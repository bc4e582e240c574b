"""Weak learners that fit values by least squares: lines and stumps of one feature."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
from msgspec.structs import replace
from scipy.sparse import diags_array

from crucial.boosting.loop import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.stumps import (
    StumpGrid,
    first_best,
    slopes_by_rows,
    sparse_row_sums,
    worst_tied,
)
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.feedback.base import Potentials
from crucial.kernels.elementary import matrix_product, row_sums
from crucial.kernels.runtime import is_small, run_all
from crucial.kernels.stumps import SparseSums, StumpSums
from crucial.kernels.sums import exact_dot, exact_sum, to_fixed, unit_for
from crucial.model.weak import Affine, Presence, ScaledFeature, Stump, WeakRankerLike
from crucial.types import Floats, Ints, Reals

# --- Means inside queries, for losses in which every query has an intercept of its own


# Sums of weights that agree so far are equal.
_SAME = 1e-12


class QueryMeans:
    """Weighted means inside queries, of rows that lie query after query.

    Parameters
    ----------
    mass : array over the rows
        Weights, above 0.
    starts : int array of shape (n_queries + 1,)
        First row of every query.
    """

    def __init__(self, mass: Floats, starts: Ints) -> None:
        self.mass, self._starts = mass, starts
        self._sizes = np.diff(starts)
        self.whole = float(mass.sum())
        self._of_query = np.add.reduceat(mass, starts[:-1])

    @property
    def single(self) -> bool:
        """Whether all rows are of one query."""
        return len(self._sizes) == 1

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values over every query."""
        if self.single:
            return np.array([values.sum()])
        return np.asarray(np.add.reduceat(values, self._starts[:-1]))

    def means(self, values: Floats) -> Floats:
        """Return the weighted mean of every query."""
        return self.sums(self.mass * values) / self._of_query

    def spread(self, per_query: Floats) -> Floats:
        """Return, for every row, the number of its query."""
        return np.repeat(per_query, self._sizes)

    def centred(self, values: Floats) -> Floats:
        """Return values less the mean of their query."""
        return values - self.spread(self.means(values))

    def balanced(self, sums: Floats) -> Floats:
        """Return values times mass, less the mean of their query times mass: it sums to 0.

        Parameters
        ----------
        sums : array over the rows
            Values, times mass already.
        """
        return sums - self.mass * self.spread(self.sums(sums) / self._of_query)

    def medians(self, values: Floats) -> Floats:
        """Return the weighted median of every query, half-way where two values share it."""
        out = np.empty(len(self._sizes))
        for q, (begin, end) in enumerate(pairwise(self._starts.tolist())):
            order = begin + np.argsort(values[begin:end], kind="stable")
            running = np.cumsum(self.mass[order])
            half = running[-1] / 2.0
            at = int(np.searchsorted(running, half * (1.0 - _SAME)))
            after = min(at + 1, len(order) - 1) if running[at] <= half * (1.0 + _SAME) else at
            out[q] = (values[order[at]] + values[order[after]]) / 2.0
        return out


# --- Features as columns for least squares, each scaled to [0, 1] by its range in training


# Rows of a dense table that are looked at together: they stay in the cache.
_BLOCK = 512
# A feature whose values lie further from 0 than this many ranges is shifted before it is summed.
_FAR = 1e4
# A share of the squares of a feature that is treated as zero.
_ROUNDING = 1e-24
# A range below this is taken for a constant: one over it may be infinite.
_NARROW = 1e-300
# Sums over values above this may overflow: they are scaled first.
_HUGE = 1e100


class UnitColumns:
    """The features that vary, as columns of numbers in [0, 1].

    A feature that abstains counts as its mean. The table itself is not copied if it is a dense one
    of float64 without NaN, stored row by row, of which all rows are learned from, or a sparse one:
    its columns then differ from those in [0, 1] by a factor and a shift, which no sum against
    numbers that sum to 0 sees.

    Parameters
    ----------
    training : TrainingRows
    means : QueryMeans
        Over the training rows.

    Attributes
    ----------
    rankers : list of ScaledFeature
        The columns as weak rankers.
    mean : array over the columns
        Weighted mean of all rows.
    norm : array over the columns
        Weighted sum of squares about the means of the queries.
    """

    def __init__(self, training: TrainingRows, means: QueryMeans) -> None:
        self._instances, self._rows, self._means = training.instances, training.rows, means
        # (a row that is not learned from may have NaN, which times 0 is not 0)
        self._whole = len(self._rows) == self._instances.n_rows
        found = _shape_of(training.instances, training.rows, means)
        low, high, mean, norm, missing = found
        with np.errstate(over="ignore"):
            unit = np.where(np.isfinite(high - low), 1.0, 0.5)
        width = high * unit - low * unit
        varies = np.flatnonzero((width > _NARROW) & (norm > 0.0))
        self._features, self.mean, self.norm = varies, mean[varies], norm[varies]
        self.rankers = [
            ScaledFeature(j, float(low[j]), float(high[j]), min(1.0, max(0.0, float(mean[j]))))
            for j in varies.tolist()
        ]
        self._factor = unit[varies] / width[varies]
        self._table: Any = None
        largest = np.maximum(np.abs(low), np.abs(high))[varies]
        huge = bool((largest > _HUGE).any())
        far = huge or bool((largest * self._factor > _FAR).any() or missing[varies].any())
        if self._instances.is_sparse:
            self._table = _without_nan(self._instances.table, low, high, mean)[:, varies]
            if huge:
                self._table = self._table.astype(np.float64) @ diags_array(self._factor)
                self._factor = np.ones(len(varies))
        elif self._whole and self._instances.table.dtype == np.float64 and not far:
            self._table = np.ascontiguousarray(self._instances.table)
        else:
            self._own = np.empty((len(self.rankers), len(self._rows)))
            for at in range(len(self.rankers)):
                self._own[at] = self._scaled(at)

    def __len__(self) -> int:
        return len(self.rankers)

    def _scaled(self, at: int) -> Floats:
        ranker = self.rankers[at]
        values = self._instances.column(ranker.feature, self._rows)
        return replace(ranker, feature=0).scores(values[:, None])

    def column(self, at: int) -> Floats:
        """Return a column: the scores of its weak ranker on the training rows."""
        return self._scaled(at) if self._table is not None else self._own[at]

    def dots(self, values: Floats) -> Floats:
        """Return the sum of values times each column.

        Parameters
        ----------
        values : array over the training rows
            Every query sums to 0.
        """
        if self._table is None:
            return row_sums(self._own, values)
        full = np.zeros(self._instances.n_rows)
        full[self._rows] = values
        return self._products(full)

    def _products(self, values: Floats) -> Floats:
        """Return the same for values over the rows of the table."""
        if self._instances.is_sparse:
            return np.asarray(self._table.T @ values) * self._factor
        return _column_sums(values, self._table)[self._features] * self._factor

    def products(self, at: int) -> Floats:
        """Return the weighted products of all columns with one, about the means of the queries."""
        means = self._means
        if self._table is None or self._instances.is_sparse or not means.single:
            return self.dots(means.mass * means.centred(self.column(at)))
        # The column as it lies in the table, which saves to sort it.
        column = self._table[:, self._features[at]]
        mass = np.empty(len(column))
        mass[self._rows] = means.mass
        centred = mass * (column - float((mass * column).sum()) / means.whole)
        return self._products(centred) * float(self._factor[at])


def _column_sums(weights: Floats, table: Floats) -> Floats:
    return np.asarray(matrix_product(weights[None, :], table)[0])


def _shape_of(
    instances: Instances, rows: Ints, means: QueryMeans
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return lowest and highest value, mean and norm in [0, 1], and abstentions per feature."""
    if not instances.is_sparse and instances.table.dtype == np.float64 and means.single:
        found = _shape_of_table(instances.table, rows, means)
        if found is not None:
            return found
    shape = [
        _shape_of_column(instances.column(j, rows), means) for j in range(instances.n_features)
    ]
    low, high, mean, norm, missing = np.array(shape).T
    return low, high, mean, norm, missing


def _shape_of_column(raw: Reals, means: QueryMeans) -> tuple[float, float, float, float, float]:
    values = raw.astype(np.float64)
    absent = np.isnan(values)
    if absent.all():
        return np.nan, np.nan, 0.0, 0.0, 1.0
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not low < high:
        return low, high, 0.0, 0.0, float(absent.any())
    scaled = ScaledFeature(0, low, high, 0.0).scores(values[:, None])
    there = np.where(absent, 0.0, means.mass)
    mean = float((there * scaled).sum() / there.sum())
    scaled[absent] = mean
    norm = float((means.mass * means.centred(scaled) ** 2).sum())
    # (rounding leaves a little of a feature that is constant inside every query)
    known = norm if norm > _ROUNDING * means.whole else 0.0
    return low, high, mean, known, float(absent.any())


def _shape_of_table(
    table: Floats, rows: Ints, means: QueryMeans
) -> tuple[Floats, Floats, Floats, Floats, Floats] | None:
    """Return the same for one query and a dense table, block by block.

    None where a value is not finite, or a sum of values would not be.
    """
    mass = np.zeros(len(table))
    mass[rows] = means.mass
    order = None if len(rows) == len(table) else np.sort(rows)
    blocks = [slice(b, b + _BLOCK) for b in range(0, len(rows), _BLOCK)]
    cuts = blocks if order is None else [order[b] for b in blocks]

    with np.errstate(over="ignore", invalid="ignore"):
        low = np.min([table[at].min(axis=0) for at in cuts], axis=0)
        high = np.max([table[at].max(axis=0) for at in cuts], axis=0)
        width = high - low
        if not np.isfinite(width).all():
            return None
        mean = low + sum(_column_sums(mass[at], table[at] - low) for at in cuts) / means.whole
        norm = sum(_column_sums(mass[at], (table[at] - mean) ** 2) for at in cuts)
        divide = np.where(width > 0, width, 1.0)
        scaled = ((mean - low) / divide, norm / divide / divide)
    if not np.isfinite(scaled).all():
        return None
    known = np.where(scaled[1] > _ROUNDING * means.whole, scaled[1], 0.0)
    return low, high, scaled[0], known, np.zeros(len(low))


def _without_nan(table: Any, low: Floats, high: Floats, mean: Floats) -> Any:
    """Return a sparse table with the mean of its feature in place of what is not finite."""
    absent = np.flatnonzero(~np.isfinite(table.data))
    if not len(absent):
        return table
    table = table.astype(np.float64)  # (a copy)
    column = np.searchsorted(table.indptr, absent, side="right") - 1
    table.data[absent] = low[column] + mean[column] * (high[column] - low[column])
    return table


# --- Least squares by one feature: the weak learner of component-wise boosting


# Losses are compared by their quotient; with this added, one of 0 is no exception.
_FLOOR = 1e-5


class _FittedPairs(Protocol):
    """A state whose values can be fitted; see `crucial.rankers.regression_boosting`."""

    @property
    def means(self) -> QueryMeans: ...

    @property
    def scores(self) -> Floats: ...

    @property
    def offset(self) -> float: ...

    def risk_of(self, scores: Floats) -> float: ...


def fitted_line(columns: UnitColumns, at: int, slope: float, mean: float) -> Affine:
    """Return the line over a feature with this slope and this mean over the training rows."""
    return Affine(columns.rankers[at], mean - slope * float(columns.mean[at]), slope)


class LineLearner(WeakLearner):
    """The feature whose line ``a + b x`` fits the potentials best, by least squares.

    Parameters
    ----------
    means : QueryMeans
        Over the training rows; every query has an intercept.
    select : {"squares", "updated", "simple"}
        Which feature: the one with the least squares; or the one with the least loss over pairs,
        either of the scores after the round or of its own fit alone.
    l2 : float
        Ridge ``(l2 / 2) |w|^2`` on the summed weights of the features.
    standardise : bool
        Whether these weights belong to features of standard deviation 1, or of range 1.

    Attributes
    ----------
    columns : UnitColumns
    """

    def __init__(
        self,
        means: QueryMeans,
        select: str = "squares",
        *,
        l2: float = 0.0,
        standardise: bool = True,
    ) -> None:
        self._means, self._select, self._l2, self._standardise = means, select, l2, standardise
        self.needs = ("means", "offset") if select == "squares" else ("means", "offset", "risk_of")

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Measure the features."""
        self.columns = UnitColumns(training, self._means)
        self._rate = constraints.rate
        # (threads cost more than they save where a loss takes microseconds)
        small = is_small(len(training.rows), len(self.columns))
        self._threads = 1 if small else training.threads
        self._weight = np.zeros(len(self.columns))
        unit = self.columns.norm / self._means.whole if self._standardise else 1.0
        self._ridge: Floats = self._l2 * self._means.whole * unit * np.ones(len(self.columns))
        self._begun = False
        self._slot = {ranker: at for at, ranker in enumerate(self.columns.rankers)}
        return None

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the line of the best feature; None if all are flat."""
        if not len(self.columns):
            return None
        state = cast(_FittedPairs, potentials.pairs)
        sums = potentials.pi[: len(self._means.mass)]
        pull = self.columns.dots(self._means.balanced(sums)) - self._ridge * self._weight
        norm = self.columns.norm + self._ridge
        slope = pull / norm
        mass = self._means.mass
        squares = float(np.divide(sums**2, mass, out=np.zeros(len(mass)), where=mass > 0.0).sum())
        if not squares > 0.0:
            return None
        criterion = np.abs(pull) / np.sqrt(norm * squares)
        if self._select != "squares":
            criterion = self._by_loss(state, slope, criterion)
        at = first_best(criterion, slope)
        if at is None:
            return None
        mean = float(sums.sum()) / self._means.whole
        if not self._begun:  # (the offset goes into the first round, whatever its weight)
            mean += state.offset / self._rate
        line = fitted_line(self.columns, at, float(slope[at]), mean)
        output = line.intercept + line.slope * self.columns.column(at)
        return Candidate(line, output, float(slope[at]), slot=at)

    def _by_loss(self, state: _FittedPairs, slope: Floats, criterion: Floats) -> Floats:
        """Return the least loss over that of each line that is not flat."""
        tried = np.flatnonzero(criterion > 1e-13).tolist()

        def risk(at: int) -> float:
            fit = slope[at] * self.columns.column(at)
            after = state.scores + self._rate * fit if self._select == "updated" else fit
            return state.risk_of(after)

        out = np.zeros(len(slope))
        losses = np.array(run_all(self._threads, [partial(risk, at) for at in tried])) + _FLOOR
        least = float(losses.min(initial=np.inf))
        # (where all are infinite, none is better than another)
        out[tried] = least / losses if np.isfinite(least) else 1.0
        return out

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the feature."""
        assert isinstance(candidate.ranker, Affine)
        assert isinstance(candidate.ranker.ranker, ScaledFeature)
        self._begun = True
        at = self._slot[candidate.ranker.ranker]
        self._weight[at] += alpha * candidate.ranker.slope


# --- Stumps with a value on each side, by weighted least squares


# A share of all weight that is treated as zero.
_LIGHT = 1e-14
# Sums over entries and over rows differ by less than this share of the best.
_ERROR_ROUNDING = 1e-12


class _Curved(Protocol):
    """What the learner asks a state beyond potentials."""

    @property
    def curvature(self) -> Floats: ...


class RegressionStumps(WeakLearner):
    """The stump with the least weighted squares of the working responses.

    With g the sum of ``w z`` and h that of ``w`` on a side, its value is ``g / h``, and the stump
    explains ``g^2 / h`` of the squares there. Abstentions take the better side. One scan of all
    features sums up both.

    Parameters
    ----------
    default_rank : {"learned", 0, 1}
        The side of abstentions: the better one, or always the same.
    max_bins : int or None
        Bins per feature; None for one per distinct value.
    """

    needs = ("curvature",)

    def __init__(self, default_rank: str | int = "learned", max_bins: int | None = 255) -> None:
        self.default_rank, self.max_bins = default_rank, max_bins

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = training.binned(self.max_bins, sparse=True)
        bins, self._grid = self.bins, StumpGrid(self.bins, self.default_rank)
        self._sparse: SparseSums | None = None
        self._features = np.arange(len(bins.features))
        self._peak = np.zeros(len(bins.features))
        if bins.sparse is not None:
            stumps = (bins.first, bins.has_missing, self._grid.fixed, training.threads)
            self._sparse = SparseSums(bins.sparse.entries, bins.sparse.n_padded, *stumps)
            return bins
        self._offered = self._grid.offered()
        # Candidates in the order of the tie rule: feature, threshold, side of abstentions.
        self._at = np.argwhere(self._offered.T)
        self._sums = StumpSums(
            bins.codes,
            bins.n_rows,
            bins.first,
            bins.has_missing,
            self._grid.fixed,
            False,
            training.threads,
        )
        self._above, self._mass = np.zeros((2, 2, int(bins.first[-1])))
        return bins

    def _sides(
        self, potentials: tuple[Ints, float], curvature: tuple[Ints, float], light: float
    ) -> tuple[Ints, Ints, Floats, Floats]:
        """Return position, side of abstentions, g and h of the ones of every stump.

        Of sparse features only those with a stump that ties with the best.
        """
        if self._sparse is None:
            for values, out in ((potentials, self._above), (curvature, self._mass)):
                self._sums.scan(self._features, *values, out, self._peak)
            position, side = self._at.T
            return position, side, self._above[side, position], self._mass[side, position]
        self._sparse.fits(self._features, potentials, curvature, light, self._peak)
        best = float(self._peak.max(initial=0.0))
        # (every sum of squares contains what one value for all rows explains)
        close = np.flatnonzero(self._peak >= worst_tied(best) * (1.0 - _ERROR_ROUNDING))
        parts = []
        for f in close.tolist():
            k, side = np.argwhere(self._grid.offered_of(f).T).T
            _, sums = sparse_row_sums(self._grid, f)
            g, h = (slopes_by_rows(sums, *values)[side, k] for values in (potentials, curvature))
            parts.append((k + self._grid.first[f], side, g, h))
        position, side, g, h = (np.concatenate(column) for column in zip(*parts, strict=True))
        return position, side, g, h

    def _sizes(self, potentials: Potentials) -> tuple[float, float]:
        """Return the sum of the weighted squares of working responses, and of the weights."""
        curvature = cast(_Curved, potentials.pairs).curvature[: self.bins.n_rows]
        there = curvature > 0.0
        pi = potentials.pi[: self.bins.n_rows]
        return exact_sum(pi[there] ** 2 / curvature[there]), exact_sum(curvature)

    def _added(
        self, potentials: Potentials, unit: float
    ) -> tuple[float, float, tuple[Ints, Ints, Floats, Floats]]:
        """Return g and h of all rows, and those of every stump; h in whole numbers of a unit."""
        bent = to_fixed(cast(_Curved, potentials.pairs).curvature, unit)
        whole_g, whole_h = int(potentials.fixed.sum()) * potentials.unit, int(bent.sum()) * unit
        response = (potentials.fixed, potentials.unit)
        return whole_g, whole_h, self._sides(response, (bent, unit), _LIGHT * whole_h)

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none explains anything."""
        if not len(self._features):
            return None
        squares, curvature = self._sizes(potentials)
        if not squares > 0.0:
            return None
        unit = unit_for(curvature)
        whole_g, whole_h, (position, side, g, h) = self._added(potentials, unit)
        # (a side without weight, as rounding leaves it, has no value)
        seen = (h > _LIGHT * whole_h) & (whole_h - h > _LIGHT * whole_h)
        high = np.divide(g, h, out=np.zeros_like(g), where=seen)
        low = np.divide(whole_g - g, whole_h - h, out=np.zeros_like(g), where=seen)
        explained = np.where(seen, (g * high + (whole_g - g) * low) / squares, 0.0)
        # (which way a stump goes whose sides are equal is up to rounding)
        rise = np.where(np.abs(high - low) > _SAME * (np.abs(high) + np.abs(low)), high - low, 0.0)
        best = first_best(explained, rise)
        if best is None:
            return None
        ranker = self._grid.ranker(int(position[best]), int(side[best]))
        jump = float(high[best] - low[best])
        return self._candidate(Affine(ranker, float(low[best]), jump), potentials)

    def _candidate(self, line: Affine, potentials: Potentials) -> Candidate:
        assert isinstance(line.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(line.ranker))
        output = line.intercept + line.slope * ones.astype(np.float64)
        pi = potentials.pi[: self.bins.n_rows]
        return Candidate(line, output, potentials.scale * exact_dot(output, pi))

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a ranker of an earlier call was."""
        assert isinstance(ranker, Affine)
        assert isinstance(ranker.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(ranker.ranker))
        output = ranker.intercept + ranker.slope * ones
        return Candidate(ranker, output, slope)

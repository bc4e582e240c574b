"""Boosting by least squares: component-wise boosting of linear rankers, and LogitBoost."""

from __future__ import annotations

import dataclasses
import math
import time
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
from msgspec.structs import replace
from scipy.sparse import diags_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import (
    Candidate,
    Constraints,
    Ensemble,
    Objective,
    Round,
    StepRule,
    Trace,
    TrainingRows,
    Watch,
    WeakLearner,
)
from crucial.boosting.steps import FixedStep
from crucial.boosting.stumps import (
    StumpGrid,
    first_best,
    slopes_by_rows,
    sparse_row_sums,
    worst_tied,
)
from crucial.boosting.trees import CurvedState
from crucial.data.arrays import check_values
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Feedback, LabelledRows, Output, Potentials, draw_share, padded
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import (
    column_sums,
    dot,
    exact_dot,
    exact_sum,
    exp,
    log,
    log1p,
    logaddexp,
    matrix_product,
    row_sums,
    to_fixed,
    unit_for,
)
from crucial.kernels.pairs import SurrogateSums
from crucial.kernels.runtime import is_small, run_all
from crucial.kernels.stumps import SparseSums, StumpSums
from crucial.measures.names import Measures
from crucial.model.weak import Affine, Presence, ScaledFeature, Stump, WeakRankerLike
from crucial.parameters import (
    above,
    between,
    fixed,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import EvalRows, RankingInput, warn_caller
from crucial.rankers.classifiers import ClassSums, check_one_list_of_two, probabilities
from crucial.rankers.linear.estimators import check_two_labels
from crucial.rankers.rankboost import TREES, Algorithm, BoostedRanker, ClassRanker
from crucial.rankers.resampling import LoopInput
from crucial.types import Bools, Floats, Ints, Reals, TableLike

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
_SHIFTED = 1e4
# A share of the squares of a feature that is treated as zero.
_FLAT = 1e-24
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
        self._made: dict[int, Floats] = {}  # products with a column, once they are asked for
        largest = np.maximum(np.abs(low), np.abs(high))[varies]
        huge = bool((largest > _HUGE).any())
        far = huge or bool((largest * self._factor > _SHIFTED).any() or missing[varies].any())
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
        """Return the sum of values over the rows of the table times each column."""
        if self._instances.is_sparse:
            return np.asarray(self._table.T @ values) * self._factor
        return column_sums(self._table, values)[self._features] * self._factor

    def products(self, at: int) -> Floats:
        """Return the weighted products of all columns with one, about the means of the queries."""
        if at not in self._made:
            self._made[at] = self._make_products(at)
        return self._made[at]

    def _make_products(self, at: int) -> Floats:
        means = self._means
        if self._table is None or self._instances.is_sparse or not means.single:
            return self.dots(means.mass * means.centred(self.column(at)))
        # The column as it lies in the table, which saves to sort it.
        column = self._table[:, self._features[at]]
        mass = np.empty(len(column))
        mass[self._rows] = means.mass
        centred = mass * (column - float((mass * column).sum()) / means.whole)
        return self._products(centred) * float(self._factor[at])


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
    known = norm if norm > _FLAT * means.whole else 0.0
    return low, high, mean, known, float(absent.any())


def _shape_of_table(
    table: Floats, rows: Ints, means: QueryMeans
) -> tuple[Floats, Floats, Floats, Floats, Floats] | None:
    """Return the ranges, means and norms of columns for one query and a dense table.

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
        mean = low + sum(column_sums(table[at] - low, mass[at]) for at in cuts) / means.whole
        norm = sum(column_sums((table[at] - mean) ** 2, mass[at]) for at in cuts)
        divide = np.where(width > 0, width, 1.0)
        scaled = ((mean - low) / divide, norm / divide / divide)
    if not np.isfinite(scaled).all():
        return None
    known = np.where(scaled[1] > _FLAT * means.whole, scaled[1], 0.0)
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

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> None:
        """Compute the unit columns of all features and their ridges."""
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

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the line of the best feature; None if all are flat."""
        if not len(self.columns):
            return None
        state = cast(FittedState, potentials.pairs)
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
            criterion = self._by_loss(cast(SurrogateState, state), slope, criterion)
        at = first_best(criterion, slope)
        if at is None:
            return None
        mean = float(sums.sum()) / self._means.whole
        if not self._begun:  # (the offset goes into the first round, whatever its weight)
            mean += state.offset / self._rate
        line = fitted_line(self.columns, at, float(slope[at]), mean)
        output = line.intercept + line.slope * self.columns.column(at)
        return Candidate(line, output, float(slope[at]), slot=at)

    def _by_loss(self, state: SurrogateState, slope: Floats, criterion: Floats) -> Floats:
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
            entries = (bins.sparse.entries, bins.sparse.n_padded)
            self._sparse = SparseSums(*entries, self._grid.stumps, training.threads)
            return bins
        self._offered = self._grid.offered()
        # Candidates in the order of the tie rule: feature, threshold, side of abstentions.
        self._at = np.argwhere(self._offered.T)
        table = (bins.codes, bins.n_rows, self._grid.stumps)
        self._sums = StumpSums(*table, False, training.threads)
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

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none explains anything."""
        if not len(self._features):
            return None
        n, curvature = self.bins.n_rows, cast(CurvedState, potentials.pairs).curvature
        there = np.flatnonzero(curvature[:n] > 0.0)
        # (the sum of the weighted squares of working responses)
        squares = exact_sum(potentials.pi[there] ** 2 / curvature[there])
        if not squares > 0.0:
            return None
        unit = unit_for(exact_sum(curvature[:n]))
        bent = to_fixed(curvature, unit)
        whole_g, whole_h = int(potentials.fixed.sum()) * potentials.unit, int(bent.sum()) * unit
        response = (potentials.fixed, potentials.unit)
        position, side, g, h = self._sides(response, (bent, unit), _LIGHT * whole_h)
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
        found = self.restore(Affine(ranker, float(low[best]), jump), 0.0)
        slope = potentials.scale * exact_dot(found.output, potentials.pi[: self.bins.n_rows])
        return dataclasses.replace(found, slope=slope)

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a ranker of an earlier call was."""
        assert isinstance(ranker, Affine)
        assert isinstance(ranker.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(ranker.ranker))
        return Candidate(ranker, ranker.intercept + ranker.slope * ones.astype(np.float64), slope)


# --- Losses for boosting by least squares: of scores against labels, and surrogates over pairs
#
# Boosting by gradients in function space (Friedman 2001; Werner 2019, algorithm 1) begins with an
# offset, fits minus the gradient U of the loss by a weak ranker with an intercept, and adds a share
# of the fit. Here every query has its own offset and intercepts, which no comparison sees; with one
# query, they are those of the papers.


# Scores beyond this have diverged.
_FAR = 1e12
_TINY = 5e-324
# A share of the range of the labels below which a residual is treated as zero.
_ROUNDING = 1e-12


def log_of(loss: float) -> float:
    """Return the logarithm of a loss; of the smallest number above 0 where the loss is 0."""
    return log(max(loss, _TINY)) if loss < math.inf else loss


def logit_loss(sign: Floats, scores: Floats) -> Floats:
    """Return ``log2(1 + e^(-2 Y s))`` of every row, for Y = -1 or 1.

    Examples
    --------
    >>> logit_loss(np.array([1.0, -1.0]), np.array([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    return logaddexp(0.0, -2.0 * sign * scores) / log(2.0)


def labelled_rows(feedback: Feedback, owner: str) -> LabelledRows:
    """Return the rows by label; refuse feedback that has none."""
    rows = feedback.labelled()
    if rows is None:
        raise DataError(
            f"{owner} learns from labels, one number per row. For explicit pairs use RankBoost or "
            "RankBoostPlus."
        )
    return rows


def query_means(rows: LabelledRows, by_query: bool) -> QueryMeans:
    """Return the means of queries by instance weights, and weights of queries if ``by_query``."""
    layout = rows.layout
    mass = np.ones(len(layout.rows)) if rows.weight is None else rows.weight
    if by_query:
        mass = mass * rows.coefficient[layout.query_of_row()]
    return QueryMeans(mass, layout.row_start)


class FittedState:
    """Base of the `ScoreState` of losses that are fitted by least squares.

    A round moves the scores of a query by the fit of U with an intercept: whatever the mean of the
    weak ranker there is, that of the fit is the mean of U.

    Parameters
    ----------
    feedback : Feedback
    means : QueryMeans
        Over its rows.

    Attributes
    ----------
    offset : float
        Mean of the offsets of the queries.
    risk : float
        Mean loss at the scores that potentials were last asked for.
    """

    offset = 0.0
    risk = math.nan

    def __init__(self, feedback: Feedback, means: QueryMeans) -> None:
        self._feedback, self.means = feedback, means
        self.scores = np.zeros(len(feedback.rows))
        self._start = 1.0
        self._drift = np.zeros(0)  # mean of U in every query

    def _begin(self, offset: Floats) -> None:
        """Set the offset of every query; the loss there is the unit of the trace."""
        self.scores = self.means.spread(offset)
        self.offset = self._mean(self.scores)
        self._start = max(self._evaluate()[1], _TINY)

    def _evaluate(self) -> tuple[Floats, float]:
        """Return U and the mean loss at the current scores."""
        raise NotImplementedError

    def _mean(self, values: Floats) -> float:
        """Return the weighted mean over all rows."""
        return float((self.means.mass * values).sum()) / self.means.whole

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write U times the weight of its row; an infinite logarithm says that scores diverge."""
        with np.errstate(over="ignore", invalid="ignore"):
            gradient, self.risk = self._evaluate()
            pi[: len(gradient)] = self.means.mass * gradient
            self._drift = self.means.means(gradient)
            finite = bool(np.isfinite(gradient).all()) and bool(np.abs(self.scores).max() <= _FAR)
            return 1.0, log_of(self.risk / self._start) if finite else math.inf

    def advance(self, output: Output, alpha: float) -> None:
        """Move the scores by alpha times the output, with the mean of U in every query."""
        self.scores += alpha * (self.means.centred(output) + self.means.spread(self._drift))

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self._feedback.risks_at(self.scores)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Refuse: all rows count in every round."""
        raise NotImplementedError


_OF_ROWS = ("l2", "l1", "binomial")
_OF_PAIRS = ("exp", "hinge", "piecewise")


class FittedLoss(Objective):
    """The weighted mean of a loss over rows or pairs, which goes into the trace as ``risk``.

    Parameters
    ----------
    loss : {"l2", "l1", "binomial", "exp", "hinge", "piecewise"}
        Of rows: ``(y - s)^2``, ``|y - s|``, or ``log2(1 + e^(-2 Y s))`` with Y = 1 for the higher
        of the two labels of a query and -1 for the other. Of pairs: a function of
        ``z = (y_i - y_j) (s_i - s_j)``, see `crucial.kernels.pairs.SurrogateSums`.
    owner : str
        The estimator, for messages.
    width : float
        Of the piecewise linear one.
    """

    def __init__(self, loss: str, owner: str, width: float = 0.5) -> None:
        self._loss, self._owner, self._width = loss, owner, width

    def begin(self, feedback: Feedback, threads: int) -> FittedState:
        """Return the state at the offset."""
        rows = labelled_rows(feedback, self._owner)
        layout = rows.layout
        if self._loss in _OF_PAIRS:
            sides = (layout, layout.values, rows.weight, rows.coefficient)
            return SurrogateState(feedback, rows, SurrogateSums(self._loss, self._width, *sides))
        means = query_means(rows, by_query=True)
        if self._loss == "binomial":
            return _Binomial(feedback, means, layout.level_of_row() == 1)
        return _Absolute(feedback, means, rows.labels)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the mean loss for the trace."""
        return {"risk": cast(FittedState, potentials.pairs).risk}


class _Absolute(FittedState):
    """The absolute residuals: U is their sign, the offset the median of the labels."""

    def __init__(self, feedback: Feedback, means: QueryMeans, labels: Floats) -> None:
        super().__init__(feedback, means)
        self._labels = labels
        self._rounding = _ROUNDING * float(np.ptp(labels))
        self._begin(means.medians(labels))

    def _evaluate(self) -> tuple[Floats, float]:
        residual = self._labels - self.scores
        # (what rounding leaves of 0 has no sign)
        residual[np.abs(residual) <= self._rounding] = 0.0
        return np.sign(residual), self._mean(np.abs(residual))


class _Binomial(FittedState):
    """The logistic loss in bits: U is ``(2 / ln 2) (y - p)``, the offset half the log odds."""

    def __init__(self, feedback: Feedback, means: QueryMeans, good: Bools) -> None:
        super().__init__(feedback, means)
        self._sign = np.where(good, 1.0, -1.0)
        share = means.means(good.astype(np.float64))
        self._begin(0.5 * (log(share) - log1p(-share)))

    def _evaluate(self) -> tuple[Floats, float]:
        wrong = exp(-logaddexp(0.0, 2.0 * self._sign * self.scores))  # |y - p|
        gradient: Floats = 2.0 / log(2.0) * self._sign * wrong
        return gradient, self._mean(logit_loss(self._sign, self.scores))


class SurrogateState(FittedState):
    """A surrogate of the hard loss over pairs; the first round fits the labels themselves.

    U of a row is half the derivative of the mean loss by its score, times the number of rows: for
    labels that all differ, the mean over the other rows (Werner 2019, section 4).
    """

    def __init__(self, feedback: Feedback, rows: LabelledRows, sums: SurrogateSums) -> None:
        super().__init__(feedback, query_means(rows, by_query=False))
        self._sums, self._labels = sums, rows.labels
        self._pairs = exp(rows.log_total)
        self._first = True

    def risk_of(self, scores: Floats) -> float:
        """Return the mean loss at other scores; infinite where it overflows."""
        found = self._sums.loss(scores) / self._pairs
        return found if found < math.inf else math.inf

    def _evaluate(self) -> tuple[Floats, float]:
        if self._first:
            return self._labels, self.risk_of(self.scores)
        loss, gradient = self._sums.gradient(self.scores)
        return gradient * (self.means.whole / (2.0 * self._pairs)), loss / self._pairs

    def advance(self, output: Output, alpha: float) -> None:
        """Add the output of a weak ranker, times its weight, to the scores."""
        super().advance(output, alpha)
        self._first = False


# --- L2 boosting in the space of the features: no round looks at the rows
#
# Component-wise L2 boosting (Buehlmann & Yu 2003; Werner 2019, section 4) needs of the residuals
# only
# their products with the columns. These change by a column of the matrix of products when a feature
# gets a step, so that a round costs O(features). A column of that matrix is made when its feature
# is
# first chosen.


def boost_squares(
    run: LoopInput,
    labels: Floats,
    means: QueryMeans,
    rate: float,
    *,
    record_risks: bool,
    criterion: bool,
) -> Ensemble:
    """Fit the residuals by one feature per round, and add a share of the fit.

    Every query has its own intercept, the mean of its labels; with one query, that of the model.

    Parameters
    ----------
    run : LoopInput
        Earlier rounds are made again, which costs less than to remember them.
    labels : array over the training rows
    means : QueryMeans
    rate : float
        The share.
    criterion : bool
        Whether to record the corrected AIC and the effective number of parameters.
    """
    columns, watch = UnitColumns(run.training, means), run.watch
    residual = means.centred(labels)
    pull = columns.dots(means.mass * residual)
    start = left = float((means.mass * residual**2).sum())
    offset = float((means.mass * labels).sum()) / means.whole
    effective = EffectiveParameters(columns, len(means.means(labels)), rate)
    ensemble, pairs = Ensemble(), run.feedback.state()
    for number in range(run.rounds):
        began = time.perf_counter()
        slope = pull / columns.norm
        found = first_best(np.abs(pull) / np.sqrt(columns.norm * start), slope)
        if found is None:
            ensemble.trace.stopped = "no weak ranker helps"
            break
        gained = float(pull[found] * slope[found])
        line = fitted_line(columns, found, float(slope[found]), 0.0 if number else offset / rate)
        pull = pull - rate * slope[found] * columns.products(found)
        before, left = left, max(0.0, left - rate * (2.0 - rate) * gained)
        r1, r2 = None, None
        if record_risks:
            pairs.advance(columns.column(found), rate * line.slope)
            r1, r2 = pairs.risks()
        extras = {"risk": left / means.whole}
        if criterion:
            parameters = effective.after(found)
            aicc = corrected_aic(left / means.whole, parameters, means.whole)
            extras |= {"aicc": aicc, "parameters": parameters}
        entry = Round(
            line,
            rate,
            float(slope[found]),
            left / before if before > 0 else 0.0,
            log_of(left / start),
            r1,
            r2,
            measures={} if watch is None else watch.advance(line, rate),
            extras=extras,
            seconds=time.perf_counter() - began,
        )
        if ensemble.add(entry, run.progress, watch):
            break
    return ensemble


class EffectiveParameters:
    """Trace of the matrix that maps the labels to the fit, round by round (Buehlmann 2006).

    That matrix is ``I - (I - k P_1) (I - k P_2) ...`` with the projections on the chosen columns.
    What the product leaves of a chosen column is a combination of the chosen columns: these
    combinations are followed, and the rows are not.

    Parameters
    ----------
    columns : UnitColumns
    intercepts : int
        One per query; each is a parameter.
    rate : float
    """

    def __init__(self, columns: UnitColumns, intercepts: int, rate: float) -> None:
        self._columns, self._norm, self._rate = columns, columns.norm, rate
        self._chosen: list[int] = []  # distinct, in order
        self._path: list[int] = []  # of every round, by place in _chosen
        self._left = np.zeros((0, 0))  # column s: what is taken of every chosen column from s
        self._gram = np.zeros((0, 0))
        self._trace = float(intercepts)

    def after(self, at: int) -> float:
        """Return the trace after a round that chose a column."""
        if at not in self._chosen:
            self._admit(at)
        place = self._chosen.index(at)
        norm = self._norm[at]
        # <h_j, R h_s> of the chosen column j with what is left of every s, j itself among them
        inner = self._gram[place] - matrix_product(self._gram[place][None, :], self._left)[0]
        self._trace += self._rate * float(inner[place]) / norm
        self._left[place] += self._rate / norm * inner
        self._path.append(place)
        return self._trace

    def _admit(self, at: int) -> None:
        """Begin to follow a column: replay what all rounds have left of it."""
        self._chosen.append(at)
        chosen, n = np.array(self._chosen), len(self._chosen)
        gram = np.pad(self._gram, (0, 1))
        gram[-1, :] = gram[:, -1] = self._columns.products(at)[chosen]
        taken = np.zeros(n)
        for place in self._path:
            inner = gram[place, -1] - dot(gram[place], taken)
            taken[place] += self._rate / self._norm[self._chosen[place]] * inner
        self._gram, self._left = gram, np.pad(self._left, (0, 1))
        self._left[:, -1] = taken


def corrected_aic(mean_square: float, parameters: float, n_rows: float) -> float:
    """Return the corrected AIC of a linear smoother (Hurvich, Simonoff & Tsai 1998).

    ``ln(s2) + (1 + k / n) / (1 - (k + 2) / n)``; infinite where k is within 2 of n.

    Examples
    --------
    >>> round(corrected_aic(1.0, 2.0, 10.0), 6)
    2.0
    """
    room = 1.0 - (parameters + 2.0) / n_rows
    if room <= 0.0:
        return math.inf
    return log_of(mean_square) + (1.0 + parameters / n_rows) / room


# --- The logistic loss of two classes, by Newton's method (LogitBoost)


class LogitLoss(Objective):
    """Mean of ``log2(1 + e^(-2 Y s))``, in the working responses of Newton's method.

    With ``p = 1 / (1 + e^-2s)`` a row weighs ``w = p (1 - p)``, and ``z = (y - p) / w`` is what
    it asks for (Friedman, Hastie & Tibshirani 2000, algorithm 3).

    Parameters
    ----------
    clip : float or None
        Largest absolute z.
    """

    def __init__(self, clip: float | None = 4.0) -> None:
        self._clip = clip

    def begin(self, feedback: Feedback, threads: int) -> LogitState:
        """Return the state at scores of 0, for feedback of two labels and one query."""
        return LogitState(feedback, self._clip)


class LogitState:
    """See `crucial.feedback.base.ScoreState`.

    Attributes
    ----------
    curvature : array over the rows, padded as potentials are
        w times the weight of the row; of the scores that potentials were last asked for.
    """

    def __init__(self, feedback: Feedback, clip: float | None) -> None:
        classes = feedback.two_classes()
        assert classes is not None
        self._feedback, self._clip = feedback, clip
        n = len(feedback.rows)
        self._sign = np.where(np.arange(n) < classes.n_low, -1.0, 1.0)
        weight = np.ones(n) if feedback.weight is None else feedback.weight
        self._weight: Floats = weight / feedback.row_mass().total
        self._drawn = np.ones(n)
        self.scores = np.zeros(n)
        self.curvature = np.zeros(padded(n))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write w z of every row."""
        n = len(self.scores)
        margin = self._sign * self.scores
        right = exp(-logaddexp(0.0, -2.0 * margin))
        wrong = exp(-logaddexp(0.0, 2.0 * margin))
        counted = self._weight * self._drawn
        self.curvature[:n] = counted * right * wrong
        pi[:n] = counted * self._sign * wrong
        if self._clip is not None:
            most = self._clip * self.curvature[:n]
            np.clip(pi[:n], -most, most, out=pi[:n])
        size = exact_sum(np.abs(pi[:n]))
        loss = exact_sum(self._weight * logit_loss(self._sign, self.scores))
        return (1.0 / size if size > 0 else 1.0), log_of(loss)

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the ranking: over the pairs of a good and a bad row."""
        return self._feedback.risks_at(self.scores)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the rows of each class, at least one."""
        self._drawn = np.zeros(len(self.scores))
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self._sign == sign)
            self._drawn[draw_share(rows, fraction, random)] = 1.0


# --- Component-wise gradient boosting of linear rankers, as a scikit-learn estimator


@with_parameters
class ComponentwiseBoost(BoostedRanker):
    """Boost lines over single features: a sparse linear ranker by early stopping.

    A round fits minus the gradient of the loss by one feature with an intercept, and adds
    ``learning_rate`` times the fit (Werner 2019, algorithm 1). Coefficients add up to a linear
    model with no more features than rounds.

    Losses of rows compare a score with its label: ``l2`` the squared residual (L2 boosting,
    Buehlmann & Yu 2003; a round costs O(features), whatever the number of rows), ``l1`` the
    absolute one, ``binomial`` the logistic loss of two labels. They choose the feature with the
    least squares.

    Losses of pairs are surrogates of the hard ranking loss, of
    ``z = (y_i - y_j) (s_i - s_j)``: ``exp`` e^-z, ``hinge`` max(0, 1 - z), ``piecewise`` 1 below 0,
    falling to 0 at ``width``. They try every feature in every round, each in O(n log n + n d) for d
    different labels in a query: O(n^2) for labels that all differ.

    Attributes
    ----------
    model_ : AdditiveRanker
    coef_ : array of shape (n_features,)
        Weights of the features as they come, before the cut-off at their training range.
    intercept_ : float
    objective_ : float
        Mean loss on the training rows or pairs, of ``model_``.
    diverged_ : int or None
        The round in which the scores diverged; it is not in the model.
    trace_ : Trace
        What happened in every round: ``r`` is the slope of the fit over a feature scaled to [0, 1],
        ``risk`` the mean loss, ``loss`` the same over its value at the start; with ``aicc``, also
        the corrected AIC and the effective number of ``parameters``.

    Notes
    -----
    Every query has an intercept of its own, which no comparison sees; the model has their mean.
    Where a feature abstains it counts as its mean, and beyond its range in training as the end of
    the range. Coefficients are not held back by anything but the number of rounds: choose it by
    ``early_stopping_rounds`` or ``aicc``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import ComponentwiseBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = ComponentwiseBoost(50).fit(X, [2.0, 1.1, 0.3, 1.5, 0.2])
    >>> ranker.rank(X).tolist()
    [2, 3, 4, 1, 5]
    """

    learning_rate: float = parameter(
        text="Share of every fit that is added, in (0, 1].", default=0.1, kw_only=False
    )
    loss: str = parameter(
        one_of(*_OF_ROWS, *_OF_PAIRS),
        "What is minimised: a loss of rows or a surrogate over pairs.",
        default="l2",
        grid=("l2", "hinge"),
    )
    selection: str = parameter(
        one_of("updated", "simple"),
        "For losses of pairs, which feature to take: the one with the least loss of the scores "
        "after the round, or of its fit alone, as the review has it.",
        default="updated",
    )
    width: float = parameter(
        between(0, 1, low_open=True),
        "Of the sloping part of the piecewise loss, in (0, 1].",
        default=0.5,
    )
    expit: bool = parameter(
        flag,
        "Replace labels y by 1 / (1 + e^-y), which is in the same order and bounded.",
        default=False,
    )
    aicc: bool = parameter(
        flag,
        'For ``loss="l2"``: keep the rounds with the smallest corrected AIC (Buehlmann 2006).',
        default=False,
    )
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    on_perfect: str = fixed(default="smooth")
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)

    def _needs_two_labels(self) -> bool:
        return self.loss == "binomial"

    def _check_combinations(self) -> None:
        if self.aicc and self.loss != "l2":
            raise ParameterError(
                "ComponentwiseBoost: aicc is a criterion of least squares, for loss='l2'. Use "
                "early_stopping_rounds for other losses."
            )
        for name in ("early_stopping_rounds", "validation_folds"):
            if self.aicc and getattr(self, name) is not None:
                raise ParameterError(
                    f"ComponentwiseBoost: aicc and {name} both choose the number of rounds; set "
                    "one of them."
                )

    def _label_feedback(self, data: RankingInput) -> LabelFeedback:
        if self.expit:
            data = dataclasses.replace(data, labels=exp(-logaddexp(0.0, -data.known_labels)))
        return data.label_feedback()

    def _rows_of(self, feedback: Feedback) -> tuple[LabelledRows, QueryMeans]:
        """Return the rows by label, checked, and the means that the loss takes."""
        owner, rows = type(self).__name__, labelled_rows(feedback, type(self).__name__)
        if self.loss == "binomial":
            assert isinstance(feedback, LabelFeedback)
            remedy = "Make them two (y >= threshold), or use another loss, or RankBoost."
            check_two_labels(owner, feedback, remedy)
        else:
            check_values(rows.labels, owner)
        return rows, query_means(rows, by_query=self.loss in _OF_ROWS)

    def _parts(self, feedback: Feedback) -> Algorithm:
        _, means = self._rows_of(feedback)
        learner = LineLearner(means, self.selection if self.loss in _OF_PAIRS else "squares")
        return FittedLoss(self.loss, type(self).__name__, self.width), learner, FixedStep()

    def _boost(self, run: LoopInput) -> Ensemble:
        if self.loss != "l2":
            return super()._boost(run)
        rows, means = self._rows_of(run.feedback)
        recorded = {"record_risks": self.record_risks, "criterion": self.aicc}
        return boost_squares(run, rows.labels, means, self.learning_rate, **recorded)

    def _best_round(self, trace: Trace, watch: Watch | None) -> int:
        if not self.aicc or not len(trace):
            return super()._best_round(trace, watch)
        return int(np.argmin(trace.column("aicc"))) + 1

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        trace, best = ensemble.trace, self.best_round_
        self.objective_ = trace[best - 1].extras["risk"] if best else math.nan
        self.coef_ = np.zeros(instances.n_features)
        self.intercept_ = self.model_.intercept
        for ranker, weight in self.model_.weighted():
            assert isinstance(ranker, ScaledFeature)
            slope = weight * ranker.unit / (ranker.high * ranker.unit - ranker.low * ranker.unit)
            self.coef_[ranker.feature] += slope
            self.intercept_ -= slope * ranker.low
        diverged = trace.stopped.startswith("diverged")
        self.diverged_ = len(trace) + 1 if diverged else None
        if diverged:
            warn_caller(
                f"the scores {trace.stopped}, which is not in the model. Lower learning_rate, set "
                "expit=True, or use another loss.",
                ConvergenceWarning,
            )


# --- LogitBoost as a ranker of two classes


@with_parameters
class LogitBoost(ClassRanker):
    """Rank by the probability of the better class, learned by LogitBoost.

    For labels of two values, Y = -1 and 1, and no queries. The loss is the mean of
    ``log2(1 + e^(-2 Y s))``, so that a score s says how probable the better class is:
    ``1 / (1 + e^(-2 s))``. Ranking by an estimate of this probability is the plug-in approach to
    bipartite ranking (Werner 2019, section 3; Friedman, Hastie & Tibshirani 2000).

    With ``weak="stump"`` a round is a step of Newton's method: the stump with the least weighted
    squares of the working responses, a value on each side, half of which is added to the score.
    With ``weak="tree"`` a round is the same step with a tree, one value per leaf.
    With ``weak="linear"`` a round fits the gradient of the loss by one feature and adds a share of
    the fit, from half the log odds of the classes on: a logistic regression that grows feature by
    feature, as mboost's ``Binomial`` family.

    Queries are refused, since their scores have no common zero; more than two labels too.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; its scores are half of log odds.
    classes_ : array of shape (2,)
        The two labels, the better one last.
    trace_ : Trace
        What happened in every round: ``loss`` is the mean loss for stumps (1 at scores of 0), and
        over its value at the offset for ``weak="linear"``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import LogitBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogitBoost(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> (ranker.predict_proba(X)[:, 1] > 0.5).tolist()
    [True, True, False, True, False]
    """

    learning_rate: float = parameter(default=0.1, kw_only=False)
    weak: str = parameter(
        one_of("stump", "tree", "linear"),
        f"Weak rankers: stumps with a value on each side, lines over one feature, {TREES}.",
        default="stump",
    )
    clip: float | None = parameter(
        none_or(above(0)),
        "Largest absolute working response of a row, for stumps and trees; None for no limit.",
        default=4.0,
    )
    l2: float = parameter(
        text='Ridge ``(l2 / 2) |w|^2`` on the weights of the features, for ``weak="linear"``: '
        "above 0, rounds lead to the minimum of loss and ridge together. For trees, curvature "
        "that every leaf has beside that of its rows, in average rows.",
        default=0.0,
    )
    standardise: bool = parameter(
        flag,
        "Whether the ridge is on weights of features with standard deviation 1, or of range 1.",
        default=True,
    )
    default_rank: str | int = parameter(
        text="Side of a stump for rows on which its feature abstains: the lower (0), the higher "
        "(1) or the better one. Lines use the mean of the feature.",
        default="learned",
    )
    subsample: float = parameter(
        text="Share of the rows of each class that count in a round; for stumps.", default=1.0
    )
    _own_metrics: ClassVar[tuple[str, ...]] = ("loss",)

    eval_metric: Measures | None = parameter(
        text='Measured on the eval set after every round; default: "auc". "loss" is the mean '
        "loss itself.",
        default=None,
    )
    on_perfect: str = fixed(default="smooth")  # (no step is infinite)

    def _check_combinations(self) -> None:
        self._check_weak(("monotone_constraints",))
        if self.weak == "linear" and self.subsample < 1.0:
            raise ParameterError(
                "LogitBoost: subsample is for weak='stump' and 'tree'; all rows count in every "
                "round of weak='linear'. Set subsample=1.0."
            )
        if self.weak == "stump" and self.l2 > 0.0:
            raise ParameterError(
                "LogitBoost: l2 is a ridge on the weights of features or the values of leaves, "
                "for weak='linear' and 'tree'; a smaller learning_rate holds stumps back."
            )

    def _takes(self, name: str) -> bool:
        return name == "l2"

    def _parts(self, feedback: Feedback) -> Algorithm:
        check_one_list_of_two("LogitBoost", feedback)
        if self.weak == "stump":
            learner = RegressionStumps(self.default_rank, self.max_bins)
            return LogitLoss(self.clip), learner, FixedStep(0.5)
        if self.weak == "tree":
            return LogitLoss(self.clip), self._trees(), FixedStep(0.5)
        means = query_means(labelled_rows(feedback, "LogitBoost"), by_query=True)
        line = LineLearner(means, l2=self.l2, standardise=self.standardise)
        return FittedLoss("binomial", "LogitBoost"), line, FixedStep()

    def _watch(self, rows: EvalRows, patience: int | None = None) -> Watch:
        """Prepare ``eval_metric``, the loss of the eval set among them."""
        named = self.eval_metric
        wanted: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
        if "loss" not in wanted:
            return super()._watch(rows, patience)
        others = [one for one in wanted if one != "loss"]
        measures = self._prepared(rows, others) if others else []
        sign = np.where(rows.labels == rows.labels.max(), 1.0, -1.0)
        loss = ("loss", lambda scores: float(np.mean(logit_loss(sign, scores))), False)
        measures.insert(wanted.index("loss"), loss)
        return Watch(rows.instances, rows.groups, measures, patience)

    def _set_fitted(
        self,
        ensemble: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        super()._set_fitted(ensemble, instances, feedback, watch, with_qid)
        both = feedback.two_classes()
        assert both is not None
        # The score is a decision function as it is: no intercept is added to it.
        self._classes = ClassSums(both.low, both.high, 0.0, 0.0)
        self.classes_ = self._classes.classes

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the probabilities of both labels for every row, the lower label first.

        That of the higher label is ``1 / (1 + e^(-2 s))`` with s the score.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self, "model_")
        return probabilities(self.predict(X))

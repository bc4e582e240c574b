"""Features as columns for least squares, each scaled to [0, 1] by its range in training."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace
from scipy.sparse import diags_array

from crucial.boosting.parts import TrainingRows
from crucial.data.instances import Instances
from crucial.feedback.query_means import QueryMeans
from crucial.kernels.elementary import matrix_product, row_sums
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints, Reals

__all__ = ["UnitColumns"]

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

"""Features as the columns of a linear model, and the weak rankers that they are in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.model.weak import Presence, ScaledFeature
from crucial.types import Bools, Floats, Ints

__all__ = ["NEGLIGIBLE", "Design", "Matrix"]

#: A standard deviation below this share of the range comes from the weights of a few rows.
NEGLIGIBLE = 1e-12
# A width of which one over it is finite.
_NARROW = 1e-300

#: Rows by columns, dense or sparse.
Matrix: TypeAlias = Floats | sp.csr_array

#: Values of a column, its weak ranker, and the factor from its weight to that of the ranker.
_Column: TypeAlias = tuple[Floats, ScaledFeature | Presence, float]


@dataclass(frozen=True)
class Design:
    """Columns to be weighted, and the weak rankers that they are in a model.

    A feature is scaled to a range of 1, by its values on the training rows; features that are
    constant there are left out. ``abstentions`` determines what happens where a feature is NaN:

    "mean"
        The feature counts as its mean, which is 0 in a standard column: an abstention moves a row
        neither up nor down.
    "learned"
        One more column marks the abstentions, so that their weight is learned.

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
        abstentions: Literal["mean", "learned"] = "mean",
        standard: bool = True,
        raw: bool = False,
    ) -> Design:
        """Return the columns of some rows.

        Parameters
        ----------
        instances : Instances
        rows : int array
        weight : array like rows, optional
            A row of weight 2 counts twice in the means. All weights are above 0.
        abstentions : {"mean", "learned"}
        standard : bool
            With "mean": whether columns have mean 0 and standard deviation 1; False leaves them
            in [0, 1]. Columns with "learned" abstentions are always in [0, 1].
        raw : bool
            With "mean": leave the columns as they are, whatever ``standard`` says.
        """
        mass = np.ones(len(rows)) if weight is None else weight / weight.max()
        sparse, learned = instances.is_sparse, abstentions == "learned"
        columns: list[Floats | sp.csc_array] = []
        rankers: list[ScaledFeature | Presence] = []
        scale: list[float] = []
        for j in range(instances.n_features):
            values = instances.column(j, rows).astype(np.float64)
            absent = np.isnan(values)
            if absent.all():
                continue
            if learned:
                found = _with_presence(j, values, absent, sparse)
            else:
                found = _at_mean(j, values, absent, mass, standard, sparse)
                if raw:
                    found = _unscaled(values, absent, found)
            for column, ranker, factor in found:
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
    j: int, values: Floats, absent: Bools, mass: Floats, standard: bool, sparse: bool
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
    factor = 1.0 / spread if standard else 1.0
    column[absent] = mean
    if standard and sparse:
        # Of a range of 1, but not from 0 on: what was 0 in the table is 0 here.
        unit = ranker.unit
        column = np.where(absent, low * unit, values * unit) / (high * unit - low * unit)
        column[absent] += mean
        column *= factor
    elif standard:
        column = (column - mean) * factor
    yield column, ranker, factor


def _unscaled(values: Floats, absent: Bools, found: Iterator[_Column]) -> Iterator[_Column]:
    """Yield the column of a feature in its own unit; its mean where it abstains."""
    for _, ranker, _ in found:
        assert isinstance(ranker, ScaledFeature)
        width = ranker.high - ranker.low
        if not math.isfinite(width):
            raise DataError(
                f"feature {ranker.feature} goes from {ranker.low:g} to {ranker.high:g}, too far "
                "for the weights of features as they are.",
                remedy="Set standardise=True.",
                parameter="standardise",
            )
        yield np.where(absent, ranker.low + ranker.default * width, values), ranker, width


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

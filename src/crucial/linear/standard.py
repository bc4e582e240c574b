"""Features as columns of mean 0 and spread 1, and the weak rankers that they are in a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from crucial.data.instances import Instances
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """Columns to be weighed, one a feature.

    A feature is brought to [0, 1] by its range on the training rows and, where asked for, from
    there to mean 0 and standard deviation 1. Where it abstains (NaN) it says its mean, which is
    0 then: an abstention moves a row neither up nor down. A constant feature is left out.

    Attributes
    ----------
    matrix : float64 array or sparse matrix of shape (n_rows, n_columns)
        Sparse for sparse input; standard columns are then not moved, so that zeros stay: right
        up to a constant a column, which no difference of scores sees.
    rankers : tuple of ScaledFeature, one a column
    scale : array over the columns
        What a weight of the column is, times this, is the weight of its ranker.
    """

    matrix: Any
    rankers: tuple[ScaledFeature, ...]
    scale: Floats

    @classmethod
    def of(
        cls,
        instances: Instances,
        rows: Ints,
        weight: Floats | None = None,
        *,
        standard: bool = True,
    ) -> Columns:
        """The columns of some rows.

        Parameters
        ----------
        instances : Instances
        rows : int array
        weight : array like rows, optional
            A row of weight 2 counts twice in the means. All are above 0.
        standard : bool
            False leaves the columns in [0, 1].
        """
        mass = np.ones(len(rows)) if weight is None else weight / weight.max()
        sparse = instances.is_sparse
        columns: list[Any] = []
        dense = np.empty((len(rows), 0 if sparse else instances.n_features), order="F")
        rankers: list[ScaledFeature] = []
        scale: list[float] = []
        for j in range(instances.n_features):
            values = instances.column(j, rows).astype(np.float64)
            there = ~np.isnan(values)
            if not there.any() or values[there].min() == values[there].max():
                continue
            low, high = float(values[there].min()), float(values[there].max())
            unit = ScaledFeature(0, low, high, 0.0).scores(values[:, None])
            mean, spread = _moments(unit[there], mass[there])
            if not spread > 0:  # (one row of weight next to nothing differs)
                continue
            ranker = ScaledFeature(j, low, high, mean)
            unit[~there] = mean
            factor = 1.0 / spread if standard else 1.0
            if not sparse:
                dense[:, len(rankers)] = (unit - mean) * factor if standard else unit
            elif not standard:
                columns.append(sp.csc_array(unit[:, None]))
            else:
                # Of a range of 1, but not from 0 on: what was 0 in the table is 0 here.
                half = ranker.unit
                filled = np.where(there, values * half, low * half)
                moved = filled / (high * half - low * half)
                moved[~there] += mean
                columns.append(sp.csc_array((moved * factor)[:, None]))
            rankers.append(ranker)
            scale.append(factor)
        matrix = sp.hstack(columns, format="csr") if columns else dense[:, : len(rankers)]
        return cls(matrix, tuple(rankers), np.array(scale))


def _moments(values: Floats, mass: Floats) -> tuple[float, float]:
    """Weighted mean and standard deviation, the same for any order of the rows."""
    whole = _sum(mass)
    mean = min(1.0, max(0.0, _sum(mass * values) / whole))
    return mean, math.sqrt(_sum(mass * (values - mean) ** 2) / whole)


def _sum(values: Floats) -> float:
    # Sorted first: a sum then does not depend on where the rows stood.
    return float(np.sum(np.sort(values)))

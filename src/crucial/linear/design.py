"""Features as columns of a linear model: scaled, with abstentions apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from crucial.data.instances import Instances
from crucial.model.weak import Presence, ScaledFeature, WeakRanker
from crucial.types import Ints

__all__ = ["Design"]


@dataclass(frozen=True)
class Design:
    """Columns to be weighed, and the weak rankers that they are in a model.

    A feature is brought to a range of 1, as it has on the training rows; where it abstains a
    column of its own says so, so that what an abstention is worth is learned.

    Attributes
    ----------
    matrix : float64 array or sparse matrix of shape (n_rows, n_columns)
        Scores of the rankers, each up to a constant.
    rankers : tuple of ScaledFeature and Presence, one a column
    """

    matrix: Any
    rankers: tuple[WeakRanker, ...]

    @classmethod
    def of(cls, instances: Instances, rows: Ints) -> Design:
        """The columns of some rows; sparse for sparse input.

        Features that say nothing on these rows are left out.
        """
        columns: list[Any] = []
        rankers: list[WeakRanker] = []
        sparse = instances.is_sparse
        for j in range(instances.n_features):
            values = instances.column(j, rows).astype(np.float64)
            absent = np.isnan(values)
            there = values[~absent]
            if len(there) and there.min() < there.max():
                ranker = ScaledFeature(j, float(there.min()), float(there.max()), 0.0)
                if sparse:  # only differences count, so zeros may stay zeros
                    unit = ranker.unit
                    scale = unit / (ranker.high * unit - ranker.low * unit)
                    values = np.where(absent, ranker.low, values) * scale
                    columns.append(sp.csc_array(values[:, None]))
                else:
                    alone = ScaledFeature(0, ranker.low, ranker.high, 0.0)
                    columns.append(alone.scores(values[:, None]))
                rankers.append(ranker)
            if len(there) and absent.any():
                said = absent.astype(np.float64)
                columns.append(sp.csc_array(said[:, None]) if sparse else said)
                rankers.append(Presence(j, 1))
        if not columns:
            return cls(np.zeros((len(rows), 0)), ())
        matrix = sp.hstack(columns, format="csr") if sparse else np.column_stack(columns)
        return cls(matrix, tuple(rankers))

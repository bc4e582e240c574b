"""The model of a label ranker: a sum of stumps with a prediction for every label."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from crucial.data.instances import Instances
from crucial.model.base import check_columns, check_finite
from crucial.types import Floats, TableLike

__all__ = ["LabelModel", "LabelStump"]


@dataclass(frozen=True)
class LabelStump:
    """A threshold of a feature, and what each side adds to the score of every label.

    Attributes
    ----------
    feature : int
        Column of the feature, from 0.
    threshold : float or None
        None for a stump that separates abstentions from all values.
    low, high, missing : tuple of float
        Added to the scores up to the threshold (never without one), above it, and where the
        feature abstains.
    """

    feature: int
    threshold: float | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    missing: tuple[float, ...]


@dataclass(frozen=True)
class LabelModel:
    """A sum of label stumps, and an intercept common to all labels.

    Attributes
    ----------
    n_features, n_labels : int
    stumps : tuple of LabelStump
        One per round.
    intercept : float
    """

    n_features: int
    n_labels: int
    stumps: tuple[LabelStump, ...]
    intercept: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        # (cached tables are not pickled but computed again)
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def _tables(self) -> list[tuple[int, Floats, Floats]]:
        """For each used feature: its thresholds, and the scores between them and of NaN."""
        by_feature: dict[int, list[LabelStump]] = {}
        for stump in self.stumps:
            by_feature.setdefault(stump.feature, []).append(stump)
        tables = []
        for feature, stumps in sorted(by_feature.items()):
            cuts = np.unique([one.threshold for one in stumps if one.threshold is not None])
            table = np.zeros((len(cuts) + 2, self.n_labels))
            for one in stumps:
                above = 0 if one.threshold is None else int(np.searchsorted(cuts, one.threshold))
                above += one.threshold is not None
                table[:above] += one.low
                table[above:-1] += one.high
                table[-1] += one.missing
            tables.append((feature, cuts.astype(np.float64), table))
        return tables

    def predict(self, X: TableLike | Instances) -> Floats:
        """Return the score of every label of every row, of shape (n_rows, n_labels)."""
        instances = Instances.from_input(X)
        check_columns(instances, self.n_features)
        check_finite(instances, instances.names)
        out = np.full((instances.n_rows, self.n_labels), self.intercept)
        for feature, cuts, table in self._tables:
            column = instances.column(feature).astype(np.float64)
            cell = np.searchsorted(cuts, column)
            cell[np.isnan(column)] = len(cuts) + 1
            out += table.take(cell, axis=0)
        return out

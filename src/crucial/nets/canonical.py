"""Rows in an order of their own, equal ones merged, so that training depends on neither."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crucial.data.instances import Instances
from crucial.types import Floats, Ints

__all__ = ["MergedRows", "merged_rows"]


class MergedRows(NamedTuple):
    """Rows to learn from.

    Attributes
    ----------
    rows : int array
        One row of the instances for every group of equal ones.
    weight : array like rows
        Summed weight of the group.
    """

    rows: Ints
    weight: Floats


def merged_rows(
    instances: Instances, rows: Ints, labels: Floats, queries: Ints, weight: Floats | None
) -> MergedRows:
    """Sort rows by query, label and features, and merge those that are equal in all of them.

    A net is no convex problem: rounding that differs with the order of the rows can lead it to
    another minimum. Rows of sparse input keep their order and are not merged.

    Parameters
    ----------
    instances : Instances
    rows : int array
        Those with a weight above 0.
    labels, queries : arrays over all instances
    weight : array over all instances, or None
    """
    mass = np.ones(len(rows)) if weight is None else weight[rows]
    if instances.is_sparse:
        return MergedRows(rows, mass)
    table = np.asarray(instances.table[rows], np.float64) + 0.0  # (one zero only)
    table[np.isnan(table)] = np.nan  # (one NaN only)
    keys = np.column_stack((queries[rows].astype(np.float64), labels[rows] + 0.0, table))
    _, first, group = np.unique(
        np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1] * 8)))[:, 0],
        return_index=True,
        return_inverse=True,
    )
    whole = np.bincount(group.ravel(), mass, len(first)).astype(np.float64)
    return MergedRows(rows[first], whole)

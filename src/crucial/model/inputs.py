"""What a model checks before it scores: columns, names, infinities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.threads import count_threads, run_all

__all__ = ["check_columns", "check_finite", "check_names"]

_BLOCK = 1 << 19  # numbers looked at in one go: they and the answer stay in the cache


def check_columns(n_columns: int, n_features: int) -> None:
    """Refuse a table that has another number of columns than the model has features."""
    if n_columns != n_features:
        raise DataError(
            f"the model has {n_features} features, got X with {n_columns} columns. Give the "
            "columns the model was trained on, in the same order."
        )


def check_names(given: tuple[str, ...] | None, expected: tuple[str, ...] | None) -> None:
    """Refuse columns whose names are not the model's, in the model's order.

    A table without names, or a model without, is only held to the number of columns.
    """
    if given is None or expected is None or given == expected:
        return
    known, came = set(expected), set(given)
    extra = [name for name in given if name not in known]
    missing = [name for name in expected if name not in came]
    if extra or missing:
        parts = [
            f"{what}: {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}"
            for what, names in (("missing", missing), ("unknown to the model", extra))
            if names
        ]
        raise DataError(
            f"the columns of X are not the model's features; {'; '.join(parts)}. Select "
            "the model's features by name."
        )
    if len(given) != len(expected):
        raise DataError("X has columns of the same name; give every feature once.")
    place = next(j for j, name in enumerate(given) if name != expected[j])
    raise DataError(
        f"the columns of X are in another order than the model's features: column {place} is "
        f"{given[place]!r}, expected {expected[place]!r}. Select the model's features by name."
    )


def _refuse_infinity(row: int, column: int, value: float, names: tuple[str, ...] | None) -> None:
    said = repr(names[column]) if names is not None else str(column)
    raise DataError(
        f"Input X contains infinity: row {row}, column {said} is {value}. Use a finite number, "
        "or NaN where the feature has no opinion."
    )


def _check_rows(X: NDArray[Any], names: tuple[str, ...] | None, begin: int, end: int) -> None:
    infinite = np.isinf(X[begin:end])
    if infinite.any():
        row, column = (int(at) for at in np.argwhere(infinite)[0])
        _refuse_infinity(begin + row, column, float(X[begin + row, column]), names)


def _check_sparse(table: Any, names: tuple[str, ...] | None) -> None:
    """Look at the stored values of a scipy CSC table, column by column."""
    infinite = np.flatnonzero(np.isinf(table.data))
    if len(infinite):
        rows = table.indices[infinite]
        at = int(infinite[rows.argmin()])  # (argmin takes the first: the leftmost column)
        column = int(np.searchsorted(table.indptr, at, side="right")) - 1
        _refuse_infinity(int(table.indices[at]), column, float(table.data[at]), names)


def check_finite(
    instances: Instances, names: tuple[str, ...] | None = None, n_jobs: int | None = 1
) -> None:
    """Refuse infinite values; the first in the order of rows is named. NaN is welcome.

    Parameters
    ----------
    instances : Instances
        The table to look at.
    names : tuple of str, optional
        What to call the columns where the instances have no names of their own.
    n_jobs : int, optional
        Threads to look with, if the table is large.
    """
    table = instances.table
    if table.dtype.kind != "f":
        return
    names = instances.names or names
    if instances.is_sparse:
        _check_sparse(table, names)
        return
    step = max(1, _BLOCK // max(1, table.shape[1]))
    if len(table) <= step:
        _check_rows(table, names, 0, len(table))
        return
    blocks = range(0, len(table), step)
    run_all(
        count_threads(n_jobs), [partial(_check_rows, table, names, a, a + step) for a in blocks]
    )

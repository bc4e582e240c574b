"""The checks of rows before a model scores them: columns, names, infinities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from crucial.data.instances import Encodings, Instances
from crucial.errors import DataError
from crucial.kernels.runtime import count_threads, over_ranges
from crucial.types import TableLike

__all__ = ["check_columns", "check_finite", "checked_rows"]

_BLOCK = 1 << 19  # numbers checked at a time: they and the result stay in the cache


class TrainedModel(Protocol):
    """The columns that a model scores."""

    @property
    def n_features(self) -> int:
        """Their number."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Their names, if they have any."""

    @property
    def training(self) -> Mapping[str, Any]:
        """Summary of the training."""

    @property
    def encodings(self) -> Encodings:
        """How columns of text and dates become numbers."""


def check_columns(
    instances: Instances,
    n_features: int,
    names: tuple[str, ...] | None = None,
    owner: str = "the model",
) -> None:
    """Check that a table has the columns that a model was trained on, in scikit-learn's words.

    If the table or the model has no names, only the number of columns is checked.

    Parameters
    ----------
    instances : Instances
        The table.
    n_features : int
        The required number of columns.
    names : tuple of str, optional
        Their required names.
    owner : str
        The model or estimator, for messages.
    """
    if instances.names is not None and names is not None:
        _check_names(instances.names, names)
    if instances.n_features != n_features:
        raise DataError(
            f"X has {instances.n_features} features, but {owner} is expecting {n_features} "
            "features as input. Pass the columns that it was trained on, in the same order."
        )


def _check_names(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Refuse other names, or another order, listing up to five differences of each kind."""
    if found == expected:
        return
    unseen, missing = sorted({*found} - {*expected}), sorted({*expected} - {*found})
    lines = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            lines += [title, *(f"- {name}" for name in names[:5])]
            lines += [f"- ... and {len(names) - 5} more"] if len(names) > 5 else []
    if not unseen and not missing and len(found) != len(expected):
        lines.append("X has columns of the same name; pass every feature once.")
    elif not unseen and not missing:
        place = next(j for j, name in enumerate(found) if name != expected[j])
        lines.append(
            "Feature names must be in the same order as they were in fit.\n"
            f"Column {place} is {found[place]!r}, expected {expected[place]!r}."
        )
    if missing:
        lines.append(
            f"{len(missing)} of the {len(expected)} features never occur. "
            "X.reindex(columns=...) with the names of fit makes them abstain."
        )
    raise DataError("\n".join(lines) + "\n")


def checked_rows(model: TrainedModel, X: TableLike, n_jobs: int | None = 1) -> Instances:
    """Return the rows to score, checked to have the model's columns and no infinite values."""
    instances = Instances.from_input(X, texts=True)
    owner = str(model.training.get("estimator", type(model).__name__))
    check_columns(instances, model.n_features, model.feature_names, owner)
    instances = model.encodings.encode(instances)
    check_finite(instances, model.feature_names, n_jobs)
    return instances


def check_finite(
    instances: Instances, names: tuple[str, ...] | None = None, n_jobs: int | None = 1
) -> None:
    """Refuse infinite values, naming the first in the order of rows. NaN is allowed.

    Parameters
    ----------
    instances : Instances
        The table to check.
    names : tuple of str, optional
        Names of the columns, for instances without names.
    n_jobs : int, optional
        Threads for large tables.
    """
    table = instances.table
    if table.dtype.kind != "f":
        return
    cells = table.data if instances.is_sparse else table
    step = max(1, _BLOCK // max(1, cells.shape[-1] if cells.ndim == 2 else 1))
    bounds = [*range(0, len(cells), step), len(cells)]
    infinite = over_ranges(
        bounds, count_threads(n_jobs), lambda a, b: bool(np.isinf(cells[a:b]).any())
    )
    place = instances.first_infinity() if any(infinite) else None
    if place is not None:
        row, column = place
        known = instances.names or names
        shown = repr(known[column]) if known is not None else str(column)
        raise DataError(
            f"Input X contains infinity: row {row}, column {shown} is {table[row, column]}. Use a "
            "finite number, or NaN where the feature has no opinion."
        )

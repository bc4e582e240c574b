"""Labels by several judges over the same rows: one column each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, as_reals, check_sum
from crucial.errors import DataError, about
from crucial.feedback.base import Feedback
from crucial.feedback.combined import SumFeedback
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.feedback.netting import net_feedback
from crucial.feedback.pairs import PairFeedback
from crucial.types import Bools, Floats, VectorLike

__all__ = ["add_feedback", "check_judge_weights", "check_judges", "judge_parts", "n_judges"]


def n_judges(y: VectorLike) -> int:
    """Return the number of columns of labels, 1 for a flat array."""
    shape = as_array(y, "y").shape
    return int(shape[1]) if len(shape) == 2 else 1


def check_judges(y: VectorLike, n_rows: int) -> Floats:
    """Return labels of several judges as floats, one column each; NaN is a row without a label."""
    table = as_array(y, "y")
    if len(table) != n_rows:
        check_labels(table[:, 0], n_rows)  # (refuses the number of rows)
    columns = []
    for j in range(table.shape[1]):
        labels = table[:, j]
        there = ~_missing(labels)
        if not there.any():
            raise DataError(f"judge {j} (column {j} of y) labels no row; leave the column out.")
        column = np.full(len(labels), np.nan)
        with about(f"judge {j} (column {j} of y)"):
            column[there] = check_labels(labels[there])
        columns.append(column)
    return np.column_stack(columns)


def _missing(labels: NDArray[Any]) -> Bools:
    """Return which labels are NaN, None or another mark of a missing value."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    return np.array([one is None or _differs_from_itself(one) for one in labels.tolist()], bool)


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # (pandas' NA has no truth value)
        return True


def check_judge_weights(weight: VectorLike | None, n_judges: int) -> Floats:
    """Return one positive weight per judge."""
    if weight is None:
        return np.ones(n_judges)
    values = as_reals(weight, "judge_weight")
    if values.shape != (n_judges,):
        raise DataError(
            f"judge_weight must be one number for each of the {n_judges} judges, the columns of "
            f"y. Got an array of shape {values.shape}.",
            parameter="judge_weight",
        )
    wrong = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if len(wrong):
        raise DataError(
            f"judge_weight must be positive and finite. Judge {wrong[0]} has {values[wrong[0]]}; "
            "leave the columns of judges out who should not count.",
            parameter="judge_weight",
        )
    check_sum(values, "judge_weight")
    return values


def judge_parts(
    labels: Floats, weight: Floats | None, make: Callable[[Floats, Floats | None], LabelFeedback]
) -> list[LabelFeedback]:
    """Return the feedback of every judge.

    Parameters
    ----------
    labels : array of shape (n_rows,) or (n_rows, n_judges)
        As `check_judges` returns them.
    weight : array of shape (n_rows,), or None
        Instance weights.
    make : function of labels and weights
        Returns the feedback of one judge.
    """
    if labels.ndim == 1:
        return [make(labels, weight)]
    parts = []
    for j, column in enumerate(labels.T):
        there = ~np.isnan(column)
        own = weight
        if not there.all():
            own = np.where(there, 1.0 if weight is None else weight, 0.0)
        with about(f"judge {j} (column {j} of y)"):
            parts.append(make(np.where(there, column, 0.0), own))
    return parts


def add_feedback(
    labels: Sequence[LabelFeedback],
    judge_weight: Floats,
    explicit: PairFeedback | None,
    contradictions: str,
) -> Feedback:
    """Return the sum of what judges and explicit pairs say.

    Parameters
    ----------
    labels : sequence of LabelFeedback
        One per judge.
    judge_weight : array of shape (n_judges,)
        Factor on the pairs of each judge.
    explicit : PairFeedback or None
    contradictions : {"keep", "net"}
        Whether opposite pairs, also of different parts, are all kept, or netted.
    """
    if not labels:
        assert explicit is not None
        return explicit
    if contradictions == "net":
        return net_feedback(labels, explicit, judge_weight)
    parts: list[Feedback] = list(labels)
    factors = judge_weight.tolist()
    if explicit is not None:
        parts, factors = [*parts, explicit], [*factors, 1.0]
    if len(parts) == 1:
        return parts[0]
    added = SumFeedback(parts, factors=factors)
    # Judges look at the same queries.
    queries = [part.labelled().layout.queries for part in labels]
    added.n_queries = len(np.unique(np.concatenate(queries)))
    added.n_skipped = labels[0].groups.n_groups - added.n_queries
    return added

"""Classes of rows: read as scikit-learn does, or checked to be two without queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from crucial.errors import DataError, in_short
from crucial.feedback.base import Feedback

__all__ = ["check_one_list_of_two", "read_targets"]


def read_targets(y: Any, owner: str) -> tuple[NDArray[Any], str]:
    """Return the classes of the rows, or a matrix of 0 and 1, and scikit-learn's name of the kind.

    Parameters
    ----------
    y : one class per row, of any one type, or a matrix of 0 and 1, dense or sparse
    owner : str
        The estimator, for messages.

    Raises
    ------
    DataError
        In scikit-learn's words, for anything else.
    """
    if y is None:
        raise DataError(f"{owner} requires y to be passed, but the target y is None.")
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # (which scikit-learn does not know)
        y = np.array(y.tolist())
    try:
        with np.errstate(invalid="ignore"):  # (NaN is refused there, but cast first)
            kind = str(type_of_target(y, input_name="y", raise_unknown=True))
        if kind == "multilabel-indicator":
            return _zeros_and_ones(np.asarray(y.toarray() if hasattr(y, "toarray") else y)), kind
        if kind not in ("binary", "multiclass"):
            raise DataError(
                f"Unknown label type: {kind}. {owner} takes one class per row (or, where there can "
                "be several, a matrix of 0 and 1)."
            )
        column = column_or_1d(y, warn=True)
        # (one zero: see `crucial.data.arrays`)
        return column + column.dtype.type(0) if column.dtype.kind == "f" else column, kind
    except DataError:
        raise
    except TypeError:
        if any(isinstance(one, bytes) for one in np.asarray(y, object).ravel()):
            raise DataError(
                "y has classes of type bytes, which scikit-learn does not take. Make them text, "
                "such as by numpy.strings.decode(y)."
            ) from None
        raise DataError("y mixes classes of different types, or has missing ones.") from None
    except ValueError as error:
        raise DataError(in_short(str(error))) from None


def _zeros_and_ones(matrix: NDArray[Any]) -> NDArray[Any]:
    """Refuse other numbers: which of two means that a row has the label would be a guess."""
    other = np.setdiff1d(matrix, [0, 1])
    if len(other):
        raise DataError(
            f"y is a matrix of labels, which must be of 0 and 1. Got {other[0]}. Pass y > 0, if "
            "that is what it means.",
            parameter="y",
        )
    return matrix


def check_one_list_of_two(owner: str, feedback: Feedback) -> None:
    """Refuse what is not a classification into two: pairs, queries, more than two labels."""
    if feedback.two_classes() is not None:
        return
    rows, n_queries = feedback.labelled(), feedback.n_queries + feedback.n_skipped
    if rows is None:
        raise DataError(
            f"{owner} learns from labels of two values alone. For explicit pairs use "
            "RankBoost or RankBoostPlus."
        )
    if n_queries > 1:
        raise DataError(
            f"{owner} compares every row with the same zero, and qid names "
            f"{n_queries} queries, whose scores have none in common. Use RankBoost, "
            "or leave qid out to compare all rows."
        )
    raise DataError(
        f"{owner} needs labels of two values, and y has {rows.layout.n_levels}. For grades use "
        "RankBoost, which takes any order of labels (or set y = y >= threshold); for classes "
        "without an order use LabelRanker."
    )

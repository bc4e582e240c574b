"""Read classes as scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from crucial.errors import DataError

__all__ = ["read_targets"]


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
    try:
        kind = str(type_of_target(y, input_name="y", raise_unknown=True))
        if kind == "multilabel-indicator":
            return np.asarray(y.toarray() if hasattr(y, "toarray") else y), kind
        if kind not in ("binary", "multiclass"):
            raise DataError(
                f"Unknown label type: {kind}. {owner} takes one class per row (or, where there can "
                "be several, a matrix of 0 and 1)."
            )
        return column_or_1d(y, warn=True), kind
    except DataError:
        raise
    except TypeError:
        raise DataError("y mixes classes of different types, or has missing ones.") from None
    except ValueError as error:
        raise DataError(str(error)) from None

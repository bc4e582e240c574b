"""What users may say about the direction of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.parameters import refuse

__all__ = ["monotone_signs"]


def monotone_signs(owner: str, given: Any, instances: Instances) -> NDArray[np.int8] | None:
    """Monotone constraints as one of -1, 0, 1 a feature.

    Parameters
    ----------
    owner : str
        Whose parameter it is, for messages.
    given : sequence of one a feature, mapping from feature number or name, or None
    """
    if given is None:
        return None
    n = instances.n_features
    values: list[Any]
    if isinstance(given, Mapping):
        values = [0] * n
        keys = list(given)
        if instances.names is None and any(isinstance(k, str) for k in keys):
            raise DataError(
                "monotone_constraints calls features by name, but X has no feature names; "
                "use their numbers."
            )
        where = instances.columns_of(keys) if all(isinstance(k, str) for k in keys) else keys
        for at, key in zip(where, keys):
            if not isinstance(at, int | np.integer) or not 0 <= at < n:
                raise DataError(f"monotone_constraints: there is no feature {key!r}.")
            values[at] = given[key]
    else:
        values = list(given) if np.iterable(given) else []
    if len(values) != n or not all(np.ndim(v) == 0 and v in (-1, 0, 1) for v in values):
        rule = f"one of -1, 0, 1 for each of the {n} features"
        raise refuse(owner, "monotone_constraints", rule, given)
    return np.array(values, np.int8)

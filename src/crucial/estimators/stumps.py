"""Base classes of estimators whose weak rankers, or their weights, may be constrained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.parts import Constraints
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.weak_rankers import StumpsOrTrees
from crucial.parameters import anything, one_of, parameter, refuse, with_parameters

__all__ = ["MonotoneRanker", "StumpRanker", "monotone_signs"]


@with_parameters
class MonotoneRanker(BoostedRanker):
    """Base of estimators whose scores may be made to rise or fall with a feature."""

    monotone_constraints: Any = parameter(
        anything("sequence or mapping"),
        "1, -1 or 0 per feature (or feature name: 1): the score never falls (never rises) where "
        "the feature grows. The score of an abstention is not constrained.",
        default=None,
    )

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        return Constraints(False, signs, self.learning_rate)


@with_parameters
class StumpRanker(StumpsOrTrees, MonotoneRanker):
    """Base of estimators that boost stumps or trees, whose weights may be constrained."""

    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. The papers use 1; for trees begin with 0.1.",
        default=0.3,
        kw_only=False,
    )
    positive_weights: str | None = parameter(
        one_of(None, "cumulative"),
        '"cumulative": the summed weight of every stump stays positive, for features known to '
        "point up.",
        default=None,
    )

    def _constraints(self, instances: Instances) -> Constraints:
        both = super()._constraints(instances)
        return replace(both, cumulative=self.positive_weights == "cumulative")

    def _check_combinations(self) -> None:
        self._check_weak()
        if self.weak == "tree" and self.positive_weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: positive_weights is about stumps, and trees have values "
                "of either sign; with weak='tree' use monotone_constraints."
            )


def monotone_signs(owner: str, constraints: Any, instances: Instances) -> NDArray[np.int8] | None:
    """Return monotone constraints as -1, 0 or 1 per feature.

    Parameters
    ----------
    owner : str
        Whose parameter it is, for messages.
    constraints : sequence of one per feature, mapping from feature number or name, or None
    """
    if constraints is None or (isinstance(constraints, Mapping) and not constraints):
        return None
    n = instances.n_features
    values: list[Any]
    if isinstance(constraints, Mapping):
        values = [0] * n
        keys = list(constraints)
        if instances.names is None and any(isinstance(k, str) for k in keys):
            raise DataError(
                "monotone_constraints calls features by name, but X has no feature names; "
                "use their numbers."
            )
        where = instances.columns_of(keys) if all(isinstance(k, str) for k in keys) else keys
        for at, key in zip(where, keys):
            if not isinstance(at, int | np.integer) or not 0 <= at < n:
                raise DataError(f"monotone_constraints: there is no feature {key!r}.")
            values[at] = constraints[key]
    else:
        values = list(constraints) if np.iterable(constraints) else []
    if len(values) != n or not all(np.ndim(v) == 0 and v in (-1, 0, 1) for v in values):
        rule = f"one of -1, 0, 1 for each of the {n} features"
        raise refuse(owner, "monotone_constraints", rule, constraints)
    return np.array(values, np.int8)

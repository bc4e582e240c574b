"""Warm starts: continue an earlier fit on the same data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from crucial.boosting.trace import Round, Trace
from crucial.data.instances import CodedTable, Instances
from crucial.errors import DataError, ParameterError
from crucial.estimators.shared import RandomState
from crucial.estimators.table_estimator import TableEstimator
from crucial.feedback.base import Feedback
from crucial.parameters import flag, parameter, parameters_of, plain, with_parameters

__all__ = ["WarmStart"]


@with_parameters
class WarmStart(TableEstimator):
    """Rankers that can continue an ensemble."""

    warm_start: bool = parameter(
        flag,
        "Continue the ensemble of the last fit, on the same data, up to n_estimators; after a fit "
        "without warm_start begin anew. random_state must be an int.",
        default=False,
        shapes_model=False,
    )

    # Declared by the estimators.
    random_state: RandomState

    #: Fingerprint of the data and parameters of a fit, and the rounds that it made.
    _fitted_on: tuple[str, Trace] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warm_start and not isinstance(self.random_state, Integral):
            raise ParameterError(
                "warm_start continues with the random numbers of the last fit, and needs an "
                f"integer as random_state. Got {self.random_state!r}.",
                parameter="random_state",
                value=self.random_state,
            )

    def _fingerprint(self, instances: Instances, feedback: Feedback) -> str | None:
        """Return a hash of everything that a fit depends on; None without ``warm_start``."""
        if not self.warm_start:
            return None
        free = {p.name for p in parameters_of(self).values() if not p.shapes_model} | {
            "n_estimators"
        }
        same = {k: v for k, v in self.get_params().items() if k not in free}
        return _hashed(instances, feedback, same)

    def _earlier_rounds(self, fingerprint: str | None, rounds: int) -> Sequence[Round]:
        """Return the rounds of the last fit, to be continued.

        None where that fit is not known to be of the same data: it was without ``warm_start``, or
        this one is. Other data than those of a fit with ``warm_start`` are refused.
        """
        last = self._fitted_on
        # (a fit without warm_start, or on a cluster, has replaced the rounds and noted nothing)
        if fingerprint is None or last is None or last[1] is not vars(self)["trace_"]:
            return ()
        before, earlier = last
        if before != fingerprint:
            raise DataError(
                "warm_start continues on the data and parameters of the last fit, and these are "
                "others. Set warm_start=False to begin anew."
            )
        if rounds < len(earlier):
            raise ParameterError(
                f"warm_start: n_estimators={rounds} is less than the {len(earlier)} "
                "rounds there are; use truncate(n) for fewer."
            )
        return list(earlier)

    def _note_data(self, fingerprint: str | None) -> None:
        """Remember what the model was fitted on, once there is one."""
        self._fitted_on = None if fingerprint is None else (fingerprint, vars(self)["trace_"])


def _hashed(instances: Instances, feedback: Feedback, parameters: Mapping[str, object]) -> str:
    """Return a hash of rows, pairs and parameters."""
    digest = hashlib.blake2b(digest_size=16)
    table = instances.table
    # At scores of no pattern, since at equal ones other pairs may have the same potentials.
    scores = np.random.default_rng(0).random(feedback.n_rows)
    arrays: list[Any] = [feedback.potentials(scores), feedback.rows, np.array(feedback.total)]
    if feedback.weight is not None:
        arrays.append(feedback.weight)
    if isinstance(table, CodedTable):
        arrays += table.arrays()
    else:
        arrays += [table.data, table.indices, table.indptr] if instances.is_sparse else [table]
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for name, value in sorted(parameters.items()):
        # (the repr of a long array leaves its middle out)
        written = value.tolist() if isinstance(value, np.ndarray) else plain(value)
        digest.update(f"{name}={written!r};".encode())
    return digest.hexdigest()

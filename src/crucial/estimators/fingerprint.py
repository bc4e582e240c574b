"""Fingerprints, to recognise the data of an earlier fit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from crucial.data.instances import Instances
from crucial.feedback.base import Feedback
from crucial.parameters import plain

__all__ = ["fingerprint"]


def fingerprint(instances: Instances, feedback: Feedback, parameters: Mapping[str, object]) -> str:
    """Return a hash of everything that a fit depends on."""
    digest = hashlib.blake2b(digest_size=16)
    table = instances.table
    # At scores of no pattern, since at equal ones other pairs may have the same potentials.
    scores = np.random.default_rng(0).standard_normal(feedback.n_rows)
    arrays: list[Any] = [feedback.potentials(scores), feedback.rows, np.array(feedback.total)]
    if feedback.weight is not None:
        arrays.append(feedback.weight)
    arrays += [table.data, table.indices, table.indptr] if instances.is_sparse else [table]
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for name, value in sorted(parameters.items()):
        # (the repr of a long array leaves its middle out)
        written = value.tolist() if isinstance(value, np.ndarray) else plain(value)
        digest.update(f"{name}={written!r};".encode())
    return digest.hexdigest()

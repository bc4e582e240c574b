"""What a fit says of itself: its seed, its parameters in plain form, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from crucial.boosting.loop import Ensemble
from crucial.data.instances import Instances
from crucial.errors import DataWarning, NoProgressWarning
from crucial.validation import refuse

__all__ = ["plain_parameters", "seed_of", "warn_of"]


def seed_of(random_state: Any) -> int:
    """One whole number for everything random in a fit."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        rule = "a whole number of at least 0, a RandomState or None"
        raise refuse("a ranker", "random_state", rule, random_state) from None


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them; objects by their name, never by their address."""
    simple = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, simple) else _said(value)
        for name, value in parameters.items()
        if name not in ("n_jobs", "verbose", "warm_start")  # (they make no other model)
    }


def _said(value: object) -> str:
    nameless = type(value).__repr__ is object.__repr__
    return type(value).__qualname__ if nameless else repr(value)


def warn_of(made: Ensemble, instances: Instances, rounds: int) -> None:
    """Say what had no use."""
    bins = made.bins
    if bins is not None:
        for what, unused in (
            ("abstain on every row", bins.all_missing),
            ("are constant", bins.constant),
        ):
            if unused:
                names = ", ".join(instances.name(j) for j in unused[:5])
                more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
                warnings.warn(
                    f"{len(unused)} features {what} and are ignored: {names}{more}.",
                    DataWarning,
                    stacklevel=5,
                )
    if not made.rankers:
        warnings.warn(
            f"no round could be made ({made.trace.stopped}); all scores are 0.",
            NoProgressWarning,
            stacklevel=5,
        )

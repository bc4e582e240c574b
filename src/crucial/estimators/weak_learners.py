"""The ``weak`` parameter of the boosting estimators."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from crucial.validation import check_choice, refuse
from crucial.weak.base import WeakLearner, check_methods
from crucial.weak.checked import CheckedLearner
from crucial.weak.features import ColumnLearner, FeatureLearner
from crucial.weak.stumps import StumpLearner

__all__ = ["check_weak", "named_learner"]


def check_weak(owner: str, weak: Any) -> None:
    """Refuse what is neither the name of a weak learner nor one of the user's own."""
    methods = ("prepare", "propose", "accept")
    if isinstance(weak, str):
        check_choice(owner, "weak", weak, ["stump", "feature", "column"])
    elif not any(hasattr(weak, name) for name in methods):
        rule = "'stump', 'feature', 'column' or an object with prepare, propose and accept"
        raise refuse(owner, "weak", rule, weak)
    else:
        check_methods("weak learner", weak, WeakLearner, methods)


def named_learner(
    weak: Any, choice: str, default_rank: str | int, max_bins: int | None, step: str
) -> WeakLearner:
    """The weak learner that the parameters of an estimator name."""
    if weak == "stump":
        return StumpLearner(choice, default_rank, max_bins)
    if weak == "feature":
        return FeatureLearner(choice, default_rank)
    if weak == "column":
        return ColumnLearner(choice, default_rank)
    # A copy: what a learner keeps of the data must not end up in a parameter.
    return CheckedLearner(deepcopy(weak), step)

"""Which algorithms run on rows in parts, and what to use in place of the others."""

from __future__ import annotations

from crucial.distributed.parts import Parts
from crucial.distributed.stumps import PartedStumps
from crucial.distributed.trees import PartedTrees, PartedUnitTrees
from crucial.errors import ParameterError
from crucial.estimators.boosted import BoostedRanker
from crucial.kernels.sizes import Counts
from crucial.weak.base import WeakLearner
from crucial.weak.stumps import StumpLearner
from crucial.weak.trees import TreeLearner
from crucial.weak.unit_trees import UnitTreeLearner

__all__ = ["check_reach", "parted_learner"]


def check_reach(estimator: BoostedRanker) -> None:
    """Refuse an estimator whose parameters need all rows at one place, and say what to use."""
    owner = type(estimator).__name__
    refused = {
        "n_bags": (estimator.n_bags > 1, "n_bags=1"),
        "validation_folds": (estimator.validation_folds is not None, "an eval set"),
    }
    for name, (wanted, remedy) in refused.items():
        if wanted:
            raise ParameterError(
                f"{owner}: {name} does not run on parts of the rows; use {remedy}, or fit on one "
                "machine."
            )


def parted_learner(learner: WeakLearner, parts: Parts, counts: Counts) -> WeakLearner:
    """Return the learner that does with parts of the rows what one does with all of them."""
    if type(learner) is StumpLearner:
        return PartedStumps(learner.choice, learner.default_rank, learner.max_bins)
    if type(learner) is TreeLearner:
        trees = PartedTrees(learner.limits, learner.max_bins, learner.sampling)
        return trees.over(parts, counts)
    if type(learner) is UnitTreeLearner:
        return PartedUnitTrees(learner.limits, learner.max_bins, learner.sampling).over(
            parts, counts
        )
    raise ParameterError(
        f"{type(learner).__name__} does not run on parts of the rows; use weak='stump' or 'tree'."
    )

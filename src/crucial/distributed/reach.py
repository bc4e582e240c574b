"""Which rankers run on rows in parts, and what to use in place of the others."""

from __future__ import annotations

from typing import Any

from crucial.boosting.parts import WeakLearner
from crucial.boosting.stumps import StumpLearner
from crucial.boosting.trees import TreeLearner, UnitTreeLearner
from crucial.distributed.parts import Parts
from crucial.distributed.stumps import PartedStumps
from crucial.distributed.trees import PartedTrees, PartedUnitTrees
from crucial.errors import ParameterError, in_short
from crucial.kernels.runtime import Counts
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.rankboost import RankBoost

__all__ = ["check_reach", "parted_learner"]


def check_reach(ranker: object) -> int:
    """Refuse a ranker that does not learn from rows in parts; return its bins per feature.

    No row is needed to tell, so that nothing has to be loaded first.
    """
    owner = type(ranker).__name__
    # (exactly these: a class derived from them may have another algorithm)
    if type(ranker) not in (RankBoost, GradientRanker):
        close = "GradientRanker(loss='logistic')" if owner == "LogisticRanker" else None
        raise _refused(owner, close or "RankBoost or GradientRanker", "ranker")
    assert isinstance(ranker, RankBoost | GradientRanker)
    ranker._check_parameters()
    bins = 256 if ranker.max_bins is None else ranker.max_bins
    refused = {
        "n_bags": (ranker.n_bags > 1, "n_bags=1"),
        "validation_folds": (
            ranker.validation_folds is not None,
            "early_stopping_rounds, with an eval set or without",
        ),
        "weak": (
            not isinstance(ranker.weak, str) or ranker.weak in ("feature", "column"),
            "weak='stump' or 'tree'",
        ),
        "thresholds": (
            getattr(ranker, "thresholds", None) == "random",
            "thresholds='quantiles'",
        ),
        "max_bins": (bins > 255, "max_bins=255 or less"),
        "warm_start": (ranker.warm_start, "a checkpoint and resume"),
    }
    for name, (wanted, remedy) in refused.items():
        if wanted:
            value = getattr(ranker, name)
            raise _refused(f"{owner}: {name}={in_short(repr(value))}", remedy, name, value)
    for name in ("loss", "gain"):
        _check_travels(owner, name, getattr(ranker, name, None))
    return bins


def _refused(what: str, remedy: str, parameter: str, value: Any = None) -> ParameterError:
    return ParameterError(
        f"{what} does not run on a cluster; use {remedy}, or fit on one machine.",
        parameter=parameter,
        value=value,
    )


def _check_travels(owner: str, name: str, function: object) -> None:
    """Refuse a function of the user that cannot be sent to the workers."""
    if not callable(function):
        return
    from cloudpickle import dumps  # (Dask's, which takes functions without a name too)

    try:
        dumps(function)
    except Exception as error:  # (whatever it refers to raises whatever it likes)
        raise ParameterError(
            f"{owner}: the function {name} cannot be sent to workers ({error}); use one that "
            "refers to nothing but data, or fit on one machine.",
            parameter=name,
        ) from None


def parted_learner(learner: WeakLearner, parts: Parts, counts: Counts) -> WeakLearner:
    """Return the learner that does with parts of the rows what one does with all of them."""
    if isinstance(learner, StumpLearner):
        return PartedStumps(learner.choice, learner.default_rank, learner.max_bins).over(counts)
    assert isinstance(learner, TreeLearner)
    kind = PartedUnitTrees if isinstance(learner, UnitTreeLearner) else PartedTrees
    trees = kind(learner.limits, learner.max_bins, learner.sampling)
    trees.pairs = learner.pairs
    return trees.over(parts, counts)

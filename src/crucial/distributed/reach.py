"""Which algorithms run on rows in parts, and what to use in place of the others."""

from __future__ import annotations

from copy import copy

import numpy as np

from crucial.boosting.fixed_steps import FixedStep
from crucial.boosting.line_steps import LineStep, ShortBoundStep
from crucial.boosting.smooth_margin import SmoothClassMarginStep, SmoothMarginStep
from crucial.boosting.steps import BoundStep, ExactStep, NumericStep, UnitStep
from crucial.distributed.parts import Parts
from crucial.distributed.regression import PartedRegressionStumps
from crucial.distributed.stumps import PartedStumps
from crucial.distributed.trees import PartedTrees, PartedUnitTrees
from crucial.distributed.votes import PartedVotes
from crucial.errors import ParameterError
from crucial.estimators.adaboost import AdaBoostRanker
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.gradient import GradientRanker
from crucial.estimators.logistic import LogisticRanker
from crucial.estimators.logit_boost import LogitBoost
from crucial.estimators.pnorm_push import PNormPush
from crucial.estimators.rankboost import RankBoost
from crucial.estimators.smooth_margin import SmoothMarginRanker
from crucial.feedback.base import Feedback, RowMass, TwoClasses
from crucial.kernels.sizes import Counts
from crucial.objectives.base import Objective
from crucial.objectives.classification import ClassificationLoss
from crucial.objectives.exponential import ExponentialLoss
from crucial.objectives.logistic import LogisticLoss
from crucial.objectives.logit import LogitLoss
from crucial.objectives.push import PNormLoss
from crucial.objectives.row_losses import RowLoss
from crucial.weak.base import StepRule, WeakLearner
from crucial.weak.features import FeatureLearner
from crucial.weak.regression_stumps import RegressionStumps
from crucial.weak.stumps import StumpLearner
from crucial.weak.trees import TreeLearner
from crucial.weak.unit_trees import UnitTreeLearner
from crucial.weak.votes import VoteLearner

__all__ = ["check_no_queries", "check_reach", "is_row_wise", "parted_learner"]


_ONE_MACHINE = "or fit on one machine"
_STEPS = (
    BoundStep, ExactStep, FixedStep, LineStep, NumericStep, ShortBoundStep, SmoothClassMarginStep,
    SmoothMarginStep, UnitStep,
)  # fmt: skip
_LEARNERS = (StumpLearner, TreeLearner, UnitTreeLearner, VoteLearner, RegressionStumps)
# Rankers whose algorithm follows from their parameters and the weight of all pairs.
_RUNNING = (RankBoost, GradientRanker, LogisticRanker, PNormPush, SmoothMarginRanker)
# Rankers that compare every row with zero, so that rows may be cut anywhere.
_ROW_WISE = (AdaBoostRanker, LogitBoost)
_LOSSES = (ExponentialLoss, LogisticLoss, PNormLoss, RowLoss, ClassificationLoss, LogitLoss)


class _AnyPairs(Feedback):
    """Stands for the pairs while their algorithm is looked at; only its numbers depend on them."""

    total = 1.0

    def log_lightest(self) -> float:
        return 0.0

    def two_classes(self) -> TwoClasses:
        return TwoClasses(0.0, 1.0, 1)

    def row_mass(self) -> RowMass:
        return RowMass(1.0, 1.0, 1.0, False)


def is_row_wise(estimator: object) -> bool:
    """Return whether rows are compared with zero, and not with each other."""
    return isinstance(estimator, _ROW_WISE)


def check_no_queries(estimator: BoostedRanker, with_qid: bool) -> None:
    """Refuse queries where rows are not compared with each other."""
    if is_row_wise(estimator) and with_qid:
        raise ParameterError(
            f"{type(estimator).__name__} compares every row with the same zero, and not within "
            "queries; set qid=None, or use RankBoost.",
            parameter="qid",
        )


def check_reach(estimator: BoostedRanker, with_pairs: bool = False) -> None:
    """Refuse an estimator whose parameters need all rows at one place, and say what to use.

    No row is needed to tell, so that nothing has to be loaded first.

    Parameters
    ----------
    with_pairs : bool
        Whether it learns from explicit pairs.
    """
    if not isinstance(estimator, _RUNNING + _ROW_WISE):
        raise ParameterError(
            f"{type(estimator).__name__} does not run on parts of the rows; use RankBoost or "
            f"GradientRanker, {_ONE_MACHINE}."
        )
    owner = type(estimator).__name__
    refused = {
        "warm_start": (estimator.warm_start, "a checkpoint and resume"),
    }
    if is_row_wise(estimator):
        metrics = np.atleast_1d(np.array(estimator.eval_metric, object)).tolist()
        refused |= {
            "weak": (getattr(estimator, "weak", "") == "linear", "weak='stump' or 'tree'"),
            "subsample": (estimator.subsample < 1.0, "subsample=1"),
            "record_risks": (estimator.record_risks, "record_risks=False"),
            "eval_metric='loss'": ("loss" in metrics, "eval_metric='auc'"),
        }
    for name, (wanted, remedy) in refused.items():
        if wanted:
            raise ParameterError(
                f"{owner}: {name} does not run on parts of the rows; use {remedy}, {_ONE_MACHINE}."
            )
    estimator._check_resampling(has_pairs=with_pairs)
    for name in ("loss", "gain"):
        _check_travels(owner, name, getattr(estimator, name, None))
    same = copy(estimator)
    same.random_state = 0  # (that of the fit must not move)
    algorithm = same._parts(_AnyPairs())
    _check_algorithm(owner, *algorithm)
    if with_pairs:
        _check_pairs(estimator, algorithm[0])


def _check_pairs(estimator: BoostedRanker, objective: Objective) -> None:
    """Refuse what cannot learn from explicit pairs in parts."""
    owner = type(estimator).__name__
    if not isinstance(estimator, RankBoost | GradientRanker) or not isinstance(
        objective, ExponentialLoss
    ):
        raise ParameterError(
            f"{owner} does not learn from explicit pairs on parts of the rows; use RankBoost or "
            f"GradientRanker(loss='exponential'), {_ONE_MACHINE}."
        )
    if estimator.subsample < 1.0:
        raise ParameterError(
            f"{owner}: subsample draws from all pairs, which are in parts; use subsample=1 with "
            f"explicit pairs, {_ONE_MACHINE}."
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
            f"refers to nothing but data, {_ONE_MACHINE}."
        ) from None


def _check_algorithm(
    owner: str, objective: Objective, learner: WeakLearner, step: StepRule
) -> None:
    """Refuse what needs all rows at one place: an objective, a weak learner or a step rule."""
    if not isinstance(objective, _LOSSES):
        raise ParameterError(
            f"{owner}: {type(objective).__name__} does not run on parts of the rows; use RankBoost "
            f"or GradientRanker, {_ONE_MACHINE}."
        )
    if isinstance(learner, FeatureLearner):
        raise ParameterError(
            f"{owner}: weak='feature' and 'column' need the values of features, and parts of the "
            f"rows keep their bins; use weak='stump' or 'tree', {_ONE_MACHINE}."
        )
    if type(learner) not in _LEARNERS:
        raise ParameterError(
            f"{owner}: {type(learner).__name__} does not run on parts of the rows; use "
            f"weak='stump' or 'tree', {_ONE_MACHINE}."
        )
    # (votes are those of stumps)
    if getattr(getattr(learner, "stumps", learner), "drawn_by", None) is not None:
        raise ParameterError(
            f"{owner}: thresholds='random' does not run on parts of the rows, which share the bins "
            f"found first; use thresholds='quantiles', {_ONE_MACHINE}."
        )
    if type(step) not in _STEPS:
        raise ParameterError(
            f"{owner}: {type(step).__name__} does not run on parts of the rows; use RankBoost or "
            f"GradientRanker, {_ONE_MACHINE}."
        )


def parted_learner(learner: WeakLearner, parts: Parts, counts: Counts) -> WeakLearner:
    """Return the learner that does with parts of the rows what one does with all of them."""
    if type(learner) is StumpLearner:
        return PartedStumps(learner.choice, learner.default_rank, learner.max_bins).over(counts)
    if type(learner) is VoteLearner:
        stumps = parted_learner(learner.stumps, parts, counts)
        assert isinstance(stumps, PartedStumps)
        return PartedVotes(stumps)
    if type(learner) is RegressionStumps:
        pieces = PartedRegressionStumps(learner.default_rank, learner.max_bins)
        return pieces.over(parts, counts)
    if type(learner) is TreeLearner:
        trees = PartedTrees(learner.limits, learner.max_bins, learner.sampling, learner.pairs)
        return trees.over(parts, counts)
    assert type(learner) is UnitTreeLearner  # (others were refused)
    units = PartedUnitTrees(learner.limits, learner.max_bins, learner.sampling, learner.votes)
    units.pairs = learner.pairs
    return units.over(parts, counts)

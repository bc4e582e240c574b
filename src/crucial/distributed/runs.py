"""Run the loop on rows in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.boosting.loop import Ensemble, best_pairs, boost
from crucial.boosting.parts import TrainingRows
from crucial.boosting.trace import Progress, Round
from crucial.boosting.trees import TreeLearner
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Instances
from crucial.distributed.feedback import PartedFeedback, PartedObjective
from crucial.distributed.parts import Parts
from crucial.distributed.reach import parted_learner
from crucial.distributed.watch import PartedWatch
from crucial.kernels.runtime import count_threads
from crucial.rankers.boosted import BoostedRanker
from crucial.types import Bools

__all__ = ["Head", "boost_parted"]


@dataclass(frozen=True)
class Head:
    """What the rows of all parts have in common.

    Attributes
    ----------
    bins : Bins
        Which all parts share; codes of rows are not looked at.
    names : tuple of str, or None
        Names of the features.
    times : mapping, or None
        As in `Instances`.
    with_qid : bool
        Whether rows belong to queries; else they are all of one, in one part.
    """

    bins: Bins
    names: tuple[str, ...] | None = None
    times: Mapping[int, str] | None = None
    with_qid: bool = True

    def instances(self, has_missing: Bools) -> Instances:
        """Return a table without rows, by which features are known."""
        codes = np.zeros((len(self.bins.features), 0), np.uint8)
        bins = replace(self.bins, codes=codes, n_rows=0, stored=None, has_missing=has_missing)
        return Instances(CodedTable(bins), self.names, times=self.times)


def boost_parted(
    ranker: BoostedRanker,
    parts: Parts,
    instances: Instances,
    feedback: PartedFeedback,
    seed: int,
    progress: Progress | None,
    earlier: Sequence[Round],
    watch: PartedWatch | None,
) -> Ensemble:
    """Run the loop on the rows of all parts; as `BoostedRanker` does on a table."""
    # (the rows themselves are on the workers)
    training = TrainingRows(
        instances, np.arange(0), None, Groups.single(0), count_threads(ranker.n_jobs)
    )
    counts, constraints = feedback.facts.counts, ranker._constraints(instances)
    objective, learner, step = ranker._parts(feedback)
    most = learner.limits.max_pairs if isinstance(learner, TreeLearner) else None
    if most is not None and ranker.n_estimators > len(earlier):
        trial, grower, trial_step = ranker._parts(feedback)
        grower = parted_learner(grower, parts, counts)
        assert isinstance(grower, TreeLearner)
        assert isinstance(learner, TreeLearner)
        ranker.feature_pairs_ = best_pairs(
            training,
            feedback,
            PartedObjective(trial, parts, None),
            grower,
            trial_step,
            most,
            constraints=constraints,
            subsample=ranker.subsample,
            seed=seed,
        )
        learner.pairs = set(ranker.feature_pairs_)
    return boost(
        training,
        feedback,
        PartedObjective(objective, parts, watch),
        parted_learner(learner, parts, counts),
        step,
        rounds=ranker.n_estimators,
        constraints=constraints,
        subsample=ranker.subsample,
        seed=seed,
        watch=watch,
        record_risks=ranker.record_risks,
        progress=progress,
        earlier=earlier,
    )

"""Runs of the loop on rows in parts: on all of them, and on folds or bags of their queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from crucial.boosting.feature_pairs import best_pairs
from crucial.boosting.loop import Ensemble, boost
from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.bins import Bins
from crucial.data.coded_table import CodedTable
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.distributed.feedback import PartedFeedback, PartedObjective
from crucial.distributed.messages import Survey
from crucial.distributed.part_shares import Share
from crucial.distributed.parts import Parts
from crucial.distributed.reach import parted_learner
from crucial.distributed.watch import PartedBagWatch, PartedWatch, measures_of
from crucial.errors import DataError
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.resampling import Resampled
from crucial.estimators.runs import RunPlan, Runs, check_queries, draw_bag, fold_watch
from crucial.kernels.threads import count_threads
from crucial.types import Ints
from crucial.weak.base import TrainingRows
from crucial.weak.trees import TreeLearner

__all__ = ["Head", "PartedRuns", "boost_parted", "check_queries_known", "runs_of"]


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
    with_pairs : bool
        Whether explicit pairs are learned from, and not labels.
    """

    bins: Bins
    names: tuple[str, ...] | None = None
    times: Mapping[int, str] | None = None
    with_qid: bool = True
    with_pairs: bool = False

    def instances(self, has_missing: np.ndarray) -> Instances:
        """Return a table without rows, by which features are known."""
        codes = np.zeros((len(self.bins.features), 0), np.uint8)
        bins = replace(self.bins, codes=codes, n_rows=0, stored=None, has_missing=has_missing)
        return Instances(CodedTable(bins), self.names, times=self.times)


def boost_parted(
    ranker: Resampled,
    parts: Parts,
    instances: Instances,
    feedback: PartedFeedback,
    plan: RunPlan,
    watch: PartedWatch | None = None,
) -> Ensemble:
    """Run the loop on the rows that the parts use; as `BoostedRanker` does on a table."""
    assert isinstance(ranker, BoostedRanker)
    objective, learner, step = ranker._parts(feedback)
    training = _training(ranker, instances)
    if isinstance(learner, TreeLearner) and plan.rounds > len(plan.earlier):
        pairs = _chosen_pairs(ranker, parts, instances, feedback, plan.seed)
        if pairs is not None:
            learner.pairs, ranker.feature_pairs_ = set(pairs), pairs
    return boost(
        training,
        feedback,
        PartedObjective(objective, parts, watch),
        parted_learner(learner, parts, feedback.facts.counts),
        step,
        rounds=plan.rounds,
        constraints=ranker._constraints(instances),
        subsample=ranker.subsample,
        seed=plan.seed,
        watch=watch,
        record_risks=ranker.record_risks,
        progress=plan.progress,
        earlier=plan.earlier,
    )


def _training(ranker: BoostedRanker, instances: Instances) -> TrainingRows:
    """Return rows to learn from, of which there are none here."""
    threads = count_threads(ranker.n_jobs)
    return TrainingRows(instances, np.arange(0), None, Groups.single(0), threads)


def _chosen_pairs(
    ranker: BoostedRanker,
    parts: Parts,
    instances: Instances,
    feedback: PartedFeedback,
    seed: int,
) -> list[tuple[int, int]] | None:
    """Return the pairs of features that trees may combine; None without a limit."""
    objective, learner, step = ranker._parts(feedback)
    if not isinstance(learner, TreeLearner) or learner.limits.max_pairs is None:
        return None
    if ranker._shared_pairs is not None:
        return ranker._shared_pairs
    most, grower = learner.limits.max_pairs, parted_learner(learner, parts, feedback.facts.counts)
    assert isinstance(grower, TreeLearner)
    return best_pairs(
        _training(ranker, instances),
        feedback,
        PartedObjective(objective, parts, None),
        grower,
        step,
        most,
        constraints=ranker._constraints(instances),
        subsample=ranker.subsample,
        seed=seed,
    )


def runs_of(ranker: Resampled) -> str | None:
    """Return the parameter that asks for several runs; None for one."""
    if ranker.n_bags > 1:
        return "n_bags"
    return None if ranker.validation_folds is None else "validation_folds"


def check_queries_known(ranker: Resampled, with_qid: bool) -> None:
    """Refuse to divide rows of one query, which are all in one part."""
    name = runs_of(ranker)
    if name is not None and not with_qid:
        raise DataError(
            f"{name} on parts of the rows divides whole queries, and all rows are of one: pass "
            f"qid, or leave {name} at its default.",
            parameter=name,
        )


class PartedRuns(Runs):
    """Runs on folds and bags of the queries of all parts.

    Parameters
    ----------
    ranker : BoostedRanker
    parts : Parts
    head : Head
    survey : Survey
        Of the parts.
    """

    def __init__(self, ranker: BoostedRanker, parts: Parts, head: Head, survey: Survey) -> None:
        check_queries_known(ranker, head.with_qid)
        self._parts, self._head, self._survey, self._ranker = parts, head, survey, ranker
        self.with_qid, self._share = head.with_qid, Share()
        self.feedback, self.instances = self._look()

    def _look(self) -> tuple[PartedFeedback, Instances]:
        feedback = PartedFeedback.of(self._parts, self._ranker)
        return feedback, self._head.instances(feedback.facts.absent)

    def _use(self, share: Share) -> None:
        """Let the parts begin a run on a share of their rows."""
        if share != self._share:
            self._parts.call("use", share, changes=True)
            self._share = share

    def _on(
        self, ranker: Resampled, share: Share, plan: RunPlan, watch: PartedWatch | None = None
    ) -> Ensemble:
        """Run the loop on a share of the rows."""
        self._use(share)
        feedback, instances = self._look()
        return boost_parted(ranker, self._parts, instances, feedback, plan, watch)

    def on_all(self, ranker: Resampled, plan: RunPlan) -> Ensemble:
        """Run the loop on all rows."""
        return self._on(ranker, Share(), plan)

    def chosen_pairs(self, ranker: Resampled, seed: int) -> list[tuple[int, int]] | None:
        """Return the pairs of features that trees may combine; None without a limit."""
        assert isinstance(ranker, BoostedRanker)
        return _chosen_pairs(ranker, self._parts, self.instances, self.feedback, seed)

    def deal(self, n_folds: int, seed: int) -> None:
        """Divide the queries into folds."""
        queries, alike = self._numbers("weighing"), self._numbers("one_valued")
        check_queries(len(queries) - len(alike), n_folds)
        self._parts.call("deal", n_folds, queries, alike, seed, changes=True)
        self._n_folds = n_folds

    def _numbers(self, what: str) -> Ints:
        """Return the numbers of some queries of all parts."""
        found = self._parts.total(what)
        return np.zeros(0, np.int64) if found is None else np.asarray(found.numbers)

    def on_fold(self, ranker: Resampled, fold: int, plan: RunPlan) -> tuple[Trace, Watch]:
        """Run the loop on all queries but those of a fold, which are measured."""
        share = Share(fold=fold)
        self._use(share)
        watch = fold_watch(self._n_folds, lambda: self._watch(ranker))
        assert isinstance(watch, PartedWatch)
        return self._on(ranker, share, plan, watch).trace, watch

    def _watch(self, ranker: Resampled) -> PartedWatch:
        """Return what measures the eval rows of the share in use."""
        facts, lowest = self._parts.total("survey").eval_facts, self._survey.lowest
        measures = measures_of(ranker.eval_metric, facts, self.with_qid, lowest)
        return PartedWatch(self._parts, measures, None, ranker._tolerance())

    def draw(self, n_bags: int, seed: int) -> None:
        """Draw the queries of every bag."""
        queries = self._parts.total("paired").numbers
        draw_bag(queries, seed, 0)  # (refuses too few)
        self._parts.call("draw_bags", n_bags, queries, seed, changes=True)

    def on_bag(self, ranker: Resampled, number: int, plan: RunPlan) -> Trace:
        """Run the loop on the queries of a bag."""
        return self._on(ranker, Share(bag=number), plan).trace

    def mean(
        self, ranker: Resampled, turns: list[Round], origins: list[int], seed: int
    ) -> tuple[Ensemble, Watch | None]:
        """Replay the rounds of all bags on all rows."""
        share = Share(unseen=ranker.early_stopping_rounds is not None)
        self._use(share)
        watch = self._bag_watch(ranker, origins)
        plan = RunPlan(seed, len(turns), None, turns)
        return self._on(ranker, share, plan, watch), watch

    def _bag_watch(self, ranker: Resampled, origins: list[int]) -> PartedBagWatch | None:
        """Return what watches the mean: the eval set, or the queries that bags have not seen."""
        given, patience = self._survey.eval_facts, ranker.early_stopping_rounds
        if given is None and patience is None:
            return None
        tolerance = ranker._tolerance() if given is not None else 0.0
        facts = given or self._parts.total("survey").eval_facts
        lowest = None if given is not None else self._survey.lowest
        measures = measures_of(ranker.eval_metric, facts, self.with_qid, lowest)
        return PartedBagWatch(self._parts, measures, patience, tolerance, origins)

"""Runs of the loop on a table, and on the rows of folds or bags of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crucial.boosting.bags import BagWatch
from crucial.boosting.loop import Ensemble
from crucial.boosting.parts import TrainingRows
from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.bins import SharedBins
from crucial.data.groups import Groups, deal
from crucial.estimators.base import RankingInput
from crucial.estimators.eval_set import EvalRows, measure_of, take_rows
from crucial.estimators.runs import (
    IN_BAG,
    RunPlan,
    bag_random,
    check_queries,
    draw_bag,
    fold_random,
    fold_watch,
)
from crucial.feedback.labels import QueryWeight, weighing_rows
from crucial.kernels.runtime import count_threads
from crucial.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from crucial.estimators.resampling import Resampled

__all__ = ["TableRuns", "bag_weights"]


class TableRuns:
    """Runs on a table; all share its bins.

    Parameters
    ----------
    ranker : Resampled
        Whose feedback it is.
    data : RankingInput
    query_weight : as in `fit`
    eval_rows : EvalRows, optional
        To measure the mean of bags on.

    Attributes
    ----------
    instances : Instances
    feedback : Feedback
        The pairs of all data.
    with_qid : bool
    """

    def __init__(
        self,
        ranker: Resampled,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_rows: EvalRows | None = None,
    ) -> None:
        self._data, self._query_weight, self._eval_rows = data, query_weight, eval_rows
        self.instances, self.with_qid = data.instances, data.with_qid
        feedback = self.feedback = ranker._feedback(data, data.weight, query_weight, None)
        rows, threads = feedback.rows, count_threads(ranker.n_jobs)
        shared = SharedBins(data.instances, rows, feedback.weight, threads)
        self._training = TrainingRows(
            data.instances, rows, feedback.weight, data.groups, threads, shared
        )
        self._weighing = weighing_rows(data.weight, query_weight, data.groups)
        own = np.ones(data.instances.n_rows) if data.weight is None else data.weight
        self._own = own if self._weighing is None else np.where(self._weighing, own, 0.0)

    def on_all(self, ranker: Resampled, plan: RunPlan, watch: Watch | None = None) -> Ensemble:
        """Run the loop on all data."""
        return ranker._boost(
            self._training, self.feedback, watch, plan.seed, plan.rounds, plan.progress,
            plan.earlier,
        )  # fmt: skip

    def _on_some(
        self, ranker: Resampled, weight: Floats, plan: RunPlan, watch: Watch | None
    ) -> Trace:
        """Run the loop on the rows of positive weight."""
        feedback = ranker._feedback(self._data, weight, self._query_weight, None)
        training = replace(self._training, rows=feedback.rows, weight=feedback.weight)
        return ranker._boost(
            training, feedback, watch, plan.seed, plan.rounds, plan.progress, plan.earlier
        ).trace

    def chosen_pairs(self, ranker: Resampled, seed: int) -> list[tuple[int, int]] | None:
        """Return the pairs of features that trees may combine; None without a limit."""
        return ranker._chosen_pairs(self._training, self.feedback, seed)

    def deal(self, n_folds: int, seed: int) -> None:
        """Divide the queries into folds; without queries, the rows."""
        labels, groups = self._data.known_labels, self._data.groups
        rows = np.flatnonzero(self._own > 0.0)
        if len(rows) < len(labels):  # (those of weight 0 are as good as absent)
            labels, groups = labels[rows], Groups.from_qid(groups.codes[rows], len(rows))
        if self.with_qid:
            check_queries(int((~groups.one_valued(labels)).sum()), n_folds)
        random = fold_random(seed)
        self._fold = np.full(len(self._own), -1)
        self._fold[rows] = deal(n_folds, labels, groups, self.with_qid, random, "validation_folds")
        self._n_folds = n_folds

    def on_fold(self, ranker: Resampled, fold: int, plan: RunPlan) -> tuple[Trace, Watch]:
        """Run the loop on all rows but those of a fold, which are measured."""
        in_fold = self._fold == fold
        held = self._take(np.flatnonzero(in_fold))
        watch = fold_watch(self._n_folds, lambda: ranker._watch(held))
        return self._on_some(ranker, np.where(in_fold, 0.0, self._own), plan, watch), watch

    def _take(self, rows: Ints) -> EvalRows:
        """Return some rows as an eval set, with one default measure for all such sets."""
        return take_rows(self._data, rows, measure_of(self._data, self._weighing))

    def draw(self, n_bags: int, seed: int) -> None:
        """Draw the queries of every bag; without queries, the rows."""
        self._weights = bag_weights(self._data, self.feedback.rows, n_bags, seed)

    def on_bag(self, ranker: Resampled, number: int, plan: RunPlan) -> Trace:
        """Run the loop on the rows of a bag."""
        return self._on_some(ranker, self._weights[number], plan, None)

    def mean(
        self, ranker: Resampled, turns: list[Round], origins: list[int], seed: int
    ) -> tuple[Ensemble, Watch | None]:
        """Replay the rounds of all bags on all data."""
        watch = self._bag_watch(ranker, origins)
        return self.on_all(ranker, RunPlan(seed, len(turns), None, turns), watch), watch

    def _bag_watch(self, ranker: Resampled, origins: list[int]) -> BagWatch | None:
        """Return what watches the mean: the eval set, or the rows that bags have not seen."""
        rows, unseen, tolerance = self._eval_rows, None, ranker._tolerance()
        patience = ranker.early_stopping_rounds
        if rows is None:
            if patience is None:
                return None
            # Nearly all queries are left out of some bag: their best round is no luck.
            tolerance = 0.0
            counts = self._own > 0.0
            left_out = np.array([(weight == 0.0) & counts for weight in self._weights])
            places = np.flatnonzero(left_out.any(axis=0))
            rows, unseen = self._take(places), left_out[:, places]
        measures = ranker._prepared(rows, ranker.eval_metric)
        return BagWatch(rows.instances, rows.groups, measures, patience, origins, unseen, tolerance)


def bag_weights(data: RankingInput, rows: Ints, n_bags: int, seed: int) -> list[Floats]:
    """Return the weights of all rows in every bag, 0 for those left out.

    Parameters
    ----------
    rows : int array
        The rows that pairs are made of.
    """
    n_rows = data.instances.n_rows
    own = np.ones(n_rows) if data.weight is None else data.weight
    codes = data.groups.codes
    queries = np.unique(codes[rows]) if data.with_qid else np.zeros(0, np.int64)
    out = []
    for number in range(n_bags):
        if data.with_qid:
            kept = np.isin(codes, draw_bag(queries, seed, number))
        else:
            kept = _systematic(n_rows, rows, data.labels, bag_random(seed, number))
        out.append(np.where(kept, own, 0.0))
    return out


def _systematic(
    n_rows: int, rows: Ints, labels: Floats | None, random: np.random.Generator
) -> Bools:
    """Draw rows such that every label keeps its share: evenly spaced ones in order of labels."""
    order = random.permutation(rows)
    if labels is not None and labels.ndim == 1:
        order = order[np.argsort(labels[order], kind="stable")]
    steps = np.floor(IN_BAG * np.arange(len(order) + 1) + random.random())
    kept = np.zeros(n_rows, bool)
    kept[order[np.diff(steps) > 0]] = True
    return kept

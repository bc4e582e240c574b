"""Fit an estimator to rows in parts, by the same loop as to a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from crucial.boosting.loop import boost
from crucial.boosting.progress import Progress, show_rounds, with_callbacks
from crucial.boosting.trace import Round
from crucial.data.bins import Bins
from crucial.data.coded_table import CodedTable
from crucial.data.encodings import Encodings
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.distributed.feedback import PartedFeedback, PartedObjective
from crucial.distributed.messages import Survey
from crucial.distributed.parts import Parts
from crucial.distributed.reach import check_reach, parted_learner
from crucial.distributed.watch import PartedWatch, measures_of
from crucial.errors import DataError
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.eval_set import HELD_OUT, n_held_out
from crucial.kernels.threads import count_threads
from crucial.weak.base import TrainingRows

__all__ = ["Head", "fit_parted"]

Estimator = TypeVar("Estimator", bound=BoostedRanker)


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

    def instances(self, has_missing: np.ndarray) -> Instances:
        """Return a table without rows, by which features are known."""
        codes = np.zeros((len(self.bins.features), 0), np.uint8)
        bins = replace(self.bins, codes=codes, n_rows=0, stored=None, has_missing=has_missing)
        return Instances(CodedTable(bins), self.names, times=self.times)


def fit_parted(
    estimator: Estimator,
    parts: Parts,
    head: Head,
    *,
    progress: Progress | None = None,
    earlier: Sequence[Round] = (),
) -> Estimator:
    """Fit an estimator to rows in parts; its model is that of one table with the same bins.

    Parameters
    ----------
    estimator : BoostedRanker
        RankBoost, GradientRanker and whatever else is made of parts of the loop that can add up
        rows in parts; others are refused.
    parts : Parts
        Of `crucial.distributed.part.Part`, new ones.
    head : Head
    progress : function, optional
        Called after every round; by default the rounds are shown as ``estimator.verbose`` says.
    earlier : rounds of an earlier call on the same rows
        They are replayed, and what follows is what one longer call would have done.

    Returns
    -------
    The estimator, with the fitted attributes of a local fit.
    """
    estimator._check_parameters()
    check_reach(estimator)
    seed = estimator._seed()
    watch = _watch(estimator, parts, head, seed)
    feedback = PartedFeedback.of(parts, estimator.balance, estimator.gain)
    instances = head.instances(feedback.facts.absent)
    estimator._learn_columns(instances)
    estimator._encodings = Encodings(times=dict(instances.times or {}))
    rounds, threads = estimator.n_estimators, count_threads(estimator.n_jobs)
    objective, learner, step = estimator._parts(feedback)
    training = TrainingRows(instances, np.arange(0), None, Groups.single(0), threads)
    shown = show_rounds(rounds, estimator.verbose) if progress is None else nullcontext(progress)
    with shown as show:
        ensemble = boost(
            training,
            feedback,
            PartedObjective(objective, parts, watch),
            parted_learner(learner, parts, feedback.facts.counts),
            step,
            rounds=rounds,
            constraints=estimator._constraints(instances),
            subsample=estimator.subsample,
            seed=seed,
            watch=watch,
            record_risks=estimator.record_risks,
            progress=with_callbacks(show, rounds, estimator.callbacks, replayed=len(earlier)),
            earlier=earlier,
        )
    estimator._set_fitted(ensemble, instances, feedback, watch, head.with_qid)
    return estimator


def _watch(estimator: BoostedRanker, parts: Parts, head: Head, seed: int) -> PartedWatch | None:
    """Return what to watch: the eval rows of the parts, or queries that are held out."""
    patience = estimator.early_stopping_rounds
    survey: Survey = parts.total("survey") or Survey(0, None)
    if survey.eval_facts is None:
        if patience is None:
            return None
        if not head.with_qid or survey.queries < 2:
            raise DataError(
                "early_stopping_rounds on parts of the rows holds out whole queries, and all rows "
                "are of one: pass an eval set, or set early_stopping_rounds=None."
            )
        count = n_held_out(estimator.validation_fraction, survey.queries)
        parts.call("hold_out", survey.queries, count, (seed, HELD_OUT), changes=True)
        survey = parts.total("survey")
    assert survey.eval_facts is not None
    measures = measures_of(estimator.eval_metric, survey.eval_facts)
    return PartedWatch(parts, measures, patience, estimator._tolerance())

"""Fit a ranker to rows in parts, by the same loop as to a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np

from crucial.boosting.trace import Progress, Round, show_rounds, with_callbacks
from crucial.data.instances import Encodings
from crucial.distributed.feedback import PartedFeedback
from crucial.distributed.messages import PartSurvey
from crucial.distributed.parts import Parts
from crucial.distributed.reach import check_reach
from crucial.distributed.runs import Head, boost_parted
from crucial.distributed.watch import PartedWatch, measures_of
from crucial.errors import DataError
from crucial.rankers.boosted import BoostedRanker
from crucial.rankers.staged import HELD_OUT, n_held_out
from crucial.types import Ints

__all__ = ["Head", "fit_parted"]

Estimator = TypeVar("Estimator", bound=BoostedRanker)


def fit_parted(
    estimator: Estimator,
    parts: Parts,
    head: Head,
    *,
    progress: Progress | None = None,
    earlier: Sequence[Round] = (),
) -> Estimator:
    """Fit a ranker to rows in parts; its model is that of one table with the same bins.

    Parameters
    ----------
    estimator : RankBoost or GradientRanker
        What else `check_reach` refuses.
    parts : Parts
        Of `crucial.distributed.part.Part`, new ones.
    head : Head
    progress : function, optional
        Called after every round; by default the rounds are shown as ``estimator.verbose`` says.
    earlier : sequence of Round
        Rounds of an earlier call on the same rows. They are replayed, and what follows is what one
        longer call would have done.

    Returns
    -------
    The estimator, with the fitted attributes of a local fit.
    """
    check_reach(estimator)
    seed = estimator._seed()
    survey: PartSurvey = parts.total("survey") or PartSurvey(math.inf, None)
    for name in ("fold_curves_", "feature_pairs_"):
        vars(estimator).pop(name, None)
    watch = _watch(estimator, parts, head, survey, seed)
    feedback = PartedFeedback.of(parts, estimator)
    instances = head.instances(feedback.facts.absent)
    estimator._learn_columns(instances)
    estimator._encodings = Encodings(times=dict(instances.times or {}))
    rounds = estimator.n_estimators
    shown: AbstractContextManager[Progress | None] = nullcontext(progress)
    if progress is None:
        shown = show_rounds(rounds, estimator.verbose)
    with shown as show:
        followed = with_callbacks(show, rounds, estimator.callbacks, replayed=len(earlier))
        ensemble = boost_parted(
            estimator, parts, instances, feedback, seed, followed, earlier, watch
        )
    estimator._set_fitted(ensemble, instances, feedback, watch, head.with_qid)
    return estimator


def _watch(
    estimator: BoostedRanker, parts: Parts, head: Head, survey: PartSurvey, seed: int
) -> PartedWatch | None:
    """Return what to watch: the eval rows of the parts, or queries that are held out."""
    patience, lowest = estimator.early_stopping_rounds, None
    if survey.eval_facts is None:
        if patience is None:
            return None
        found = parts.total("weighing")
        queries: Ints = np.zeros(0, np.int64) if found is None else found.numbers
        if not head.with_qid or len(queries) < 2:
            raise DataError(
                "early_stopping_rounds on parts of the rows holds out whole queries, and all rows "
                "are of one: pass an eval set, or set early_stopping_rounds=None."
            )
        count = n_held_out(estimator.validation_fraction, len(queries))
        parts.call("hold_out", queries, count, (seed, HELD_OUT), changes=True)
        lowest, survey = survey.lowest, parts.total("survey")
    assert survey.eval_facts is not None
    measures = measures_of(estimator.eval_metric, survey.eval_facts, head.with_qid, lowest)
    return PartedWatch(parts, measures, patience, estimator._tolerance())

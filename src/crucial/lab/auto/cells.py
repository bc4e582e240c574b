"""One cell of the search: a candidate learns from a fold, and is measured as it grows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from crucial.lab.auto.blend import scale_factors, score_spread
from crucial.lab.auto.candidates import RankerCandidate
from crucial.lab.auto.rows import Rows
from crucial.lab.cells import run_cell
from crucial.lab.folds import Fold
from crucial.lab.records import Cell, CellMeasure, Key
from crucial.measures.base import Measure
from crucial.types import Floats

__all__ = [
    "TASK",
    "average_cell",
    "compute_cell",
    "compute_scores",
    "fresh",
    "refitted",
    "stage_rounds",
]

#: The task of every cell.
TASK = "rows"

#: Most rounds after which a ranker is measured.
_STAGES = 30


def stage_rounds(n_rounds: int) -> list[int]:
    """Return the rounds after which a ranker is measured: dense at first, then evenly spread.

    Examples
    --------
    >>> stage_rounds(12)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> len(stage_rounds(300)), stage_rounds(300)[:5], stage_rounds(300)[-2:]
    (28, [5, 7, 9, 12, 24], [288, 300])
    """
    if n_rounds <= _STAGES:
        return list(range(1, n_rounds + 1))
    early = np.geomspace(5, n_rounds / (_STAGES - 5), 4)[:-1]
    even = np.linspace(0, n_rounds, _STAGES - 4)[1:]
    return sorted({round(float(one)) for one in (*early, *even)})


def fresh(candidate: RankerCandidate, n_jobs: int | None, rounds: int | None = None) -> Any:
    """Return an unfitted copy of a candidate's estimator."""
    estimator = clone(candidate.estimator)
    if rounds is not None and candidate.rounds is not None:
        estimator.set_params(n_estimators=rounds)
    return estimator.set_params(n_jobs=n_jobs)


def refitted(
    candidate: RankerCandidate, n_jobs: int | None, rounds: int | None, growth: float
) -> Any:
    """Return an unfitted copy for all rows, where there are more than it was validated on.

    More rows bear more rounds: ``sqrt(growth)`` times as many, at most twice.
    """
    factor = min(2.0, math.sqrt(max(1.0, growth)))
    if rounds is not None:
        return fresh(candidate, n_jobs, round(factor * rounds))
    estimator = fresh(candidate, n_jobs)
    for one in estimator.rankers if candidate.members else ():
        if hasattr(one, "n_estimators"):
            one.set_params(n_estimators=round(factor * one.n_estimators))
    return estimator


def compute_cell(
    key: Key,
    candidate: RankerCandidate,
    rows: Rows,
    fold: Fold,
    measure: Measure,
    n_jobs: int | None,
    fitted_rankers: dict[Key, Any],
) -> Cell:
    """Fit a candidate to the training part of a fold and measure it on the other part.

    Parameters
    ----------
    fitted_rankers : dict
        Gets the ranker, if it has rounds.
    """

    def work() -> dict[str, object]:
        train, test = rows.take(fold.train), rows.take(fold.test)
        estimator = fresh(candidate, n_jobs)
        began = time.perf_counter()
        estimator.fit(train.instances, train.y, qid=train.qid, sample_weight=train.weight)
        fitted = time.perf_counter()
        rounds = [0] if candidate.rounds is None else stage_rounds(candidate.rounds)
        stages = _staged(estimator, test, rounds)
        found = measured(stages, rounds, test, fold, measure)
        if candidate.rounds is None:  # (an average can take these, and need not fit again)
            found |= _scored(estimator, train, stages[0])
        else:
            fitted_rankers[key] = estimator
        return {
            **found,
            "candidates": 1,
            "fit_seconds": fitted - began,
            "choose_seconds": 0.0,
            "test_seconds": time.perf_counter() - fitted,
            "rows": {"train": len(train.y), "valid": 0, "test": len(test.y)},
        }

    return run_cell(key, work)


def measured(
    stages: Sequence[Floats], rounds: Sequence[int], test: Rows, fold: Fold, measure: Measure
) -> dict[str, object]:
    """Return the part of a cell that has the values of a measure, for scores after some rounds."""
    groups = test.groups
    weight = test.weight if measure.takes_weights else None
    prepared = measure.prepare(test.y, groups, sample_weight=weight)
    values = [prepared.per_query(one) for one in stages]
    value, n_queries, n_empty = prepared.summary(values[-1])
    last: CellMeasure = {
        "value": value,
        "valid": None,
        "round": rounds[-1] or None,
        "of_rounds": rounds[-1] or None,
        "parameters": {},
        "queries": n_queries,
        "empty": n_empty,
    }
    weights = prepared.bound.weights
    return {
        "status": "ok",
        "measures": {measure.name: last},
        "per_query": {
            "qid": [fold.name] if test.qid is None else groups.ids,
            measure.name: values[-1],
        },
        "weights": {} if weights is None else {measure.name: weights},
        "stages": {"rounds": list(rounds), "values": values},
    }


def compute_scores(
    key: Key, estimator: Any, rows: Rows, fold: Fold, n_jobs: int | None, fitted: Any | None
) -> Cell:
    """Fit an estimator to the training part of a fold; keep its scores of the other part.

    Parameters
    ----------
    fitted : estimator or None
        The same with more rounds, fitted to that part: its first rounds are those of the
        estimator, which need not be fitted then.
    """

    def work() -> dict[str, object]:
        train, test = rows.take(fold.train), rows.take(fold.test)
        if fitted is None:
            own = clone(estimator).set_params(n_jobs=n_jobs)
            own.fit(train.instances, train.y, qid=train.qid, sample_weight=train.weight)
        else:
            own, rounds = fitted, min(estimator.n_estimators, fitted.ensemble_.n_rounds)
            own._set_ensemble(own.ensemble_, rounds, train.qid is not None)
        return {
            "status": "ok",
            **_scored(own, train, own.predict(test.instances, test.qid)),
            "rows": {"train": len(train.y), "valid": 0, "test": len(test.y)},
        }

    return run_cell(key, work)


def _scored(estimator: Any, train: Rows, scores: Floats) -> dict[str, object]:
    """Return what an average needs of a fitted ranker: scores of other rows, and their scale."""
    own = estimator.predict(train.instances, train.qid)
    return {"scores": scores, "spread": score_spread(own, train.groups)}


def average_cell(
    key: Key,
    members: Sequence[Cell],
    parts: Sequence[float],
    rows: Rows,
    fold: Fold,
    measure: Measure,
) -> Cell:
    """Measure the average of scores that `compute_scores` or `compute_cell` kept."""

    def work() -> dict[str, object]:
        factors = scale_factors([one["spread"] for one in members], parts)
        scores = sum(f * np.array(one["scores"]) for f, one in zip(factors, members, strict=True))
        found = measured([np.asarray(scores)], [0], rows.take(fold.test), fold, measure)
        return found | {"rows": members[0]["rows"]}

    return run_cell(key, work)


def _staged(estimator: Any, test: Rows, rounds: Sequence[int]) -> list[Floats]:
    """Return the scores after some rounds; those of the last where it stopped early."""
    if list(rounds) == [0]:
        return [estimator.predict(test.instances, test.qid)]
    wanted, found = set(rounds), []
    scores = np.zeros(len(test.y))
    for number, scores in enumerate(estimator.staged_predict(test.instances, test.qid), start=1):
        if number in wanted:
            found.append(scores)
    return found + [scores] * (len(rounds) - len(found))

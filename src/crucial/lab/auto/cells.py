"""One cell of the search: a candidate learns from a fold, and is measured as it grows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from crucial.lab.auto.candidates import Candidate
from crucial.lab.auto.rows import Rows
from crucial.lab.cells import run_cell
from crucial.lab.folds import Fold
from crucial.lab.records import Cell, Key
from crucial.measures.base import Measure
from crucial.types import Floats

__all__ = ["TASK", "compute_cell", "fresh", "stage_rounds"]

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
    (30, [5, 8, 13, 20, 28], [288, 300])
    """
    if n_rounds <= _STAGES:
        return list(range(1, n_rounds + 1))
    early = np.geomspace(5, n_rounds / (_STAGES - 5), 4)[:-1]
    even = np.linspace(0, n_rounds, _STAGES - 4)[1:]
    return sorted({round(float(one)) for one in (*early, *even)})


def fresh(candidate: Candidate, n_jobs: int | None, rounds: int | None = None) -> Any:
    """Return an unfitted copy of a candidate's estimator."""
    estimator = clone(candidate.estimator)
    if rounds is not None and candidate.rounds is not None:
        estimator.set_params(n_estimators=rounds)
    return estimator.set_params(n_jobs=n_jobs)


def compute_cell(
    key: Key, candidate: Candidate, rows: Rows, fold: Fold, measure: Measure, n_jobs: int | None
) -> Cell:
    """Fit a candidate to the training part of a fold and measure it on the other part."""

    def work() -> dict[str, object]:
        train, test = rows.take(fold.train), rows.take(fold.test)
        estimator = fresh(candidate, n_jobs)
        began = time.perf_counter()
        estimator.fit(train.instances, train.y, qid=train.qid, sample_weight=train.weight)
        fitted = time.perf_counter()
        groups = test.groups
        weight = test.weight if measure.takes_weights else None
        prepared = measure.prepare(test.y, groups, sample_weight=weight)
        rounds = [0] if candidate.rounds is None else stage_rounds(candidate.rounds)
        values = [prepared.per_query(one) for one in _staged(estimator, test, rounds)]
        value, n_queries, n_empty = prepared.summary(values[-1])
        return {
            "status": "ok",
            "measures": {
                measure.name: {
                    "value": value,
                    "valid": None,
                    "round": candidate.rounds,
                    "of_rounds": candidate.rounds,
                    "parameters": {},
                    "queries": n_queries,
                    "empty": n_empty,
                }
            },
            "per_query": {
                "qid": [fold.name] if test.qid is None else groups.ids,
                measure.name: values[-1],
            },
            "weights": {} if prepared.bound.weights is None else {
                measure.name: prepared.bound.weights
            },
            "stages": {"rounds": rounds, "values": values},
            "candidates": 1,
            "fit_seconds": fitted - began,
            "choose_seconds": 0.0,
            "test_seconds": time.perf_counter() - fitted,
            "rows": {"train": len(train.y), "valid": 0, "test": len(test.y)},
        }  # fmt: skip

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

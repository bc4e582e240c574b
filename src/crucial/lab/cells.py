"""One cell of an experiment: one ranker on one split of one task."""

from __future__ import annotations

import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.errors import about
from crucial.lab.adapter import Adapter
from crucial.lab.curves import curves, stages
from crucial.lab.given_folds import FoldTask
from crucial.lab.protocols import ExperimentProtocol
from crucial.lab.rankers import Contender
from crucial.lab.records import Cell, CellMeasure, Key
from crucial.lab.tasks import SplitRows, TaskLike, TaskRows, TaskSplit
from crucial.measures.base import Measure
from crucial.measures.lists import as_numbers
from crucial.results import json_value
from crucial.types import Floats

__all__ = ["Job", "forget_parts", "run_cell", "run_job", "run_job_beside"]


#: The last split that was read in this process: several rankers in turn need it.
_LAST: list[tuple[TaskLike, str, SplitRows]] = []

#: Processes that this one ends with.
_WATCHED: set[int] = set()

#: Without queries, scores of so many test rows are kept, for intervals and tests by rows.
MOST_ROWS_KEPT = 200_000


@dataclass(frozen=True, eq=False)
class Job:
    """What one process needs to compute a cell.

    Attributes
    ----------
    task, split, contender, protocol
        Which ranker learns from what.
    measures : tuple of Measure
        Measures to report.
    choosers : tuple of Measure
        Measures that others are chosen by and that are not reported.
    n_jobs : int or None
        Threads of the ranker; None leaves them as they are.
    """

    task: TaskLike
    split: TaskSplit
    contender: Contender
    protocol: ExperimentProtocol
    measures: tuple[Measure, ...]
    choosers: tuple[Measure, ...]
    n_jobs: int | None

    @property
    def key(self) -> Key:
        """Task, split and ranker."""
        return self.task.name, self.split.name, self.contender.name


@dataclass
class _Choice:
    """The best on the validation part so far, by one measure."""

    value: float
    parameters: dict[str, object]
    ranker: Adapter
    round: int | None = None
    of_rounds: int | None = None


def run_job(job: Job) -> Cell:
    """Compute a cell, as plain data; a ranker that fails makes a cell with its error."""
    parts = _parts_of(job)
    return run_cell(job.key, lambda: _learn_and_measure(job, parts))


def run_cell(key: Key, work: Callable[[], dict[str, object]]) -> Cell:
    """Return what ``work`` computes as a cell, with its warnings and time; or with its error."""
    head = dict(zip(("task", "split", "ranker"), key))
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            body = work()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            body = {
                "status": "failed",
                "error": f"{type(error).__name__}: {error}",
                "where": f"{place.name}, line {place.lineno}",
            }
    messages = list(dict.fromkeys(str(one.message) for one in caught))
    seconds = time.perf_counter() - began
    cell: Cell = json_value(head | body | {"warnings": messages[:20], "seconds": seconds})
    return cell


def run_job_beside(job: Job, parent: int) -> Cell:
    """Compute a cell in another process, which ends when the one that started it does.

    Where joblib has no processes of its own (threads, a machine without shared memory, a cluster),
    nobody is watched.
    """
    if parent not in _WATCHED and os.getppid() == parent:
        _WATCHED.add(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return run_job(job)


def _end_with(parent: int) -> None:
    """Exit when the parent process is gone: if killed, it cannot end its children."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _parts_of(job: Job) -> SplitRows:
    """Return the rows of a job's split, from memory if they were read last."""
    for task, split, parts in _LAST:
        if split == job.split.name and (task is job.task or _same_files(task, job.task)):
            return parts
    with about(f"task {job.task.name!r}, {job.split.name}"):
        parts = job.task.parts(job.split)
    _LAST[:] = [(job.task, job.split.name, parts)]
    return parts


def forget_parts() -> None:
    """Free the memory of the last split."""
    _LAST.clear()


def _same_files(last: TaskLike, task: TaskLike) -> bool:
    """Return whether a task that came from another process names the same files."""
    return (
        isinstance(task, FoldTask)
        and isinstance(last, FoldTask)
        and (task.name, task.folds, task.options) == (last.name, last.folds, last.options)
    )


def _learn_and_measure(job: Job, parts: SplitRows) -> dict[str, object]:
    """Fit every candidate, choose by the validation part, and measure on the test part."""
    by_name = {one.name: one for one in (*job.measures, *job.choosers)}
    needed = dict.fromkeys(job.protocol.chooser(one.name) for one in job.measures)
    deciders = [by_name[name] for name in needed]
    choices: dict[str, _Choice] = {}
    fit_seconds = choose_seconds = 0.0
    candidates = job.contender.candidates()
    for parameters in candidates:
        estimator = job.contender.make(parameters, job.n_jobs)
        ranker = Adapter.of(estimator, parts.train.qid is not None, False)
        began = time.perf_counter()
        ranker.fit(parts.train.X, _targets(parts.train.y), parts.train.qid)
        fitted = time.perf_counter()
        for name, choice in _choose(ranker, parameters, parts.valid, deciders):
            old = choices.get(name)
            if old is None or _better(by_name[name], choice.value, old.value):
                choices[name] = choice
        fit_seconds += fitted - began
        choose_seconds += time.perf_counter() - fitted
    began = time.perf_counter()
    measured = _measure(job, parts.test, choices)
    return {
        "status": "ok",
        **measured,
        "candidates": len(candidates),
        "fit_seconds": fit_seconds,
        "choose_seconds": choose_seconds,
        "test_seconds": time.perf_counter() - began,
        "rows": {
            "train": len(parts.train.y),
            "valid": 0 if parts.valid is None else len(parts.valid.y),
            "test": len(parts.test.y),
        },
    }


def _targets(y: Floats) -> NDArray[np.generic]:
    """Return whole labels as ints, which classifiers need."""
    whole = bool(np.all(y == np.floor(y))) and bool(np.all(np.abs(y) < 2**31))
    return y.astype(np.int64) if whole else y


def _better(measure: Measure, new: float, old: float) -> bool:
    """Return whether a value is strictly better; any value is better than NaN."""
    if np.isnan(new) or np.isnan(old):
        return bool(np.isnan(old) and not np.isnan(new))
    return new > old if measure.higher_is_better else new < old


def _choose(
    ranker: Adapter,
    parameters: dict[str, object],
    valid: TaskRows | None,
    deciders: Sequence[Measure],
) -> Iterable[tuple[str, _Choice]]:
    """Yield the first best round of a ranker, by each measure."""
    if valid is None:
        for one in deciders:
            yield one.name, _Choice(np.nan, parameters, ranker)
        return
    rounds = stages(ranker.estimator, valid)
    if rounds is not None:
        values, count = curves(rounds, valid, deciders)
        if count:
            for one in deciders:
                best, value = _first_best(one, values[one.name])
                yield one.name, _Choice(value, parameters, ranker, best, count)
            return
    scores = ranker.scores(valid.X, valid.qid)
    for one in deciders:
        yield one.name, _Choice(one(valid.y, scores, valid.groups), parameters, ranker)


def _first_best(measure: Measure, values: Floats) -> tuple[int, float]:
    """Return the first best round, from 1, and its value; the last one if no round has a value."""
    if np.isnan(values).all():
        return len(values), float("nan")
    at = int(np.nanargmax(values) if measure.higher_is_better else np.nanargmin(values))
    return at + 1, float(values[at])


def _measure(job: Job, test: TaskRows, choices: dict[str, _Choice]) -> dict[str, object]:
    """Measure each measure's choice on the test part, query by query."""
    scores = _test_scores(test, choices)
    found: dict[str, CellMeasure] = {}
    weights: dict[str, Floats] = {}
    qid = test.groups.ids if test.qid is not None else [job.split.name]
    per_query: dict[str, object] = {"qid": qid}
    for one in job.measures:
        name = job.protocol.chooser(one.name)
        choice = choices[name]
        prepared = one.prepare(test.y, test.groups)
        values = prepared.per_query(scores[name])
        value, n_queries, n_empty = prepared.summary(values)
        per_query[one.name] = values
        if one.aggregate == "pool" and prepared.bound.weights is not None:
            weights[one.name] = prepared.bound.weights
        found[one.name] = {
            "value": value,
            "valid": choice.value,
            "round": choice.round,
            "of_rounds": choice.of_rounds,
            "parameters": choice.parameters,
            "queries": n_queries,
            "empty": n_empty,
        }
    made: dict[str, object] = {"measures": found, "per_query": per_query, "weights": weights}
    if test.qid is None and len(test.y) <= MOST_ROWS_KEPT:
        numbers = job.split.test
        made["test_rows"] = {
            "y": test.y.tolist(),
            "numbers": None if numbers is None else numbers.tolist(),
            "scores": {name: one.tolist() for name, one in scores.items()},
            "chosen_by": {one.name: job.protocol.chooser(one.name) for one in job.measures},
        }
    return made


def _test_scores(test: TaskRows, choices: dict[str, _Choice]) -> dict[str, Floats]:
    """Return the scores of the test rows, for every choice; each ranker is staged once."""
    found: dict[str, Floats] = {}
    for ranker in {id(one.ranker): one.ranker for one in choices.values()}.values():
        mine = {name: one for name, one in choices.items() if one.ranker is ranker}
        staged = {one.round for one in mine.values() if one.round is not None}
        kept: dict[int, Floats] = {}
        if staged:
            rounds = stages(ranker.estimator, test)
            assert rounds is not None
            for number, scores in enumerate(rounds, start=1):
                if number in staged:
                    kept[number] = as_numbers(scores, "scores", len(test.y))
                if number >= max(staged):
                    break
        for name, one in mine.items():
            if one.round is not None:
                found[name] = kept[one.round]
            else:
                scores = ranker.scores(test.X, test.qid)
                found[name] = as_numbers(scores, "scores", len(test.y))
    return found

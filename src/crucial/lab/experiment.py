"""Experiments: rankers on tasks, by a protocol, in a run that can be killed and continued."""

from __future__ import annotations

import os
import platform
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from crucial import __version__
from crucial.errors import CrucialError, ParameterError, about
from crucial.lab.cross_validation import curves
from crucial.lab.protocols import (
    ExperimentProtocol,
    Fold,
    FoldName,
    FoldTask,
    Rows,
    SplitRows,
    Task,
    TaskLike,
    as_protocol,
    as_tasks,
)
from crucial.lab.rankers import Adapter, Contender, as_contenders
from crucial.lab.results import (
    FORMAT,
    Cell,
    CellMeasure,
    ExperimentResult,
    ExperimentSettings,
    Key,
    ResultFolder,
    SessionRecord,
    cell_measure,
    key_of,
)
from crucial.measures.base import Measure
from crucial.measures.lists import as_numbers
from crucial.measures.names import Measures, get_measure, get_measures
from crucial.parameters import at_least, check, flag, lookup, none_or, nonzero
from crucial.progress import progress_bar
from crucial.results import json_value
from crucial.types import Floats, PathLike

# --- One cell of an experiment: one ranker on one split of one task


#: The last split that was read in this process: several rankers in turn need it.
_LAST: list[tuple[TaskLike, FoldName, SplitRows]] = []

#: Processes that this one ends with.
_WATCHED: set[int] = set()

#: Without queries, scores of so many test rows are kept, for intervals and tests by rows.
MOST_ROWS_KEPT = 200_000


@dataclass(frozen=True, eq=False)
class Job:
    """A cell to compute: its task, split, ranker and protocol.

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
    split: Fold
    contender: Contender
    protocol: ExperimentProtocol
    measures: tuple[Measure, ...]
    choosers: tuple[Measure, ...]
    n_jobs: int | None

    @property
    def key(self) -> Key:
        """Task, split and ranker."""
        return self.task.name, str(self.split.name), self.contender.name


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
    """Return the result of ``work`` as a cell, with its warnings and time; or with its error."""
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
        fit_seconds += ranker.fit(parts.train)
        fitted = time.perf_counter()
        for name, choice in _choose(ranker, parameters, parts.valid, deciders):
            old = choices.get(name)
            if old is None or _better(by_name[name], choice.value, old.value):
                choices[name] = choice
        choose_seconds += time.perf_counter() - fitted
    began = time.perf_counter()
    measured = _measure(job, parts.test, choices)
    n_valid = 0 if parts.valid is None else len(parts.valid.y)
    return {
        "status": "ok",
        **measured,
        "candidates": len(candidates),
        "fit_seconds": fit_seconds,
        "choose_seconds": choose_seconds,
        "test_seconds": time.perf_counter() - began,
        "rows": {"train": len(parts.train.y), "valid": n_valid, "test": len(parts.test.y)},
    }


def _better(measure: Measure, new: float, old: float) -> bool:
    """Return whether a value is strictly better; any value is better than NaN."""
    if np.isnan(new) or np.isnan(old):
        return bool(np.isnan(old) and not np.isnan(new))
    return new > old if measure.higher_is_better else new < old


def _choose(
    ranker: Adapter, parameters: dict[str, object], valid: Rows | None, deciders: Sequence[Measure]
) -> Iterable[tuple[str, _Choice]]:
    """Yield the first best round of a ranker, by each measure."""
    if valid is None:
        for one in deciders:
            yield one.name, _Choice(np.nan, parameters, ranker)
        return
    rounds = ranker.stages(valid)
    if rounds is not None:
        values, count = curves(rounds, valid, deciders)
        if count:
            for one in deciders:
                best, value = _first_best(one, values[one.name])
                yield one.name, _Choice(value, parameters, ranker, best, count)
            return
    scores = ranker.scores(valid)
    for one in deciders:
        yield one.name, _Choice(one(valid.y, scores, valid.groups), parameters, ranker)


def _first_best(measure: Measure, values: Floats) -> tuple[int, float]:
    """Return the first best round, from 1, and its value; the last one if no round has a value."""
    if np.isnan(values).all():
        return len(values), float("nan")
    at = int(np.nanargmax(values) if measure.higher_is_better else np.nanargmin(values))
    return at + 1, float(values[at])


def _measure(job: Job, test: Rows, choices: dict[str, _Choice]) -> dict[str, object]:
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
        per_query[one.name] = values
        if one.aggregate == "pool" and prepared.bound.weights is not None:
            weights[one.name] = prepared.bound.weights
        chosen = (choice.value, choice.round, choice.of_rounds, choice.parameters)
        found[one.name] = cell_measure(prepared.summary(values), *chosen)
    made: dict[str, object] = {"measures": found, "per_query": per_query, "weights": weights}
    if test.qid is None and len(test.y) <= MOST_ROWS_KEPT:
        numbers = job.split.test
        made["test_rows"] = {
            "y": test.y.tolist(),
            "numbers": numbers.tolist() if len(numbers) else None,
            "scores": {name: one.tolist() for name, one in scores.items()},
            "chosen_by": {one.name: job.protocol.chooser(one.name) for one in job.measures},
        }
    return made


def _test_scores(test: Rows, choices: dict[str, _Choice]) -> dict[str, Floats]:
    """Return the scores of the test rows, for every choice; each ranker is staged once."""
    found: dict[str, Floats] = {}
    for ranker in {id(one.ranker): one.ranker for one in choices.values()}.values():
        mine = {name: one for name, one in choices.items() if one.ranker is ranker}
        staged = {one.round for one in mine.values() if one.round is not None}
        kept: dict[int, Floats] = {}
        if staged:
            rounds = ranker.stages(test)
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
                found[name] = ranker.scores(test)
    return found


# --- Experiments: rankers on tasks, by a protocol, in a run that can be killed and continued


_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


class Experiment:
    """Compare rankers on tasks.

    Every ranker is fitted on the training part of every split of every task. Its round, and
    its parameters if it has a grid, are chosen on the validation part alone, by default for
    each measure separately. The values are those of the test part.

    Parameters
    ----------
    tasks : Task, problem, data set, list of them, or mapping from name to one or to (X, y, qid)
        What to rank. `crucial.lab.read_folds` reads a task from folders as LETOR's.
    rankers : str, estimator, list of them, or mapping from name to either
        Names of our rankers, of presets of RankBoost, and of peers: lightgbm, xgboost,
        catboost, ridge, logistic-regression, random-forest, hist-gradient-boosting,
        best-feature, random. Estimators of scikit-learn are fitted on rows and labels.
    measures : str, Measure, callable, or several of them
        Names as in `crucial.measures.names`.
    protocol : str or ExperimentProtocol
        "five-folds" (3 to train, 1 to validate, 1 to test), "four-folds" (3 to train, 1 to
        test), "half-of-items", "given-folds", or one of `crucial.lab.protocols` with other
        settings.
    grids : None, "small" or mapping from ranker to grid
        Parameters to choose on the validation part: none, the small grids that come with the
        names, or one ``{parameter: [values]}`` per ranker.
    changes : mapping, optional
        Parameters to set in every ranker that has them, such as ``{"n_estimators": 200}``.
    seed : int
        Deals queries or rows into folds. The folds of a task do not depend on other tasks.

    Examples
    --------
    >>> from crucial import make_letor
    >>> data = make_letor(n_queries=20, docs_per_query=15, n_features=6)
    >>> trial = Experiment({"toy": data}, ["rankboost", "random"], ["ndcg@10", "r2"],
    ...                    changes={"n_estimators": 20})
    >>> found = trial.run()
    >>> len(found.cells), found.failures
    (10, [])
    >>> found.value("ndcg@10", "rankboost") > found.value("ndcg@10", "random")
    True
    """

    def __init__(
        self,
        tasks: object,
        rankers: object,
        measures: Measures = ("ndcg@10",),
        protocol: str | ExperimentProtocol = "five-folds",
        *,
        grids: str | Mapping[str, Mapping[str, Sequence[object]]] | None = None,
        changes: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        check("Experiment", "seed", seed, at_least(0))
        self.seed = int(seed)
        self.protocol = as_protocol(protocol)
        self.measures = get_measures(measures, required=True)
        self._choosers = self._check_choosers()
        self.contenders: list[Contender] = as_contenders(rankers, grids, changes)
        if not self.protocol.has_valid and any(one.grid for one in self.contenders):
            raise ParameterError(
                f"grids need a validation part to choose by, and {type(self.protocol).__name__} "
                "has none; use protocol='five-folds'."
            )
        self.tasks = as_tasks(tasks)
        for task in self.tasks:
            self._check_labels(task)
        self._splits: dict[str, list[Fold]] = {
            task.name: self.protocol.splits(task, self.seed) for task in self.tasks
        }

    def _check_choosers(self) -> list[Measure]:
        """Return the measures that rounds are chosen by and that are not reported."""
        choose_by = self.protocol.choose_by
        known = {one.name: one for one in self.measures}
        if isinstance(choose_by, Mapping):
            for key in choose_by:
                lookup(known, get_measure(key).name, "measure in choose_by")
        names = dict.fromkeys(self.protocol.chooser(one) for one in known)
        return [get_measure(name) for name in names if name not in known]

    def _check_labels(self, task: TaskLike) -> None:
        """Refuse labels that a measure cannot use, before any fit."""
        if not isinstance(task, Task):
            return
        for measure in (*self.measures, *self._choosers):
            with about(f"task {task.name!r}"):
                measure.prepare(task.y, task.groups)

    def settings(self) -> ExperimentSettings:
        """Return the settings that decide the numbers, and the versions that compute them."""
        protocol = self.protocol.settings() | {"text": self.protocol.text}
        splits = {name: [split.name for split in some] for name, some in self._splits.items()}
        tasks = {one.name: {"data": one.digest(), "splits": splits[one.name]} for one in self.tasks}
        return settings_record(self.seed, protocol, self.measures, tasks, self.contenders)

    def run(
        self,
        folder: PathLike | None = None,
        *,
        n_jobs: int | None = None,
        retry_failed: bool = False,
        progress: bool = True,
    ) -> ExperimentResult:
        """Compute every cell that is not finished yet.

        Parameters
        ----------
        folder : str or path, optional
            Stores every cell as soon as it is finished. A run that was killed continues when it
            is started again with the same folder. Tasks and rankers may be added; other changes
            of the settings are refused. Without a folder, results are in memory only.
        n_jobs : int, optional
            Cells computed at the same time, in processes of their own, each on one thread; -1 is
            one per core. None computes one after the other, with all cores for the ranker. The
            numbers are the same.
        retry_failed : bool
            Compute cells again that failed before.
        progress : bool
            Show a progress bar, where standard error is a terminal.

        Returns
        -------
        ExperimentResult
            With the errors of rankers that failed.
        """
        check("Experiment.run", "retry_failed", retry_failed, flag)
        check("Experiment.run", "progress", progress, flag)
        check("Experiment.run", "n_jobs", n_jobs, none_or(nonzero))
        settings = self.settings()
        jobs = self._jobs(None if n_jobs in (None, 1) else 1)
        try:
            if folder is None:
                cells: dict[Key, Cell] = {}
                self._compute(jobs, cells, lambda cell: None, n_jobs, progress)
            else:
                store = ResultFolder(folder)
                with store.opened(settings) as cells:
                    if retry_failed:
                        cells = {k: c for k, c in cells.items() if c["status"] == "ok"}
                    self._compute(jobs, cells, store.append, n_jobs, progress)
                settings = store.settings() or settings
        finally:
            _LAST.clear()  # (the memory of the last split)
        wanted = {key: cells[key] for key in jobs}
        return ExperimentResult(_only(settings, self), wanted.values())

    def _jobs(self, inner: int | None) -> dict[Key, Job]:
        """Return a job per cell, rankers in turn on the same split, which is read once."""
        same = (self.protocol, tuple(self.measures), tuple(self._choosers), inner)
        found = (
            Job(task, split, contender, *same)
            for task in self.tasks
            for split in self._splits[task.name]
            for contender in self.contenders
        )
        return {job.key: job for job in found}

    def _compute(
        self,
        jobs: Mapping[Key, Job],
        cells: dict[Key, Cell],
        keep: Callable[[Cell], None],
        n_jobs: int | None,
        progress: bool,
    ) -> None:
        """Add every cell that is missing to ``cells``, after ``keep`` has stored it."""
        missing = [job for key, job in jobs.items() if key not in cells]
        done, failed = len(jobs) - len(missing), 0
        with progress_bar("cells", len(jobs), done=done, wanted=progress) as show:
            for cell in _run_all(missing, n_jobs):
                keep(cell)
                cells[key_of(cell)] = cell
                done += 1
                failed += cell["status"] != "ok"
                if show is not None:
                    show(done, ", ".join(key_of(cell)) + (f"; {failed} failed" if failed else ""))


def _run_all(jobs: list[Job], n_jobs: int | None) -> Iterator[Cell]:
    """Yield cells as they are finished."""
    if n_jobs in (None, 1) or len(jobs) < 2:
        yield from map(run_job, jobs)
        return
    how: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    try:
        parallel = Parallel(n_jobs, **how)
    except ValueError:  # (cells are kept as they come, which the chosen backend cannot do)
        parallel = Parallel(n_jobs, backend="loky", **how)
    made = parallel(delayed(run_job_beside)(job, os.getpid()) for job in jobs)
    try:
        with closing(made):
            yield from made
    except BrokenProcessPool as error:
        raise CrucialError(
            "a process of the experiment was ended from outside, most often for lack of memory. "
            "Finished cells are kept if there is a folder: start again with fewer jobs to "
            f"continue. ({error})"
        ) from error


def settings_record(
    seed: int,
    protocol: Mapping[str, object],
    measures: Iterable[Measure],
    tasks: Mapping[str, Mapping[str, object]],
    contenders: Iterable[Contender],
) -> ExperimentSettings:
    """Return everything that decides the cells of a folder, as JSON can write it."""
    names = ("name", "higher_is_better", "aggregate", "description")
    found: ExperimentSettings = json_value(
        {
            "format": FORMAT,
            "crucial": __version__,
            "seed": seed,
            "protocol": protocol,
            "measures": [{name: getattr(one, name) for name in names} for one in measures],
            "tasks": tasks,
            "rankers": {one.name: one.settings() for one in contenders},
            "sessions": [_session()],
        }
    )
    return found


def _session() -> SessionRecord:
    """Return the time and the versions of this run."""
    versions = {"python": platform.python_version(), "crucial": __version__}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    now = datetime.fromtimestamp(time.time(), UTC)
    return {"started": now.isoformat(timespec="seconds"), "versions": versions}


def _only(settings: ExperimentSettings, experiment: Experiment) -> ExperimentSettings:
    """Return the settings of this experiment's tasks and rankers; a folder may have more."""
    tasks, rankers = settings["tasks"], settings["rankers"]
    return {
        **settings,
        "tasks": {one.name: tasks[one.name] for one in experiment.tasks},
        "rankers": {one.name: rankers[one.name] for one in experiment.contenders},
    }

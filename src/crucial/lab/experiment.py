"""Experiments: rankers on tasks, by a protocol, in a run that can be killed and continued."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from crucial import __version__
from crucial.errors import CrucialError, ParameterError, about
from crucial.lab.cells import Job, forget_parts, run_job, run_job_beside
from crucial.lab.experiment_result import ExperimentResult
from crucial.lab.protocols import ExperimentProtocol, as_protocol
from crucial.lab.rankers import Contender, as_contenders
from crucial.lab.records import Cell, ExperimentSettings, Key, MeasureRecord, SessionRecord, key_of
from crucial.lab.store import FORMAT, ResultFolder
from crucial.lab.tasks import Task, TaskLike, TaskSplit, as_tasks
from crucial.measures.base import Measure
from crucial.measures.names import Measures, get_measure, get_measures
from crucial.parameters import at_least, check, flag, lookup, none_or, nonzero
from crucial.progress import progress_bar
from crucial.results import json_value
from crucial.types import PathLike

__all__ = ["Experiment", "measure_record", "session_record"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


class Experiment:
    """Compare rankers on tasks.

    Every ranker is fitted on the training part of every split of every task. Its round, and
    its parameters if it has a grid, are chosen on the validation part alone, by default for
    each measure separately. The values are those of the test part.

    Parameters
    ----------
    tasks : Task, problem, data set, list of them, or mapping from name to one or to (X, y, qid)
        What to rank. `crucial.read_folds` reads a task from folders as LETOR's.
    rankers : str, estimator, list of them, or mapping from name to either
        Names of our rankers, of presets of RankBoost, and of peers: lightgbm, xgboost,
        catboost, ridge, logistic-regression, random-forest, hist-gradient-boosting,
        best-feature, random. Estimators of scikit-learn are fitted on rows and labels.
    measures : str, Measure, callable, or several of them
        Names as in `crucial.measures.names`.
    protocol : str or Protocol
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
    >>> found
    ExperimentResult(1 task x 5 splits x 2 rankers, 2 measures)
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
                "has none; set its valid, for example to 0.25."
            )
        self.tasks = as_tasks(tasks)
        for task in self.tasks:
            self._check_labels(task)
        self._splits: dict[str, list[TaskSplit]] = {
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
        """Return everything that decides the numbers, and the versions that compute them."""
        found: ExperimentSettings = json_value(
            {
                "format": FORMAT,
                "crucial": __version__,
                "seed": self.seed,
                "protocol": self.protocol.settings() | {"text": self.protocol.text},
                "measures": [measure_record(one) for one in self.measures],
                "tasks": {
                    one.name: {
                        "data": one.digest(),
                        "splits": [split.name for split in self._splits[one.name]],
                    }
                    for one in self.tasks
                },
                "rankers": {one.name: one.settings() for one in self.contenders},
                "sessions": [session_record()],
            }
        )
        return found

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
            forget_parts()
        wanted = {key: cells[key] for key in jobs}
        return ExperimentResult(_only(settings, self), wanted.values())

    def _jobs(self, inner: int | None) -> dict[Key, Job]:
        """Return a job per cell, rankers in turn on the same split, which is read once."""
        found = (
            Job(
                task,
                split,
                contender,
                self.protocol,
                tuple(self.measures),
                tuple(self._choosers),
                inner,
            )
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


def measure_record(measure: Measure) -> MeasureRecord:
    """Return what a folder of results keeps of a measure."""
    return {
        "name": measure.name,
        "higher_is_better": measure.higher_is_better,
        "aggregate": measure.aggregate,
        "description": measure.description,
    }


def session_record() -> SessionRecord:
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

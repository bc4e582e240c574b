"""Fits of `benchmarks.quality`, each kept in a file."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.contestants import Contestant, Part, Setting, measured
from benchmarks.datasets import Case

Floats = np.ndarray
RANKING, TWO_CLASSES = "ndcg_exp@10", "auc"


@dataclass(frozen=True, eq=False)
class Cell:
    """One fit: the scores of the test rows.

    Attributes
    ----------
    setting : dict
    validation : float
        The measure on the validation rows.
    scores : array over the test rows of the fold
    seconds : float
        CPU seconds of fitting.
    """

    setting: Setting
    validation: float
    scores: Floats
    seconds: float


def measure_of(case: Case) -> str:
    """Return the measure that decides on a data set."""
    return TWO_CLASSES if case.qid is None else RANKING


def parts_of(case: Case, fold: int) -> tuple[Part, Part, Part]:
    """Return the rows to train, to validate and to test on."""
    count = len(case.folds)
    test, valid = case.folds[fold].test, case.folds[(fold - 1) % count].test
    train = np.setdiff1d(case.folds[fold].train, valid)
    return part_of(case, train), part_of(case, valid), part_of(case, test)


def part_of(case: Case, rows: Floats) -> Part:
    """Return some rows, query after query."""
    if case.qid is None:
        return Part(case.X[rows], case.y[rows], None)
    qid = np.asarray(case.qid)[rows]
    rows = rows[np.argsort(qid, kind="stable")]
    return Part(case.X[rows], case.y[rows], np.asarray(case.qid)[rows])


class Cells:
    """The folder of fits that were done.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, case: Case, fold: int, contestant: Contestant, setting: Setting) -> Path:
        """Return the file of a fit."""
        what = json.dumps([contestant.title, setting], sort_keys=True)
        key = hashlib.sha256(what.encode()).hexdigest()[:12]
        return self.folder / case.name / f"{key}.fold{fold + 1}.npz"

    def read(self, case: Case, fold: int, contestant: Contestant, setting: Setting) -> Cell | None:
        """Return a fit, or None if it is not there."""
        path = self.path(case, fold, contestant, setting)
        if not path.exists():
            return None
        with np.load(path) as found:
            return Cell(
                setting, float(found["validation"]), found["scores"], float(found["seconds"])
            )

    def write(
        self, case: Case, fold: int, contestant: Contestant, setting: Setting, cell: Cell
    ) -> None:
        """Keep a fit; a file is there as a whole or not at all."""
        path = self.path(case, fold, contestant, setting)
        path.parent.mkdir(parents=True, exist_ok=True)
        other = path.with_suffix(".part.npz")
        what = json.dumps([contestant.title, setting], sort_keys=True)
        np.savez(
            other, what=what, validation=cell.validation, scores=cell.scores, seconds=cell.seconds
        )
        other.replace(path)


def fit_cell(case: Case, fold: int, contestant: Contestant, setting: Setting) -> Cell:
    """Fit once and score the test rows."""
    train, valid, test = parts_of(case, fold)
    measure = measure_of(case)
    began = time.process_time()
    predict = contestant.fit(train, valid, measure, setting)
    seconds = time.process_time() - began
    value = measured(valid, measure)(np.asarray(predict(valid.X), np.float64))
    return Cell(setting, float(value), np.asarray(predict(test.X), np.float64), seconds)


def fill(cells: Cells, case: Case, contestants: Iterable[Contestant], folds: int) -> None:
    """Fit what is not there yet."""
    tasks = [
        (fold, contestant, setting)
        for fold in range(folds)
        for contestant in contestants
        for setting in contestant.settings
        if not cells.path(case, fold, contestant, setting).exists()
    ]
    for number, (fold, contestant, setting) in enumerate(tasks, start=1):
        cell = fit_cell(case, fold, contestant, setting)
        cells.write(case, fold, contestant, setting, cell)
        print(
            f"{case.name} {number}/{len(tasks)}: fold {fold + 1}, {contestant.title} {setting}: "
            f"{cell.validation:.4f} on validation, {cell.seconds:.1f} s",
            flush=True,
        )

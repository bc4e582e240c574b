"""How well rankers rank: this library's beside LightGBM's, XGBoost's, CatBoost's, in one run.

Run as ``python -m benchmarks quality [--data FOLDER ...] [--cells FOLDER]``. A data folder has
data sets in the forms that `benchmarks.datasets` describes; without one, the sets of two classes
that scikit-learn has are all there is. Every fit is kept as a file in the folder of cells, so that
a run that was ended goes on where it stopped, and only what is not there is fitted.

Five folds. In each, one fifth tests, the fifth before it validates, and three train. Everybody
learns from the same rows, stops by the same measure on the same validation rows, and takes the
best of its settings (leaves 2, 8 or 31, or depth 1, 3 or 6) on them (see
`benchmarks.contestants`). Rankers that validate by themselves get both parts. With ``--rows``,
whole queries are drawn from both parts until they have so many rows; the test part stays whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants import Contestant, Part, Setting, measured, others, ours
from benchmarks.datasets import FOLDS, Case, from_folder, keel, two_classes
from benchmarks.timing import table
from crucial import evaluate
from crucial.data import Groups
from crucial.measures.intervals import bootstrap_interval

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
    if case.learned is not None:
        train = _drawn(case, train, case.learned - case.learned // 4)
        valid = _drawn(case, valid, case.learned // 4)
    return part_of(case, train), part_of(case, valid), part_of(case, test)


def _limited(case: Case, rows: int) -> Case:
    """Return the case with so many rows to learn from at most."""
    if len(case.folds[0].train) <= rows:
        return case
    return replace(case, name=f"{case.name}-{rows}", learned=rows)


def _drawn(case: Case, rows: Floats, most: int) -> Floats:
    """Return the rows of some queries, in an order that is drawn, until there are so many."""
    groups = Groups.from_qid(np.asarray(case.qid)[rows], len(rows))
    order = np.random.default_rng(0).permutation(groups.n_groups)
    count = int(np.searchsorted(np.cumsum(groups.sizes[order]), most, side="right"))
    return rows[np.isin(groups.codes, order[: max(count, 2)])]


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


Floats = np.ndarray
OURS = "crucial"


def chosen(
    cells: Cells, case: Case, contestants: Iterable[Contestant], fold: int
) -> tuple[Contestant, Cell]:
    """Return the best on the validation rows, the first of equals."""
    found = [
        (contestant, cell)
        for contestant in contestants
        for setting in contestant.settings
        if (cell := cells.read(case, fold, contestant, setting)) is not None
    ]
    return max(found, key=lambda one: one[1].validation)


def values_of(case: Case, fold: int, scores: Floats) -> Floats:
    """Return the measure of every test query, NaN where it has none."""
    _, _, test = parts_of(case, fold)
    measure = measure_of(case)
    return np.asarray(evaluate(test.y, scores, test.qid, measure).per_query[measure])


def strict_values(case: Case, fold: int, scores: Floats) -> Floats:
    """Return ndcg_exp@10 as CatBoost's ranking benchmark has it, query by query.

    Rows of equal score are ordered worst first, and a query without relevant rows counts 1.
    """
    _, _, test = parts_of(case, fold)
    order = np.lexsort((test.y, -scores))
    places = np.empty(len(order))
    places[order] = -np.arange(len(order))
    found = evaluate(test.y, places, test.qid, RANKING).per_query[RANKING]
    return np.where(np.isnan(found), 1.0, found)


@dataclass(frozen=True, eq=False)
class Line:
    """A row of a table: a contestant, or the best of several by validation.

    Attributes
    ----------
    title : str
    maker : str
    values : array
        One value per test query over all folds; per fold where there are no queries.
    strict : array or None
        In the form of CatBoost's benchmark.
    settings : list of str
        What validation chose, fold by fold.
    seconds : float
        CPU seconds of all fits of all settings.
    leading : bool
        Whether the summary has it.
    """

    title: str
    maker: str
    values: Floats
    strict: Floats | None
    settings: list[str]
    seconds: float
    leading: bool

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values))


def line_of(
    cells: Cells,
    case: Case,
    title: str,
    contestants: list[Contestant],
    folds: int,
    leading: bool = True,
) -> Line:
    """Judge what validation chooses among some contestants."""
    values, strict, settings, seconds = [], [], [], 0.0
    for fold in range(folds):
        contestant, cell = chosen(cells, case, contestants, fold)
        values.append(values_of(case, fold, cell.scores))
        if case.qid is not None:
            strict.append(strict_values(case, fold, cell.scores))
        name = contestant.name if len(contestants) > 1 else ""
        settings.append(" ".join([name, *(str(value) for value in cell.setting.values())]).strip())
        for one in contestants:
            for setting in one.settings:
                read = cells.read(case, fold, one, setting)
                seconds += 0.0 if read is None else read.seconds
    return Line(
        title,
        contestants[0].maker,
        np.concatenate(values),
        np.concatenate(strict) if strict else None,
        settings,
        seconds,
        leading,
    )


def difference(case: Case, values: Floats, reference: Floats) -> tuple[float, float, str]:
    """Return mean and standard error of a difference, and its 95% interval as text.

    Over queries, paired. Without queries over folds, whose training rows overlap: Nadeau and
    Bengio's correction, and no interval by resampling.
    """
    delta = values - reference
    delta = delta[~np.isnan(delta)]
    n = len(delta)
    share = 1.0 / n
    if case.qid is None:
        share += len(case.folds[0].test) / len(case.folds[0].train)
    error = float(np.std(delta, ddof=1)) * share**0.5
    mean = float(delta.mean())
    low, high = mean - 2 * error, mean + 2 * error
    if case.qid is not None:
        found = bootstrap_interval(delta)
        low, high = (mean, mean) if found is None else found.ends
    return mean, error, f"{low:+.4f} .. {high:+.4f}"


def lines_of(cells: Cells, case: Case, mine: list[Contestant], peers: list[Contestant],
             folds: int) -> list[Line]:  # fmt: skip
    """Return a line per contestant, and one for the best of each package by validation."""
    boosted = [one for one in mine if one.name.startswith("GradientRanker ")]
    lines = [
        line_of(cells, case, one.title, [one], folds, one not in boosted) for one in [*peers, *mine]
    ]
    if len(boosted) > 1:
        lines.append(line_of(cells, case, f"{OURS} GradientRanker, any loss", boosted, folds))
    return lines


def show(case: Case, lines: list[Line]) -> None:
    """Print the table of a data set; the reference is the best line of another package."""
    best = _best(lines)
    rows: list[list[Any]] = []
    for line in lines:
        mean, error, ends = difference(case, line.values, best.values)
        row = [("* " if line is best else "  ") + line.title, f"{line.mean:.4f}"]
        row += ["" if line is best else f"{mean:+.4f}", f"{error:.4f}", ends]
        if line.strict is not None:
            row.append(f"{line.strict.mean():.4f}")
        row += [f"{line.seconds:.0f}", ", ".join(line.settings)]
        rows.append(row)
    measure = measure_of(case)
    header = ["contestant", measure, "to *", "error", "95% interval"]
    header += [] if case.qid is None else ["strict"]
    n = int((~np.isnan(best.values)).sum())
    what = "folds" if case.qid is None else "queries"
    table(f"{case.name}: {n} {what}", [*header, "CPU s", "chosen in each fold"], rows)


def overview(cases: list[Case], tables: list[list[Line]]) -> None:
    """Print the means of all contestants, one column per data set."""
    rows = []
    for number, line in enumerate(tables[0]):
        found = [lines[number].mean for lines in tables]
        rows.append([line.title, *(f"{mean:.4f}" for mean in found), f"{np.mean(found):.4f}"])
    title = f"{measure_of(cases[0])} of the test rows, mean over the folds"
    table(title, ["contestant", *(case.name for case in cases), "mean"], rows)


def summary(cases: list[Case], tables: list[list[Line]], folds: int) -> None:
    """Print ours beside the best of the others, data set by data set, and the mean over them.

    The best is the one with the best test values, which flatters it. Seconds are those of all fits
    of a fold, also of settings that validation did not choose.
    """
    names = [line.title for line in tables[0] if line.maker == OURS and line.leading]
    rows: list[list[Any]] = []
    for name in names:
        moments = []
        for case, lines in zip(cases, tables):
            best = _best(lines)
            mine = next(line for line in lines if line.title == name)
            mean, error, _ = difference(case, mine.values, best.values)
            moments.append((mine.mean, best.mean, mean, error))
            shown = f"{mean:+.4f} ± {error:.4f}", mine.seconds / folds, best.seconds / folds
            rows.append(
                [name, case.name, f"{mine.mean:.4f}", best.title, f"{best.mean:.4f}", *shown]
            )
        own, other, mean, _ = np.mean(moments, axis=0)
        error = float(np.sqrt(np.sum([one[3] ** 2 for one in moments]))) / len(moments)
        shown = f"{mean:+.4f} ± {error:.4f}", "", ""
        rows.append([name, "mean", f"{own:.4f}", "the best of each", f"{other:.4f}", *shown])
    header = ["ours", "data", "value", "best other", "value", "difference", "CPU s", "of the other"]
    table(f"{measure_of(cases[0])} of the test rows, against the best other", header, rows)


def _best(lines: list[Line]) -> Line:
    """Return the line of another package with the best test values."""
    return max((line for line in lines if line.maker != OURS), key=lambda line: line.mean)


def cases_of(folders: list[Path]) -> tuple[list[Case], list[Case]]:
    """Return data sets with queries and of two classes, small ones first."""
    with_queries = [case for folder in folders for case in from_folder(folder)]
    without = [*two_classes(), *(case for folder in folders for case in keel(folder))]
    return sorted(with_queries, key=_size), sorted(without, key=_size)


def _size(case: Case) -> int:
    return int(case.X.shape[0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks quality", description=__doc__.split("\n")[0])
    parser.add_argument("--data", metavar="FOLDER", nargs="+", default=[], help="folders of data")
    parser.add_argument("--cells", metavar="FOLDER", default="quality-cells", help="where fits are")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    parser.add_argument("--folds", metavar="N", type=int, default=FOLDS, help="only the first N")
    parser.add_argument("--rows", metavar="N", type=int, help="learn from so many rows at most")
    parser.add_argument(
        "--ours", metavar="NAME", nargs="+", help="of this library's rankers, only these"
    )
    parser.add_argument(
        "--others", metavar="NAME", nargs="+", help="of the others, only these (QueryRMSE ...)"
    )
    options = parser.parse_args(arguments)
    folders = [Path(one) for one in options.data]
    cells = Cells(Path(options.cells))
    for queries, cases in zip((True, False), cases_of(folders)):
        cases = [case for case in cases if options.sets is None or case.name in options.sets]
        if options.rows is not None and queries:
            cases = [_limited(case, options.rows) for case in cases]
        mine = [one for one in ours(queries) if options.ours is None or one.name in options.ours]
        peers = [
            one for one in others(queries) if options.others is None or one.name in options.others
        ]
        for case in cases:
            fill(cells, case, [*peers, *mine], options.folds)
        tables = [lines_of(cells, case, mine, peers, options.folds) for case in cases]
        for case, lines in zip(cases, tables):
            show(case, lines)
        if tables:
            overview(cases, tables)
            summary(cases, tables, options.folds)

"""All rankers of the package on LETOR's MQ2007, or any data set with folds, beside published ones.

``python -m crucial.studies.all_rankers MQ2007 --folder CELLS`` where MQ2007 has LETOR's folds or
the parts S1 to S5. Every ranker of the registry is fitted on each fold with its default settings;
rounds, and l1, l2 or balance where a fit is cheap, are chosen by mean average precision on the
validation part. A ranker that takes no queries gets all rows as one list, one that takes no grades
gets relevant or not. With ``--folder`` a run that was ended continues; ``--write FILE`` puts the
tables into a page, between its two marks.

MAP and NDCG@10 are printed twice: as this package defines them (a query without a relevant
document has no value, ties count as their expectation, NDCG with gain y), and as LETOR's script
Eval-Score-4.0 does (such a query counts 0, ties are in the order of the file, NDCG with gain
2^y - 1 and two positions without discount, 0 for a query of fewer than ten documents). Published
figures are of the latter kind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.files import atomic_write
from crucial.errors import FileError
from crucial.estimators.registry import RANKERS, ranker_class
from crucial.measures.custom import CustomMeasure
from crucial.parameters import lookup, parameters_of
from crucial.studies.common import Write, add_experiment_options, new_parser, run_study, write
from crucial.studies.forms import Adapted, Form, adapt, find_form
from crucial.types import Floats, PathLike

if TYPE_CHECKING:
    from crucial.lab.experiment_result import ExperimentResult
    from crucial.lab.given_folds import FoldTask

__all__ = ["Entry", "entries", "letor_map", "letor_ndcg", "main", "run", "tables", "write_tables"]

#: Mean average precision on MQ2007 by LETOR's script (Qin & Liu 2013, the site of LETOR 4.0).
PUBLISHED = {"RankSVM": 0.4645, "RankBoost": 0.4662, "ListNet": 0.4652}

#: Rankers of which one fit takes long on some ten thousand rows: no grid for them.
SLOW = ("infinite-push", "logistic", "rankboost-plus", "ranknet", "svm-map")
#: Factors on the default of l2, for a ranker that declares no grid of it.
RIDGES = (0.1, 1.0, 10.0)
#: Rows that represent all in a kernel.
LANDMARKS = 200

_MARKS = ("<!-- all_rankers: begin -->", "<!-- all_rankers: end -->")


def letor_map(y: Floats, scores: Floats) -> float:
    """Return the average precision of a query as Eval-Score-4.0 does; 0 without a relevant row.

    Examples
    --------
    >>> letor_map(np.array([0.0, 2.0, 1.0]), np.array([1.0, 3.0, 1.0]))  # (ties as in the file)
    0.8333333333333333
    >>> letor_map(np.zeros(3), np.arange(3.0))
    0.0
    """
    relevant = y[np.argsort(-scores, kind="stable")] > 0
    if not relevant.any():
        return 0.0
    precision = np.cumsum(relevant) / np.arange(1, len(y) + 1)
    return float(precision[relevant].mean())


def letor_ndcg(y: Floats, scores: Floats) -> float:
    """Return NDCG@10 of a query as Eval-Score-4.0 does.

    0 without a relevant row, and for fewer than ten rows.

    Examples
    --------
    >>> y = np.array([0.0, 2.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 2.0])
    >>> round(letor_ndcg(y, -np.arange(11.0)), 6)  # (3 + 1 / log2 3) / (3 + 3 + 1 / log2 3)
    0.547575
    """
    if len(y) < 10:
        return 0.0
    discount = 1.0 / np.maximum(1.0, np.log2(np.arange(1, 11)))
    gains = 2.0**y - 1.0
    best = float(np.sort(gains)[::-1][:10] @ discount)
    found = float(gains[np.argsort(-scores, kind="stable")][:10] @ discount)
    return found / best if best > 0.0 else 0.0


LETOR_MAP = CustomMeasure("map of LETOR", letor_map, True, "MAP by Eval-Score-4.0")
LETOR_NDCG = CustomMeasure("ndcg@10 of LETOR", letor_ndcg, True, "NDCG@10 by Eval-Score-4.0")
MEASURES = ("map", "ndcg@10", LETOR_MAP, LETOR_NDCG)
NAMES = ("map", "ndcg@10", LETOR_MAP.name, LETOR_NDCG.name)


@dataclass(frozen=True)
class Entry:
    """A ranker of the table.

    Attributes
    ----------
    name : str
    form : str
        How it is fitted; or why it is not.
    estimator : Adapted or None
        None for a ranker that takes no form of the data.
    grid : dict of str to list
        What is chosen on the validation part beside the rounds.
    """

    name: str
    form: str
    estimator: Adapted | None
    grid: dict[str, list[Any]]


def entries(names: Iterable[str] = RANKERS, rounds: int | None = None) -> list[Entry]:
    """Return the rankers of the registry in their forms; a kernel ranker also with landmarks.

    Parameters
    ----------
    names : iterable of str
        Names of the registry.
    rounds : int, optional
        Rounds of those that learn in rounds; their own defaults without.
    """
    found = []
    for name in names:
        lookup(RANKERS, name, "ranker")
        kind = ranker_class(name)
        ranker = kind()
        if rounds is not None and hasattr(kind, "staged_predict"):
            known = ranker.get_params()
            ranker.set_params(**{"n_estimators": rounds} if "n_estimators" in known else {})
        found.append(_entry(name, ranker))
        if {"kernel", "n_landmarks"} <= set(ranker.get_params()):
            other = kind(kernel="rbf", n_landmarks=LANDMARKS)
            found.append(_entry(f"{name}, rbf", other))
    return found


def _entry(name: str, ranker: Any) -> Entry:
    """Return a ranker in its form, with its grid."""
    form = find_form(ranker)
    if isinstance(form, str):
        return Entry(name, form, None, {})
    grid = {} if name.split(",")[0] in SLOW else _grid(ranker, form)
    return Entry(name, str(form), adapt(ranker, form), grid)


def _grid(ranker: Any, form: Form) -> dict[str, list[Any]]:
    """Return the values of one parameter to choose from: l1, l2 or balance, in that order."""
    declared = parameters_of(ranker)
    for name in ("l1", "l2", "balance"):
        if name not in declared or (name == "balance" and not form.queries):
            continue
        if name == "l2" and getattr(ranker, "weak", None) == "stump":
            continue  # (it is about trees)
        values = list(declared[name].grid or ())
        if not values and name == "l2" and ranker.l2:
            values = [ranker.l2 * factor for factor in RIDGES]
        if values:
            return {f"ranker__{name}": values}
    return {}


def run(
    task: FoldTask, rankers: Sequence[Entry], folder: str | None = None, n_jobs: int | None = None
) -> ExperimentResult:
    """Fit every ranker on every fold; what is chosen is chosen by MAP on the validation part."""
    from crucial.lab.experiment import Experiment
    from crucial.lab.protocols import GivenFolds

    systems = {one.name: one.estimator for one in rankers if one.estimator is not None}
    grids = {one.name: one.grid for one in rankers if one.grid}
    trial = Experiment([task], systems, MEASURES, GivenFolds(choose_by="map"), grids=grids)
    return trial.run(folder, n_jobs=n_jobs)


def by_fold(found: ExperimentResult, measure: str) -> dict[str, list[float]]:
    """Return the value of every fold, for the rankers that failed on none; the best first."""
    values: dict[str, list[float]] = {}
    for cell in found.cells:
        if cell["status"] == "ok":
            value = cell["measures"][measure]["value"]
            values.setdefault(cell["ranker"], []).append(np.nan if value is None else value)
    whole = max(map(len, values.values()), default=0)
    kept = {name: some for name, some in values.items() if len(some) == whole}
    return dict(sorted(kept.items(), key=lambda one: -float(np.mean(one[1]))))


def tables(found: ExperimentResult, rankers: Sequence[Entry]) -> list[str]:
    """Return the lines of the tables in Markdown: by fold, in both conventions; what failed."""
    forms = {one.name: one.form for one in rankers}
    seconds: dict[str, list[float]] = {}
    for cell in found.cells:
        if cell["status"] == "ok":
            seconds.setdefault(cell["ranker"], []).append(float(cell["fit_seconds"]))
    splits = [split for one in found.settings["tasks"].values() for split in one["splits"]]
    lines: list[str] = []
    for ours, theirs, title, published in (
        (NAMES[0], NAMES[2], "MAP", PUBLISHED),
        (NAMES[1], NAMES[3], "NDCG@10", {}),
    ):
        own, letor = by_fold(found, ours), by_fold(found, theirs)
        heads = ["ranker", "learns from", *splits, "mean", "by LETOR's script", "seconds per fold"]
        lines += ["", f"**{title}**", "", _row(heads), _row(["---"] * len(heads))]
        for name, values in own.items():
            cells = [*(f"{value:.4f}" for value in values), f"**{np.mean(values):.4f}**"]
            times = f"{np.mean(seconds[name]):.1f}"
            lines.append(_row([name, forms[name], *cells, f"{np.mean(letor[name]):.4f}", times]))
        for name, value in published.items():
            blank = [""] * (len(splits) + 1)
            lines.append(_row([f"{name}, published", "", *blank, f"{value:.4f}", ""]))
    left_out = {one.name: one.form for one in rankers if one.estimator is None}
    left_out |= {one["ranker"]: one["error"] for one in found.failures}
    if left_out:
        lines += ["", "Not in the tables:", ""]
        lines += [f"- {name}: {' '.join(why.split())}" for name, why in left_out.items()]
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_tables(path: PathLike, lines: Sequence[str]) -> None:
    """Put the tables into a page, between its two marks.

    Raises
    ------
    FileError
        The page lacks the marks.
    """
    text = Path(path).read_text(encoding="utf-8")
    begin, end = _MARKS
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise FileError(path, f"the page needs the lines {begin} and {end}, once each.")
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    body = "\n".join(lines).strip("\n")
    with atomic_write(path) as file:
        file.write(f"{head}{begin}\n{body}\n{end}{tail}".encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all rankers and print the tables."""
    parser = new_parser(
        "all_rankers", "All rankers on a data set with folds, beside published figures of MQ2007."
    )
    parser.add_argument("data", help="folder with Fold1 to Fold5, or with S1 to S5")
    parser.add_argument("--only", nargs="+", metavar="RANKER", help="these of the registry only")
    parser.add_argument("--folds", type=int, nargs="+", help="these folds only, from 1")
    parser.add_argument("--write", help="page to put the tables into, between its marks")
    add_experiment_options(parser, seed="not used: the folds are given")
    parser.set_defaults(rounds=None)
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Run the study as the options ask."""
    from crucial.lab.given_folds import read_folds

    task = read_folds(options.data)
    if options.folds:
        known: Mapping[str, Any] = {str(k): one for k, one in enumerate(task.folds, 1)}
        chosen = tuple(lookup(known, str(k), "fold") for k in options.folds)
        task = replace(task, folds=chosen)
    rankers = entries(options.only or RANKERS, options.rounds)
    write(f"{task!r}; {len(rankers)} rankers")
    jobs = None if options.jobs == 1 else options.jobs
    found = run(task, rankers, options.folder, jobs)
    _print(found, rankers, options.write, write)
    if options.report:
        found.report(options.report, "All rankers")


def _print(
    found: ExperimentResult, rankers: Sequence[Entry], page: str | None, write: Write
) -> None:
    """Print the tables, and put them into a page."""
    lines = tables(found, rankers)
    for line in lines:
        write(line)
    if page:
        write_tables(page, lines)
        write(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())

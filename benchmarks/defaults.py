"""Why the defaults of RankBoost are what they are: one table a question.

Run as ``python -m benchmarks.defaults [--data FOLDER ...]``. The folders, or the one that the
environment variable CRUCIAL_DATA names, contain data sets in the forms that
`benchmarks.datasets` describes; without them the built-in ones have to do. ``--cases`` and
``--questions`` take parts of names; ``--cache FOLDER`` keeps every fit, so that a run that was
killed goes on, and none is made twice.

Every question changes one thing and leaves the rest as ``RankBoost()`` has it. All variants
see the same folds. A mark beside a value, + or -, says that it is better or worse than the
default's by more than two standard errors of the difference, list by list.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.parallel import Parallel, delayed

import crucial
from benchmarks.datasets import FOLDS, HIGHEST_GRADE, Case, built_in, from_folder, keel
from benchmarks.timing import THREADS, table
from crucial import RankBoost, evaluate
from crucial.data.files import atomic_write

Parameters = dict[str, Any]
Key = tuple[tuple[str, Any], ...]
# For each measure one value a held-out list, NaN where it has none.
Floats = np.ndarray
Values = tuple[Floats, Floats]


@dataclass(frozen=True)
class Question:
    """Variants to choose from.

    Attributes
    ----------
    title : str
    variants : list of dict
        What each changes.
    base : dict
        What all change, the one they are compared with included.
    where : callable
        Which data sets the question is put to.
    folds : int, optional
        Only the first so many folds, where a variant takes long.
    """

    title: str
    variants: list[Parameters]
    base: Parameters = field(default_factory=dict)
    where: Callable[[Case], bool] = lambda case: True
    folds: int | None = None

    def reference(self) -> Parameters:
        """What the variants are compared with."""
        return {**DEFAULT, **self.base}

    def parameters(self) -> list[Parameters]:
        """All parameters of every variant; first the reference, if it is none of them."""
        reference = self.reference()
        made = [{**reference, **change} for change in self.variants]
        return made if reference in made else [reference, *made]


DEFAULT: Parameters = RankBoost().get_params()
ROUNDS = (100, 300, 1000)
RATES = (0.03, 0.1, 0.3, 1.0)


def _has_queries(case: Case) -> bool:
    return case.qid is not None


def _has_grades(case: Case) -> bool:
    return case.levels > 2 and float(np.max(case.y)) <= HIGHEST_GRADE


QUESTIONS = [
    Question(
        "learning_rate x n_estimators",
        [{"learning_rate": rate, "n_estimators": n} for rate in RATES for n in ROUNDS],
    ),
    Question(
        "choice and step by rate and rounds",
        [
            {**how, "learning_rate": rate, "n_estimators": n}
            for how in (
                {"choice": "steepest", "step": "bound"},
                {"choice": "largest_drop", "step": "exact"},
            )
            for rate in (0.1, 0.3)
            for n in (20, 50, 100, 300)
        ],
        folds=FOLDS,
    ),
    Question(
        "Newton's choice and step: trees of two leaves",
        [
            {"weak": "stump"},
            *(
                {"weak": "tree", "max_leaves": 2, "learning_rate": rate, "gain": gain}
                for rate in (0.1, 0.3)
                for gain in (None, "exp")
            ),
        ],
        where=_has_grades,
        folds=FOLDS,
    ),
    Question(
        "rate and gain of trees",
        [{}, {"learning_rate": 0.03}, {"learning_rate": 0.3}, {"gain": "exp"}],
        base={"weak": "tree"},
        where=_has_grades,
        folds=FOLDS,
    ),
    Question(
        "choice and step, 100 rounds at rate 0.3 (the exact search takes longer)",
        [
            {"choice": "steepest", "step": "bound"},
            {"choice": "steepest", "step": "bound", "n_estimators": 300},
            {"choice": "steepest_positive", "step": "bound"},
            {"choice": "steepest", "step": "exact"},
            {"choice": "largest_drop", "step": "exact"},
        ],
        base={"learning_rate": 0.3, "n_estimators": 100},
        folds=FOLDS,
    ),
    Question(
        "balance, where there are queries",
        [{"balance": "pairs"}, {"balance": "queries"}],
        where=_has_queries,
    ),
    Question("positive_weights", [{"positive_weights": None}, {"positive_weights": "cumulative"}]),
    Question(
        "gain, where there are more than two labels and none is large",
        [{"gain": None}, {"gain": "linear"}, {"gain": "exp"}],
        where=_has_grades,
    ),
    Question(
        "default_rank, where features abstain",
        [{"default_rank": "learned"}, {"default_rank": 0}],
        where=lambda case: case.abstains,
    ),
    Question("max_bins", [{"max_bins": 63}, {"max_bins": 255}, {"max_bins": None}]),
    Question(
        "subsample, where there are queries",
        [{"subsample": 1.0}, {"subsample": 0.5}],
        where=_has_queries,
    ),
    Question(
        "early stopping on a fifth of the training queries",
        [
            {"early_stopping_rounds": None},
            *(
                {"early_stopping_rounds": 50, "stopping_tolerance": tolerance}
                for tolerance in (0.0, 0.5, 1.0)
            ),
            {"early_stopping_rounds": 50, "n_estimators": 1000},
            {"early_stopping_rounds": 100, "n_estimators": 1000},
            {"early_stopping_rounds": 50, "validation_folds": 5},
        ],
    ),
]


# -- fitting ----------------------------------------------------------------------------


def _key(parameters: Parameters) -> Key:
    return tuple(sorted(parameters.items()))


def _one_fit(
    parameters: Parameters, rounds: list[int], case: Case, fold: int, cache: Path | None
) -> tuple[dict[int, Values], float]:
    """Return what `_measured_fit` does, from the cache where that has it."""
    if cache is None:
        return _measured_fit(parameters, rounds, case, fold)
    data = (case.X.shape, float(np.nansum(case.X)), float(np.sum(case.y)), case.measures)
    key = repr((crucial.__version__, case.name, data, _key(parameters), rounds, fold))
    path = cache / f"{hashlib.sha256(key.encode()).hexdigest()}.pickle"
    if not path.exists():
        with atomic_write(path) as file:
            pickle.dump(_measured_fit(parameters, rounds, case, fold), file)
    found: tuple[dict[int, Values], float] = pickle.loads(path.read_bytes())
    return found


def _measured_fit(
    parameters: Parameters, rounds: list[int], case: Case, fold: int
) -> tuple[dict[int, Values], float]:
    """Measure one fit in one fold after each of these numbers of rounds."""
    train, test = case.folds[fold].train, case.folds[fold].test
    train_qid, test_qid = (
        (None, None) if case.qid is None else (np.asarray(case.qid)[rows] for rows in (train, test))
    )
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are constant in a fold
        ranker = RankBoost(**{**parameters, "n_estimators": max(rounds), "n_jobs": 1})
        ranker.fit(case.X[train], case.y[train], qid=train_qid)
    took = time.process_time() - began
    found = {}
    for n in rounds:
        stopped = parameters["early_stopping_rounds"] is not None
        model = ranker.model_ if stopped else ranker.truncate(min(n, ranker.ensemble_.n_rounds))
        scores = model.predict(case.X[test], n_jobs=1)
        judged = evaluate(case.y[test], scores, test_qid, list(case.measures)).per_query
        found[n] = (judged[case.measures[0]], judged[case.measures[1]])
    return found, took


@dataclass
class Results:
    """What was measured, and seconds of fitting, fold by fold."""

    found: dict[tuple[str, Key], list[tuple[Values, float]]] = field(default_factory=dict)

    def values(self, case: Case, variant: Parameters, measure: int, folds: int | None) -> Floats:
        lists = self.found[case.name, _key(variant)][:folds]
        return np.concatenate([values[measure] for values, _ in lists])

    def seconds(self, case: Case, variant: Parameters, folds: int | None) -> float:
        return sum(took for _, took in self.found[case.name, _key(variant)][:folds])


def run(questions: list[Question], cases: list[Case], cache: Path | None = None) -> Results:
    """Fit what the questions need, once each; fewer rounds come from the longest fit."""
    rounds: dict[tuple[str, Key], set[int]] = {}
    folds: dict[tuple[str, Key], int] = {}
    for question in questions:
        for variant in question.parameters():
            n = variant["n_estimators"]
            if variant["early_stopping_rounds"] is None:
                variant = {**variant, "n_estimators": 0}
            for case in filter(question.where, cases):
                at = case.name, _key(variant)
                rounds.setdefault(at, set()).add(n)
                most = min(question.folds or len(case.folds), len(case.folds))
                folds[at] = max(folds.get(at, 0), most)
    by_name = {case.name: case for case in cases}
    tasks = [
        (dict(key), sorted(rounds[name, key]), by_name[name], fold)
        for (name, key), count in folds.items()
        for fold in range(count)
    ]
    fits = (delayed(_one_fit)(*task, cache) for task in tasks)
    done = Parallel(n_jobs=THREADS, batch_size=1)(fits)
    results = Results()
    for (variant, checkpoints, case, _), (found, took) in zip(tasks, done):
        for n in checkpoints:
            at = case.name, _key({**variant, "n_estimators": n})
            seconds = took * n / max(checkpoints)
            results.found.setdefault(at, []).append((found[n], seconds))
    return results


# -- tables -----------------------------------------------------------------------------


def _mark(case: Case, values: Floats, reference: Floats) -> str:
    """+ or - where the difference is more than two standard errors."""
    difference = values - reference
    difference = difference[~np.isnan(difference)]
    n = len(difference)
    if n < 2:
        return " "
    share = 1.0 / n
    if case.qid is None:
        # Lists of rows dealt again and again are not independent: Nadeau and Bengio's
        # correction, the ratio of test to training rows.
        share += len(case.folds[0].test) / len(case.folds[0].train)
    error = float(np.std(difference, ddof=1)) * share**0.5
    mean = float(difference.mean())
    if abs(mean) <= 2.0 * error or mean == 0.0:
        return " "
    return "+" if mean > 0 else "-"


def show(question: Question, cases: list[Case], results: Results) -> None:
    """Print the table of a question."""
    asked = [case for case in cases if question.where(case)]
    if not asked:
        print(f"\n{question.title}: none of the data sets can answer.")
        return
    variants, folds = question.parameters(), question.folds
    names = [", ".join(f"{k}={v}" for k, v in change.items()) for change in question.variants]
    if len(variants) > len(names):
        names.insert(0, "as it is")
    at = variants.index(question.reference())
    lists = [[[results.values(c, v, m, folds) for c in asked] for v in variants] for m in (0, 1)]
    first, second = (np.array([[np.nanmean(one) for one in row] for row in part]) for part in lists)
    ranks = np.mean([rankdata(-np.round(column, 6)) for column in first.T], axis=0)
    change, change_of_second = 100 * (first / first[at] - 1), 100 * (second / second[at] - 1)
    real = np.array([case.real for case in asked])
    cells: list[list[Any]] = []
    for k, variant in enumerate(variants):
        row: list[Any] = [("* " if k == at else "  ") + names[k]]
        for j, case in enumerate(asked):
            row.append(f"{first[k, j]:.4f}{_mark(case, lists[0][k][j], lists[0][at][j])}")
        row += [f"{ranks[k]:.2f}", f"{change[k].mean():+.2f}"]
        row += [f"{change[k, real].mean():+.2f}" if real.any() else ""]
        row += [f"{change_of_second[k].mean():+.2f}"]
        row += [f"{sum(results.seconds(case, variant, folds) for case in asked):.1f}"]
        cells.append(row)
    counts = [f"{(~np.isnan(one)).sum()} " for one in lists[0][at]]
    cells.append(["  held-out queries (or lists)", *counts, "", "", "", "", ""])
    header = ["variant", *[f"{case.name} " for case in asked]]
    table(question.title, [*header, "rank", "diff%", "real%", "2nd%", "fit s"], cells)


def _is_asked_for(name: str, parts: Sequence[str]) -> bool:
    return not parts or any(part in name for part in parts)


def describe(cases: list[Case]) -> None:
    """Print what the data sets are."""
    rows = []
    for case in cases:
        queries = 1 if case.qid is None else len(np.unique(case.qid))
        rows.append(
            [
                case.name,
                f"{case.X.shape[0]:,} x {case.X.shape[1]}",
                queries,
                case.levels,
                "yes" if case.abstains else "no",
                len(case.folds),
                "real" if case.real else "made",
                *case.measures,
            ]
        )
    header = ["data set", "rows x features", "queries", "labels", "abstains", "folds", "kind"]
    table("Data sets", [*header, "measure", "2nd"], rows)


def main(
    data: Sequence[str] = (),
    names: Sequence[str] = (),
    titles: Sequence[str] = (),
    cache: str | None = None,
) -> None:
    """Print the tables.

    Parameters
    ----------
    data : folders of data sets
    names, titles : parts of the names of data sets, and of questions; by default all
    cache : folder of earlier fits, optional
    """
    began = time.perf_counter()
    known = os.environ.get("CRUCIAL_DATA")
    folders = [Path(one) for one in data or ([known] if known else [])]
    cases = list(built_in())
    if folders:
        found = [case for one in folders for case in (*from_folder(one), *keel(one))]
        print(f"{len(found)} data sets from folders, {len(cases)} built-in ones")
        cases += found
    else:
        print(
            "Built-in data sets only; for others give --data FOLDER or set CRUCIAL_DATA "
            "(benchmarks/datasets.py says what may be in it)."
        )
    cases = [case for case in cases if _is_asked_for(case.name, names)]
    questions = [one for one in QUESTIONS if _is_asked_for(one.title, titles)]
    if cache is not None:
        Path(cache).mkdir(parents=True, exist_ok=True)
    describe(cases)
    results = run(questions, cases, None if cache is None else Path(cache))
    print(
        "\nIn every table: * is what RankBoost() does (or what the title says); +/- differs from "
        "it by two standard\nerrors; rank: mean rank; diff%: mean relative difference to *; "
        "real%: the same on real data; 2nd%: the same\nin the second measure; fit s: seconds of "
        "fitting on one thread."
    )
    for question in questions:
        show(question, cases, results)
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", default=(), metavar="FOLDER", help="of data sets")
    parser.add_argument("--cases", nargs="*", default=(), metavar="NAME", help="data sets")
    parser.add_argument("--questions", nargs="*", default=(), metavar="PART", help="of titles")
    parser.add_argument("--cache", metavar="FOLDER", help="of fits that are not made again")
    options = parser.parse_args()
    main(options.data, options.cases, options.questions, options.cache)

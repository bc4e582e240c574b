"""Why the trees of GradientRanker are what they are by default, and what CatBoost's ideas add.

Run as ``python -m benchmarks gradient_defaults [--data FOLDER ...] [--sets NAME ...]``, with
folders as in `benchmarks.quality`, and ``--variants explained`` for sums of functions of one or two
features. Of sets of at least 700 queries, 400 are drawn to learn from,
three times, and 300 others measure; smaller ones are dealt into five folds, and of two generated
ones 80 queries are drawn. No round is chosen. The table has ndcg_exp@10 of the defaults, and the
difference of every variant to it, query by query, with one standard error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.contestants import Part
from benchmarks.datasets import FOLDS, from_folder
from benchmarks.timing import table
from crucial import GradientRanker, make_letor
from crucial.boosting import trees
from crucial.boosting.trees import GrownTree
from crucial.data import make_interactions
from crucial.feedback import LabelFeedback
from crucial.measures.names import get_measure

MEASURE, DRAWS, LEARNED, TESTED, LEAST = "ndcg_exp@10", 3, 400, 300, 700
LEAFWISE = {"symmetric": False, "max_leaves": 8, "min_rows": 20.0}
RATES = (0.1, 0.2, 0.3)
SLOW = {"learning_rate": 0.03, "n_estimators": 667}

# -- CatBoost's ideas, in place of a function of `crucial.boosting.trees` ----------------

Grow = Callable[..., GrownTree | None]


def random_scores(strength: float, *_: Any) -> dict[str, Any]:
    """Multiply what splits by a feature gain by 1 plus noise."""
    random, plain = np.random.default_rng(0), trees._best_split

    def best_split(totals: Any, leaves: Any, allowed: Any) -> Any:
        noise = 1.0 + strength * random.normal(size=(len(totals), 1))
        return plain(totals * np.maximum(noise, 0.0), leaves, allowed)

    return {"_best_split": best_split}


def bayesian_bootstrap(temperature: float, *_: Any) -> dict[str, Any]:
    """Give every row a random weight in every tree, (-ln u)^temperature."""
    random, plain = np.random.default_rng(0), trees.grow_tree

    def grow_tree(search: Any, gradient: Any, curvature: Any, *more: Any) -> GrownTree | None:
        weight = random.exponential(size=len(gradient)) ** temperature
        return plain(search, gradient * weight, curvature * weight, *more)

    return {"grow_tree": grow_tree}


def leaf_steps(steps: int, query: Any, l2: float) -> dict[str, Any]:
    """Let the values of leaves take further Newton steps of squared error within queries."""
    plain, sizes = trees.grow_tree, np.bincount(query)

    def grow_tree(search: Any, gradient: Any, curvature: Any, *more: Any) -> GrownTree | None:
        grown = plain(search, gradient, curvature, *more)
        if grown is None:
            return None
        leaf = np.empty(len(gradient), int)
        leaf[grown.rows] = np.repeat(np.arange(len(grown.values)), np.diff(grown.starts))
        value, total = np.array(grown.values), np.bincount(leaf, curvature)
        ridge = l2 * float(curvature.mean())
        for _ in range(steps - 1):
            output = value[leaf]
            inside = output - (np.bincount(query, output) / sizes)[query]
            left = np.bincount(leaf, gradient - curvature * inside)
            value = value + (left - ridge * value) / (total + ridge)
        return replace(grown, values=value.tolist())

    return {"grow_tree": grow_tree}


def ordered(_: float, query: Any, l2: float) -> dict[str, Any]:
    """Move the scores of a query by values of leaves that its own rows have no part in.

    So does ordered boosting, whose next gradient is of rows that were not learned from.
    """
    plain, count, seen = trees.grow_tree, int(query.max()) + 1, dict[str, Any]()

    def grow_tree(search: Any, gradient: Any, curvature: Any, *more: Any) -> GrownTree | None:
        seen["sums"] = gradient, curvature
        return plain(search, gradient, curvature, *more)

    def outcome(_: Any, tree: Any, grown: GrownTree, potentials: Any) -> tuple[Any, float]:
        gradient, curvature = seen["sums"]
        leaf = np.empty(len(gradient), int)
        leaf[grown.rows] = np.repeat(np.arange(len(grown.values)), np.diff(grown.starts))
        own = leaf * count + query
        left, total = (
            np.bincount(leaf, one)[leaf] - np.bincount(own, one)[own]
            for one in (gradient, curvature)
        )
        output = left / (total + l2 * float(curvature.mean()))
        return output, float(gradient @ output)

    return {"grow_tree": grow_tree, "TreeLearner._outcome": outcome}


IDEAS = {
    "ordered": ordered,
    "random_scores": random_scores,
    "bayesian_bootstrap": bayesian_bootstrap,
    "leaf_steps": leaf_steps,
}

#: Variants by the name of a question.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "trees": (
        {}, {"l2": 3.0}, {"l2": 30.0}, {"l2": 1000.0}, {"max_leaves": 8}, {"max_leaves": 64},
        {**LEAFWISE, "l2": 1.0}, LEAFWISE, {"gain": "exp"}, {"n_estimators": 100},
        {"n_estimators": 400}, {"subsample_rows": 0.8}, {"max_features": 0.5}, SLOW,
        {"max_leaves": 64, "l2": 3.0, "learning_rate": 0.03, "n_estimators": 1000},
        {"ordered": True}, {"ordered": True, "l2": 3.0}, {"random_scores": 0.2},
        {"bayesian_bootstrap": 1.0}, {"leaf_steps": 5}, {"loss": "lambda"}, {"loss": "xendcg"},
    ),
    "explained": (
        {}, *({"interactions": n, "learning_rate": rate} for n in (1, 2) for rate in RATES),
        {"interactions": 1, "n_estimators": 600, "learning_rate": 0.1},
        {"interactions": 2, "n_estimators": 600, "learning_rate": 0.1},
        {"interactions": 2, "max_leaves": 8}, {"interactions": 2, "l2": 20.0},
        {"interactions": 2, "max_pairs": 30}, {"interactions": 2, "subsample_rows": 0.8},
    ),
}  # fmt: skip

Split = tuple[Part, Part]


def problems(folders: list[Path], drawn: bool = True) -> Iterator[tuple[str, list[Split]]]:
    """Yield a name, and rows to learn from and to measure, several times.

    Parameters
    ----------
    drawn : bool
        Learn from queries drawn of large sets, instead of four of five folds.
    """
    for case in (one for folder in folders for one in from_folder(folder)):
        codes = np.unique(np.asarray(case.qid), return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        rows = Part(np.asarray(case.X)[order], np.asarray(case.y)[order], codes[order])
        if drawn and codes.max() + 1 >= LEAST:
            yield case.name, list(_drawn(rows, LEARNED))
        else:
            tests = [np.unique(codes[fold.test]) for fold in case.folds[:FOLDS]]
            yield case.name, [(_part(rows, one, False), _part(rows, one, True)) for one in tests]
    made = make_interactions(n_queries=80 + TESTED, docs_per_query=40, n_pairs=6, n_noise=20)
    yield "interactions", list(_drawn(Part(made.X, made.y, made.qid), 80))
    plain = make_letor(n_queries=80 + TESTED, docs_per_query=40, n_features=40)
    yield "sums", list(_drawn(Part(plain.X, plain.y, np.asarray(plain.qid)), 80))


def _part(part: Part, queries: Any, inside: bool) -> Part:
    rows = np.isin(part.qid, queries) == inside
    return Part(part.X[rows], part.y[rows], np.asarray(part.qid)[rows])


def _drawn(part: Part, n: int) -> Iterator[Split]:
    queries = np.unique(np.asarray(part.qid))
    for draw in range(DRAWS):
        order = np.random.default_rng([draw, n]).permutation(queries)
        yield _part(part, order[:n], True), _part(part, order[-TESTED:], True)


def values(splits: list[Split], setting: dict[str, Any]) -> np.ndarray:
    """Return the measure of every test query of every split."""
    found = []
    for train, test in splits:
        own = {name: value for name, value in setting.items() if name not in IDEAS}
        ranker = GradientRanker(n_jobs=1, **own)
        rows = LabelFeedback(train.y, train.groups).rows
        query = np.unique(train.groups.codes[rows], return_inverse=True)[1]
        with ExitStack() as patched:
            for name in setting.keys() & IDEAS.keys():
                for attribute, other in IDEAS[name](setting[name], query, ranker.l2).items():
                    patched.enter_context(patch(f"{trees.__name__}.{attribute}", other))
            ranker.fit(train.X, train.y, qid=train.qid)
        found.append(
            get_measure(MEASURE).prepare(test.y, test.groups).per_query(ranker.predict(test.X))
        )
    return np.concatenate(found)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks gradient_defaults")
    parser.add_argument("--data", metavar="FOLDER", nargs="+", default=[], help="folders of data")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    parser.add_argument("--variants", choices=VARIANTS, default="trees", help="of what")
    options = parser.parse_args(arguments)
    variants = VARIANTS[options.variants]
    warnings.simplefilter("ignore")
    columns: dict[str, list[np.ndarray]] = {}
    for name, splits in problems([Path(one) for one in options.data]):
        if options.sets is None or name in options.sets:
            columns[name] = [values(splits, setting) for setting in variants]
            print(f"{name}: done", flush=True)
    rows = []
    for k, setting in enumerate(variants):
        text = ", ".join(f"{key}={value}" for key, value in setting.items()) or "as it comes"
        if k == 0:
            rows.append([text, *(f"{np.nanmean(one[0]):.4f}" for one in columns.values()), ""])
            continue
        changes = [one[k] - one[0] for one in columns.values()]
        found = [moments(change[~np.isnan(change)]) for change in changes]
        mean = np.mean([one[0] for one in found])
        error = np.sqrt(np.sum([one[1] ** 2 for one in found])) / len(found)
        rows.append([text, *(f"{a:+.4f} ± {b:.4f}" for a, b in [*found, (mean, error)])])
    table(f"{MEASURE} of GradientRanker, and differences to it",
          ["GradientRanker", *columns, "mean"], rows)  # fmt: skip


def moments(change: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return float(change.mean()), float(change.std(ddof=1) / len(change) ** 0.5)


if __name__ == "__main__":
    main()

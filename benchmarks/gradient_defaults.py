"""Why the trees of GradientRanker are what they are by default: few queries to learn from.

Run as ``python -m benchmarks gradient_defaults --data FOLDER ...``, with folders as in
`benchmarks.quality`. A few queries are drawn to learn from, several times, and 300 others measure:
queries to measure by are what small data sets lack. Sets of at least 700 queries in the folders
take part, and generated ones. No round is chosen: the table has the mean of ndcg_exp@10 after 50,
100 and 200 rounds, and the difference after 200 to the defaults, query by query, with one standard
error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants import Part
from benchmarks.datasets import from_folder
from benchmarks.timing import table
from crucial import GradientRanker, make_letor
from crucial.data import make_interactions
from crucial.measures.names import get_measure

MEASURE, MARKS, DRAWS, TESTED, LEAST = "ndcg_exp@10", (50, 100, 200), 3, 300, 700
LEAFWISE = {"symmetric": False, "max_leaves": 8, "min_rows": 20.0}
VARIANTS: tuple[dict[str, Any], ...] = (
    {}, {"l2": 3.0}, {"l2": 30.0}, {"l2": 1000.0}, {"max_leaves": 8}, {"max_leaves": 64},
    {**LEAFWISE, "l2": 1.0}, LEAFWISE, {"subsample_rows": 0.8}, {"gain": "exp"},
    {"learning_rate": 0.05}, {"interactions": 2}, {"interactions": 1},
    {"loss": "lambda", "l2": 0.0}, {"loss": "lambda"}, {"loss": "xendcg", "l2": 0.0},
    {"loss": "xendcg"},
)  # fmt: skip


def problems(folders: list[Path]) -> Iterator[tuple[str, int, Part]]:
    """Yield a name, the number of queries to learn from, and all rows, query after query."""
    for case in (one for folder in folders for one in from_folder(folder)):
        codes = np.unique(np.asarray(case.qid), return_inverse=True)[1]
        if codes.max() + 1 >= LEAST:
            order = np.argsort(codes, kind="stable")
            rows = Part(np.asarray(case.X)[order], np.asarray(case.y)[order], codes[order])
            yield from ((f"{case.name}, {n} queries", n, rows) for n in (100, 400))
    made = make_interactions(n_queries=80 + TESTED, docs_per_query=40, n_pairs=6, n_noise=20)
    yield "interactions, 80 queries", 80, Part(made.X, made.y, made.qid)
    plain = make_letor(n_queries=80 + TESTED, docs_per_query=40, n_features=40)
    yield "sums, 80 queries", 80, Part(plain.X, plain.y, np.asarray(plain.qid))


def values(part: Part, n: int, setting: dict[str, Any]) -> np.ndarray:
    """Return the measure of every test query of every draw, a row per mark."""
    found = []
    queries = np.unique(np.asarray(part.qid))
    for draw in range(DRAWS):
        order = np.random.default_rng([draw, n]).permutation(queries)
        train, test = (
            Part(part.X[rows], part.y[rows], np.asarray(part.qid)[rows])
            for rows in (np.isin(part.qid, one) for one in (order[:n], order[-TESTED:]))
        )
        ranker = GradientRanker(MARKS[-1], n_jobs=1, **setting)
        ranker.fit(train.X, train.y, qid=train.qid)
        prepared = get_measure(MEASURE).prepare(test.y, test.groups)
        stages = enumerate(ranker.staged_predict(test.X), start=1)
        kept = [prepared.per_query(scores) for k, scores in stages if k in MARKS]
        found.append(kept + [kept[-1]] * (len(MARKS) - len(kept)))
    return np.concatenate(found, axis=1)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks gradient_defaults")
    parser.add_argument("--data", metavar="FOLDER", nargs="+", default=[], help="folders of data")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name, n, part in problems([Path(one) for one in options.data]):
        rows, default = [], None
        for setting in VARIANTS:
            found = values(part, n, setting)
            default = found[-1] if default is None else default
            change = found[-1] - default
            change = change[~np.isnan(change)]
            error = change.std(ddof=1) / len(change) ** 0.5
            text = ", ".join(f"{key}={value}" for key, value in setting.items()) or "as it comes"
            means = [f"{np.nanmean(one):.4f}" for one in found]
            rows.append([text, *means, f"{change.mean():+.4f} ± {error:.4f}"])
        header = ["GradientRanker", *(f"{mark} rounds" for mark in MARKS), "to the first"]
        table(f"{MEASURE}, {name}, {DRAWS} draws", header, rows)


if __name__ == "__main__":
    main()

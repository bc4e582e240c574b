"""Sparse linear rankers against LinearSVC with an l1 penalty on differences of listed pairs.

Labels imply far more pairs than a table of differences can contain, so the peer gets a tenth of
them; the rankers use all. Memory counts what a fit allocates beside its input, at its peak.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.timing import THREADS, table
from crucial.data.groups import Groups
from crucial.feedback import LabelFeedback
from crucial.rankers import RankingSVM, RSRank
from crucial.types import Floats, Ints

L1 = 0.01


def problem(n_rows: int, n_features: int, n_queries: int) -> tuple[Floats, Ints, Ints]:
    """Return rows of which a fifth of the features matter, grades 0 to 4, and queries."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features))
    weights = np.where(np.arange(n_features) % 5 == 0, 1.0, 0.0)
    score = X @ weights + 2.0 * random.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, [0.4, 0.7, 0.85, 0.95]))
    return X, y, np.sort(random.integers(0, n_queries, n_rows))


def listed_tenth(X: Floats, feedback: LabelFeedback) -> tuple[Floats, Ints]:
    """Return differences of every tenth pair, half of them turned round."""
    numbers = np.arange(0, feedback.n_pairs, 10)
    high, low, _ = feedback.pairs_at(numbers)
    signs = np.where(np.arange(len(numbers)) % 2 == 0, 1, -1)
    rows = X[feedback.rows]
    return (rows[high] - rows[low]) * signs[:, None], signs


def measured(call: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds of a call, and megabytes that another one allocates at its peak."""
    began = time.perf_counter()
    call()
    seconds = time.perf_counter() - began
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / 1e6


def main(n_rows: int = 100_000, n_features: int = 50, n_queries: int = 1000) -> None:
    warnings.simplefilter("ignore")
    X, y, qid = problem(n_rows, n_features, n_queries)
    feedback = LabelFeedback(y, Groups.from_qid(qid, n_rows))

    def peer() -> None:
        rows, signs = listed_tenth(X, feedback)
        cost = 1.0 / (2.0 * L1 * len(rows))
        LinearSVC(penalty="l1", dual=False, C=cost, fit_intercept=False).fit(rows, signs)

    rankers: dict[str, Callable[[], Any]] = {
        "LinearSVC, l1, a tenth of the pairs": peer,
        "RankingSVM, l1": lambda: RankingSVM(penalty="l1", l1=L1, n_jobs=THREADS),
        "RankingSVM, l1_ball": lambda: RankingSVM(penalty="l1_ball", n_jobs=THREADS),
        "RankingSVM, log": lambda: RankingSVM(penalty="log", l1=L1, n_jobs=THREADS),
        "RSRank": lambda: RSRank(n_jobs=THREADS),
    }
    for make in list(rankers.values())[1:]:
        make().fit(X[:20_000], y[:20_000], qid=qid[:20_000])  # (compiles)
    rows: list[list[Any]] = []
    for name, make in rankers.items():
        call = make if make is peer else (lambda make=make: make().fit(X, y, qid=qid))
        seconds, megabytes = measured(call)
        rows.append([name, seconds, seconds / (rows[0][1] if rows else seconds), megabytes])
    title = f"{n_rows:,} x {n_features}, {n_queries:,} queries, {feedback.n_pairs:,} pairs"
    table(title, ["a fit of", "seconds", "times the peer", "MB"], rows)


if __name__ == "__main__":
    main()

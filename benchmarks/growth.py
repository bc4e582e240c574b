"""How the time of a fit grows with rows, features, rounds and label levels."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.timing import THREADS, table
from crucial import RankBoost, make_letor


def ms_a_round(X: np.ndarray, y: np.ndarray, qid: np.ndarray, rounds: int = 40) -> float:
    found = []
    for _ in range(3):
        ranker = RankBoost(rounds, n_jobs=THREADS, learning_rate=1.0).fit(X, y, qid=qid)
        found.append(1000 * float(np.median(ranker.trace_.column("seconds"))))
    return float(np.median(found))


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for n_queries in (500, 1000, 2000, 4000):
        made = make_letor(n_queries, 120, 136, seed=0)
        ms = ms_a_round(made.X, made.y, made.qid)
        rows.append([f"{n_queries * 120:,} rows x 136", ms, 1e6 * ms / (n_queries * 120 * 136)])
    for n_features in (34, 68, 136, 272):
        made = make_letor(1000, 120, n_features, seed=0)
        ms = ms_a_round(made.X, made.y, made.qid)
        rows.append([f"120,000 rows x {n_features}", ms, 1e6 * ms / (120_000 * n_features)])
    made = make_letor(1000, 120, 136, seed=0)
    strict = np.random.default_rng(0).random(len(made.y)) * 0.5 + made.y
    for name, y in (("2", made.y > 1), ("5", made.y), ("strict order", strict)):
        ms = ms_a_round(made.X, y, made.qid)
        rows.append([f"120,000 rows x 136, levels: {name}", ms, 1e6 * ms / (120_000 * 136)])
    table("Growth, third method, rate 1", ["problem", "ms a round", "ns a row and feature"], rows)
    rows = []
    for rounds in (50, 100, 200, 400):
        began = time.perf_counter()
        RankBoost(rounds, n_jobs=THREADS).fit(made.X, made.y, qid=made.qid)
        took = time.perf_counter() - began
        rows.append([rounds, took, 1000 * took / rounds])
    table("Growth with rounds, 120,000 x 136, rate 0.3", ["rounds", "seconds", "ms a round"], rows)


if __name__ == "__main__":
    main()

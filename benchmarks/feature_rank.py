"""Rankings of features: DiffRank against as many rounds of RankBoost; FeatureRank's growth.

DiffRank makes one round a feature, so its time is held against RankBoost's for as many
rounds, both from arrays to model. FeatureRank's seconds are divided by n log2 n, with n the
number of rows in queries of one size: the quotient should stay as n grows.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

from benchmarks.timing import THREADS, interleaved, table
from crucial import DiffRank, FeatureRank, RankBoost, make_letor

FEATURES = 136
SIZES = (500, 1000, 2000, 4000)


def against_rankboost(n_queries: int = 4000, repeats: int = 3) -> None:
    made = make_letor(n_queries, 120, FEATURES, seed=0)

    def fit(ranker: Any) -> None:
        ranker.fit(made.X, made.y, qid=made.qid)

    rankers = {
        "rankboost": lambda: fit(RankBoost(FEATURES, n_jobs=THREADS)),
        "diffrank": lambda: fit(DiffRank(n_jobs=THREADS)),
        "prec": lambda: fit(DiffRank(prec=10, n_jobs=THREADS)),
        "featurerank": lambda: fit(FeatureRank(n_jobs=THREADS)),
        "bl": lambda: fit(FeatureRank(balance_control="mean", n_jobs=THREADS)),
    }
    for call in rankers.values():
        call()
    found = interleaved(repeats, **rankers)
    names = {
        "rankboost": f"RankBoost, {FEATURES} rounds",
        "diffrank": "DiffRank, all pairs",
        "prec": "DiffRank, prec=10",
        "featurerank": "FeatureRank, one cycle",
        "bl": "BL-FeatureRank, one cycle",
    }
    rows = [[names[key], s, s / found["rankboost"]] for key, s in found.items()]
    title = f"{len(made.y):,} x {FEATURES}, labels 0-4, arrays to model"
    table(title, ["a fit of", "seconds", "times RankBoost"], rows)


def growth(features: int = 20) -> None:
    rows = []
    for n_queries in SIZES:
        made = make_letor(n_queries, 120, features, seed=0)
        ranker = FeatureRank(n_jobs=THREADS)
        ranker.fit(made.X[:48_000], made.y[:48_000], qid=made.qid[:48_000])  # (compiles)
        best = math.inf
        for _ in range(3):
            began = time.perf_counter()
            ranker.fit(made.X, made.y, qid=made.qid)
            best = min(best, time.perf_counter() - began)
        n = len(made.y)
        rows.append([f"{n:,}", best, 1e9 * best / (n * math.log2(n)) / features])
    title = f"FeatureRank on n x {features}"
    table(title, ["n", "seconds", "ns a feature / (n log2 n)"], rows)


def main() -> None:
    warnings.simplefilter("ignore")
    against_rankboost()
    growth()


if __name__ == "__main__":
    main()

"""Time of a boosting round, and of a whole fit, against LightGBM and XGBoost.

All train one-split trees on the same graded data with two threads, in turns. A round is
timed as the difference between a long and a short training, so that binning and set-up
cancel.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.timing import THREADS, table
from crucial import RankBoost, make_letor

SHORT, LONG = 10, 60


def seconds(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class Problem:
    """One data set, and every library's way to train rounds on it."""

    def __init__(self, n_queries: int) -> None:
        import lightgbm as lgb
        import xgboost as xgb

        made = make_letor(n_queries, 120, 136, seed=0)
        self.X, self.y, self.qid = made.X, made.y, made.qid
        self.sizes = np.diff(np.flatnonzero(np.diff(self.qid, prepend=-1, append=-1)))
        self.lgb, self.xgb = lgb, xgb

    def dataset(self) -> Any:
        made = self.lgb.Dataset(
            self.X, self.y, group=self.sizes, params={"verbose": -1, "num_threads": THREADS}
        )
        return made.construct()

    def ours(self, rounds: int, **how: Any) -> None:
        RankBoost(rounds, n_jobs=THREADS, **how).fit(self.X, self.y, qid=self.qid)

    def lightgbm(self, rounds: int, data: Any) -> None:
        parameters = {
            "objective": "lambdarank",
            "num_leaves": 2,
            "learning_rate": 0.3,
            "num_threads": THREADS,
            "verbose": -1,
        }
        self.lgb.train(parameters, data, rounds)

    def xgboost(self, rounds: int, data: Any) -> None:
        parameters = {
            "objective": "rank:pairwise",
            "max_depth": 1,
            "eta": 0.3,
            "nthread": THREADS,
            "tree_method": "hist",
        }
        self.xgb.train(parameters, data, rounds)

    def round_ms(self, repeats: int = 3) -> dict[str, float]:
        """Milliseconds a round, median over interleaved repeats."""
        data = self.dataset()
        matrix = self.xgb.QuantileDMatrix(self.X, self.y, qid=self.qid, nthread=THREADS)
        exact = {"choice": "largest_drop", "step": "exact"}
        calls = {
            "crucial, third method": lambda n: self.ours(n),
            "crucial, third method, rate 1": lambda n: self.ours(n, learning_rate=1.0),
            "crucial, second method": lambda n: self.ours(n, **exact),
            "crucial, second method, rate 1": lambda n: self.ours(n, learning_rate=1.0, **exact),
            "LightGBM lambdarank, 2 leaves": lambda n: self.lightgbm(n, data),
            "XGBoost rank:pairwise, depth 1": lambda n: self.xgboost(n, matrix),
        }
        for call in calls.values():
            call(2)
        found: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(repeats):
            for name, call in calls.items():
                short = seconds(lambda c=call: c(SHORT))
                long = seconds(lambda c=call: c(LONG))
                found[name].append(1000 * (long - short) / (LONG - SHORT))
        return {name: float(np.median(values)) for name, values in found.items()}


def rounds_table(title: str, n_queries: int) -> None:
    found = Problem(n_queries).round_ms()
    ours = found["crucial, third method"]
    rows = [[name, ms, ms / ours] for name, ms in found.items()]
    table(title, ["a round of", "ms", "times ours"], rows)


def whole_fit(n_queries: int = 4000, rounds: int = 300) -> None:
    problem = Problem(n_queries)
    problem.ours(2)
    ours = seconds(lambda: problem.ours(rounds))
    theirs = seconds(lambda: problem.lightgbm(rounds, problem.dataset()))
    table(
        f"{rounds} rounds from arrays to model, 480,000 x 136, binning included",
        ["library", "seconds", "times ours"],
        [["crucial", ours, 1.0], ["LightGBM (Dataset + train, 2 leaves)", theirs, theirs / ours]],
    )


def main() -> None:
    warnings.simplefilter("ignore")
    rounds_table("120,000 x 136, labels 0-4", 1000)
    rounds_table("480,000 x 136, labels 0-4", 4000)
    whole_fit()


if __name__ == "__main__":
    main()

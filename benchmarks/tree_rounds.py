"""CPU time of a round of trees, beside LightGBM, XGBoost and CatBoost: 136 features, five grades.

Every library trains in a process of its own, on one thread; the processes take turns, and the
shortest round of each counts, so that a busy machine changes little. Trees of as many leaves stand
beside each other, grown leaf by leaf under a LambdaMART or XE-NDCG loss: ours, LightGBM's, those of
its quantised gradients, XGBoost's (which has no XE-NDCG). CatBoost's trees of depth 6 under
QueryRMSE stand beside our symmetric trees of 64 leaves.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import in_new_process, table
from crucial import Dataset, GradientRanker

ROWS, SIZE, ROUNDS, TURNS, RATE = (120_000, 480_000), 100, 6, 2, 0.1
LIGHTGBM = {"lambda": "lambdarank", "xendcg": "rank_xendcg"}
LEAVES, SYMMETRIC = (31, 8), ("query_rmse", 64)
PEERS = ("lightgbm", "lightgbm quantised", "xgboost", "catboost")

#: Calls a function after every round.
Rounds = Callable[[Callable[[], None]], object]


def made(n_rows: int) -> tuple[Any, Any]:
    """Features and grades; products and squares of features matter."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 136)).astype(np.float32)
    f = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] ** 2 + random.normal(size=n_rows)
    return X, np.digitize(f, np.quantile(f, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)


def crucial(X: Any, y: Any) -> Iterator[tuple[str, int, Rounds]]:
    data = Dataset.from_parts([Dataset(X, y, np.arange(len(y)) // SIZE)], n_jobs=1)

    def run(loss: str, shape: dict[str, Any], note: Callable[[], None]) -> None:
        def after_round(_: object) -> None:
            note()

        GradientRanker(
            ROUNDS, RATE, loss=loss, n_jobs=1, callbacks=after_round, **shape
        ).fit(data.X, data.y, qid=data.qid)  # fmt: skip

    for leaves in LEAVES:
        shape = {"max_leaves": leaves, "symmetric": False, "min_rows": 20.0, "l2": 1.0}
        for loss in LIGHTGBM:
            yield loss, leaves, partial(run, loss, shape)
    loss, leaves = SYMMETRIC
    yield loss, leaves, partial(run, loss, {"max_leaves": leaves, "symmetric": True})


def lightgbm(X: Any, y: Any, quantised: bool = False) -> Iterator[tuple[str, int, Rounds]]:
    import lightgbm as lgb

    fixed = {"num_threads": 1, "verbose": -1}
    sizes = np.full(len(y) // SIZE, SIZE)
    data = lgb.Dataset(X, y, group=sizes, params=fixed).construct()

    def run(settings: dict[str, Any], note: Callable[[], None]) -> None:
        booster = lgb.Booster({**fixed, **settings}, data)
        for _ in range(ROUNDS):
            booster.update()
            note()

    for leaves in LEAVES:
        for loss, objective in LIGHTGBM.items():
            settings = {
                "objective": objective, "num_leaves": leaves, "learning_rate": RATE,
                "use_quantized_grad": quantised,
            }  # fmt: skip
            yield loss, leaves, partial(run, settings)


def xgboost(X: Any, y: Any) -> Iterator[tuple[str, int, Rounds]]:
    import xgboost as xgb

    data = xgb.QuantileDMatrix(X, y, qid=np.arange(len(y)) // SIZE, nthread=1)

    def run(leaves: int, note: Callable[[], None]) -> None:
        settings = {
            "objective": "rank:ndcg", "eta": RATE, "nthread": 1, "tree_method": "hist",
            "grow_policy": "lossguide", "max_depth": 0, "max_leaves": leaves,
        }  # fmt: skip
        booster = xgb.Booster(settings, [data])
        for number in range(ROUNDS):
            booster.update(data, number)
            note()

    for leaves in LEAVES:
        yield "lambda", leaves, partial(run, leaves)


def catboost(X: Any, y: Any) -> Iterator[tuple[str, int, Rounds]]:
    import catboost as cat

    data = cat.Pool(X, y, group_id=np.arange(len(y)) // SIZE)
    loss, leaves = SYMMETRIC

    def run(note: Callable[[], None]) -> None:
        class Marks:
            def after_iteration(self, _: object) -> bool:
                note()
                return True

        booster = cat.CatBoost(
            {
                "loss_function": "QueryRMSE", "depth": 6, "iterations": ROUNDS,
                "learning_rate": RATE, "thread_count": 1, "verbose": False,
                "allow_writing_files": False,
            }
        )  # fmt: skip
        booster.fit(data, callbacks=[Marks()])

    yield loss, leaves, run


LIBRARIES: dict[str, Callable[[Any, Any], Iterator[tuple[str, int, Rounds]]]] = {
    "crucial": crucial,
    "lightgbm": lightgbm,
    "lightgbm quantised": partial(lightgbm, quantised=True),
    "xgboost": xgboost,
    "catboost": catboost,
}


def measure(library: str, n_rows: int) -> None:
    """Print the CPU milliseconds of the shortest round by loss and leaves, as JSON."""
    found = []
    for loss, leaves, rounds in LIBRARIES[library](*made(n_rows)):
        marks: list[float] = []

        def note(marks: list[float] = marks) -> None:
            marks.append(time.process_time())

        rounds(note)
        found.append((loss, leaves, 1000.0 * float(np.diff(marks).min())))
    print(json.dumps(found))


def compare(n_rows: int, turns: int) -> None:
    """Print the table of one size."""
    least: dict[tuple[str, str, int], float] = {}
    for _ in range(turns):
        for library in LIBRARIES:
            printed = in_new_process("benchmarks.tree_rounds", library, str(n_rows))
            for loss, leaves, ms in json.loads(printed.splitlines()[-1]):
                key = library, loss, leaves
                least[key] = min(ms, least.get(key, ms))
    rows = []
    for library, loss, leaves in [key for key in least if key[0] == "crucial"]:
        mine = least[library, loss, leaves]
        theirs = [least.get((peer, loss, leaves)) for peer in PEERS]
        rows.append([loss, leaves, mine, *("" if one is None else one / mine for one in theirs)])
    header = ["loss", "leaves", "CPU ms, crucial", *(f"{peer}, times" for peer in PEERS)]
    table(f"a round of trees, {n_rows:,} x 136, one thread", header, rows)


def main() -> None:
    for n_rows in ROWS:
        compare(n_rows, TURNS)


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else main()

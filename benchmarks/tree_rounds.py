"""Time of a round of trees, beside LightGBM: 31 and 8 leaves, 136 features, five grades.

Both take turns on the same data, and the shortest round of each counts. Wall times are those of
two threads; CPU times are those of one, which a busy machine changes little. ``lambda`` and
``exponential`` stand beside ``lambdarank``, ``xendcg`` beside ``rank_xendcg``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import THREADS, table
from crucial.boosting.loop import Constraints, Trace, TrainingRows, boost
from crucial.boosting.steps import FixedStep
from crucial.boosting.trees import TreeLearner, TreeLimits
from crucial.data import Groups
from crucial.data.instances import Instances
from crucial.feedback import LabelFeedback
from crucial.rankers.gradient import GradientRanker

SIZE, ROUNDS, TURNS, RATE = 100, 6, 3, 0.1
PEERS = {"lambda": "lambdarank", "xendcg": "rank_xendcg", "exponential": "lambdarank"}
CLOCKS = {THREADS: time.perf_counter, 1: time.process_time}
KINDS = {THREADS: "wall", 1: "CPU"}

Rounds = Callable[[], list[float]]


def made(n_rows: int) -> tuple[Any, Any]:
    """Features and grades; products and squares of features matter."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 136)).astype(np.float32)
    f = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] ** 2 + random.normal(size=n_rows)
    return X, np.digitize(f, np.quantile(f, [0.5, 0.75, 0.9, 0.97])).astype(np.float64)


def ours(X: Any, y: Any, loss: str, leaves: int, threads: int) -> Rounds:
    """Return a call that trains a few rounds and returns the time of each but the first."""
    groups = Groups.from_qid(np.arange(len(y)) // SIZE, len(y))
    feedback, instances = LabelFeedback(y, groups), Instances.from_input(X)
    training = TrainingRows(instances, feedback.rows, feedback.weight, groups, threads)
    clock = CLOCKS[threads]

    def rounds() -> list[float]:
        marks: list[float] = []

        def note(number: int, trace: Trace) -> None:
            marks.append(clock())

        boost(
            training, feedback, GradientRanker(loss=loss)._objective(0),
            TreeLearner(TreeLimits(leaves)), FixedStep(), rounds=ROUNDS,
            constraints=Constraints(rate=RATE), progress=note,
        )  # fmt: skip
        return np.diff(marks).tolist()

    return rounds


def lightgbm(data: Any, objective: str, leaves: int, threads: int) -> Rounds:
    """Return a call that trains a few rounds more and returns the time of each but the first."""
    import lightgbm as lgb

    settings = {
        "objective": objective, "num_leaves": leaves, "learning_rate": RATE, "verbose": -1,
        "num_threads": threads,
    }  # fmt: skip
    booster = lgb.Booster(settings, data)
    clock = CLOCKS[threads]

    def rounds() -> list[float]:
        marks = []
        for _ in range(ROUNDS):
            booster.update()
            marks.append(clock())
        return np.diff(marks).tolist()

    return rounds


def compare(n_rows: int) -> None:
    """Print the table of one size."""
    import lightgbm as lgb

    X, y = made(n_rows)
    rows = []
    for leaves in (31, 8):
        least: dict[tuple[str, int], float] = {}
        for threads in CLOCKS:
            data = lgb.Dataset(X, y, group=np.full(n_rows // SIZE, SIZE)).construct()
            calls = {name: ours(X, y, name, leaves, threads) for name in PEERS}
            for name in sorted(set(PEERS.values())):
                calls[name] = lightgbm(data, name, leaves, threads)
            for _ in range(TURNS):
                for name, call in calls.items():
                    found = min(call())
                    least[name, threads] = min(found, least.get((name, threads), found))
        for name, peer in PEERS.items():
            row: list[Any] = [name, leaves]
            for threads in CLOCKS:
                mine, theirs = least[name, threads], least[peer, threads]
                row += [1000 * mine, 1000 * theirs, theirs / mine]
            rows.append(row)
    header = ["loss", "leaves"]
    for threads in CLOCKS:
        header += [f"{KINDS[threads]} ms, {threads} threads", "LightGBM", "ratio"]
    table(f"a round of trees, {n_rows:,} x 136", header, rows)


def main() -> None:
    for n_rows in (120_000, 480_000):
        compare(n_rows)


if __name__ == "__main__":
    main()

"""Time of the gradients of each loss of GradientRanker, beside LightGBM's.

480,000 rows in queries of 100, labels of five grades, two threads. LightGBM has no way to ask for
gradients alone: a round of its objective on one feature and two leaves is timed, less a round of
squared error, whose gradients cost next to nothing. Times are CPU times over both threads, halved,
which a busy machine changes little.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import THREADS, table
from crucial import Groups, LabelFeedback
from crucial.feedback.base import Potentials
from crucial.rankers.gradient import GradientRanker

QUERIES, SIZE = 4_800, 100
LOSSES = ["query_rmse", "softmax", "xendcg", "exponential", "lambda", "yeti", "logistic"]


def cpu_ms(call: Callable[[], Any], repeats: int = 7) -> float:
    """Least milliseconds of CPU per thread."""
    call()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1000 * min(found) / THREADS


def ours(loss: str, feedback: LabelFeedback, scores: Any) -> float:
    state: Any = GradientRanker(loss=loss)._objective(0).begin(feedback, THREADS)
    potentials = Potentials(state)
    potentials.advance(scores, 1.0)

    def renew() -> Any:
        potentials.renew()
        return state.curvature

    return cpu_ms(renew)


def lightgbm_round(objective: str, y: Any, scores: Any) -> float:
    import lightgbm as lgb

    X = np.arange(len(y), dtype=np.float64)[:, None] % 200
    data = lgb.Dataset(X, y, group=np.full(QUERIES, SIZE), init_score=scores)
    settings = {
        "objective": objective, "num_leaves": 2, "num_threads": THREADS, "verbosity": -1,
        "learning_rate": 1e-6,
    }  # fmt: skip
    booster = lgb.Booster(settings, data)
    return cpu_ms(booster.update)


def main() -> None:
    random = np.random.default_rng(0)
    n = QUERIES * SIZE
    y = random.choice(5, p=[0.5, 0.3, 0.15, 0.04, 0.01], size=n).astype(np.float64)
    scores = random.normal(size=n)
    feedback = LabelFeedback(y, Groups.from_qid(np.repeat(np.arange(QUERIES), SIZE), n))
    plain = lightgbm_round("regression", y, scores)
    theirs = {
        "lambda": lightgbm_round("lambdarank", y, scores) - plain,
        "xendcg": lightgbm_round("rank_xendcg", y, scores) - plain,
    }
    rows = []
    for loss in LOSSES:
        ms = ours(loss, feedback, scores[feedback.rows])
        peer = theirs.get(loss)
        rows.append([loss, ms, "" if peer is None else peer, "" if peer is None else peer / ms])
    title = f"gradient and curvature of {n:,} rows in {QUERIES:,} queries, ms of {THREADS} threads"
    table(title, ["loss", "crucial", "LightGBM", "ratio"], rows)

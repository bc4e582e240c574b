"""Trees whose leaves of a level share their split, where features act together.

Products, exclusive ors of two and of three features, a linear term and noise; 150 queries of 60
rows to learn from, 50 to stop by, 400 to measure. Symmetric trees of this library stand beside
those it grows leaf by leaf, LightGBM's, XGBoost's (both leaf by leaf or level by level, each node
with its own split) and CatBoost's, which are symmetric.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.contestants import Contestant, Part, fitted_by, measured, others, ours
from benchmarks.timing import table
from crucial import GradientRanker

MEASURE, N_FEATURES, SIZE = "ndcg_exp@10", 25, 60
STOPPED = {"n_estimators": 500, "early_stopping_rounds": 50, "random_state": 0}
SHAPES = (
    {"max_leaves": 31, "symmetric": False, "min_rows": 20.0, "l2": 1.0},
    {"max_leaves": 64, "symmetric": True, "min_rows": 1.0, "l2": 3.0},
)


def made(n_queries: int, seed: int) -> Part:
    """Five grades of a sum of interactions."""
    random = np.random.default_rng(seed)
    n_rows = n_queries * SIZE
    X = random.normal(size=(n_rows, N_FEATURES))
    score = X[:, 0] * X[:, 1] + 0.8 * X[:, 4] * X[:, 5] + 0.5 * X[:, 6]
    score += np.sign(X[:, 2] * X[:, 3]) + 0.7 * np.sign(X[:, 7] * X[:, 8] * X[:, 9])
    score += 0.7 * random.normal(size=n_rows) + np.repeat(random.normal(size=n_queries), SIZE)
    y = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97])).astype(float)
    return Part(X, y, np.repeat(np.arange(n_queries), SIZE))


def contestants() -> list[tuple[Contestant, dict[str, Any]]]:
    """Everybody with large trees; those of this library in both shapes."""
    found = []
    for loss in ("query_rmse", "yeti", "xendcg", "lambda", "logistic"):
        more = {"gain": "exp"} if loss == "logistic" else {}
        mine = Contestant(
            "crucial", loss, (), fitted_by(GradientRanker, {"loss": loss, **STOPPED, **more})
        )
        found += [(mine, shape) for shape in SHAPES]
    for other in others(True):
        if "refitted" not in other.name:
            found.append((other, other.settings[-1]))
    # (learns from the rows to stop by as well, and chooses all settings itself)
    return [*found, *((one, {}) for one in ours(True) if one.name == "AutoRanker")]


def main() -> None:
    warnings.simplefilter("ignore")
    train, valid, test = made(150, 0), made(50, 1), made(400, 2)
    value = measured(test, MEASURE)
    rows = []
    for one, setting in contestants():
        began = time.process_time()
        scores = one.fit(train, valid, MEASURE, setting)(test.X)
        seconds = time.process_time() - began
        text = ", ".join(f"{name}={what}" for name, what in setting.items())
        rows.append([one.title, text, f"{value(scores):.4f}", seconds])
    table(f"{MEASURE}, {len(train.y):,} rows of {N_FEATURES} features that act together",
          ["ranker", "setting", "test", "CPU s"], rows)  # fmt: skip


if __name__ == "__main__":
    main()

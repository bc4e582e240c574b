"""Data of extreme shapes, in three sizes: whether time and memory grow with the input.

One query of distinct labels (20 billion pairs at 200,000 rows), queries of two rows, more features
than rows, many rounds; a process each. The power is that of the last doubling: 1 is linear.
``python -m benchmarks.extremes two features`` measures the shapes that have one of the words,
``... rounds Plus`` what has one of them in that shape.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

from benchmarks.memory import peak_mb, reset_peak
from benchmarks.timing import in_new_process, table

SHAPES = {
    "one query, distinct labels; rows": (50_000, 100_000, 200_000),
    "queries of two rows": (250_000, 500_000, 1_000_000),
    "200 rows; features": (12_500, 25_000, 50_000),
    "2,000 rows; rounds": (2_500, 5_000, 10_000),
}
RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "RankBoost": ("RankBoost", {}),
    "RankBoost, largest drop": ("RankBoost", {"choice": "largest_drop", "step": "exact"}),
    "trees, lambda": ("GradientRanker", {"loss": "lambda", "gain": "linear", "max_leaves": 8}),
    "trees, logistic": ("GradientRanker", {"loss": "logistic", "max_leaves": 8}),
    "LogisticRanker": ("LogisticRanker", {}),
    "RankBoostPlus": ("RankBoostPlus", {}),
    "RankingSVM": ("RankingSVM", {}),
    "ndcg@10, r1, hard_loss": ("measures", {}),
}
# (no rounds; more pairs than RankBoostPlus, which lists them, takes)
WITHOUT = {
    "2,000 rows; rounds": ("RankingSVM", "measures"),
    "one query, distinct labels; rows": ("RankBoostPlus",),
}


def made(shape: str, size: int) -> tuple[Any, Any, Any, int]:
    """Return features, labels, queries and rounds."""
    import numpy as np

    random = np.random.default_rng(0)
    kind = list(SHAPES).index(shape)
    n, width, rounds = [(size, 8, 20), (2 * size, 4, 20), (200, size, 20), (2_000, 10, size)][kind]
    X = random.normal(size=(n, width)).astype(np.float32)
    signal = X[:, 0] + random.normal(size=n)
    y = np.argsort(np.argsort(signal)) if kind == 0 else np.digitize(signal, [0.0, 1.0])
    qid = [np.zeros(n), np.arange(n) // 2, np.arange(n) // 20, np.arange(n) // 20][kind]
    return X, y.astype(float), qid.astype(np.int64), rounds


def measure(ranker: str, shape: str, size: int) -> None:
    """Print CPU seconds, and MB at the peak beyond the input."""
    import crucial

    name, settings = RANKERS[ranker]

    def work(X: Any, y: Any, qid: Any, rounds: int) -> None:
        if name == "measures":
            crucial.evaluate(y, X[:, 0], qid, ("ndcg@10", "r1", "hard_loss"))
            return
        few = {} if name == "RankingSVM" else {"n_estimators": rounds}
        getattr(crucial.rankers, name)(n_jobs=1, **few, **settings).fit(X, y, qid=qid)

    X, y, qid, rounds = made(shape, size)
    work(*made(shape, size // 8 if shape != "2,000 rows; rounds" else 20))  # (kernels are loaded)
    reset_peak()
    before, began = peak_mb(), time.process_time()
    work(X, y, qid, rounds)
    print(json.dumps([time.process_time() - began, peak_mb() - before, X.nbytes / 2**20]))


def main(words: tuple[str, ...] = ()) -> None:
    """Measure the shapes and rankers whose names have one of the words, or all."""
    rows = []
    shapes = [one for one in SHAPES if any(word in one for word in words)] or list(SHAPES)
    rankers = [one for one in RANKERS if any(word in one for word in words)] or list(RANKERS)
    for shape in shapes:
        sizes = SHAPES[shape]
        for ranker in rankers:
            if RANKERS[ranker][0] in WITHOUT.get(shape, ()):
                continue
            found = [
                json.loads(in_new_process("benchmarks.extremes", ranker, shape, str(size)))
                for size in sizes
            ]
            seconds = [one[0] for one in found]
            power = math.log2(seconds[-1] / seconds[-2])
            memory = f"{found[-1][1]:.0f}"
            rows.append([shape, ranker, *seconds, f"{power:.2f}", memory, f"{found[-1][2]:.0f}"])
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    header = [
        "shape",
        "what",
        "CPU s at 1/4",
        "at 1/2",
        "at all",
        "power",
        "MB more",
        "MB of input",
    ]
    table(
        "Extreme shapes: 200,000 rows, 1,000,000 queries, 50,000 features, 10,000 rounds",
        header,
        rows,
    )


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in RANKERS:
        measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        main(tuple(sys.argv[1:]))

"""Seconds of the first fit of a process: with an empty kernel cache, and with a warm one."""

from __future__ import annotations

import sys
import tempfile
import time

from benchmarks.timing import in_new_process, table


def measure(n_rows: int, n_features: int) -> None:
    """Print seconds of the imports and of the fit."""
    import numpy as np

    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    y, qid = random.integers(0, 5, n_rows), np.arange(n_rows) // 100
    began = time.perf_counter()
    import crucial

    ranker = crucial.RankBoost(100)
    imported = time.perf_counter()
    ranker.fit(X, y, qid=qid)
    print(imported - began, time.perf_counter() - imported)


def main() -> None:
    rows = []
    for shape in ((1000, 10), (20_000, 50), (120_000, 136)):
        size = list(map(str, shape))
        with tempfile.TemporaryDirectory() as cache:
            runs = [
                in_new_process("benchmarks.cold_start", *size, NUMBA_CACHE_DIR=cache)
                for _ in range(2)
            ]
        (imports, cold), (_, warm) = (map(float, run.split()) for run in runs)
        rows.append([" x ".join(size), imports, cold, warm])
    header = ["rows x features", "imports", "fit, empty cache", "fit, warm cache"]
    table("First fit of a process, 100 rounds, seconds", header, rows)


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:])) if len(sys.argv) > 1 else main()

"""Seconds of the first fit of a process: with an empty kernel cache, and with a warm one.

Stumps, and trees of the same loss. CPU seconds, which a busy machine changes less than others:
compiling takes one thread. What the tree kernels add is the difference of "compiling"; a fit of
stumps compiles none of them.
"""

from __future__ import annotations

import sys
import tempfile
import time

from benchmarks.timing import in_new_process, table


def measure(kind: str, n_rows: int, n_features: int) -> None:
    """Print CPU seconds of the imports and of the fit, and the number of tree kernels."""
    import numpy as np

    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    y, qid = random.integers(0, 5, n_rows), np.arange(n_rows) // 100
    began = time.process_time()
    import crucial

    ranker = (
        crucial.RankBoost(100)
        if kind == "stumps"
        else crucial.GradientRanker(100, loss="exponential")
    )
    imported = time.process_time()
    ranker.fit(X, y, qid=qid)
    fitted = time.process_time()
    kernels = sys.modules.get("crucial.kernels.compiled.trees")
    compiled = [getattr(kernels, name) for name in getattr(kernels, "__all__", [])]
    print(imported - began, fitted - imported, sum(bool(one.signatures) for one in compiled))


def main() -> None:
    rows = []
    for shape in ((1000, 10), (20_000, 50), (120_000, 136)):
        size = list(map(str, shape))
        for kind in ("stumps", "trees"):
            with tempfile.TemporaryDirectory() as cache:
                runs = [
                    in_new_process("benchmarks.cold_start", kind, *size, NUMBA_CACHE_DIR=cache)
                    for _ in range(2)
                ]
            (imports, cold, kernels), (_, warm, _) = (map(float, run.split()) for run in runs)
            rows.append([kind, " x ".join(size), imports, cold, warm, cold - warm, int(kernels)])
    header = ["", "rows x features", "imports", "fit, empty cache", "fit, warm cache"]
    header += ["compiling", "tree kernels"]
    table("First fit of a process, 100 rounds, CPU seconds", header, rows)


if __name__ == "__main__":
    measure(sys.argv[1], *map(int, sys.argv[2:])) if len(sys.argv) > 1 else main()

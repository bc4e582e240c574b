"""Serving in Python: microseconds per call beside predict, and CPU seconds of cold starts.

CPU time, the minimum of several runs that take turns. Stumps: 300 over 40 features. Trees: 100 and
300 of 16 leaves. A cold start is a process of its own, from the start of Python to the end.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import table
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump, Tree

N_FEATURES = 40
NAMES = [f"feature_{j}" for j in range(N_FEATURES)]


def stump_model(n_rounds: int = 300, seed: int = 0) -> AdditiveRanker:
    """Return random stumps over all features."""
    random = np.random.default_rng(seed)
    more = random.integers(0, N_FEATURES, n_rounds - N_FEATURES)
    features = np.concatenate([np.arange(N_FEATURES), more]).tolist()
    rankers = [Stump(j, t, 0) for j, t in zip(features, random.normal(size=n_rounds).tolist())]
    return AdditiveRanker(N_FEATURES, rankers, random.normal(size=n_rounds) * 0.1, NAMES)


def tree_model(n_trees: int, n_leaves: int = 16, seed: int = 0) -> AdditiveRanker:
    """Return random balanced trees; thresholds are float32 numbers that are not close together."""
    random = np.random.default_rng(seed)
    n = n_leaves - 1
    children = [child if child < n else ~(child - n) for child in range(1, 2 * n + 1)]
    trees = [
        Tree(
            tuple(random.integers(0, N_FEATURES, n).tolist()),
            tuple((random.integers(-300, 300, n) / 128).tolist()),
            tuple(random.integers(0, 2, n).tolist()),
            tuple(children[::2]),
            tuple(children[1::2]),
            (1.0,) * n,
            tuple(random.normal(size=n_leaves).tolist()),
        )
        for _ in range(n_trees)
    ]
    return AdditiveRanker(N_FEATURES, trees, [0.1] * n_trees, NAMES)


def _microseconds(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for _ in range(7):
        for name, call in calls.items():
            began = time.process_time()
            call()
            repeats = max(1, int(0.01 / max(time.process_time() - began, 1e-6)))
            began = time.process_time()
            for _ in range(repeats):
                call()
            spent = (time.process_time() - began) / repeats
            best[name] = min(best.get(name, np.inf), spent * 1e6)
    return best


def calls() -> dict[str, float]:
    """Print and return microseconds per call."""
    import pandas as pd

    X = np.random.default_rng(1).normal(size=(100, N_FEATURES))
    X[np.random.default_rng(2).random(X.shape) < 0.05] = np.nan
    dicts = [dict(zip(NAMES, row)) for row in X.tolist()]
    frame = pd.DataFrame(X, columns=NAMES)
    rows, found = [], {}
    for title, model in (
        ("300 stumps", stump_model()),
        ("100 trees", tree_model(100)),
        ("300 trees", tree_model(300)),
    ):
        score = model.scorer()
        inputs = {"dict": dicts[0], "list": X[0].tolist(), "array": X[0], "100 rows": X}
        inputs |= {"frame of 100": frame, "100 dicts": dicts}
        timed: dict[str, Callable[[], Any]]
        timed = {name: partial(score, own) for name, own in inputs.items()}
        timed["predict 1"] = partial(model.predict, X[:1], n_jobs=1)
        timed["predict 100"] = partial(model.predict, X, n_jobs=1)
        assert score(X).tobytes() == model.predict(X).tobytes()
        spent = _microseconds(timed)
        rows.append([title, *spent.values()])
        found |= {f"{title}, {name}": value for name, value in spent.items()}
    table("Microseconds per call", ["", *timed], rows)
    return found


def cold_starts() -> dict[str, float]:
    """Print and return CPU seconds of processes."""
    rows, found = [], {}
    code = "import sys, crucial; crucial.load_model(sys.argv[1]).scorer()([0.5] * 40)"
    with tempfile.TemporaryDirectory() as folder:
        model, trees, data = (str(Path(folder, name)) for name in ("m.json", "t.json", "d.txt"))
        stump_model().save(model)
        tree_model(100).save(trees)
        X = np.random.default_rng(3).normal(size=(200, N_FEATURES)).tolist()
        lines = [
            f"{at % 3} qid:{at // 20} " + " ".join(f"{j}:{x:.6f}" for j, x in enumerate(row, 1))
            for at, row in enumerate(X)
        ]
        Path(data).write_text("\n".join(lines) + "\n")
        unnamed = AdditiveRanker(N_FEATURES, stump_model().rankers, stump_model().weights)
        plain = str(Path(folder, "plain.json"))
        unnamed.save(plain)
        crucial = ["-m", "crucial"]
        for title, words, wanted in (
            ("python -c pass", ["-c", "pass"], None),
            ("import numpy", ["-c", "import numpy"], None),
            ("crucial --help", [*crucial, "--help"], 0.15),
            ("load stumps, score a row", ["-c", code, model], 0.3),
            ("load trees, score a row", ["-c", code, trees], 0.3),
            ("crucial rank, 200 rows", [*crucial, "rank", plain, data, "-o", "-"], 0.5),
        ):
            spent = min(_cpu_seconds(words) for _ in range(5))
            rows.append([title, spent, "" if wanted is None else wanted])
            found[title] = spent
    table("Cold starts, CPU seconds", ["", "seconds", "wanted below"], rows)
    return found


def _cpu_seconds(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> dict[str, float]:
    return calls() | cold_starts()


if __name__ == "__main__":
    main()

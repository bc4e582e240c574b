"""Sparse rows like those of text: memory, and time per round against stumps of LightGBM.

A process each for memory, whose peak is beside the matrix. Rounds are compared in one process that
trains both by turns, in seconds of the processor with one thread. Pair accuracy is on other rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.memory import peak_mb, reset_peak
from benchmarks.timing import in_new_process, table
from crucial import RankBoost
from crucial.types import Floats, Ints

#: Settings of RankBoost: the defaults, and what the guide recommends for sparse input.
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "largest_drop, exact, rate 1": {
        "choice": "largest_drop",
        "step": "exact",
        "learning_rate": 1.0,
    },
}


def text_like(
    n_rows: int, n_features: int, per_row: int, seed: int = 0
) -> tuple[Any, Floats, Ints]:
    """Return rows of words with tf-idf-like values, grades 0 to 3, and queries of 100 rows."""
    from scipy.sparse import csr_array

    random = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_features + 1) ** 0.9
    bounds = np.cumsum(share / share.sum())
    matter = np.random.default_rng(1)  # (the same words matter for every seed)
    effect = matter.normal(size=n_features) * (matter.random(n_features) < 0.05)
    columns = np.empty((n_rows, per_row), np.int32)
    values = np.empty((n_rows, per_row))
    for begin in range(0, n_rows, 50_000):
        part = columns[begin : begin + 50_000]
        part[:] = np.searchsorted(bounds, random.random(part.shape))
        np.minimum(part, n_features - 1, out=part)
        values[begin : begin + 50_000] = random.lognormal(0.0, 0.5, part.shape)
    starts = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    X = csr_array((values.ravel(), columns.ravel(), starts), shape=(n_rows, n_features))
    X.sum_duplicates()
    score = X @ effect
    score += 0.5 * score.std() * random.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, [0.6, 0.85, 0.95])).astype(np.float64)
    return X, y, np.arange(n_rows) // 100


def size_mb(X: Any) -> float:
    """Return the size of a CSR matrix in MB."""
    return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20


def lightgbm_stumps(X: Any, y: Floats) -> Any:
    """Return a booster of trees with two leaves on these rows."""
    import lightgbm as lgb

    parameters = {"objective": "lambdarank", "num_leaves": 2, "verbose": -1, "num_threads": 1}
    data = lgb.Dataset(X, y, group=np.full(len(y) // 100, 100), params=parameters)
    return lgb.Booster(parameters, data)


def measure_memory(who: str, *shape: int) -> None:
    """Print the size of the matrix, and the peak before and after a fit of 20 rounds, in MB."""
    if who in SETTINGS:
        small = text_like(3000, 2000, 20)
        RankBoost(2, n_jobs=1, **SETTINGS[who]).fit(small[0], small[1], qid=small[2])
    X, y, qid = text_like(*shape)
    reset_peak()
    before = peak_mb()
    began = time.process_time()
    if who in SETTINGS:
        RankBoost(20, n_jobs=1, **SETTINGS[who]).fit(X, y, qid=qid)
    else:
        booster = lightgbm_stumps(X, y)
        for _ in range(20):
            booster.update()
    print(size_mb(X), before, peak_mb(), time.process_time() - began)


def measure_rounds(rounds: int = 60, turns: int = 2) -> None:
    """Print seconds per round and pair accuracy: each RankBoost, then LightGBM."""
    X, y, qid = text_like(100_000, 20_000, 32)
    other, other_y, other_qid = text_like(20_000, 20_000, 32, seed=5)
    for settings in SETTINGS.values():
        RankBoost(2, n_jobs=1, **settings).fit(X[:3000], y[:3000], qid=qid[:3000])
    booster = lightgbm_stumps(X, y)
    seconds: dict[str, list[float]] = {name: [] for name in [*SETTINGS, "LightGBM"]}
    accuracy = {}
    for _ in range(turns):
        for name, settings in SETTINGS.items():
            took = []
            for n in (5, rounds):
                began = time.process_time()
                ranker = RankBoost(n, n_jobs=1, **settings).fit(X, y, qid=qid)
                took.append(time.process_time() - began)
            seconds[name].append((took[1] - took[0]) / (rounds - 5))
            accuracy[name] = ranker.score(other, other_y, qid=other_qid)
        began = time.process_time()
        for _ in range(rounds // turns):
            booster.update()
        seconds["LightGBM"].append((time.process_time() - began) / (rounds // turns))
    accuracy["LightGBM"] = pair_accuracy(booster.predict(other), other_y, other_qid)
    for name, values in seconds.items():
        print(f"{name};{min(values)};{accuracy[name]}")


def pair_accuracy(scores: Floats, y: Floats, qid: Ints) -> float:
    """Return the share of the pairs that scores order right, ties as one half."""
    from crucial import evaluate

    return 1.0 - float(evaluate(y, scores, qid=qid, measures="r2")["r2"])


def main() -> None:
    rows = []
    for who, *shape in (
        *((name, "100000", "20000", "32") for name in [*SETTINGS, "LightGBM"]),
        *((name, "1000000", "20000", "50") for name in SETTINGS),
    ):
        words = in_new_process("benchmarks.sparse_input", who, *shape).split()
        size, before, after, seconds = map(float, words)
        extra = after - before
        cells = f"{int(shape[0]):,} x {int(shape[1]):,} x {shape[2]}"
        row = [who, cells, f"{size:.0f}", f"{extra:.0f}", f"{extra / size:.2f}", f"{after:.0f}"]
        rows.append([*row, f"{seconds:.1f}"])
    header = ["library", "rows x features x values a row", "MB of CSR", "MB beside it"]
    header += ["times CSR", "MB at peak", "CPU s, 20 rounds"]
    table("Sparse input: memory", header, rows)
    lines = in_new_process("benchmarks.sparse_input", "rounds").splitlines()
    found = [line.split(";") for line in lines]
    peer = float(found[-1][1])
    table(
        "Sparse input, 100,000 x 20,000 x 32: one thread, 60 rounds",
        ["library", "ms per round", "of LightGBM's", "pair accuracy"],
        [
            [name, f"{1e3 * float(each):.1f}", f"{float(each) / peer:.2f}", f"{float(right):.4f}"]
            for name, each, right in found
        ],
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["rounds"]:
        measure_rounds()
    elif len(sys.argv) > 1:
        measure_memory(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main()

"""Prediction of 300 stumps or trees beside LightGBM, both on two threads, runs interleaved.

Run with ``python -m benchmarks.predict``. Stumps: the trees of the peer have two leaves, so both
ensembles are 300 stumps over 136 features; prediction time does not depend on what the
thresholds are, and ours are drawn at random over 100 of the features. Trees: both are trained on
20,000 rows, 300 trees of 31 leaves; with ``interactions=2`` ours are tables of pairs of features.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump

N_FEATURES, N_USED, N_ROUNDS, THREADS = 136, 100, 300, 2


def _ours(rng: np.random.Generator) -> AdditiveRanker:
    used = rng.choice(N_FEATURES, N_USED, replace=False)
    features = np.concatenate([used, rng.choice(used, N_ROUNDS - N_USED)])
    rankers = [Stump(j, t, 0) for j, t in zip(features, rng.normal(size=N_ROUNDS), strict=True)]
    return AdditiveRanker(N_FEATURES, rankers, rng.normal(size=N_ROUNDS) * 0.1)


def _peer(rng: np.random.Generator) -> Callable[[NDArray[np.float32]], object]:
    import lightgbm

    X = rng.normal(size=(20_000, N_FEATURES)).astype(np.float32)
    y = X @ rng.normal(size=N_FEATURES) + rng.normal(size=len(X))
    settings = {"num_leaves": 2, "verbose": -1, "num_threads": THREADS}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y), N_ROUNDS)
    return lambda rows: booster.predict(rows, num_threads=THREADS)


def _interleaved(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of each, run in turns so that both see the same machine."""
    first(), second()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for task, spent in zip((first, second), times, strict=True):
            begin = time.perf_counter()
            task()
            spent.append(time.perf_counter() - begin)
    return float(np.median(times[0])), float(np.median(times[1]))


def main() -> dict[str, float]:
    """Print the table; return the ratios and our times by name."""
    rng = np.random.default_rng(0)
    model, peer = _ours(rng), _peer(rng)
    print(f"prediction, {N_ROUNDS} stumps, {N_FEATURES} features, float32, {THREADS} threads")
    print(f"{'rows':>8} {'crucial':>12} {'LightGBM':>12} {'ratio':>7}")
    found = {}
    for n_rows, repeats in ((1, 2000), (100, 500), (100_000, 7)):
        X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
        X[rng.random(X.shape) < 0.05] = np.nan
        ours, theirs = _interleaved(
            partial(model.predict, X, n_jobs=THREADS), partial(peer, X), repeats
        )
        print(
            f"{n_rows:>8} {ours * 1e6:>9.1f} us {theirs * 1e6:>9.1f} us {theirs / ours:>6.1f}x"
            f"   {ours / n_rows * 1e9:.0f} ns a row"
        )
        found[f"predict {n_rows} ratio"] = theirs / ours
        found[f"predict {n_rows} us"] = ours * 1e6
    return found | trees()


def trees() -> dict[str, float]:
    """Print the table of trees; return the ratios."""
    import lightgbm

    from crucial import GradientRanker

    random = np.random.default_rng(1)
    X = random.normal(size=(20_000, N_FEATURES)).astype(np.float32)
    f = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * X[:, 4:40].sum(axis=1) + random.normal(size=len(X))
    y, qid = np.digitize(f, np.quantile(f, [0.5, 0.75, 0.9, 0.97])), np.arange(len(X)) // 100
    settings = {
        "objective": "lambdarank", "num_leaves": 31, "verbose": -1, "num_threads": THREADS,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, group=np.full(len(X) // 100, 100))
    booster = lightgbm.train(settings, data, N_ROUNDS)
    rows = random.normal(size=(100_000, N_FEATURES)).astype(np.float32)
    print(f"prediction of {len(rows):,} rows, {N_ROUNDS} trees of 31 leaves, {THREADS} threads")
    print(f"{'trees':>16} {'crucial':>12} {'LightGBM':>12} {'ratio':>7}")
    found = {}
    for name, interactions in (("no limit", None), ("interactions=2", 2)):
        ranker = GradientRanker(
            N_ROUNDS,
            loss="lambda",
            symmetric=False,
            max_leaves=31,
            interactions=interactions,
            n_jobs=THREADS,
        ).fit(X, y, qid=qid)
        ours, theirs = _interleaved(
            partial(ranker.predict, rows), lambda: booster.predict(rows, num_threads=THREADS), 5
        )
        print(f"{name:>16} {ours * 1e3:>9.1f} ms {theirs * 1e3:>9.1f} ms {theirs / ours:>6.1f}x")
        found[f"predict trees, {name} ratio"] = theirs / ours
    return found


if __name__ == "__main__":
    main()

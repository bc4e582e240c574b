"""A round of RankBoost+ against the dense matrix of pairs and rankers, and fits of small tasks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import THREADS, table
from crucial import RankBoost, RankBoostPlus
from crucial.rankers.plus_search import Span

ROWS, FEATURES, ROUNDS = 500, 100, 140
# Columns of the dense matrix that are held at a time; making them is not counted.
BLOCK = 2_000


def problem() -> tuple[np.ndarray, np.ndarray]:
    """500 rows, 100 features and about 50,000 pairs."""
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, FEATURES))
    hidden = X[:, :8] @ random.normal(size=8) + 2 * random.normal(size=ROWS)
    return X, np.digitize(hidden, np.quantile(hidden, [0.75, 0.93]))


def blocks_of(X: np.ndarray, hi: np.ndarray, lo: np.ndarray) -> Iterator[np.ndarray]:
    """The matrix R of algorithm 2, of -1, 0 and 1, some columns at a time."""
    cuts = np.linspace(0, ROWS, 256)[1:-1].astype(int)
    stumps = [(j, t) for j in range(FEATURES) for t in np.sort(X[:, j])[cuts]]
    for begin in range(0, len(stumps), BLOCK):
        part = stumps[begin : begin + BLOCK]
        h = np.stack([X[:, j] > t for j, t in part], axis=1).astype(np.float32)
        yield h[hi] - h[lo]


def dense_round(X: np.ndarray, hi: np.ndarray, lo: np.ndarray, used: int) -> tuple[float, int]:
    """Seconds of lines 7 to 34 of algorithm 2 with matrices, and the number of candidates."""
    random = np.random.default_rng(1)
    d = np.full(len(hi), 1 / len(hi), np.float32)
    seconds, candidates, best = 0.0, 0, 0.0
    for block in blocks_of(X, hi, lo):
        candidates += block.shape[1]
        began = time.perf_counter()
        best = max(best, float(np.abs(d @ block).max()))
        seconds += time.perf_counter() - began
        if candidates == BLOCK:
            members = block[:, :used].copy()
    eta = random.normal(size=used).astype(np.float32)
    began = time.perf_counter()
    ties = members == 0
    gradient = np.abs(-d @ members + (d @ ties) * np.tanh(eta))
    at = int(gradient.argmax())
    h = members[:, at]
    d = d * np.where(h == 0, np.cosh(eta[at] + 0.1) / np.cosh(eta[at]), np.exp(-0.1 * h))
    d /= d.sum()
    return seconds + time.perf_counter() - began, candidates


def in_use(ranker: RankBoostPlus) -> np.ndarray:
    """Rankers in use when each round began."""
    seen: set[object] = set()
    counts = []
    for one in ranker.trace_:
        counts.append(len(seen))
        seen.add(one.ranker)
    return np.array(counts)


def rounds() -> None:
    X, y = problem()
    hi, lo = np.nonzero(y[:, None] > y[None, :])
    RankBoostPlus(ROUNDS, n_jobs=THREADS).fit(X, y)
    seconds = []
    for _ in range(5):
        ranker = RankBoostPlus(ROUNDS, n_jobs=THREADS).fit(X, y)
        near = np.abs(in_use(ranker) - 100) <= 10
        seconds.append(np.median(ranker.trace_.column("seconds")[near]))
    ours = float(np.median(seconds))
    dense, candidates = dense_round(X, hi, lo, 100)
    title = (
        f"A round of RankBoost+: {len(hi):,} pairs, {ROWS} rows, {FEATURES} features, "
        f"{candidates:,} stumps, 100 rankers in use"
    )
    rows = [["histograms and bounds", 1e3 * ours, 1.0], ["dense matrix", 1e3 * dense, dense / ours]]
    table(title, ["way", "ms", "times as long"], rows)


def independence() -> None:
    """One decision with 100 members: over rows, and by least squares over pairs."""
    X, y = problem()
    hi, lo = np.nonzero(y[:, None] > y[None, :])
    outputs = (X > 0).T.astype(np.uint8)
    span = Span(np.zeros(ROWS, np.int64))
    for one in outputs:
        span.add(one)
    new = (X[:, :1] > 0.3).T.astype(np.uint8)
    began = time.perf_counter()
    for _ in range(20):
        span.outside(new)
    ours = (time.perf_counter() - began) / 20
    over_pairs = (outputs[:, hi].astype(float) - outputs[:, lo]).T
    target = new[0, hi].astype(float) - new[0, lo]
    began = time.perf_counter()
    np.linalg.lstsq(over_pairs, target, rcond=None)
    theirs = time.perf_counter() - began
    rows = [["over rows", 1e3 * ours, 1.0], ["least squares", 1e3 * theirs, theirs / ours]]
    table("Is a ranker independent of 100 others?", ["way", "ms", "times as long"], rows)


def small_tasks() -> None:
    """As in 000's films: a task has about 120 rated films, other viewers are the features."""
    random = np.random.default_rng(2)
    X = random.integers(1, 6, (120, 250)).astype(float)
    X[random.random(X.shape) < 0.35] = np.nan
    y = random.integers(1, 6, 120)
    rows = []
    makers = {
        "RankBoost+": lambda: RankBoostPlus(200, n_jobs=1),
        "RB-C": lambda: RankBoost.preset("rb_c", choice="steepest", n_estimators=200, n_jobs=1),
        "RB-D": lambda: RankBoost.preset("rb_d", choice="steepest", n_estimators=200, n_jobs=1),
    }
    for name, make in makers.items():
        make().fit(X, y)
        took = []
        for _ in range(3):
            began = time.perf_counter()
            make().fit(X, y)
            took.append(time.perf_counter() - began)
        rows.append([name, 1e3 * float(np.median(took))])
    pairs = int((y[:, None] > y[None, :]).sum())
    table(f"200 rounds, 120 rows, 250 features, {pairs:,} pairs", ["ranker", "ms a fit"], rows)


def main() -> None:
    warnings.simplefilter("ignore")
    rounds()
    independence()
    small_tasks()


if __name__ == "__main__":
    main()

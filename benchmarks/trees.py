"""Ranking trees and forests against scikit-learn's classification trees of the same size."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import THREADS, interleaved, table
from crucial import RankingForest, TreeRank

ROWS, FEATURES, DEPTH, TREES = 200_000, 50, 8, 50
FOREST_ROWS = 200_000


def problem(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, FEATURES))
    hidden = X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + 2 * random.normal(size=n_rows)
    return X, (hidden > 0).astype(int)


def one_tree() -> None:
    X, y = problem(ROWS)
    TreeRank(2, splitter="stump").fit(X, y)  # (compiles)
    TreeRank(2).fit(X, y)
    seconds = interleaved(
        3,
        stump=lambda: TreeRank(DEPTH, splitter="stump", n_jobs=1).fit(X, y),
        small=lambda: TreeRank(DEPTH, n_jobs=1).fit(X, y),
        sklearn=lambda: DecisionTreeClassifier(max_depth=DEPTH).fit(X, y),
    )
    peer = seconds["sklearn"]
    rows = [
        ["DecisionTreeClassifier", peer, 1.0],
        ["TreeRank, stump", seconds["stump"], seconds["stump"] / peer],
        ["TreeRank, small trees", seconds["small"], seconds["small"] / peer],
    ]
    title = f"A tree of depth {DEPTH}, {ROWS:,} rows, {FEATURES} features, one thread"
    table(title, ["tree", "s", "times as long"], rows)


def forest() -> None:
    X, y = problem(FOREST_ROWS)
    RankingForest(2, max_depth=2).fit(X[:20_000], y[:20_000])  # (compiles)
    seconds = interleaved(
        1,
        default=lambda: RankingForest(TREES, n_jobs=THREADS).fit(X, y),
        stump=lambda: RankingForest(TREES, splitter="stump", max_depth=DEPTH, n_jobs=THREADS).fit(
            X, y
        ),
        same=lambda: RandomForestClassifier(TREES, max_depth=DEPTH, n_jobs=THREADS).fit(X, y),
        sklearn=lambda: RandomForestClassifier(TREES, n_jobs=THREADS).fit(X, y),
    )
    rows = [
        [name, seconds[key], seconds[key] / seconds["same"], seconds[key] / seconds["sklearn"]]
        for name, key in (
            ("RandomForestClassifier", "sklearn"),
            (f"RandomForestClassifier, depth {DEPTH}", "same"),
            (f"RankingForest, stumps, depth {DEPTH}", "stump"),
            ("RankingForest", "default"),
        )
    ]
    title = f"{TREES} trees, {FOREST_ROWS:,} rows, {FEATURES} features, {THREADS} threads"
    table(title, ["forest", "s", f"times of depth {DEPTH}", "times of full depth"], rows)


def main() -> None:
    warnings.simplefilter("ignore")
    one_tree()
    forest()


if __name__ == "__main__":
    main()

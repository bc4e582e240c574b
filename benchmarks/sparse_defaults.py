"""Which choice, step and learning rate suit sparse rows: three kinds of them, and LightGBM.

Words of which few matter, words of rows that are mixtures of topics, and one-hot categories with an
interaction. Grades 0 to 3, 400 queries of 40 rows, three quarters of them to learn from.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import table
from crucial import RankBoost, evaluate
from crucial.types import Floats, Ints

N_ROWS, N_FEATURES, PER_ROW, QUERY = 16_000, 5_000, 30, 40
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "rate 1": {"learning_rate": 1.0},
    "exact": {"step": "exact"},
    "exact, rate 1": {"step": "exact", "learning_rate": 1.0},
    "largest_drop, exact": {"choice": "largest_drop", "step": "exact"},
    "largest_drop, exact, rate 1": {
        "choice": "largest_drop",
        "step": "exact",
        "learning_rate": 1.0,
    },
}


def weighted_words(counts: Any) -> Any:
    """Return counts as rows of tf-idf values of length 1."""
    rows_with = np.maximum(np.asarray((counts > 0).sum(axis=0)).ravel(), 1)
    weighted = counts.copy()
    weighted.data = 1.0 + np.log(weighted.data)
    weighted = sp.csr_array(weighted.multiply(np.log(len(rows_with) / rows_with) + 1.0))
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / length) @ weighted)


def problem(kind: str) -> tuple[Any, Floats, Ints]:
    """Return rows, grades and queries."""
    random = np.random.default_rng(0)
    share = 1.0 / np.arange(1, N_FEATURES + 1) ** 0.9
    share /= share.sum()
    if kind == "words":
        columns = random.choice(N_FEATURES, (N_ROWS, PER_ROW), p=share)
        X = weighted_words(_counts(columns))
        score = X @ (random.normal(size=N_FEATURES) * (random.random(N_FEATURES) < 0.05))
    elif kind == "topics":
        topics = random.dirichlet(share * N_FEATURES * 0.05, 20)
        mixture = random.dirichlet(np.full(20, 0.3), N_ROWS)
        rows = [random.multinomial(PER_ROW, one @ topics) for one in mixture]
        X = weighted_words(sp.csr_array(sp.vstack([sp.csr_array(r[None, :] * 1.0) for r in rows])))
        score = mixture[:, 0] + 0.5 * mixture[:, 1] - 0.5 * mixture[:, 2]
    else:
        width = N_FEATURES // 12
        columns = np.arange(12) * width + random.zipf(1.3, (N_ROWS, 12)) % width
        X = _counts(columns)
        score = random.normal(size=N_FEATURES)[columns].sum(axis=1)
        both = (columns[:, 0] * 7 + columns[:, 1] * 13) % N_FEATURES
        score = score + random.normal(size=N_FEATURES)[both]
    score = score + 0.5 * score.std() * random.normal(size=N_ROWS)
    y = np.digitize(score, np.quantile(score, [0.6, 0.85, 0.95])).astype(np.float64)
    return X, y, np.arange(N_ROWS) // QUERY


def _counts(columns: Ints) -> Any:
    """Return how often each column is in each row."""
    cells = (np.repeat(np.arange(len(columns)), columns.shape[1]), columns.ravel())
    return sp.csr_array((np.ones(columns.size), cells), shape=(len(columns), N_FEATURES))


def stumps_of_lightgbm(X: Any, y: Floats, other: Any) -> Floats:
    """Return the scores of 300 trees of two leaves on other rows."""
    import lightgbm as lgb

    parameters = {"objective": "lambdarank", "num_leaves": 2, "verbose": -1, "num_threads": 1}
    data = lgb.Dataset(X, y, group=np.full(len(y) // QUERY, QUERY))
    return np.asarray(lgb.train(parameters, data, 300).predict(other))


def main() -> None:
    warnings.simplefilter("ignore")
    kinds = ("words", "topics", "one-hot")
    found: dict[str, list[str]] = {name: [] for name in [*SETTINGS, "LightGBM's stumps"]}
    for kind in kinds:
        X, y, qid = problem(kind)
        train = qid < 300
        X_train, X_test, y_test, qid_test = X[train], X[~train], y[~train], qid[~train]
        for name in found:
            if name in SETTINGS:
                ranker = RankBoost(300, n_jobs=1, **SETTINGS[name])
                scores = ranker.fit(X_train, y[train], qid=qid[train]).predict(X_test)
            else:
                scores = stumps_of_lightgbm(X_train, y[train], X_test)
            measured = evaluate(y_test, scores, qid_test, ["r2", "ndcg@10"])
            found[name] += [f"{1 - measured['r2']:.4f}", f"{measured['ndcg@10']:.4f}"]
    header = ["settings", *(f"{kind}, {what}" for kind in kinds for what in ("pairs", "ndcg@10"))]
    rows = [[name, *cells] for name, cells in found.items()]
    table("Sparse rows: pair accuracy and ndcg@10 on other queries, 300 rounds", header, rows)


if __name__ == "__main__":
    main()

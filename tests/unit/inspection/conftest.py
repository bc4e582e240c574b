"""A small problem with a missing value here and there, and rankers that learned it."""

import warnings

import numpy as np
import pandas as pd
import pytest

from crucial.rankers.rankboost import RankBoost

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
NAMES = ("bm25", "clicks", "age", "length")


def make_rows(seed: int = 0, n_queries: int = 20) -> Rows:
    """Ten rows a query; feature 1 says most, feature 3 is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10 * n_queries, 4)).round(2)
    y = np.digitize(
        X[:, 1] + 0.6 * X[:, 0] - 0.6 * X[:, 2] + 0.3 * rng.normal(size=len(X)), [0.3, 1.2]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = 1.0
    return X, y, np.repeat(np.arange(n_queries), 10)


@pytest.fixture(scope="session")
def rows() -> Rows:
    return make_rows()


@pytest.fixture(scope="session")
def frame(rows: Rows):
    return pd.DataFrame(rows[0], columns=NAMES)


@pytest.fixture(scope="session")
def ranker(rows: Rows, frame) -> RankBoost:
    _, y, qid = rows
    held, y_held, qid_held = make_rows(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (one feature is constant)
        ranker = RankBoost(
            40, record_risks=True, early_stopping_rounds=30, eval_metric=["ndcg@10", "map"]
        )
        held = pd.DataFrame(held, columns=NAMES)
        return ranker.fit(frame, y, qid=qid, eval_set=(held, y_held), eval_qid=qid_held)

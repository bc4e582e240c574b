"""Sparse input stays sparse, from fit to predict, and gives what dense input gives."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from crucial import GradientRanker, RankBoost
from crucial.data import arrays, bins
from crucial.errors import DataError, DataWarning


def text_like(n_rows, n_features, per_row, seed=0):
    """Rows with few values, some features far more common than others, graded by some of them."""
    random = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_features + 1)
    columns = random.choice(n_features, n_rows * per_row, p=share / share.sum())
    rows = np.repeat(np.arange(n_rows), per_row)
    values = random.lognormal(0.0, 0.5, n_rows * per_row).round(2)
    X = sp.csr_array((values, (rows, columns)), shape=(n_rows, n_features))
    score = X @ (random.normal(size=n_features) * (random.random(n_features) < 0.2))
    y = np.digitize(score, np.quantile(score, [0.6, 0.9])).astype(float)
    return X, y, np.arange(n_rows) // 20


pytestmark = pytest.mark.filterwarnings("ignore:.*are constant:crucial.errors.DataWarning")

X, Y, QID = text_like(1000, 1500, 12)


def learned(ranker, table):
    return ranker.fit(table, Y, qid=QID)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"choice": "largest_drop", "step": "exact", "learning_rate": 1.0},
        {"choice": "largest_drop", "step": "exact", "early_stopping_rounds": 5},
        {"n_bags": 2},
    ],
    ids=str,
)
def test_the_model_and_its_scores_are_those_of_dense_input(settings):
    made = [
        learned(RankBoost(**{"n_estimators": 12, "n_jobs": n_jobs, **settings}), table)
        for table, n_jobs in ((X.toarray(), 1), (X, 1), (X, 2))
    ]
    assert len({ranker.model_.rankers for ranker in made}) == 1
    assert len({ranker.model_.weights for ranker in made}) == 1
    scores = [ranker.predict(table).tobytes() for ranker in made for table in (X, X.toarray())]
    assert len(set(scores)) == 1


def test_a_fit_takes_little_more_than_its_input():
    many, y, qid = text_like(20_000, 4_000, 25)
    size = many.data.nbytes + many.indices.nbytes + many.indptr.nbytes
    for choice, step in (("steepest", "bound"), ("largest_drop", "exact")):
        ranker = RankBoost(3, choice=choice, step=step, n_jobs=1)
        ranker.fit(many, y, qid=qid).predict(many)  # (everything is compiled by now)
        tracemalloc.start()
        ranker.fit(many, y, qid=qid)
        peak = tracemalloc.get_traced_memory()[1]
        ranker.predict(many)
        both = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * size
        assert both < 3 * size


def test_trees_say_what_they_would_take(monkeypatch):
    monkeypatch.setattr(arrays, "free_memory", lambda: 2_000_000)
    with pytest.raises(DataError, match=r"1,000 rows and [\d,]+ non-empty .* would take 0\.0 GiB"):
        learned(GradientRanker(2), X)
    learned(RankBoost(2), X)
    monkeypatch.setattr(arrays, "free_memory", lambda: 2**34)
    monkeypatch.setattr(bins, "_MUCH", 1_000_000)
    with pytest.warns(DataWarning, match=r"every cell, takes 0\.0 GiB\. Use stumps"):
        learned(GradientRanker(2), X)

"""Sparse linear rankers: what they promise beside their minima."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from crucial import InfinitePush, RankingSVM, RSRank
from crucial.errors import DataError, NoProgressWarning
from refusals import refused


def problem(n=160, p=12, queries=8, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = np.digitize(2.0 * X[:, 3] - X[:, 1] + 0.5 * random.normal(size=n), [-1, 1])
    return X, y, np.array([f"q{i}" for i in np.arange(n) % queries])


PENALTIES = ["l1", "l1_ball", "log", "lq", "mcp"]
RANKERS = [RankingSVM(penalty=penalty, l1=0.02, radius=0.5) for penalty in PENALTIES] + [
    RSRank(0.05)
]


def named(ranker):
    return getattr(ranker, "penalty", "rsrank")


@pytest.mark.parametrize("ranker", RANKERS, ids=named)
def test_it_finds_the_features_that_matter(ranker):
    X, y, qid = problem()
    ranker.fit(X, y, qid=qid)
    assert {1, 3} <= set(ranker.selected_.tolist())
    assert len(ranker.selected_) < 12
    assert ranker.score(X, y, qid=qid) > 0.85
    assert ranker.feature_importances_.argmax() == 3
    assert (ranker.feature_importances_ > 0).nonzero()[0].tolist() == ranker.selected_.tolist()
    other = problem(seed=1)
    assert ranker.score(other[0], other[1], qid=other[2]) > 0.85


@pytest.mark.parametrize("penalty", ["log", "lq", "mcp", "l1_ball"])
def test_the_objective_never_rises(penalty):
    for seed in range(3):
        X, y, qid = problem(seed=seed)
        ranker = RankingSVM(penalty=penalty, l1=0.01, tol=1e-8).fit(X, y, qid=qid)
        assert len(ranker.objectives_) > 1
        assert (np.diff(ranker.objectives_) <= 0.0).all()
        assert ranker.objectives_[-1] == pytest.approx(ranker.objective_, rel=1e-12)


@pytest.mark.parametrize("penalty", ["log", "lq", "mcp"])
def test_local_minima_are_stationary(penalty):
    X, y, qid = problem()
    ranker = RankingSVM(penalty=penalty, l1=0.01, tol=1e-14, max_iter=5000).fit(X, y, qid=qid)
    assert ranker.violation_ < 1e-5
    assert np.isnan(ranker.gap_)
    assert "gap" not in ranker.model_.training
    convex = RankingSVM(penalty="l1", l1=0.01).fit(X, y, qid=qid)
    assert len(ranker.selected_) <= len(convex.selected_)


def test_frank_wolfe_adds_one_feature_per_step_at_most():
    X, y, qid = problem()
    for t in (1, 2, 5, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = RankingSVM(penalty="l1_ball", radius=2.0, max_iter=t).fit(X, y, qid=qid)
        assert len(ranker.selected_) <= t


def test_equal_columns_and_more_features_than_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(12, 40))
    X[:, 1] = X[:, 0]
    y = random.integers(0, 3, 12)
    for ranker in (RankingSVM(penalty="l1", l1=0.01, tol=1e-6), RSRank(0.01)):
        ranker.fit(X, y)
        assert ranker.gap_ <= 1e-6
        assert len(ranker.selected_) < 12


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_columns_as_they_are(wrap):
    """Twice the feature is half the penalty on it."""
    X, y, qid = problem()
    one = RankingSVM(penalty="l1", l1=0.02, standardise=False, tol=1e-9).fit(wrap(X), y, qid=qid)
    two = RankingSVM(penalty="l1", l1=0.04, standardise=False, tol=1e-9).fit(
        wrap(2.0 * X), y, qid=qid
    )
    assert one.selected_.tolist() == two.selected_.tolist()
    difference = two.predict(wrap(2.0 * X)) - one.predict(wrap(X))
    np.testing.assert_allclose(difference, difference[0], atol=1e-6)
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-8)


def test_a_penalty_too_large_is_reported():
    X, y, qid = problem()
    with pytest.warns(NoProgressWarning, match="l1=100 makes all weights 0"):
        ranker = RankingSVM(penalty="l1", l1=100.0).fit(X, y, qid=qid)
    assert not ranker.predict(X).any()
    assert not len(ranker.selected_)


def test_the_sparse_infinite_push():
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 8))
    margin = X[:, 2] - X[:, 5] - 0.5
    X, y = X[np.abs(margin) > 1.0], (margin[np.abs(margin) > 1.0] > 0).astype(int)
    dense = InfinitePush().fit(X, y)
    sparse = InfinitePush(penalty="l1", l1=0.05, tol=1e-6).fit(X, y)
    assert sparse.selected_.tolist() == [2, 5]
    assert len(dense.selected_) == 8
    assert len(sparse.model_.rankers) == 2
    assert sparse.gap_ <= 1e-6
    scores = sparse.predict(X)
    assert scores[y == 1].min() > scores[y == 0].max()
    with pytest.warns(ConvergenceWarning, match="2 steps left the objective"):
        InfinitePush(penalty="l1", l1=1e-4, tol=1e-9, max_iter=2).fit(X, y)
    refused(DataError, "PNormPush", InfinitePush(penalty="l1").fit, X, np.arange(len(X)) % 3)


def test_a_push_that_cannot_reach_the_top_says_so():
    X, y, qid = problem()
    with pytest.warns(NoProgressWarning, match="use PNormPush"):
        InfinitePush(penalty="l1", l1=10.0).fit(X, y > 0, qid=qid)

"""Sparse linear rankers against listing all pairs and a general solver."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.rankers import InfinitePush, RankingSVM, RSRank
from crucial.rankers.linear.losses import Hinges, HuberLoss
from naive import sparse as naive
from naive.hinges import hinge_value


@st.composite
def problems(draw, labels=3):
    n = draw(st.integers(4, 12))
    seed = draw(st.integers(0, 10_000))
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, (n, 3)) / 4.0
    X[0], X[1] = 0.0, 1.0  # (columns from 0 to 1 are not rescaled)
    y = random.integers(0, labels, n)
    qid = random.integers(0, draw(st.integers(1, 2)), n)
    y[:2], qid[:2] = [0, 1], 0
    return X, y, qid


def weights(ranker):
    out = np.zeros(3)
    out[ranker.selected_] = ranker.model_.weights
    return out


@settings(max_examples=15)
@given(problems(), st.sampled_from([0.01, 0.05, 0.2]))
def test_l1_is_the_minimum_over_listed_pairs(problem, l1):
    X, y, qid = problem
    ranker = RankingSVM(penalty="l1", l1=l1, standardise=False, tol=1e-10)
    ranker.fit(X, y, qid=qid)
    u, w = np.ones(len(y)), weights(ranker)

    def value(w):
        return hinge_value(X @ w, y, qid, u, "sign", squared=True)

    assert ranker.objective_ == pytest.approx(value(w) + l1 * np.abs(w).sum(), rel=1e-10)
    assert ranker.gap_ <= 1e-10
    assert ranker.objective_ == pytest.approx(naive.minimum_l1(value, 3, l1), abs=1e-6)


@settings(max_examples=15)
@given(problems(), st.sampled_from(["mean", "first"]))
def test_rsrank_is_the_minimum_over_listed_pairs(problem, ties):
    X, y, qid = problem
    l1 = 0.05
    ranker = RSRank(l1, standardise=False, tol=1e-9, ties=ties).fit(X, y, qid=qid)
    listed, w = naive.ndcg_weights(y, qid, ties), weights(ranker)

    def value(w):
        return naive.weighted_huber(X @ w, listed)

    assert ranker.objective_ == pytest.approx(value(w) + l1 * np.abs(w).sum(), rel=1e-10)
    assert ranker.gap_ <= 1e-9
    assert ranker.objective_ == pytest.approx(naive.minimum_l1(value, 3, l1), abs=1e-6)


@given(problems(), st.integers(0, 1000))
def test_gradients_curvatures_and_planes(problem, seed):
    """The gradient is that of differences, a plane never crosses the loss."""
    _, y, qid = problem
    feedback = LabelFeedback(y, Groups.from_qid(qid, len(y)))
    random = np.random.default_rng(seed)
    for loss in (Hinges(feedback, "sign", 1), HuberLoss(feedback, "mean", 1)):
        s, move, other = random.normal(size=(3, len(feedback.rows))) * 1.5
        value, by_score = loss(s)
        h = 1e-6
        slope = (loss(s + h * move)[0] - loss(s - h * move)[0]) / (2 * h)
        assert np.dot(by_score, move) == pytest.approx(slope, rel=1e-5, abs=1e-7)
        bend = (loss(s + h * move)[1] - loss(s - h * move)[1]) / (2 * h)
        np.testing.assert_allclose(loss.curvature(s)(move), bend, rtol=1e-4, atol=1e-6)
        a, b = loss.plane(s, value, by_score)
        assert a + np.dot(by_score, s) - b == pytest.approx(value, rel=1e-9, abs=1e-12)
        for share in (0.0, 0.3, 1.0):
            low = share * (a + np.dot(by_score, other)) - share**2 * b
            assert loss(other)[0] >= low - 1e-10


@settings(max_examples=20)
@given(problems(labels=2), st.sampled_from([0.001, 0.02, 0.1]))
def test_sparse_push_is_the_linear_program_over_all_rows(problem, l1):
    X, y, qid = problem
    ranker = InfinitePush(penalty="l1", l1=l1, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ranker.fit(X, y, qid=qid)
    live = np.isin(qid, [q for q in set(qid.tolist()) if len(set(y[qid == q].tolist())) == 2])
    low, high = X[live].min(axis=0), X[live].max(axis=0)
    A = (X - low) / np.where(high > low, high - low, 1.0)
    best = naive.push_program(A[live], y[live], qid[live], l1)
    assert ranker.gap_ <= 1e-8
    assert ranker.objective_ == pytest.approx(best, abs=1e-7)
    value = naive.push_hinge(ranker.predict(X), y, qid) + l1 * np.abs(ranker.model_.weights).sum()
    assert ranker.objective_ == pytest.approx(value, abs=1e-9)

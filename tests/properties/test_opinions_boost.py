"""Boosting sparse opinions is RankBoost on the dense table, round by round."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import RankBoost
from crucial.data import make_film_club
from crucial.recommend import Opinions, boost_opinions


def assert_same(X, y, rounds):
    rankers, weights = boost_opinions(Opinions.from_dense(X), np.asarray(y, float), rounds)
    ranker = RankBoost.preset("rankboost.3.cum", n_estimators=rounds, max_bins=None, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ranker.fit(X, y)
    assert rankers == list(fitted.ensemble_.rankers)
    np.testing.assert_allclose(weights, fitted.ensemble_.weights, rtol=1e-9, atol=1e-12)


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    cell = st.one_of(st.just(float("nan")), st.integers(0, 3).map(float))
    row = st.lists(cell, min_size=n_columns, max_size=n_columns)
    X = np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)))
    y = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    y[0] += 4  # (two labels at least)
    return X, y


@pytest.mark.kernels
@given(tables())
def test_small_tables(case):
    assert_same(*case, rounds=8)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_film_club(seed):
    problem = make_film_club(n_viewers=60, n_films=200, n_rated=40, seed=seed)
    assert_same(problem.X, problem.y, rounds=60)


def test_scores_far_apart_stay_finite():
    some = Opinions.from_dense([[1.0], [2.0], [3.0]])
    rankers, weights = boost_opinions(some, np.array([0.0, 1, 2]), 400)
    assert len(rankers) == 400
    assert np.isfinite(weights).all()
    assert (weights > 0).any()


def test_nobody_to_learn_from():
    nobody = Opinions.from_dense(np.full((2, 3), np.nan))
    assert boost_opinions(nobody, np.arange(2.0), 5)[0] == []


def test_opinions_are_a_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    some = Opinions.from_dense(X)
    np.testing.assert_array_equal(some.to_dense(), X)
    np.testing.assert_array_equal(some.transposed().to_dense(), X.T)
    np.testing.assert_array_equal(some.take_rows(np.array([4, 0, 6])).to_dense(), X[[4, 0, 6]])
    np.testing.assert_array_equal(some.take_columns(np.array([3, 1])).to_dense(), X[:, [3, 1]])
    np.testing.assert_allclose(some.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(some.spread, np.nanstd(X, axis=0))

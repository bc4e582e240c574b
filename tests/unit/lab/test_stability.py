"""Stability selection."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from crucial import RankBoost, SelectByRanking, stability_selection
from crucial.errors import DataError, NotRankedError, ParameterError


def problem(n=240, queries=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    y = np.digitize(2.0 * X[:, 3] + X[:, 1] + 0.5 * random.normal(size=n), [-1, 1])
    return X, y, np.array([f"q{i}" for i in np.arange(n) % queries])


class Recorder(RankBoost):
    """Keeps the rows that every clone was fitted on."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, *, qid=None, **more):
        self.seen.append((np.asarray(X).copy(), np.asarray(qid).copy()))
        return super().fit(X, y, qid=qid, **more)


def test_subsamples_are_complementary_halves_of_the_queries():
    X, y, qid = problem()
    Recorder.seen.clear()
    found = stability_selection(Recorder(3), X, y, qid=qid, n_subsamples=6)
    assert len(Recorder.seen) == 6
    for (_, one), (_, two) in zip(Recorder.seen[::2], Recorder.seen[1::2]):
        assert len(set(one)) == len(set(two)) == 6
        assert set(one) | set(two) == set(qid)
        assert len(one) + len(two) == len(qid)
    by_hand = [RankBoost(3).fit(rows, y[[np.flatnonzero((r == X).all(1))[0] for r in rows]], qid=q)
               .feature_importances_ > 0 for rows, q in Recorder.seen]  # fmt: skip
    np.testing.assert_array_equal(found.chosen, by_hand)
    np.testing.assert_array_equal(found.shares, np.mean(by_hand, axis=0))


def test_what_matters_is_stable():
    X, y, qid = problem()
    found = stability_selection(RankBoost(40), X, y, qid=qid, n_subsamples=20, n_features=2)
    assert found.stable == ("feature 3", "feature 1") or found.stable == ("feature 1", "feature 3")
    assert found.mean_chosen == 2.0
    assert found.false_bound == pytest.approx(4.0 / (0.2 * 6))
    assert (found.chosen.sum(axis=1) == 2).all()
    again = stability_selection(RankBoost(40), X, y, qid=qid, n_subsamples=20, n_features=2)
    np.testing.assert_array_equal(found.chosen, again.chosen)
    other = stability_selection(
        RankBoost(2), X, y, qid=qid, n_subsamples=20, random_state=1, n_jobs=2
    )
    same = stability_selection(RankBoost(2), X, y, qid=qid, n_subsamples=20, random_state=1)
    np.testing.assert_array_equal(other.chosen, same.chosen)


def test_ties_at_the_limit_go_to_the_first():
    class Even:
        """Chooses all features alike."""

        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            self.feature_importances_ = np.full(X.shape[1], 0.25)

    X, y, _ = problem()
    found = stability_selection(Even(), X, y, n_subsamples=2, n_features=4)
    assert found.shares.tolist() == [1, 1, 1, 1, 0, 0]


def test_selectors_and_rows_without_queries():
    X, y, _ = problem()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    found = stability_selection(SelectByRanking(2), frame, y, n_subsamples=8)
    assert set(found.stable) == {"b", "d"}


def test_it_prints_plots_and_converts():
    X, y, qid = problem()
    found = stability_selection(RankBoost(3), X, y, qid=qid, n_subsamples=4, threshold=0.9)
    text = str(found)
    assert "share of 4 subsamples" in text
    assert "feature 3" in text
    assert "never chosen" in text
    assert "stable at 0.9" in text
    frame = found.to_frame()
    assert frame["share"].is_monotonic_decreasing
    assert frame["stable"].sum() == len(found.stable)
    axes = found.plot(top=4)
    assert [bar.get_width() for bar in axes.patches] == sorted(found.shares, reverse=True)[:4]
    assert found.support(0.0001).sum() == (found.shares > 0).sum()
    low = stability_selection(RankBoost(3), X, y, qid=qid, n_subsamples=4, threshold=0.5)
    assert low.false_bound == math.inf


def test_errors():
    X, y, _ = problem()
    with pytest.raises(NotRankedError, match="cannot tell which features LinearRegression chose"):
        stability_selection(LinearRegression(), X, y, n_subsamples=2)
    with pytest.raises(ParameterError, match="'estimator' parameter"):
        stability_selection(RankBoost, X, y)
    with pytest.raises(ParameterError, match="'threshold' parameter"):
        stability_selection(RankBoost(3), X, y, threshold=0.0)
    with pytest.raises(DataError, match="at least 2 queries"):
        stability_selection(RankBoost(3), X, y, qid=np.zeros(len(y)))

"""Stability selection, and elimination by scikit-learn."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold

from crucial import RankBoost
from crucial.inspection import importances
from crucial.lab import make_scorer, stability_selection
from crucial.rankers import SelectByRanking
from refusals import refused


def problem(n_features=5, n=240):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, n_features))
    y = np.digitize(2.0 * X[:, 3] + X[:, 1] + 0.5 * random.normal(size=n), [-1, 1])
    return X, y, np.array([f"q{i}" for i in np.arange(n) % 12])


def test_elimination_by_scikit_learn_gets_the_queries():
    X, y, qid = problem()
    with config_context(enable_metadata_routing=True):
        found = RFECV(
            Recorder(5).set_fit_request(qid=True),
            cv=GroupKFold(3).set_split_request(groups="qid"),
            scoring=make_scorer("ndcg@10"),
        ).fit(X, y, qid=qid)
    assert set(np.flatnonzero(found.support_)) >= {3}
    assert {len(set(queries)) for _, queries in Recorder.seen} == {8, 12}


def test_elimination_by_drops_of_the_loss():
    X, y, qid = problem()
    with config_context(enable_metadata_routing=True):
        found = RFE(
            RankBoost(15).set_fit_request(qid=True),
            n_features_to_select=4,
            importance_getter=lambda ranker: importances(ranker, kind="drop").values,
        ).fit(X, y, qid=qid)
    drops = importances(RankBoost(15).fit(X, y, qid=qid), kind="drop").values
    assert np.flatnonzero(~found.support_).tolist() == [np.argmin(drops)]


class Recorder(RankBoost):
    """Keeps the rows that every clone was fitted on."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, *, qid=None, **more):
        self.seen.append((np.asarray(X).copy(), np.asarray(qid).copy()))
        return super().fit(X, y, qid=qid, **more)


def test_subsamples_are_complementary_halves_of_the_queries():
    X, y, qid = problem(6)
    Recorder.seen.clear()
    found = stability_selection(Recorder(3), X, y, qid=qid, n_subsamples=6)
    assert len(Recorder.seen) == 6
    for (_, one), (_, two) in zip(Recorder.seen[::2], Recorder.seen[1::2]):
        assert len(set(one)) == len(set(two)) == 6
        assert (set(one) | set(two), len(one) + len(two)) == (set(qid), len(qid))
    by_hand = [RankBoost(3).fit(rows, y[[np.flatnonzero((r == X).all(1))[0] for r in rows]], qid=q)
               .feature_importances_ > 0 for rows, q in Recorder.seen]  # fmt: skip
    np.testing.assert_array_equal(found.chosen, by_hand)
    np.testing.assert_array_equal(found.shares, np.mean(by_hand, axis=0))


def test_what_matters_is_stable():
    X, y, qid = problem(6)
    found = stability_selection(RankBoost(40), X, y, qid=qid, n_subsamples=20, n_features=2)
    assert found.stable == ("feature 3", "feature 1") or found.stable == ("feature 1", "feature 3")
    assert (found.mean_chosen, found.false_bound) == (2.0, pytest.approx(4.0 / (0.2 * 6)))
    assert (found.chosen.sum(axis=1) == 2).all()
    assert replace(found, threshold=0.5).false_bound == math.inf
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

    X, y, _ = problem(6)
    found = stability_selection(Even(), X, y, n_subsamples=2, n_features=4)
    assert found.shares.tolist() == [1, 1, 1, 1, 0, 0]


def test_selectors_and_rows_without_queries():
    X, y, _ = problem(6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    found = stability_selection(SelectByRanking(2), frame, y, n_subsamples=8)
    assert set(found.stable) == {"b", "d"}


def test_errors_of_stability_selection():
    X, y, _ = problem(6)
    for estimator, options, said in (
        (
            LinearRegression(),
            {"n_subsamples": 2},
            "cannot tell which features LinearRegression cho",
        ),
        (RankBoost, {}, "'estimator' parameter"),
        (RankBoost(3), {"threshold": 0.0}, "'threshold' parameter"),
        (RankBoost(3), {"qid": np.zeros(len(y))}, "at least 2 queries"),
    ):
        refused(ValueError, said, stability_selection, estimator, X, y, **options)

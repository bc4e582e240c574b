"""Backward elimination of features, and stability selection."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

from crucial import RankBoost
from crucial.data import Groups
from crucial.errors import NotRankedError, ParameterError
from crucial.inspection import importances
from crucial.lab import eliminate_features, stability_selection
from crucial.lab.protocols import make_folds
from crucial.measures.names import get_measure
from crucial.rankers import InfinitePush, ListMLE, SelectByRanking
from refusals import refused


def problem(n_features=5, n=240):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, n_features))
    y = np.digitize(2.0 * X[:, 3] + X[:, 1] + 0.5 * random.normal(size=n), [-1, 1])
    return X, y, np.array([f"q{i}" for i in np.arange(n) % 12])


def test_the_least_important_feature_goes_first():
    X, y, qid = problem()
    found = eliminate_features(RankBoost(30), X, y, qid=qid)
    assert (found.sizes.tolist(), found.features(1)) == ([5, 4, 3, 2, 1], ("feature 3",))
    assert found.features(2) == ("feature 1", "feature 3")
    kept = list(range(5))
    for number in range(5):  # (by hand)
        ranker = RankBoost(30).fit(X[:, kept], y, qid=qid)
        shares = importances(ranker, kind="drop").values
        np.testing.assert_array_equal(found.shares[number, kept], shares)
        assert np.isnan(np.delete(found.shares[number], kept)).all()
        value = get_measure("ndcg@10")(y, ranker.predict(X[:, kept]), qid)
        assert found.values[number] == pytest.approx(value, rel=1e-12)
        assert found.support(len(kept)).nonzero()[0].tolist() == kept
        if len(kept) > 1:
            kept.pop(int(np.flatnonzero(shares == shares.min())[-1]))


def test_folds_eliminate_for_themselves():
    X, y, qid = problem()
    found = eliminate_features(RankBoost(15), X, y, qid=qid, cv=3, measure="auc(rel=2)")
    assert found.per_fold is not None
    assert found.per_fold.shape == (3, 5)
    np.testing.assert_allclose(found.values, found.per_fold.mean(axis=0))
    groups = Groups.from_qid(qid, len(y))
    folds = make_folds(3, y.astype(float), groups, True, np.random.default_rng(0))
    part = eliminate_features(RankBoost(15), X[folds[0].train], y[folds[0].train],
                              qid=qid[folds[0].train])  # fmt: skip
    kept = part.support(2).nonzero()[0]
    train, test = folds[0].train, folds[0].test
    ranker = RankBoost(15).fit(X[train][:, kept], y[train], qid=qid[train])
    value = get_measure("auc(rel=2)")(y[test], ranker.predict(X[test][:, kept]), qid[test])
    assert found.per_fold[0, 3] == pytest.approx(value, rel=1e-12)
    assert found.best_size in found.sizes


def test_steps_kinds_and_forms_of_input():
    X, y, qid = problem()
    assert eliminate_features(RankBoost(5), X, y, step=2).sizes.tolist() == [5, 3, 1]
    halves = eliminate_features(RankBoost(5), X, y, step=0.5, n_features=2)
    assert halves.sizes.tolist() == [5, 3, 2]
    found = eliminate_features(ListMLE(), X, y, qid=qid, importance="weight", n_features=2)
    assert found.features(2) == ("feature 1", "feature 3")
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = eliminate_features(RankBoost(15), frame, y, qid=qid, importance="r_squared")
    assert named.features(2) == ("b", "d")
    sparse = eliminate_features(RankBoost(15), sp.csr_array(X), y, qid=qid, importance="r_squared")
    assert sparse.removed.tolist() == named.removed.tolist()


@pytest.mark.filterwarnings("ignore:.*constant and are ignored")
def test_equally_important_features_go_from_the_last():
    y = np.arange(20) % 2
    X = np.column_stack([y, np.ones((20, 3))])
    found = eliminate_features(RankBoost(3), X, y)
    assert found.removed.tolist() == [0, 3, 2, 1]
    assert found.best_size == 1  # (all are perfect)


def test_errors_of_eliminations():
    X, y, _ = problem()
    refused(NotRankedError, "kind='weight'", eliminate_features, InfinitePush(), X, y > 0)
    for options, said in (
        ({"n_features": 9}, "should stop at 9 features, and X has 5"),
        ({"importance": "permutation"}, "'importance' parameter"),
        ({"step": 0}, "'step' parameter"),
    ):
        refused(ValueError, said, eliminate_features, RankBoost(5), X, y, **options)
    found = eliminate_features(RankBoost(5), X, y, step=2)
    refused(ParameterError, "no fit had 4 features", found.support, 4)


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

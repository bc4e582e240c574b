"""Backward elimination of features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from crucial import InfinitePush, ListMLE, RankBoost, eliminate_features
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.inspection import importances
from crucial.lab.folds import make_folds
from crucial.measures.names import get_measure


def problem(n=240, queries=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    signal = 2.0 * X[:, 3] + X[:, 1]
    return X, np.digitize(signal + 0.5 * random.normal(size=n), [-1, 1]), np.arange(n) % queries


def test_the_least_important_feature_goes_first():
    X, y, qid = problem()
    found = eliminate_features(RankBoost(30), X, y, qid=qid)
    assert found.sizes.tolist() == [5, 4, 3, 2, 1]
    assert found.features(1) == ("feature 3",)
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
    from crucial import Groups

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
    assert eliminate_features(RankBoost(5), X, y, step=0.5, n_features=2).sizes.tolist() == [
        5,
        3,
        2,
    ]
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


def test_it_prints_plots_and_converts():
    X, y, qid = problem()
    found = eliminate_features(RankBoost(5), X, y, qid=qid, cv=2)
    lines = str(found).splitlines()
    assert len(lines) == 6
    assert "(2 folds)" in lines[0]
    assert sum("*" in line for line in lines) == 1
    assert repr(found).startswith("FeatureElimination(5 fits")
    frame = found.to_frame()
    assert frame["features"].tolist() == [5, 4, 3, 2, 1]
    assert sum(map(len, frame["removed_next"])) == 4
    axes = found.plot()
    assert len(axes.lines) == 4  # (two folds, the mean, the best)
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), found.values)


def test_errors():
    X, y, _ = problem()
    with pytest.raises(DataError, match="should stop at 9 features, and X has 5"):
        eliminate_features(RankBoost(5), X, y, n_features=9)
    with pytest.raises(NotRankedError, match="kind='weight'"):
        eliminate_features(InfinitePush(), X, y > 0)
    with pytest.raises(ParameterError, match="'importance' parameter"):
        eliminate_features(RankBoost(5), X, y, importance="permutation")
    with pytest.raises(ParameterError, match="no fit had 4 features"):
        eliminate_features(RankBoost(5), X, y, step=2).support(4)
    with pytest.raises(ParameterError, match="'step' parameter"):
        eliminate_features(RankBoost(5), X, y, step=0)

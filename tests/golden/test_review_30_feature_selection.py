"""Numbers of section 30 of the review's systems: selection of features (set B)."""

from itertools import combinations

import numpy as np
import pytest

from crucial import RankBoost, SelectByRanking
from crucial.inspection import importances
from naive.set_b import X123 as X
from naive.set_b import YD, Q


def test_section_30_gas_scores_directions_and_similarities():
    found = SelectByRanking(2, 0.2, measure="ndcg@10").fit(X, YD, qid=Q)
    assert found.scores_ == pytest.approx([0.75, 0.916488113089, 0.747567614476], abs=1e-12)
    assert found.directions_.tolist() == [-1, -1, 1]
    e12, e13, e23 = found.similarity_[0, 1], found.similarity_[0, 2], found.similarity_[1, 2]
    assert (e12, e13, e23) == pytest.approx((1 / 12, 7 / 12, 1 / 2), abs=1e-14)


def test_section_30_gas_greedy_is_the_best_set():
    found = SelectByRanking(2, 0.2, measure="ndcg@10").fit(X, YD, qid=Q)
    assert found.chosen_.tolist() == [1, 0]
    assert found.objective_ == pytest.approx(1.633154779756, abs=1e-12)
    best = max(
        found.scores_[list(s)].sum() - 2 * 0.2 * found.similarity_[s]
        for s in combinations(range(3), 2)
    )
    assert found.objective_ == pytest.approx(best, abs=1e-14)


def test_section_30_pan_shares_of_log_z():
    ranker = RankBoost.preset("rankboost.3", n_estimators=6).fit(X, YD)
    expected = np.zeros(3)
    for entry in ranker.trace_:
        expected[entry.ranker.feature] -= np.log(entry.z)
    found = importances(ranker, kind="drop").values
    assert found == pytest.approx(expected / expected.sum(), abs=1e-14)
    assert found == pytest.approx([0.284245257944, 0.715754742056, 0.0], abs=1e-12)


def test_section_30_pan_shares_of_r_squared():
    ranker = RankBoost.preset("rankboost.3", n_estimators=6).fit(X, YD)
    squares = np.zeros(3)
    for entry in ranker.trace_:
        squares[entry.ranker.feature] += entry.r**2
    found = importances(ranker, kind="r_squared")
    assert found.values == pytest.approx(squares / squares.sum(), abs=1e-14)
    assert found.never == ("feature 2",)
    assert "r^2" in found.meaning

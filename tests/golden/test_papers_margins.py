"""Numbers on margins that Rudin & Schapire (2009) give, or that follow from its definitions."""

import math

import numpy as np
import pytest

from crucial import RankBoost, SmoothMarginRanker
from naive.margins import naive_smooth_margin
from naive.papers import COLUMNS, PAIRS8, PAIRS13, SET_Y, SIGNS, X8, totals
from naive.paths import PATHS, using

# -- theorem 6: a matrix on which RankBoost misses the largest margin ---------------------


def test_rudin_schapire_2009_theorem_6_smooth_margin_reaches_three_eighths():
    ranker = SmoothMarginRanker(20_000, weak="column").fit_pairs(X8, PAIRS8)
    weights = totals(ranker)
    assert (weights >= 0).all()
    margin = float((SIGNS @ weights).min() / weights.sum())
    assert margin == pytest.approx(0.37419, abs=5e-6)
    assert 0.374 < margin < 3 / 8
    assert margin == pytest.approx(ranker.trace_[-1].extras["margin"], rel=1e-9)


# -- thirteen pairs and five columns ------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_smooth_margin_of_thirteen_pairs(path):
    with using(path):
        ranker = SmoothMarginRanker(100, weak="column").fit(COLUMNS, SET_Y)
    g, mu = ranker.trace_.column("smooth_margin"), ranker.trace_.column("margin")
    assert ranker.separable_round_ == 14
    assert (g[:13] <= 0).all()
    assert g[13] == pytest.approx(0.001950953619, abs=5e-13)
    assert g[99] == pytest.approx(0.104500704310, abs=5e-13)
    assert mu[99] == pytest.approx(0.132163315740, abs=5e-13)
    assert (g < mu).all()
    assert (mu <= 1 / 7 + 1e-15).all()
    # Until then every round is one of coordinate descent.
    descent = RankBoost.preset("coordinate_descent", n_estimators=14, weak="column")
    assert ranker.ensemble_.weights[:14] == descent.fit(COLUMNS, SET_Y).ensemble_.weights


def test_smooth_margin_of_thirteen_pairs_by_listing_them():
    ranker = SmoothMarginRanker(100, weak="column").fit(COLUMNS, SET_Y)
    matrix = np.array([COLUMNS[i] - COLUMNS[k] for i, k in PAIRS13])
    chosen, alphas, g, mu = naive_smooth_margin(matrix, np.ones(13), 100)
    assert [one.feature for one in ranker.ensemble_.rankers] == chosen
    np.testing.assert_allclose(ranker.ensemble_.weights, alphas, rtol=1e-10)
    np.testing.assert_allclose(ranker.trace_.column("smooth_margin"), g, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(ranker.trace_.column("margin"), mu, rtol=1e-10, atol=1e-14)


def test_columns_and_their_stumps_are_the_same_weak_rankers():
    """Below 0 and above 1 there is nothing to part: one threshold a column."""
    columns = SmoothMarginRanker(60, weak="column").fit(COLUMNS, SET_Y)
    stumps = SmoothMarginRanker(60).fit(COLUMNS, SET_Y)
    assert stumps.ensemble_.weights == pytest.approx(columns.ensemble_.weights, rel=1e-12)
    assert math.isclose(stumps.trace_[-1].loss, columns.trace_[-1].loss, rel_tol=1e-12)

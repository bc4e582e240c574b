"""Margins of classification (Rudin & Schapire 2009, sections 2 and 4): theorem 6 for AdaBoost.

The matrix is that of Rudin, Daubechies & Schapire (2004): AdaBoost ends at a margin of 1/3, and
the largest is 3/8. Coordinate ascent boosting and its approximation go on towards 3/8.
"""

import math

import numpy as np
import pytest

from crucial import AdaBoostRanker, RankBoost, max_margin
from crucial.errors import DataError, NotRankedError, NotSeparableWarning, ParameterError
from crucial.inspection import class_margins
from naive.papers import SIGNS

# With these classes neither the constant nor an opposite helps: 3/8 stays the largest margin.
Y = np.array([-1, -1, -1, -1, -1, 1, 1, -1])
X = SIGNS * Y[:, None]


def test_theorem_6_the_largest_margin():
    """All votes, their opposites and the constant, against a row of score 0."""
    votes = np.column_stack((X, -X, np.ones(8), -np.ones(8)))
    h = np.vstack((votes, np.zeros(votes.shape[1])))
    pairs = [(i, 8) if y > 0 else (8, i) for i, y in enumerate(Y)]
    assert max_margin(h, pairs).rho == pytest.approx(3 / 8, abs=1e-12)


def test_theorem_6_adaboost_ends_at_a_third():
    booster = AdaBoostRanker(2500, 1.0).fit(X, Y)
    assert class_margins(booster, X, Y).minimum == pytest.approx(1 / 3, abs=5e-4)
    assert booster.separable_round_ is None


@pytest.mark.parametrize("step", ["smooth", "line_search"])
def test_theorem_6_coordinate_ascent_goes_on(step):
    booster = AdaBoostRanker(2500, 1.0, step=step).fit(X, Y)
    margin = class_margins(booster, X, Y).minimum
    assert 0.372 < margin < 3 / 8
    assert booster.trace_[-1].extras["margin"] == pytest.approx(margin, abs=1e-9)
    g = booster.trace_.column("smooth_margin")
    assert booster.separable_round_ == 9
    assert np.all(np.diff(g[8:]) > -1e-12)
    assert 0.36 < g[-1] < margin


def test_the_step_of_approximate_coordinate_ascent_boosting():
    """``.5 ln((1 + r)/(1 - r)) - .5 ln((1 + g)/(1 - g))`` in every round after G > 0."""
    trace = AdaBoostRanker(40, 1.0, step="smooth").fit(X, Y).trace_
    g, r, alpha = (trace.column(name) for name in ("smooth_margin", "r", "alpha"))
    assert np.all(g[:8] <= 0)
    np.testing.assert_allclose(alpha[:9], np.arctanh(r[:9]), rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(alpha[9:]), np.arctanh(np.abs(r[9:])) - np.arctanh(g[8:-1]), rtol=1e-9
    )


def test_the_line_search_reaches_the_best_g_along_the_vote():
    trace = AdaBoostRanker(15, 1.0, step="line_search").fit(X, Y).trace_
    alpha, r = np.abs(trace.column("alpha")), np.abs(trace.column("r"))
    g = trace.column("smooth_margin")
    for n in range(9, 15):
        norm = alpha[:n].sum()
        steps = np.linspace(0, 3, 200_001)
        z = (1 + r[n]) / 2 * np.exp(-steps) + (1 - r[n]) / 2 * np.exp(steps)
        best = (g[n - 1] * norm - np.log(z)) / (norm + steps)
        assert g[n] == pytest.approx(best.max(), abs=1e-9)
        assert alpha[n] == pytest.approx(steps[best.argmax()], abs=1e-3)


def test_three_of_four_rows_need_a_third():
    """``or`` of two features: votes and the constant at a third each, so margin 1/3."""
    table = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    booster = AdaBoostRanker(3000, 1.0, step="line_search").fit(table, [1, 1, 1, 0])
    assert class_margins(booster, table, [1, 1, 1, 0]).minimum == pytest.approx(1 / 3, abs=2e-3)


def test_margins_of_a_ranker_with_an_intercept():
    """A stump of 0 and 1 is half a vote and half a constant."""
    table, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    classifier = RankBoost(1, 1.0).fit(table, y).to_classifier()
    alpha, b = classifier.ranker_.model_.weights[0], classifier.intercept_
    assert b == pytest.approx(-alpha / 2)  # both classes are alike, so all is in the vote
    found = class_margins(classifier, table, y)
    assert found.norm == pytest.approx(alpha / 2)
    assert (found.minimum, found.maximum) == pytest.approx((1.0, 1.0))
    moved = class_margins(classifier.ranker_, table, y)  # without it: 0 or alpha over alpha
    assert (moved.minimum, moved.maximum) == pytest.approx((0.0, 1.0))
    assert moved.norm == pytest.approx(alpha)


def test_what_is_not_separable_is_said():
    table, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    with pytest.warns(NotSeparableWarning, match="all steps were AdaBoost's"):
        found = AdaBoostRanker(5, step="smooth").fit([*table, [2.0]], [*y, 1])
    assert found.separable_round_ is None


def test_refusals():
    booster = AdaBoostRanker(5).fit(X, Y)
    with pytest.raises(DataError, match="needs labels of two values, and y has 3"):
        class_margins(booster, X, [0, 1, 2, 0, 1, 2, 0, 1])
    with pytest.raises(NotRankedError, match="need votes, stumps or trees"):
        class_margins(RankBoost(3, weak="feature", step="numeric").fit(X, Y), X, Y)
    with pytest.raises(ParameterError, match="step='smooth' needs subsample=1"):
        AdaBoostRanker(5, step="smooth", subsample=0.5).fit(X, Y)
    with pytest.raises(ParameterError, match="'step' parameter of AdaBoostRanker"):
        AdaBoostRanker(5, step="numeric").fit(X, Y)
    assert math.isfinite(class_margins(booster, X, Y, sample_weight=np.arange(8)).minimum)

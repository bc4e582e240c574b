"""Numbers on margins that Rudin & Schapire (2009) give, or that follow from its definitions."""

import math

import numpy as np
import pytest

from crucial import RankBoost
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError, NotRankedError, NotSeparableWarning, ParameterError
from crucial.inspection import class_margins, max_margin
from crucial.rankers import AdaBoostRanker, LabelRanker, SmoothMarginRanker
from crucial.rankers.label_ranker import LABEL_OBJECTIVES, LabelStumpSearch, boost_labels
from naive.papers import COLUMNS, PAIRS8, SET_Y, SIGNS, X8, totals
from naive.paths import PATHS, using


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


# -- margins of classification (Rudin & Schapire 2009, sections 2 and 4): theorem 6 for AdaBoost --


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


# -- rudin & Schapire (2009, section 5.1): AdaBoost.MH and the product form of .MR are one --------


def noisy(n=300, n_labels=4, seed=0):
    """Labels that no stump parts, in few distinct rows: all minima are attained."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, size=(n, 3)).astype(float)
    slope = random.normal(size=(3, n_labels))
    odds = X @ slope - (X @ slope).mean(axis=0) - 1.0  # right labels are the fewer
    return X, random.random((n, n_labels)) < 1 / (1 + np.exp(-odds))


def parts(f, right):
    """F+ and F-."""
    return np.exp(-f[right]).sum(), np.exp(f[~right]).sum()


def run(name, X, right, rounds, discrete):
    bins = Bins.build(Instances(X), np.arange(len(X)), None, 255)
    search = LabelStumpSearch(bins, right.shape[1], discrete, 1)
    objective = LABEL_OBJECTIVES[name](right, np.ones(len(X)))
    # (a total weight so large that nothing is smoothed)
    return boost_labels(search, objective, 1e15, rounds=rounds, rate=1.0, discrete=discrete)


def test_real_predictions_take_the_same_way_but_for_an_intercept():
    """The best real predictions of a stump leave no F-skew, round for round."""
    X, right = noisy()
    mh, product = (run(name, X, right, 40, False) for name in ("mh", "mr_product"))
    for one, two in zip(mh[0], product[0], strict=True):
        assert (one.stump.feature, one.stump.threshold) == (two.stump.feature, two.stump.threshold)
        assert one.f_skew == pytest.approx(0.0, abs=1e-10)
    difference = mh[1] - product[1]
    assert np.ptp(difference) < 1e-9
    good, bad = parts(np.zeros(right.shape), right)
    assert difference[0, 0] == pytest.approx(0.5 * math.log(good / bad), abs=1e-9)
    f_mh = sum(parts(mh[1], right))
    assert f_mh == pytest.approx(2 * math.sqrt(math.prod(parts(product[1], right))), rel=1e-12)


def test_the_intercept_makes_a_minimiser_of_mh_of_the_product_form():
    X, right = noisy(seed=2)
    y = right.astype(int)
    mh, product = (LabelRanker(200, objective=o).fit(X, y) for o in ("mh", "mr_product"))
    expected = mh.trace_[-1].loss * right.size
    good, bad = parts(product.label_scores(X), right)
    assert good == pytest.approx(bad, rel=1e-9)
    assert good + bad == pytest.approx(expected, rel=1e-8)
    assert product.predict(X).tolist() == mh.predict(X).tolist()
    assert product.rank_labels(X).tolist() == mh.rank_labels(X).tolist()


def test_pairs_within_instances_have_another_minimum():
    """What the equivalence does not reach: Schapire & Singer's own AdaBoost.MR."""
    X, right = noisy(seed=3)
    least = math.prod(parts(run("mh", X, right, 400, False)[1], right))
    rounds, scores = run("mr", X, right, 1500, False)
    assert rounds[-1].z > 1 - 1e-9  # it is at its own minimum
    assert math.prod(parts(scores, right)) > 1.01 * least
    # ... by a shift of every instance's labels that its objective does not see.
    centred = scores - scores.mean(axis=1, keepdims=True)
    loss = LABEL_OBJECTIVES["mr"](right, np.ones(len(X))).weigh(centred)[1]
    assert loss == pytest.approx(rounds[-1].log_loss, abs=1e-10)

"""Rudin & Schapire (2009, section 5): AdaBoost and RankBoost are one."""

import math

import numpy as np
import pytest

from crucial import RankBoost
from crucial.rankers import AdaBoostRanker
from naive.paths import PATHS, using

ROOT = math.sqrt(2.0)
Y = np.array([1, 1, 1, 0, 0, 0])
H = np.array([[1, 1, 0, 1, 0, 0], [1, 1, 0, 0, 1, 1]]).T  # h1 = 110100, h2 = 110011


@pytest.fixture(params=PATHS, autouse=True)
def path(request):
    with using(request.param):
        yield request.param


def parts(decision, y):
    """F+ and F-."""
    return np.exp(-decision[y == 1]).sum(), np.exp(decision[y == 0]).sum()


def test_adaboost_with_the_constant_reaches_4_root_2():
    ranker = AdaBoostRanker(50, 1.0).fit(H, Y)
    assert sum(parts(ranker.predict(H), Y)) == pytest.approx(4 * ROOT, rel=1e-14)
    assert ranker.trace_[-1].loss == pytest.approx(4 * ROOT / 6, rel=1e-14)
    assert ranker.trace_[-1].extras["f_skew"] == pytest.approx(0.0, abs=1e-14)
    assert ranker.trace_.stopped == "no weak ranker helps"


def test_rankboost_with_its_intercept_reaches_4_root_2():
    ranker = RankBoost.preset("rudin_schapire", n_estimators=50).fit(H, Y)
    assert ranker.model_.weights == pytest.approx([math.log(2.0)], rel=1e-14)
    good, bad = parts(ranker.predict(H), Y)
    assert (good, bad) == pytest.approx((2.0, 4.0), rel=1e-14)
    classifier = ranker.to_classifier()
    assert classifier.intercept_ == pytest.approx(-0.5 * math.log(2.0), rel=1e-14)
    assert sum(parts(classifier.decision_function(H), Y)) == pytest.approx(4 * ROOT, rel=1e-14)


def noisy(n=400, seed=0):
    """Two classes that no stump parts, in few distinct rows: all minima are attained."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, size=(n, 3)).astype(float)
    good = 1 / (1 + np.exp(-(X[:, 0] - X[:, 1] + 0.5 * (X[:, 2] == 1) - 1.5)))
    return X, (random.random(n) < good).astype(int)


def test_corollary_11_adaboost_minimises_what_rankboost_does():
    X, y = noisy()
    ada = AdaBoostRanker(600, 1.0).fit(X, y)
    rank = RankBoost.preset("rudin_schapire", n_estimators=600).fit(X, y)
    found, expected = (math.prod(parts(one.predict(X), y)) for one in (ada, rank))
    assert found == pytest.approx(expected, rel=1e-10)
    assert ada.trace_[-1].extras["f_skew"] == pytest.approx(0.0, abs=1e-5)
    # Theorem 12: the same misranks, since no pair of different rows is tied at the minimum.
    assert ada.score(X, y) == pytest.approx(rank.score(X, y), abs=1e-12)
    assert 0.5 < ada.score(X, y) < 0.9


def test_corollary_13_rankboost_minimises_what_adaboost_does():
    X, y = noisy(seed=1)
    ada = AdaBoostRanker(600, 1.0).fit(X, y)
    rank = RankBoost.preset("rudin_schapire", n_estimators=600).fit(X, y)
    classifier = rank.to_classifier()
    good, bad = parts(classifier.decision_function(X), y)
    assert good == pytest.approx(bad, rel=1e-12)  # no F-skew is left
    assert good + bad == pytest.approx(ada.trace_[-1].loss * len(y), rel=1e-10)
    # Theorem 14: the same misclassifications.
    same = classifier.predict(X) == (ada.predict(X) > 0)
    assert same.all()

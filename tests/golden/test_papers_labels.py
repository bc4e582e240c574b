"""Rudin & Schapire (2009, section 5.1): AdaBoost.MH and the product form of .MR are one."""

import math

import numpy as np
import pytest

from crucial import LabelRanker
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.rankers.label_ranker import LABEL_OBJECTIVES, LabelStumpSearch, boost_labels


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
    for one, two in zip(mh.rounds, product.rounds, strict=True):
        assert (one.stump.feature, one.stump.threshold) == (two.stump.feature, two.stump.threshold)
        assert one.f_skew == pytest.approx(0.0, abs=1e-10)
    difference = mh.scores - product.scores
    assert np.ptp(difference) < 1e-9
    good, bad = parts(np.zeros(right.shape), right)
    assert difference[0, 0] == pytest.approx(0.5 * math.log(good / bad), abs=1e-9)
    f_mh = sum(parts(mh.scores, right))
    assert f_mh == pytest.approx(2 * math.sqrt(math.prod(parts(product.scores, right))), rel=1e-12)


def test_discrete_predictions_go_to_the_same_minimum():
    X, right = noisy(seed=1)
    least = math.prod(parts(run("mh", X, right, 400, False).scores, right))
    for name in ("mh", "mr_product"):
        made = run(name, X, right, 1500, True)
        assert math.prod(parts(made.scores, right)) == pytest.approx(least, rel=1e-6)
        if name == "mh":
            assert made.rounds[-1].f_skew == pytest.approx(0.0, abs=1e-4)


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
    least = math.prod(parts(run("mh", X, right, 400, False).scores, right))
    within = run("mr", X, right, 1500, False)
    assert within.rounds[-1].z > 1 - 1e-9  # it is at its own minimum
    assert math.prod(parts(within.scores, right)) > 1.01 * least
    # ... by a shift of every instance's labels that its objective does not see.
    centred = within.scores - within.scores.mean(axis=1, keepdims=True)
    loss = LABEL_OBJECTIVES["mr"](right, np.ones(len(X))).weigh(centred)[1]
    assert loss == pytest.approx(within.rounds[-1].log_loss, abs=1e-10)

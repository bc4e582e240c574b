"""E2 of ensembles that were not trained on it."""

import numpy as np
import pytest
import scipy.sparse as sp

from crucial import AdditiveRanker, RankBoost, RankBoostPlus
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.inspection.learning_curves import e2_trace
from crucial.model.weak import Stump
from naive.plus import ExactSpan, f2
from refusals import refused

RANDOM = np.random.default_rng(3)
X = RANDOM.integers(0, 4, (14, 3)).astype(float)
Y = RANDOM.integers(0, 3, 14)


def naive_e2(model, hi, lo, weight):
    """Section 5 over explicit pairs: exact independence, least squares for the rest."""
    span, members, eta, values = ExactSpan(), [], np.zeros(0), []
    for ranker, alpha in zip(model.rankers, model.weights):
        h = ranker.scores(X)
        vector = h[hi] - h[lo]
        if span.add(vector.astype(int)):
            members.append(vector)
            eta = np.append(eta, alpha)
        elif members:
            beta = np.linalg.lstsq(np.array(members).T, vector, rcond=None)[0]
            eta = eta + alpha * beta
        values.append(f2(np.array(members).T, eta, weight))
    return values


@pytest.mark.parametrize("preset", ["rb_d", "rb_c", "rankboost.2"])
def test_it_is_what_section_5_says(preset):
    model = RankBoost.preset(preset, choice="steepest", n_estimators=25).fit(X, Y)
    hi, lo = np.nonzero(Y[:, None] > Y[None, :])
    expected = naive_e2(model.model_, hi, lo, np.full(len(hi), 1 / len(hi)))
    assert e2_trace(model, X, Y) == pytest.approx(expected, rel=1e-7)
    assert e2_trace(model.model_, sp.csr_array(X), Y) == pytest.approx(expected, rel=1e-7)
    pairs = list(zip(hi, lo))
    assert e2_trace(model, X, pairs=pairs) == pytest.approx(expected, rel=1e-7)
    weighted = e2_trace(model, X, pairs=pairs, pair_weight=np.full(len(hi), 2.0))
    assert weighted == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("search", ["efficient", "optimal"])
def test_of_rankboost_plus_it_is_the_trace(search):
    qid = np.repeat([0, 1], 7)
    model = RankBoostPlus(30, search=search, balance="queries").fit(X, Y, qid=qid)
    assert e2_trace(model, X, Y, qid=qid) == pytest.approx(model.trace_.column("e2"), rel=1e-7)


def test_a_sample_of_the_pairs_is_near():
    model = RankBoost.preset("rb_c", n_estimators=3).fit(X, Y)
    whole, part = e2_trace(model, X, Y), e2_trace(model, X, Y, max_pairs=40)
    assert part == pytest.approx(whole, abs=0.3)
    assert part.tolist() == e2_trace(model, X, Y, max_pairs=40).tolist()


def test_bad_input():
    model = RankBoost.preset("rb_c", n_estimators=3).fit(X, Y)
    refused(DataError, r"labels \(y\) or pairs, and not both", e2_trace, model, X)
    refused(NotRankedError, "fitted boosting estimator", e2_trace, RankBoost(), X, Y)
    refused(ParameterError, r"'max_pairs' .* at least 1", e2_trace, model, X, Y, max_pairs=0)
    scaled = RankBoost(2, weak="feature").fit(X, Y)
    with pytest.raises(NotRankedError, match=r"rankers of 0 and 1, and ScaledFeature.* of round 1"):
        e2_trace(scaled, X, Y)


def test_rounds_that_order_nothing_change_nothing():
    model = AdditiveRanker(3, [Stump(0, 99.0, 0), Stump(0, 1.5, 0)], [3.0, 0.0])
    assert e2_trace(model, X, Y) == pytest.approx([1.0, 1.0], rel=1e-14)

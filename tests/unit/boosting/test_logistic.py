"""The logistic loss: its limits, explicit pairs."""

import math

import numpy as np
import pytest

from crucial import LabelFeedback, LogisticRanker, PairFeedback
from crucial.boosting.pair_losses import LogisticLoss
from crucial.errors import DataError
from crucial.feedback.base import Potentials
from naive.own_losses import logistic_loss, logistic_weights
from naive.pairs import from_list
from naive.paths import PATHS, using


def begun(feedback, scores):
    potentials = Potentials(LogisticLoss().begin(feedback, 2))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials


@pytest.mark.parametrize("path", PATHS)
def test_numbers_stay_numbers_on_separable_data(path):
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    with using(path), np.errstate(over="raise", invalid="raise", divide="raise"):
        made = LogisticRanker(900, 1.0).fit(X, y)
        assert np.ptp(made.predict(X)) > 1000
        assert np.isfinite(made.trace_.column("log_loss")).all()
        # Where every margin is large the loss is the exponential's, by its logarithm.
        feedback = LabelFeedback([0, 1])
        found = begun(feedback, [0.0, 2000.0])
        assert found.log_loss == pytest.approx(-2000.0 - math.log(math.log(2.0)))
        assert (found.scale * found.pi[:2]).tolist() == [-1.0, 1.0]
        wrong = begun(feedback, [2000.0, 0.0])
        assert math.exp(wrong.log_loss) == pytest.approx(2000.0 / math.log(2.0))


def test_explicit_pairs():
    random = np.random.default_rng(4)
    pairs = [(a, b) for a, b in random.integers(0, 9, (30, 2)).tolist() if a != b]
    weight = random.uniform(0.5, 2.0, len(pairs))
    listed = from_list(pairs, 9, weight.tolist())
    scores = random.normal(size=9)
    feedback = PairFeedback(pairs, 9, weight=weight)
    found = begun(feedback, scores)
    assert found.log_loss == pytest.approx(math.log(logistic_loss(listed, scores)))
    d, bend = (np.array(one) for one in logistic_weights(listed, scores))
    expected = (np.bincount(listed.hi, d, 9) - np.bincount(listed.lo, d, 9)) / d.sum()
    np.testing.assert_allclose(found.scale * found.pi[:9], expected, atol=1e-12)
    curvature = (np.bincount(listed.hi, bend, 9) + np.bincount(listed.lo, bend, 9)) / d.sum()
    np.testing.assert_allclose(found.scale * found.pairs.curvature, curvature, atol=1e-12)


def test_labels_as_pairs_are_the_same_problem():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y, qid = (X[:, 0] + X[:, 1] > 0).astype(int) + random.integers(0, 2, 40), np.arange(40) % 2
    pairs = [(a, b) for a in range(40) for b in range(40) if y[a] > y[b] and qid[a] == qid[b]]
    one = LogisticRanker(15).fit(X, y, qid=qid)
    two = LogisticRanker(15).fit_pairs(X, pairs)
    assert one.model_.rankers == two.model_.rankers
    np.testing.assert_allclose(one.model_.weights, two.model_.weights, rtol=1e-8)


def test_labels_and_pairs_together_are_refused():
    with pytest.raises(DataError, match="LogisticRanker learns from labels or from pairs"):
        LogisticRanker(2).fit_pairs([[1.0], [2.0]], [(1, 0)], y=[0, 1])

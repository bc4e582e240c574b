"""The p-norm push: its formula, its limits, explicit pairs."""

import math

import numpy as np
import pytest

from crucial import LabelFeedback, PairFeedback, PNormPush, SumFeedback
from crucial.boosting.push import PNormLoss, PushLine, PushTerms
from crucial.errors import DataError
from crucial.feedback.base import Potentials
from naive.own_losses import push_log_loss
from naive.pairs import from_list
from naive.paths import PATHS, using
from naive.push import Push


def begun(feedback, p, scores):
    potentials = Potentials(PNormLoss(p).begin(feedback, 2))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials


def test_the_step_of_the_formula():
    """algorithms: ``alpha = ln(A1 B0 / (A0 B1)) / (p + 1)`` for one query of two labels."""
    random = np.random.default_rng(2)
    y, scores = np.arange(20) % 2, random.normal(size=20)
    output = random.integers(0, 2, 20).astype(np.uint8)
    for p in (1.5, 4.0, 30.0):
        feedback = LabelFeedback(y)
        line = begun(feedback, p, scores).pairs.line(output[feedback.rows])
        a = [np.exp(-scores[(y == 1) & (output == b)]).sum() for b in (0, 1)]
        b = [np.exp(p * scores[(y == 0) & (output == b)]).sum() for b in (0, 1)]
        expected = math.log(a[1] * b[0] / (a[0] * b[1])) / (p + 1)
        assert line.closed_form() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("p", [2.0, 100.0])
def test_numbers_stay_numbers_on_separable_data(path, p):
    """Hundreds of rounds on what one stump can order; scores go far beyond e^700."""
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    with using(path), np.errstate(over="raise", invalid="raise", divide="raise"):
        made = PNormPush(p, 600, 1.0).fit(X, y)
        assert np.isfinite(made.predict(X)).all()
        assert np.isfinite(made.trace_.column("log_loss")).all()
        scores = 1000.0 * np.arange(12)
        feedback = LabelFeedback(y[::-1])
        found = begun(feedback, p, scores)
        assert found.log_loss > 10_000
        assert np.abs(found.pi).max() <= 1.0


def test_a_large_p_looks_at_the_top_alone():
    """At the same scores, the weight on the highest negative grows with p."""
    y = np.array([1, 1, 0, 0, 0, 0])
    scores = np.array([0.0, 1.0, 2.0, 0.5, 0.0, -1.0])
    shares = []
    for p in (1.5, 4.0, 16.0, 64.0):
        feedback = LabelFeedback(y)
        found = begun(feedback, p, scores)
        shares.append(-found.scale * found.pi[np.flatnonzero(feedback.rows == 2)[0]])
    assert shares == sorted(shares)
    assert shares[0] < 0.9 < 0.999 < shares[-1]


def test_explicit_pairs():
    random = np.random.default_rng(4)
    pairs = [(a, b) for a, b in random.integers(0, 9, (30, 2)).tolist() if a != b]
    weight = random.uniform(0.5, 2.0, len(pairs))
    listed = from_list(pairs, 9, weight.tolist())
    scores, ones = random.normal(size=9), np.ones(9)
    feedback = PairFeedback(pairs, 9, weight=weight)
    found = begun(feedback, 3.0, scores)
    start = push_log_loss(listed, 3.0, np.zeros(9), ones, ones)
    end = push_log_loss(listed, 3.0, scores, ones, ones)
    assert found.log_loss == pytest.approx((end - start) / 3.0)
    d = np.array(Push(listed, 3.0, ones, ones).distribution(scores))
    expected = np.bincount(listed.hi, d, 9) - np.bincount(listed.lo, d, 9)
    np.testing.assert_allclose(found.pi[: len(feedback.rows)], expected[feedback.rows], atol=1e-12)
    output = random.integers(0, 2, 9).astype(np.uint8)
    line = found.pairs.line(output[feedback.rows])
    value = lambda alpha: push_log_loss(listed, 3.0, scores + alpha * output, ones, ones)  # noqa: E731
    assert line(0.2)[0] == pytest.approx((value(0.2001) - value(0.1999)) / 6e-4, abs=1e-6)


def test_labels_as_pairs_are_the_same_problem():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    pairs = [(a, b) for a in range(30) for b in range(30) if y[a] > y[b]]
    one = PNormPush(4, 15).fit(X, y)
    two = PNormPush(4, 15).fit_pairs(X, pairs)
    assert one.model_.rankers == two.model_.rankers
    np.testing.assert_allclose(one.model_.weights, two.model_.weights, rtol=1e-9)


def test_labels_and_pairs_together_are_refused():
    with pytest.raises(DataError, match="PNormPush learns from labels or from pairs, not from Sum"):
        PNormPush(2, 2).fit_pairs([[1.0], [2.0]], [(1, 0)], y=[0, 1])
    with pytest.raises(DataError, match="RankBoost takes both together"):
        PNormLoss(2.0).begin(SumFeedback([LabelFeedback([0, 1])]), 1)


def test_sums_along_a_stump_do_not_depend_on_the_top_they_are_divided_by():
    random = np.random.default_rng(4)
    terms = PushTerms(random.normal(size=(9, 2)), random.normal(size=(9, 2)), 8.0)
    near, far = PushLine(terms, 8.0, 0.0), PushLine(terms, 8.0, 900.0)
    assert near.weights() == pytest.approx(far.weights(), rel=1e-13)
    for alpha in (0.0, 0.7, -2.0, 40.0):
        assert near(alpha) == pytest.approx(far(alpha), rel=1e-12, abs=1e-13)

"""Numbers of section 30 of the review's systems: sparse linear rankers (set B)."""

import numpy as np
import pytest

from crucial import RSRank, SparseRankingSVM
from crucial.feedback.labels import LabelFeedback
from crucial.rankers.linear.l1 import LogPenalty, frank_wolfe, minimise_concave, minimise_l1
from crucial.rankers.linear.losses import HalfSquaredHinge, hinges_of
from naive.set_b import X123 as X
from naive.set_b import YD, Q


def weights(ranker):
    """Weights of all features; the columns go from 0 to 1, so that they are not rescaled."""
    out = np.zeros(3)
    out[ranker.selected_] = ranker.model_.weights
    return out


def raw(**parameters):
    return SparseRankingSVM(standardise=False, tol=1e-12, **parameters).fit(X, YD)


@pytest.fixture
def loss():
    feedback = LabelFeedback(YD)
    return HalfSquaredHinge(hinges_of(feedback, "sign", 1)), X[feedback.rows]


@pytest.mark.parametrize(("radius", "expected", "objective"), [
    (0.5, [0, 0.5, 0], 0.346912202381),
    (1.5, [0.404336734694, 1.095663265306, 0], 0.215057758595),
])  # fmt: skip
def test_section_30_l1_ball(radius, expected, objective):
    ranker = raw(penalty="l1_ball", radius=radius)
    assert weights(ranker) == pytest.approx(expected, abs=1e-11)
    assert ranker.objective_ == pytest.approx(objective, abs=1e-12)
    assert 0.0 <= ranker.gap_ <= 1e-12


def test_section_30_l1_ball_steps(loss):
    """Which feature, how far, the value after and the gap before each step."""
    before = np.zeros(3)
    steps = [
        (1, 0.952380952381, 0.253401360544, 0.571428571429),
        (0, 0.2551668439, 0.218454252020, 0.252869897959),
        (1, 0.0477827207, 0.218336581147, None),
    ]
    for number, (feature, rate, value, gap) in enumerate(steps):
        start = frank_wolfe(*loss, 1.5, 1e-12, number, "exact")
        found = frank_wolfe(*loss, 1.5, 1e-12, number + 1, "exact")
        expected = (1 - rate) * before
        expected[feature] += 1.5 * rate
        assert found.weights == pytest.approx(expected, abs=1e-9)
        assert found.value == pytest.approx(value, abs=1e-12)
        if gap is not None:
            assert start.gap == pytest.approx(gap, abs=1e-12)
        before = found.weights


@pytest.mark.parametrize(("l1", "expected", "objective"), [
    (0.05, [0.443549477797, 1.143827485160, 0], 0.289614832784),
    (0.1, [0.252858591790, 0.953141514974, 0], 0.359182801931),
])  # fmt: skip
def test_section_30_l1_penalty(l1, expected, objective):
    ranker = raw(l1=l1)
    assert weights(ranker) == pytest.approx(expected, abs=1e-11)
    assert ranker.objective_ == pytest.approx(objective, abs=1e-12)


def test_section_30_log_penalty(loss):
    penalty, shrink = LogPenalty(0.1), np.full(3, 0.02)
    start = minimise_l1(*loss, shrink, 1e-14, 1000)
    assert start.weights == pytest.approx([0.585183187090, 1.330125192390, 0], abs=1e-11)
    first = minimise_l1(*loss, 0.02 * penalty.slope(np.abs(start.weights)), 1e-14, 1000)
    assert first.weights == pytest.approx([0.551719821965, 1.358315054170, 0], abs=1e-11)
    end = minimise_concave(*loss, 0.02, penalty, 1e-18, 10_000)
    # (steps end where they no longer lower the value, 0.29; its rounding, 2^-53 of it, and its
    # least curvature, 0.117, leave sqrt(2 * 2^-53 * 0.29 / 0.117) of a weight open)
    assert end.weights == pytest.approx([0.543532244496, 1.357550127740, 0], abs=2.4e-8)
    assert end.value == pytest.approx(0.290761637129, abs=1e-12)
    ranker = raw(penalty="log", l1=0.02, epsilon=0.1)
    assert ranker.objective_ == pytest.approx(0.290761637129, abs=1e-10)
    assert weights(ranker) == pytest.approx(end.weights, abs=1e-5)


def test_section_30_rsrank():
    ranker = RSRank(0.05, standardise=False, ties="first", tol=1e-12).fit(X, YD, qid=Q)
    expected = [-1.166480346530, -1.676181192710, 0.878969749299]
    assert weights(ranker) == pytest.approx(expected, abs=1e-10)
    assert ranker.objective_ == pytest.approx(0.673107275404, abs=1e-12)

"""The weight of a round, and the root that Newton's method finds."""

from __future__ import annotations

import math

import pytest

from crucial.boosting.steps import BoundStep, half_log_ratio, newton_root, smoothed
from crucial.kernels.elementary import log


def test_only_a_perfect_round_is_smoothed():
    assert half_log_ratio(0.75, 0.25, 0.1) == 0.5 * log(3.0)
    assert half_log_ratio(1.0, 0.0, 0.001) == 0.5 * math.log(1.001 / 0.001)
    assert half_log_ratio(0.0, 1.0, 0.001) == 0.5 * math.log(0.001 / 1.001)
    assert half_log_ratio(1.0, 1e-14, 0.0) is None


def test_a_step_that_stops_smooths_nothing():
    assert BoundStep(0.01).smoothing == 0.01
    assert BoundStep(0.01, stop_when_perfect=True).smoothing == 0.0


def test_a_root_too_far_away_is_none():
    assert newton_root(lambda x: (-math.exp(-x), math.exp(-x))) is None
    assert newton_root(lambda x: (math.tanh(x - 3.0), 1.0 - math.tanh(x - 3.0) ** 2)) == (
        pytest.approx(3.0)
    )


@pytest.mark.parametrize("alpha", [-2.0, 0.0, 0.7])
def test_smoothing_adds_a_right_and_a_wrong_pair(alpha: float):
    share, right, wrong = 0.05, 0.7, 0.3

    def log_z(at: float, more: float) -> float:
        z = (right + more) * math.exp(-at) + (wrong + more) * math.exp(at)
        return math.log(z / (1.0 + 2.0 * more))

    def slope(at: float) -> float:
        return (log_z(at + 1e-6, 0.0) - log_z(at - 1e-6, 0.0)) / 2e-6

    curvature = 1.0 - slope(alpha) ** 2
    value, first, second = smoothed(log_z(alpha, 0.0), slope(alpha), curvature, alpha, share)
    assert value == pytest.approx(log_z(alpha, share))
    step = 1e-5
    up, down = log_z(alpha + step, share), log_z(alpha - step, share)
    assert first == pytest.approx((up - down) / (2 * step), abs=1e-8)
    assert second == pytest.approx((up + down - 2 * log_z(alpha, share)) / step**2, abs=1e-4)

"""The weight of a round, and the root that Newton's method finds."""

import math
from typing import Any

import numpy as np
import pytest

from crucial import Groups, LabelFeedback, RankBoost
from crucial.boosting.loop import Candidate, ExponentialLoss
from crucial.boosting.steps import (
    BoundStep,
    NumericStep,
    SmoothMarginStep,
    half_log_ratio,
    newton_root,
    smoothed,
)
from crucial.feedback.base import Potentials
from crucial.kernels.elementary import log
from crucial.model.weak import ScaledFeature, Tree


def test_only_a_perfect_round_is_smoothed():
    assert half_log_ratio(0.75, 0.25, 0.1) == 0.5 * log(3.0)
    assert half_log_ratio(1.0, 0.0, 0.001) == 0.5 * log(1.001 / 0.001)
    assert half_log_ratio(0.0, 1.0, 0.001) == 0.5 * log(0.001 / 1.001)
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


def outliers(seed: int) -> tuple[Any, Any]:
    """Rows of three features, some with one value far from all others."""
    random = np.random.default_rng(seed)
    n = random.integers(6, 25)
    y = random.integers(0, 3, n)
    y[:2] = [0, 1]
    X = random.normal(size=(n, 3)) + y[:, None] * random.choice([0.0, 0.5, 2.0, 5.0])
    X = np.round(X) if seed % 3 else X
    for feature in np.flatnonzero(random.random(3) < 0.6):
        X[random.integers(n), feature] = random.choice([-1.0, 1.0]) * 10.0 ** random.integers(1, 7)
    return X, y


def smallest_z(margins: Any, shares: Any) -> tuple[float | None, float]:
    """Return the best weight by bisection over listed pairs, None for infinite, and Z there."""
    if (margins >= 0).all() or (margins <= 0).all():
        return None, float(shares[margins == 0].sum())

    def terms(at: float) -> Any:
        top = (-at * margins).max()
        return shares * np.exp(-at * margins - top), top

    low, high = -1.0, 1.0
    while (margins * terms(high)[0]).sum() > 0:
        high *= 2
    while (margins * terms(low)[0]).sum() < 0:
        low *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if (margins * terms(middle)[0]).sum() > 0:
            low = middle
        else:
            high = middle
    weights, top = terms(low)
    return low, float(weights.sum() * np.exp(top))


@pytest.mark.parametrize("choice", ["steepest", "largest_drop"])
def test_method_1_minimises_z_of_listed_pairs_with_outliers(choice: str):
    """Only a ranker that misorders no pair is perfect, whatever its best weight is."""
    far = 0
    for seed in range(120):
        X, y = outliers(seed)
        ranker = RankBoost(2, 1.0, weak="feature", step="numeric", choice=choice).fit(X, y)
        width = np.ptp(X, axis=0)
        H = (X - X.min(axis=0)) / np.where(width > 0, width, 1.0)
        high, low = np.nonzero(y[:, None] > y)
        shares = np.full(len(high), 1.0 / len(high))
        rounds = zip(ranker.model_.rankers, ranker.model_.weights, ranker.trace_, strict=True)
        for one, weight, entry in rounds:
            margins = H[high] - H[low]
            found = [smallest_z(margins[:, j], shares) for j in range(3)]
            best, z = found[one.feature]
            if choice == "largest_drop":
                assert z <= min(z for _, z in found) + 1e-8, seed
            if best is None:
                break
            assert entry.z == pytest.approx(z, rel=1e-7), seed
            far += abs(best) > 15
            shares = shares * np.exp(-weight * margins[:, one.feature] - np.log(z))
    assert far > 20


def test_the_weight_of_a_feature_with_an_outlier_is_that_of_the_minimum():
    X = np.array([[0.0], [1.0], [2.0], [1.5], [3.0], [200.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    ranker = RankBoost(1, 1.0, weak="feature", step="numeric").fit(X, y)
    high, low = np.nonzero(y[:, None] > y)
    best, z = smallest_z((X[high, 0] - X[low, 0]) / 200.0, np.full(len(high), 1.0 / len(high)))
    assert best is not None
    assert best > 100
    assert ranker.model_.weights[0] == pytest.approx(best, rel=1e-9)
    assert ranker.trace_[0].z == pytest.approx(z, rel=1e-12)


def test_a_perfect_feature_is_the_largest_drop_however_small_its_margins():
    """The second feature orders all pairs, by margins of a thousandth of its range."""
    y = np.arange(8)
    X = np.column_stack([[0, 1, 3, 2, 4, 5, 6, 7], y.astype(float)])
    X[7, 1] = 7000.0
    ranker = RankBoost(1, weak="feature", step="numeric", choice="largest_drop").fit(X, y)
    assert ranker.model_.rankers[0].feature == 1


def test_a_known_zero_is_found_however_far_it_is():
    def rising(x: float) -> tuple[float, float]:
        return -math.exp(-1e-3 * x) + 1e-9, 1e-3 * math.exp(-1e-3 * x)

    assert newton_root(rising) is None
    assert newton_root(rising, turns=lambda sign: sign > 0) == pytest.approx(9e3 * math.log(10))


TREE = Tree((0, 0), (0.5, 1.5), (0, 0), (~0, ~1), (1, ~2), (1.0, 1.0), (0.0, 0.004, 1.0))


@pytest.mark.parametrize("ranker", [TREE, ScaledFeature(0, 0.0, 1.0, 0.0)], ids=["tree", "feature"])
def test_other_steps_go_as_far_as_the_pairs_say(ranker: Any):
    """A few pairs are wrong, by margins that are small beside the range of the scores."""
    place = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2])
    y, h = np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 2]), np.array(TREE.values)[place]
    feedback = LabelFeedback(y.astype(float), Groups.single(len(y)))
    candidate = Candidate(ranker, h[feedback.rows], 0.5)
    potentials = Potentials(ExponentialLoss().begin(feedback, 1))
    potentials.renew()
    high, low = np.nonzero(y[:, None] > y)
    margins = h[high] - h[low]
    best, _ = smallest_z(margins, np.full(len(margins), 1.0 / len(margins)))
    assert best is not None
    assert best > 15
    assert NumericStep()(candidate, potentials) == pytest.approx(best, rel=1e-9)
    # Equation 11 of the smooth margin, g + slope = 0: the same of margins that are g less.
    g = 1e-4
    later, _ = smallest_z(margins - g, np.full(len(margins), 1.0 / len(margins)))
    step = SmoothMarginStep(feedback)
    assert step._numeric(candidate, potentials, 1.0, g) == pytest.approx(later, rel=1e-9)
    assert later is not None
    assert 15 < later < best

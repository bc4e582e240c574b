"""The weight of a round: closed forms, roots by Newton's method, minima however far."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from crucial import RankBoost
from crucial.boosting.loop import Candidate, ExponentialLoss
from crucial.boosting.pair_losses import LogisticLoss, PNormLoss
from crucial.boosting.steps import (
    LINE_STEPS,
    STEPS,
    BoundStep,
    ExactStep,
    LineStep,
    NumericStep,
    SmoothMarginStep,
    half_log_ratio,
    newton_root,
    smooth_step,
    smoothed,
)
from crucial.data import Groups
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.feedback.base import Potentials
from crucial.kernels.elementary import log
from crucial.kernels.pairs import PlusSums
from crucial.model.weak import ScaledFeature, Tree
from crucial.rankers.rankboost_plus import PlusWeights, line_search, list_pairs, log_cosh


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


RULES = [
    *((one, ExponentialLoss()) for one in STEPS.values()),
    *((one, LogisticLoss()) for one in LINE_STEPS.values()),
    *((one, PNormLoss(3.0)) for one in LINE_STEPS.values()),
]


@pytest.mark.parametrize(
    ("rule", "objective"), RULES, ids=lambda one: getattr(one, "__name__", type(one).__name__)
)
def test_a_ranker_upside_down_gets_minus_the_weight(rule: Any, objective: Any):
    """Also where no pair is wrong (smoothed), and by method 3 for the p-norm, in ``p alpha``."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        n = 9
        y = random.integers(0, 3, n)
        y[:2] = [0, 1]
        feedback = LabelFeedback(y.astype(float), Groups.single(n))
        power = {"power": 3.0} if rule is BoundStep and isinstance(objective, PNormLoss) else {}
        binary = rule is ExactStep or seed % 2 == 0
        h: Any = random.integers(0, 2, n).astype(np.uint8) if binary else random.random(n)
        h = h if seed % 5 else (y > 0).astype(np.uint8)  # (misorders nothing)
        scores = random.normal(size=n)
        found = []
        for output in (h, 1 - h):
            potentials = Potentials(objective.begin(feedback, 1))
            potentials.pairs.advance(scores[feedback.rows], 1.0)
            potentials.renew()
            output = output[feedback.rows]
            slope = potentials.scale * float(potentials.pi[: len(output)] @ output)
            candidate = Candidate(ScaledFeature(0, 0.0, 1.0, 0.0), output, slope)
            found.append(rule(0.01, **power)(candidate, potentials))
            if rule is BoundStep and abs(slope) < 0.99:
                expected = math.log((1 + slope) / (1 - slope)) / (2 * power.get("power", 1.0))
                assert found[-1] == pytest.approx(expected, rel=1e-9)
        assert found[1] == pytest.approx(-found[0], rel=1e-6, abs=1e-9)


# -- Steps of the push, of the logistic loss and of RankBoost+ reach minima however far they are.
def listed_loss(loss: str, low: Any, margins: Any) -> float:
    """Return the loss of listed pairs; low is the loser of each."""
    if loss == "logistic":
        return float(np.logaddexp(0.0, -margins).sum())
    terms = [4.0 * logsumexp(-margins[low == a]) for a in np.unique(low)]
    return float(logsumexp(terms)) / 4.0


def smallest(function: Any) -> float:
    """Return where a convex function of one number is smallest."""
    ends = [-1.0, 1.0]
    for side in (0, 1):
        while function(2 * ends[side]) < function(ends[side]):
            ends[side] *= 2
    found = minimize_scalar(
        function, bounds=(2 * ends[0], 2 * ends[1]), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.x)


@pytest.mark.parametrize("explicit", [False, True], ids=["labels", "pairs"])
@pytest.mark.parametrize("loss", ["logistic", "push"])
def test_the_minimum_of_listed_pairs_with_an_outlier_is_found(loss: str, explicit: bool):
    """A ranker is perfect where it misorders no pair, and nowhere else."""
    objective = LogisticLoss() if loss == "logistic" else PNormLoss(4.0)
    far = perfect = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        n = int(random.integers(5, 12))
        y = random.integers(0, 3, n)
        y[:2] = [0, 1]
        h = random.normal(size=n) + y * random.choice([0.0, 1.0, 4.0])
        h[random.integers(n)] = random.choice([-1.0, 1.0]) * 10.0 ** random.integers(1, 5)
        h = (h - h.min()) / np.ptp(h)
        scores = random.normal(size=n) * random.choice([0.0, 1.0, 5.0])
        high, low = np.nonzero(y[:, None] > y)
        feedback: Any = LabelFeedback(y.astype(float), Groups.single(n))
        if explicit:
            feedback = PairFeedback(list(zip(high.tolist(), low.tolist(), strict=True)), n)
        potentials = Potentials(objective.begin(feedback, 1))
        potentials.pairs.advance(scores[feedback.rows], 1.0)
        potentials.renew()
        output = h[feedback.rows]
        slope = potentials.scale * float(potentials.pi[: len(output)] @ output)
        step = LineStep(0.0)(Candidate(ScaledFeature(0, 0.0, 1.0, 0.0), output, slope), potentials)
        margins, before = h[high] - h[low], scores[high] - scores[low]
        if (margins >= 0).all() or (margins <= 0).all():
            assert step is None, seed
            perfect += 1
            continue

        def along(at: float, low: Any = low, a: Any = margins, b: Any = before) -> float:
            return listed_loss(loss, low, b + at * a)

        best = smallest(along)
        assert step is not None, seed
        assert along(step) <= along(best) + 1e-12, seed
        assert step == pytest.approx(best, rel=1e-4, abs=1e-6), seed
        far += abs(best) > 15
    assert far >= 10
    assert perfect > 0


def test_a_stump_that_must_go_far_does():
    """The heavier pair was 100 the wrong way: the logistic loss is smallest at a step of 100."""
    feedback = PairFeedback([(0, 1), (2, 3)], 4, weight=[2.0, 1.0])
    potentials = Potentials(LogisticLoss().begin(feedback, 1))
    potentials.pairs.advance(np.array([0.0, 100.0, 0.0, 0.0])[feedback.rows], 1.0)
    potentials.renew()
    output = np.array([1, 0, 0, 1], np.uint8)[feedback.rows]
    step = LineStep(1e-3)(Candidate(ScaledFeature(0, 0.0, 1.0, 0.0), output, 0.5), potentials)
    assert step == pytest.approx(100.0)


@pytest.mark.parametrize("objective", [LogisticLoss(), PNormLoss(4.0)], ids=["logistic", "push"])
def test_only_drawn_queries_make_a_ranker_imperfect(objective: Any):
    """A ranker that misorders only pairs of queries that were not drawn is perfect."""
    y, qid = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1])
    feedback = LabelFeedback(y, Groups.from_qid(qid, 4))
    output = np.array([0.0, 1.0, 1.0, 0.5])[feedback.rows]
    assert all(objective.begin(feedback, 1).turns(output, sign) for sign in (1.0, -1.0))
    found = set()
    for seed in range(20):  # (each draws one query of two)
        state = objective.begin(feedback, 1)
        state.subsample(0.5, np.random.default_rng(seed))
        found.add((state.turns(output, 1.0), state.turns(output, -1.0)))
    assert found == {(False, True), (True, False)}


def test_rankboost_plus_reaches_far_minima_along_a_direction():
    far, beta = 0, np.array([1.0, -1.0])
    for seed in range(80):
        random = np.random.default_rng(seed)
        n = 8
        pairs = [(a, b) for a in range(n) for b in range(a) if a == b + 1 or random.random() < 0.4]
        listed = list_pairs(PairFeedback(pairs, n), None, 0)
        weights = PlusWeights(listed, PlusSums(listed.start, listed.low, 1))
        wide = (np.arange(n) >= random.integers(1, n)).astype(np.uint8)
        used = np.stack([wide, wide * random.integers(0, 2, n).astype(np.uint8)])
        for one in used:
            weights.step(weights.add(one), one, float(random.normal() * 40.0))
        output = used[0] - used[1]
        eta = weights.eta.copy()
        margin = used[:, listed.high].astype(float) - used[:, listed.low]

        def log_f2(at: float, m: Any = margin, e: Any = eta, w: Any = listed.weight) -> float:
            now = (e + at * beta)[:, None]
            return float(logsumexp(np.log(w) + np.where(m == 0, log_cosh(now), -now * m).sum(0)))

        found = line_search(weights, beta, output, 0.0)
        assert found is not None, seed
        best = smallest(log_f2)
        assert log_f2(found) <= log_f2(best) + 1e-9, seed
        far += abs(best) > 15
    assert far > 20
    one = list_pairs(PairFeedback([(1, 0)], 2), None, 0)
    weights = PlusWeights(one, PlusSums(one.start, one.low, 1))
    output = np.array([0, 1], np.uint8)
    weights.add(output)
    assert line_search(weights, np.ones(1), output, 0.0) is None
    smoothed = line_search(weights, np.ones(1), output, 1e-3)
    assert smoothed == pytest.approx(0.5 * np.log(1001.0))


# -- Steps on the smooth margin solve the equations of Rudin & Schapire (2009). --
@pytest.mark.parametrize("line_search", [False, True])
def test_a_perfect_ranker_once_separable(line_search):
    feedback = PairFeedback([(0, 1)], 2)
    smooth = SmoothMarginStep(feedback, line_search, 0.001)
    alpha = smooth._binary(1.0, 0.0, 0.3, 5.0)
    # Half of a pair more on either side, and the equations of the paper.
    assert alpha == pytest.approx(smooth._binary(1.001 / 1.002, 0.001 / 1.002, 0.3, 5.0))
    assert alpha > 0
    assert SmoothMarginStep(feedback, line_search, 0.001, True)._binary(1.0, 0.0, 0.3, 5.0) is None


@pytest.mark.parametrize("g", [1e-12, 0.1, 0.5, 0.999999])
@pytest.mark.parametrize(
    ("right", "wrong", "tied"),
    [(0.9, 0.1, 0.0), (0.8, 0.0, 0.2), (0.55, 0.05, 0.4), (0.999, 0.0005, 0.0005)],
)
def test_rudin_schapire_2009_equation_11_is_solved(right, wrong, tied, g):
    alpha = smooth_step(right, wrong, tied, g)
    z = right * math.exp(-alpha) + wrong * math.exp(alpha) + tied
    slope = -right * math.exp(-alpha) + wrong * math.exp(alpha)
    assert g * z == pytest.approx(-slope, rel=1e-9, abs=1e-15)
    assert (alpha > 0) == (right - wrong > g)


def test_rudin_schapire_2009_equation_12_is_the_same():
    right, wrong, tied, g = 0.6, 0.1, 0.3, 0.2
    root = math.sqrt(g**2 * tied**2 + (1 + g) * (1 - g) * 4 * right * wrong)
    written = math.log((-g * tied + root) / ((1 + g) * 2 * wrong))
    assert smooth_step(right, wrong, tied, g) == pytest.approx(written, rel=1e-12)

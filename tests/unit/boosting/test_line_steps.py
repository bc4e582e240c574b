"""Steps of the push, of the logistic loss and of RankBoost+ reach minima however far they are."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from crucial import Groups, LabelFeedback, PairFeedback
from crucial.boosting.loop import Candidate
from crucial.boosting.pair_losses import LogisticLoss, PNormLoss
from crucial.boosting.steps import LineStep
from crucial.feedback.base import Potentials
from crucial.kernels.pairs import PlusSums
from crucial.model.weak import ScaledFeature
from crucial.rankers.rankboost_plus import PlusWeights, line_search, list_pairs, log_cosh


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

"""RankBoost+ where numbers grow large: weights are computed anew, and nothing is lost."""

import math

import numpy as np
import pytest

from crucial import PairFeedback, RankBoostPlus
from crucial.kernels.pairs import PlusSums
from crucial.rankers.rankboost_plus import PlusWeights, list_pairs, log_cosh


def weights_of(n=8):
    random = np.random.default_rng(0)
    pairs = [(a, b) for a in range(n) for b in range(a)]
    feedback = PairFeedback(pairs, n, weight=random.random(len(pairs)) + 0.1)
    listed = list_pairs(feedback, None, 0)
    return PlusWeights(listed, PlusSums(listed.start, listed.low, 1)), random


def exact(weights, outputs, eta):
    """log F2 and log E1 by logarithms of every pair."""
    pairs = weights.pairs
    logs, others = [], []
    for hi, lo, w in zip(pairs.high, pairs.low, pairs.weight):
        m = outputs[:, hi].astype(float) - outputs[:, lo]
        others.append(math.log(w) - float(m @ eta))
        tie = float(log_cosh(np.asarray(eta))[m == 0].sum())
        logs.append(others[-1] + tie)
    return [max(x) + math.log(sum(math.exp(v - max(x)) for v in x)) for x in (logs, others)]


@pytest.mark.kernels
def test_far_steps_and_back_again():
    """Weights pass exp(+-800) on the way; pairs that underflow come back."""
    weights, random = weights_of()
    outputs = random.integers(0, 2, (3, 8)).astype(np.uint8)
    places = [weights.add(one) for one in outputs]
    eta = np.zeros(3)
    for place, alpha in [(0, 90.0), (1, -400.0), (2, 7.0), (0, -60.0), (1, 800.0), (1, -400.0),
                         (0, -29.5), (2, -6.0), (1, 0.25)]:  # fmt: skip
        before = weights.log_e2
        log_z = weights.step(places[place], outputs[place], alpha)
        eta[place] += alpha
        log_e2, log_e1 = exact(weights, outputs, eta)
        assert weights.log_e2 == pytest.approx(log_e2, abs=1e-9)
        assert weights.log_e1 == pytest.approx(log_e1, abs=1e-9)
        assert log_z == pytest.approx(log_e2 - before, abs=1e-9)
    assert np.isfinite(weights.potentials).all()
    assert weights.share_of(slice(None)).sum() == pytest.approx(1.0)


def test_what_is_not_weighed_anew_cannot_matter():
    """Bounds on W0 leave the largest |delta| and all that tie with it exact."""
    weights, random = weights_of(12)
    outputs = random.integers(0, 2, (9, 12)).astype(np.uint8)
    places = [weights.add(one) for one in outputs]
    skipped = 0
    for _ in range(300):
        at = int(random.integers(9))
        floor = float(random.choice([0.0, 0.05, 0.3]))
        before = weights._weighed[:9].copy()
        near, _ = weights.deltas(floor)
        skipped += int((weights._weighed[:9] == before).sum())
        exact_ones, _ = weights.deltas()
        top = np.abs(exact_ones).max()
        if top >= floor:
            assert np.abs(near).max() == pytest.approx(top, abs=1e-12)
            assert near[np.abs(exact_ones).argmax()] == pytest.approx(
                exact_ones[np.abs(exact_ones).argmax()], abs=1e-12
            )
        else:
            assert np.abs(near).max() < floor
        weights.step(places[at], outputs[at], float(random.normal(0, 0.2)))
        weights.deltas(floor)
    assert skipped > 100


def test_separable_data_stay_finite_for_long():
    X = np.arange(10.0)[:, None]
    for search in ("efficient", "optimal"):
        ranker = RankBoostPlus(2000, search=search).fit(X, np.arange(10))
        assert np.isfinite(ranker.model_.weights).all()
        assert np.isfinite(ranker.trace_.column("log_loss")).all()
        assert ranker.score(X, np.arange(10)) == 1.0


def test_a_perfect_ranker_is_smoothed_or_ends_it():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    smooth = RankBoostPlus(3).fit(X, y)
    assert smooth.model_.weights[0] == pytest.approx(0.5 * math.log((1 + 1e-2) / 1e-2))
    with pytest.warns(UserWarning, match=r"no round could be made \(perfect weak ranker\)"):
        RankBoostPlus(3, on_perfect="stop").fit(X, y)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_weights_at_the_ends_of_the_range(scale):
    random = np.random.default_rng(1)
    X = random.normal(size=(10, 2))
    pairs = [(a, b) for a in range(10) for b in range(a)]
    plain = RankBoostPlus(10).fit_pairs(X, pairs)
    scaled = RankBoostPlus(10).fit_pairs(X, pairs, pair_weight=np.full(len(pairs), scale))
    assert scaled.model_.rankers == plain.model_.rankers
    assert scaled.model_.weights == pytest.approx(plain.model_.weights)

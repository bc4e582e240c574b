"""Label feedback at the ends of the floats, under draws and forks, and its pairs by number."""

import math

import numpy as np
import pytest

from crucial import Groups, LabelFeedback
from naive.pairs import from_labels
from naive.paths import PATHS, using

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("levels", [3, 12])
def test_gains_count_by_their_differences_however_large_they_are(path, levels):
    """Labels may be years or time stamps: what is far from 0 must not cost digits."""
    y = np.arange(3 * levels) % levels + 1.7e9
    scores = np.cos(np.arange(len(y)) * 1.7)
    codes = (np.arange(-(-len(y) // 8) * 8) % 5).astype(np.uint8)
    with using(path):
        far, near = (LabelFeedback(v, gain="linear").state() for v in (y, y - 1.7e9))
        found = []
        for state in (far, near):
            state.advance(scores[LabelFeedback(y).rows], 1.0)
            pi, wrong = np.zeros(len(codes)), np.zeros(6)
            scale, log_loss = state.potentials(pi)
            state.prepare_scan()
            state.wrong_weights(codes, 5, 0, wrong)
            found.append(np.concatenate((scale * pi, [log_loss], wrong, state.risks())))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-14)


@pytest.mark.parametrize("path", PATHS)
def test_weights_far_apart_in_size(path):
    with using(path):
        feedback = LabelFeedback([1, 0, 0], weight=[1e300, 1e-8, 1.0])
        assert feedback.loss([5.0, 0.0, 0.0]) == pytest.approx(math.exp(-5), rel=1e-12)
        tiny = LabelFeedback([1, 0], weight=[1e-310, 1e-310])
        assert tiny.loss([1.0, 0.0]) == pytest.approx(math.exp(-1), rel=1e-12)
        huge = LabelFeedback([1, 0], weight=[8e307, 8e307])
        assert huge.loss([1.0, 0.0]) == pytest.approx(math.exp(-1), rel=1e-12)
        assert math.isfinite(huge.total)
        assert tiny.total > 0


@pytest.mark.parametrize("path", PATHS)
def test_a_loss_may_overflow_but_its_logarithm_does_not(path):
    with using(path):
        feedback = LabelFeedback([1, 0])
        assert feedback.loss([0.0, 5000.0]) == math.inf
        assert feedback.log_loss([0.0, 5000.0]) == 5000.0
        assert feedback.loss([5000.0, 0.0]) == 0.0
        assert feedback.z([0.0, 0.0], [0.0, 1.0], 5000.0) == math.inf


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("spread", [1.0, 300.0, 3000.0])
def test_draws_count_the_drawn_queries_only(path, spread):
    """Also where those left out are far better or far worse than those drawn."""
    y, qid = np.tile([0.0, 1.0, 2.0], 8), np.repeat(np.arange(8), 3)
    scores = np.tile([0.0, 0.5, 1.0], 8) * np.repeat(np.linspace(-1, 1, 8), 3) * spread
    with using(path):
        feedback = LabelFeedback(y, Groups.from_qid(qid, 24))
        state = feedback.state()
        state.advance(scores[feedback.rows], 1.0)
        for seed in range(6):
            state.draw(0.25, np.random.default_rng(seed))
            pi = np.zeros(24)
            scale, log_loss = state.potentials(pi)
            drawn = np.unique(qid[feedback.rows[np.flatnonzero(pi)]])
            assert len(drawn) <= 2
            chosen = np.random.default_rng(seed).permutation(8)[:2].tolist()
            expected = from_labels(
                y.tolist(), qid.tolist(), query_weight={q: float(q in chosen) for q in range(8)}
            )
            np.testing.assert_allclose(
                scale * pi,
                expected.potentials(scores)[feedback.rows],
                atol=1e-14 * max(1.0, spread),
            )
            assert log_loss == pytest.approx(from_labels(y, qid).log_loss(scores), rel=1e-12)
            output = (np.arange(24) % 2).astype(np.uint8)
            right, wrong = state.binary_weights(output)
            full = np.zeros(24, np.uint8)
            full[feedback.rows] = output
            if spread < 3000:
                assert (right, wrong) == pytest.approx(expected.split(scores, full)[:2], abs=1e-11)


def test_forks_move_alone():
    feedback = LabelFeedback([2, 1, 0, 0])
    state = feedback.state()
    pi = np.zeros(8)
    before = state.potentials(pi), pi.tobytes()
    fork = state.fork()
    fork.advance(np.array([0.5, 0.0, 0.25, 1.0]), 300.0)
    fork.potentials(np.zeros(8))
    assert (state.potentials(pi), pi.tobytes()) == before
    assert not state.scores.any()


def test_pairs_are_listed_by_number():
    qid = RANDOM.integers(0, 3, 15)
    y = RANDOM.integers(0, 3, 15)
    weight = RANDOM.random(15)
    feedback = LabelFeedback(
        y, Groups.from_qid(qid, 15), weight=weight, gain="exp", balance="queries"
    )
    high, low, share = feedback.pairs_at(np.arange(feedback.n_pairs))
    found = {(int(feedback.rows[h]), int(feedback.rows[l])): s for h, l, s in zip(high, low, share)}
    assert len(found) == feedback.n_pairs
    for (h, l), s in found.items():
        assert y[h] > y[l]
        assert qid[h] == qid[l]
        mine = [(a, b) for a, b in found if qid[a] == qid[h]]
        raw = {(a, b): weight[a] * weight[b] * (2.0 ** y[a] - 2.0 ** y[b]) for a, b in mine}
        queries = {int(qid[a]) for a, _ in found}
        assert s == pytest.approx(raw[h, l] / sum(raw.values()) / len(queries))

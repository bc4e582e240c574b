"""Label feedback at the ends of the floats, under draws and forks, and its pairs by number."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from crucial import RankBoost
from crucial.data import Groups
from crucial.errors import DataError
from crucial.feedback import LabelFeedback, PairFeedback, SumFeedback
from crucial.feedback.base import Feedback, draw_share, padded, risks_of
from crucial.feedback.labels import TopFeedback
from crucial.feedback.pairs import SumState
from crucial.rankers import RankingSVM
from naive.paths import PATHS, using
from refusals import refused

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


# -- explicit pairs that repeat or contradict each other, and sums of feedbacks -------------------


def test_contradictions_are_kept_or_netted():
    pairs, weight = [(0, 1), (1, 0)], [3.0, 1.0]
    keep = PairFeedback(pairs, 2, weight=weight)
    net = PairFeedback(pairs, 2, weight=weight, contradictions="net")
    assert (keep.n_pairs, keep.total) == (2, 4.0)
    assert (net.n_pairs, net.total) == (1, 2.0)
    # Alike at equal scores but for the scale, and different as soon as they differ.
    np.testing.assert_allclose(keep.potentials([0, 0]), [0.5, -0.5])
    np.testing.assert_allclose(net.potentials([0, 0]), [1.0, -1.0])
    np.testing.assert_allclose(net.potentials([1, 0]), [1.0, -1.0])
    assert keep.potentials([1, 0])[0] < 0.49


@pytest.mark.parametrize(("parts", "shares", "match"), [
    ([], None, "at least one part"),
    ([PairFeedback([(0, 1)], 2), PairFeedback([(0, 1)], 3)], None, r"numbers of rows: \[2, 3\]"),
    ([PairFeedback([(0, 1)], 2)], [0.0], "one positive finite number per part"),
    ([PairFeedback([(0, 1)], 2)], [1.0, 1.0], "one positive finite number per part"),
])  # fmt: skip
def test_sums_that_make_no_sense(parts, shares, match):
    refused(DataError, match, SumFeedback, parts, shares)


def test_weights_of_any_size_add_up():
    small = SumFeedback([LabelFeedback([1, 0], weight=[1e-200] * 2), PairFeedback([(1, 0)], 2)])
    large = SumFeedback([LabelFeedback([1, 0], weight=[1e200] * 2), PairFeedback([(1, 0)], 2)])
    np.testing.assert_allclose(small.potentials([0, 0]), [-1, 1])
    np.testing.assert_allclose(large.potentials([0, 0]), [1, -1])
    far = PairFeedback([(0, 1), (1, 0)], 2, weight=[1e300, 1e-300])
    np.testing.assert_allclose(far.potentials([0, 0]), [1, -1])


# -- every kind of feedback answers for itself what objectives, estimators and reports ask --------


Y = [2.0, 0.0, 1.0, 0.0, 1.0]
QID = ["a", "a", "a", "b", "b"]
LABELS = LabelFeedback(Y, Groups.from_qid(QID, 5), weight=[1.0, 2.0, 1.0, 0.5, 1.0])
PAIRS = PairFeedback([(3, 0), (4, 1)], 5, weight=[1.0, 3.0])
BOTH = SumFeedback([LABELS, PAIRS])
SCORES = np.array([0.3, -1.0, 0.25, 2.0, 0.5])


def listed(feedback: Feedback) -> dict[tuple[int, int], float]:
    """Weight of every pair of row numbers, as a share of all."""
    high, low, weight = feedback.pairs_at(np.arange(feedback.n_pairs))
    rows = feedback.rows
    return {(int(rows[h]), int(rows[l])): float(w) for h, l, w in zip(high, low, weight)}


def test_labels_and_explicit_pairs_are_told_by_the_feedback():
    rows = LABELS.labelled()
    assert rows is not None
    assert rows.labels.tolist() == [Y[row] for row in LABELS.rows]
    assert LABELS.listed() is None
    assert PAIRS.labelled() is None
    pairs = PAIRS.listed()
    assert pairs is not None
    assert PAIRS.rows[pairs.high].tolist() == [3, 4]
    assert BOTH.labelled() is None
    assert BOTH.listed() is None


def test_two_classes():
    classes = LabelFeedback([5, 3, 3]).two_classes()
    assert classes is not None
    assert (classes.low, classes.high, classes.n_low) == (3.0, 5.0, 2)
    for other in (LABELS, PAIRS, BOTH, LabelFeedback([1, 2, 3])):
        assert other.two_classes() is None
    assert LabelFeedback([0, 1, 1], Groups.from_qid([1, 1, 2], 3)).two_classes() is None


def test_labels_of_the_first_positions_are_known_uncut():
    feedback = TopFeedback([1, 4, 3, 2], first=2)
    rows = feedback.labelled()
    assert (rows.layout.n_levels, sorted(rows.labels.tolist())) == (3, [1.0, 2.0, 3.0, 4.0])


def test_pairs_by_number_weigh_what_the_loss_weighs_them():
    groups = Groups.from_qid(QID, 5)
    gains = LabelFeedback(
        Y, groups, weight=[1.0, 2.0, 1.0, 0.5, 1.0], gain="exp", balance="queries"
    )
    for feedback in (LABELS, gains, PAIRS, BOTH):
        pairs = listed(feedback)
        assert (len(pairs), sum(pairs.values())) == (feedback.n_pairs, pytest.approx(1.0))
        expected = np.zeros(5)
        for (high, low), weight in pairs.items():
            expected[high] += weight
            expected[low] -= weight
        np.testing.assert_allclose(feedback.potentials(np.zeros(5)), expected, atol=1e-15)


def test_a_feedback_without_a_list_of_pairs_refuses_to_number_them():
    with pytest.raises(DataError, match="the pairs of a Feedback cannot be listed"):
        Feedback().pairs_at(np.arange(1))


def test_margins_are_counted_by_weight():
    for feedback in (LABELS, PAIRS, BOTH):
        counts = feedback.margin_counts(SCORES[feedback.rows])
        margins = {pair: SCORES[pair[0]] - SCORES[pair[1]] for pair in listed(feedback)}
        extremes = (counts.minimum, counts.maximum)
        assert extremes == (min(margins.values()), max(margins.values()))
        assert extremes == feedback.margin_range(SCORES[feedback.rows])
        for threshold in (-3.0, 0.0, 0.2, 1.3, 3.0):
            share = sum(w for pair, w in listed(feedback).items() if margins[pair] <= threshold)
            found = counts.at_most(np.array([threshold]))[0] / counts.total
            assert found == pytest.approx(share, abs=1e-12)


def test_a_state_for_rows_in_another_order():
    order = np.array([4, 0, 2, 1, 3])
    own = LABELS.state()
    other = SumState([LABELS.state()], [np.argsort(order)[LABELS.rows]], np.ones(1), 5)
    own.advance(SCORES[LABELS.rows], 1.0)
    other.advance(SCORES[order], 1.0)
    pi, moved = np.zeros(padded(5)), np.zeros(padded(5))
    (scale, log_loss), found = own.potentials(pi), other.potentials(moved)
    assert found == (1.0, log_loss)
    pi *= scale
    by_row, by_order = np.zeros(5), np.zeros(5)
    by_row[LABELS.rows], by_order[order] = pi[:5], moved[:5]
    assert (by_row.tolist(), own.risks()) == (by_order.tolist(), other.risks())
    output = (SCORES > 0.27).astype(np.uint8)
    assert own.binary_weights(output[LABELS.rows]) == other.binary_weights(output[order])
    fork = other.copy()
    fork.advance(np.ones(5), 3.0)
    assert other.scores.tolist() == SCORES[order].tolist()


def test_a_draw_holds_one_at_least():
    drawn = draw_share(np.array([7, 9]), 0.01, np.random.default_rng(0))
    assert drawn.tolist() in ([7], [9])


def test_risks_stay_within_1():
    assert (risks_of(0.25, 0.5), risks_of(1.0 + 1e-16, 1e-15)) == ((0.75, 0.5), (1.0, 1.0))


def test_labels_without_a_pair_add_nothing() -> None:
    """A judge without a comparable pair, and equal labels beside explicit pairs."""
    X, y, pairs = (
        np.arange(12.0).reshape(4, 3) % 5,
        np.array([0.0, 2.0, 1.0, 1.0]),
        [(0, 1), (2, 3)],
    )
    silent = np.column_stack([y, np.zeros(4), np.full(4, np.nan)])
    for contradictions in ("keep", "net"):
        ranker = RankBoost(4, contradictions=contradictions)
        alone, judged = (
            ranker.fit(X, y).predict(X),
            clone(ranker).fit(X, silent, judge_weight=[1, 5, 2]),
        )
        np.testing.assert_array_equal(judged.predict(X), alone)
        of_pairs = clone(ranker).fit_pairs(X, pairs).predict(X)
        beside = clone(ranker).fit_pairs(X, pairs, y=np.ones(4)).predict(X)
        np.testing.assert_array_equal(beside, of_pairs)
    svm = RankingSVM().fit_pairs(X, pairs, y=np.ones(4))
    np.testing.assert_array_equal(svm.predict(X), RankingSVM().fit_pairs(X, pairs).predict(X))

"""Every kind of feedback answers for itself what objectives, estimators and reports ask."""

import numpy as np
import pytest

from crucial import Groups, LabelFeedback, PairFeedback, SumFeedback
from crucial.errors import DataError
from crucial.feedback.base import Feedback, draw_share, padded, risks_of
from crucial.feedback.labels import TopFeedback

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
    assert rows.layout.n_levels == 3
    assert sorted(rows.labels.tolist()) == [1.0, 2.0, 3.0, 4.0]


def test_pairs_by_number_weigh_what_the_loss_weighs_them():
    for feedback in (LABELS, PAIRS, BOTH):
        pairs = listed(feedback)
        assert len(pairs) == feedback.n_pairs
        assert sum(pairs.values()) == pytest.approx(1.0)
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
    own, other = LABELS.state(), LABELS.state(order)
    own.advance(SCORES[LABELS.rows], 1.0)
    other.advance(SCORES[order], 1.0)
    pi, moved = np.zeros(padded(5)), np.zeros(padded(5))
    assert own.potentials(pi) == other.potentials(moved)
    by_row, by_order = np.zeros(5), np.zeros(5)
    by_row[LABELS.rows], by_order[order] = pi[:5], moved[:5]
    assert by_row.tolist() == by_order.tolist()
    assert own.risks() == other.risks()
    output = (SCORES > 0.27).astype(np.uint8)
    assert own.binary_weights(output[LABELS.rows]) == other.binary_weights(output[order])
    fork = other.fork()
    fork.advance(np.ones(5), 3.0)
    assert other.scores.tolist() == SCORES[order].tolist()


def test_a_draw_holds_one_at_least():
    drawn = draw_share(np.array([7, 9]), 0.01, np.random.default_rng(0))
    assert drawn.tolist() in ([7], [9])


def test_risks_stay_within_1():
    assert risks_of(0.25, 0.5) == (0.75, 0.5)
    assert risks_of(1.0 + 1e-16, 1e-15) == (1.0, 1.0)

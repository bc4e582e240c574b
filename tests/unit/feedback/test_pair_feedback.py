"""Explicit pairs that repeat or contradict each other, and sums of feedbacks."""

import numpy as np
import pytest

from crucial import LabelFeedback, PairFeedback, SumFeedback
from crucial.errors import DataError


def test_repeated_pairs_add_up():
    once = PairFeedback([(0, 1), (2, 1)], 3, weight=[3.0, 1.0])
    thrice = PairFeedback([(0, 1), (0, 1), (2, 1), (0, 1)], 3)
    assert thrice.n_pairs == once.n_pairs == 2
    scores = [0.3, 0.1, -0.5]
    assert thrice.log_loss(scores) == once.log_loss(scores)
    np.testing.assert_array_equal(thrice.potentials(scores), once.potentials(scores))


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


def test_a_cycle_is_feedback_too():
    feedback = PairFeedback([(0, 1), (1, 2), (2, 0)], 3)
    np.testing.assert_allclose(feedback.potentials([0, 0, 0]), 0, atol=1e-16)
    assert feedback.r1([2, 1, 0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("parts", "shares", "match"), [
    ([], None, "at least one part"),
    ([PairFeedback([(0, 1)], 2), PairFeedback([(0, 1)], 3)], None, r"numbers of rows: \[2, 3\]"),
    ([PairFeedback([(0, 1)], 2)], [0.0], "one positive finite number per part"),
    ([PairFeedback([(0, 1)], 2)], [1.0, 1.0], "one positive finite number per part"),
])  # fmt: skip
def test_sums_that_make_no_sense(parts, shares, match):
    with pytest.raises(DataError, match=match):
        SumFeedback(parts, shares)


def test_weights_of_any_size_add_up():
    small = SumFeedback([LabelFeedback([1, 0], weight=[1e-200] * 2), PairFeedback([(1, 0)], 2)])
    large = SumFeedback([LabelFeedback([1, 0], weight=[1e200] * 2), PairFeedback([(1, 0)], 2)])
    np.testing.assert_allclose(small.potentials([0, 0]), [-1, 1])
    np.testing.assert_allclose(large.potentials([0, 0]), [1, -1])
    far = PairFeedback([(0, 1), (1, 0)], 2, weight=[1e300, 1e-300])
    np.testing.assert_allclose(far.potentials([0, 0]), [1, -1])

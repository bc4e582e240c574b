"""Objectives of label rankers on two rows and three labels, worked out by hand."""

import numpy as np
import pytest

from crucial.errors import DataError
from crucial.rankers.label_ranker import LABEL_OBJECTIVES, ProductLoss, TwoClassLoss, WithinLoss

RIGHT = np.array([[True, False, False], [True, True, False]])
SCORES = np.log([[2.0, 1.0, 1.0], [1.0, 1.0, 4.0]])
ONES = np.ones(2)


def test_mh_weighs_every_row_and_label_alike_at_first():
    weights, log_loss = TwoClassLoss(RIGHT, ONES).weigh(np.zeros((2, 3)))
    np.testing.assert_allclose(weights, np.where(RIGHT, 1, -1) / 6)
    assert log_loss == pytest.approx(0.0)


def test_mh_after_scores():
    # exp(-Y f): 1/2 1 1 and 1 1 4, of 6 at first.
    weights, log_loss = TwoClassLoss(RIGHT, ONES).weigh(SCORES)
    np.testing.assert_allclose(weights, np.array([[0.5, -1, -1], [1, 1, -4]]) / 8.5)
    assert np.exp(log_loss) == pytest.approx(8.5 / 6)


def test_the_product_form_is_the_product_of_both_sums():
    loss = ProductLoss(RIGHT, ONES)
    weights, log_loss = loss.weigh(SCORES)
    np.testing.assert_allclose(weights, [[0.5 / 2.5, -1 / 6, -1 / 6], [0.4, 0.4, -4 / 6]])
    assert np.exp(log_loss) == pytest.approx(2.5 * 6 / 9)
    np.testing.assert_allclose(np.exp(loss.log_parts(SCORES)), [2.5, 6.0])


def test_mr_compares_the_labels_of_one_row():
    # Row 0: pairs 1/2 and 1/2, half each. Row 1: pairs 4 and 4, half each. At first 1 each.
    weights, log_loss = WithinLoss(RIGHT, ONES).weigh(SCORES)
    assert np.exp(log_loss) == pytest.approx((0.5 + 4.0) / 2)
    np.testing.assert_allclose(weights * 4.5, [[0.5, -0.25, -0.25], [2, 2, -4]])


@pytest.mark.parametrize("name", sorted(LABEL_OBJECTIVES))
def test_weight_2_is_a_row_twice(name):
    twice = LABEL_OBJECTIVES[name](np.repeat(RIGHT, [2, 1], axis=0), np.ones(3))
    heavy = LABEL_OBJECTIVES[name](RIGHT, np.array([2.0, 1.0]))
    weights, log_loss = twice.weigh(np.repeat(SCORES, [2, 1], axis=0))
    expected, expected_loss = heavy.weigh(SCORES)
    np.testing.assert_allclose([weights[:2].sum(axis=0), weights[2]], expected)
    assert log_loss == pytest.approx(expected_loss)


def test_mr_needs_a_row_with_both_kinds_of_labels():
    with pytest.raises(DataError, match="only one kind; use 'mh' or 'mr_product'"):
        WithinLoss(np.ones((2, 3), bool), ONES)

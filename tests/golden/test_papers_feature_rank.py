"""Numbers of Wang et al., and of the readings of it that are settled in the docs."""

import numpy as np
import pytest

from crucial.data import Groups
from crucial.measures import get_measure
from crucial.model.weak import QuasiKNN
from crucial.rankers import DiffRank, FeatureRank

_ROWS = "292 174 381 663 420 823 052 209 571 790"
X = np.array([[int(digit) for digit in row] for row in _ROWS.split()], float)
Y = [5, 4, 3, 2, 1] * 2
QID = ["first"] * 5 + ["second"] * 5


def test_the_example_after_equation_8():
    """With I_3 = .3 and I_2 = .6, the value .4 ranks above .5 inside interval 3."""
    centres = (0.9, 0.6, 0.3, 0.1, 0.05, 0.04, 0.03, 0.02)
    values = np.array([[0.4], [0.44], [0.5]])
    assert QuasiKNN(0, centres).ranks(values, Groups.single(3)).tolist() == [3.0, 2.0, 1.0]


def test_the_kendall_distance_of_section_2():
    assert get_measure("kendall")([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3, abs=1e-15)
    right = get_measure("kendall")([1, 2, 3], [2, 1, 3])
    assert right == pytest.approx(1 - get_measure("kendall")([1, 2, 3], [3, 1, 2]), abs=1e-15)


def test_ndcg_with_linear_gain_and_the_discount_of_equation_3():
    found = get_measure("ndcg@6(b=2)")([3, 2, 3, 0, 1, 2], [6, 5, 4, 3, 2, 1])
    assert found == pytest.approx(0.931508523233, abs=1e-12)


def test_rank_addition_of_section_4():
    """<.9, .7, .8, .5, .6> and <.8, .5, .7, .3, .4> have one order, <5, 3, 4, 1, 2>."""
    for values in ((0.9, 0.7, 0.8, 0.5, 0.6), (0.8, 0.5, 0.7, 0.3, 0.4)):
        ranks = QuasiKNN(0, (0.0, 1.0)).ranks(np.array(values)[:, None], Groups.single(5))
        assert ranks.tolist() == [5.0, 3.0, 4.0, 1.0, 2.0]


def test_centres_of_two_queries_of_five():
    ranker = FeatureRank(n_intervals=2).fit(X, Y, qid=QID)
    found = [one.centres for one in ranker.model_.rankers]
    expected = [(4.5, 2.75), (16 / 3, 5.75), (7 / 3, 2.75)]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_feature_rank_on_two_queries_of_five():
    ranker = FeatureRank(n_intervals=2).fit(X, Y, qid=QID)
    expected = [0.423648930194, -0.038181267012, 0.575980079943]
    np.testing.assert_allclose(ranker.trace_.column("alpha"), expected, atol=1e-12)
    assert ranker.predict(X, qid=QID).tolist() == [4, 5, 3, 2, 1, 2, 4, 5, 3, 1]
    assert ranker.model_.training["negative_weights"] == 1


def test_diff_rank_on_two_queries_of_five():
    ranker = DiffRank(n_intervals=2, record_risks=True).fit(X, Y, qid=QID)
    expected = [0.202732554054, 0.039114795885, 0.307673165209]
    np.testing.assert_allclose(ranker.trace_.column("alpha"), expected, atol=1e-12)
    assert ranker.trace_[-1].loss == pytest.approx(0.889312194673, abs=1e-12)
    assert ranker.trace_[-1].r2 == pytest.approx(0.25, abs=1e-15)

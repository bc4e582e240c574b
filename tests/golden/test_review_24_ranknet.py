"""Section 24, RankNet, on set B."""

import numpy as np
import pytest

from crucial import LabelFeedback, RankNet
from crucial.rankers.rank_net import Inputs, Network, Shuffled
from naive.set_b import X12 as X
from naive.set_b import YD, Q


@pytest.mark.parametrize(("queries", "weights", "objective"), [
    ({}, [0.492406725629, 1.127686522290], 0.568140380370),
    ({"qid": Q}, [-0.587608071673, 0.151615413687], 0.661009012660),
], ids=["one query", "queries"])  # fmt: skip
def test_section_24_linear(queries, weights, objective):
    ranker = RankNet((), 0.1, standardise=False, tol=1e-11).fit(X, YD, **queries)
    np.testing.assert_allclose(ranker.model_.weights, weights, rtol=1e-9)
    assert ranker.objective_ == pytest.approx(objective, rel=1e-11)
    assert ranker.gap_ < 1e-15


def test_section_24_backpropagation():
    feedback = LabelFeedback(YD)
    loss = Shuffled(feedback.labelled(), False, 1, 100).whole()
    network = Network(2, (2,))
    theta = np.array([0.5, -1, 1, 0.5, 0.1, -0.2, 1, -0.5])
    value, gradient = network.gradient(theta, Inputs(X[feedback.rows]), loss)
    assert value == pytest.approx(0.936684070091, rel=1e-11)
    layers, output = network.layers(gradient)
    ((weights, bias),) = layers
    expected = [[-0.037418401536, -0.166666426490], [0.005109753083, 0.064920092439]]
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    np.testing.assert_allclose(bias, [0.080864629704, -0.058836617336], rtol=1e-9)
    np.testing.assert_allclose(output, [0.204805186359, -0.160688272269], rtol=1e-9)

"""RankNet's loss and gradients against pairs one by one, and what must not matter."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.data.groups import Groups
from crucial.feedback import LabelFeedback
from crucial.rankers.rank_net import Inputs, Network, Shuffled
from naive.paths import PATHS, using
from naive.rank_net import net_score, pair_loss
from naive.sweep import holds_for
from naive.tables import tables


def prepared(table):
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight)


@pytest.mark.kernels
@holds_for(tables(missing=False), st.booleans(), st.integers(0, 999), quick=40, full=600)
def test_loss_and_lambdas(table, ties, seed):
    scores = np.random.default_rng(seed).normal(size=table.n_rows)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    live = (weight > 0) & np.isin(table.qid, table.qid[prepared(table).rows])
    y, qid, u, s = (part[live] for part in (table.y, table.qid, weight, scores))

    def naive(at):
        return pair_loss(y.tolist(), qid.tolist(), u.tolist(), at.tolist(), ties)

    for path in PATHS:
        with using(path):
            feedback = prepared(table)
            loss = Shuffled(feedback.labelled(), ties, 1, 100).whole()
            value, gradient = loss(scores[feedback.rows])
        assert value == pytest.approx(naive(s), rel=1e-12)
        found = np.zeros(table.n_rows)
        found[feedback.rows] = gradient
        for k, unit in enumerate(np.eye(len(s))):
            slope = (naive(s + 1e-5 * unit) - naive(s - 1e-5 * unit)) / 2e-5
            assert found[live][k] == pytest.approx(slope, abs=1e-8)


@holds_for(
    st.lists(st.integers(1, 4), max_size=2), st.integers(1, 3), st.integers(0, 999), st.booleans(),
    quick=30, full=300,
)  # fmt: skip
def test_the_net_and_its_gradient(hidden, n_columns, seed, sparse):
    import scipy.sparse as sp

    random = np.random.default_rng(seed)
    X, shift = random.normal(size=(6, n_columns)), random.normal(size=n_columns)
    target = random.normal(size=6)
    network = Network(n_columns, hidden)
    theta = network.initial(random) + 0.1 * random.normal(size=network.n_weights)
    inputs = Inputs(sp.csr_array(X), shift) if sparse else Inputs(X + shift)
    layers, output = network.layers(theta)
    expected = [net_score((x + shift).tolist(), layers, output) for x in X]
    np.testing.assert_allclose(network.scores(theta, inputs), expected, rtol=1e-10, atol=1e-12)

    def squares(scores):
        return float(((scores - target) ** 2).sum()), 2 * (scores - target)

    gradient = network.gradient(theta, inputs, squares)[1]
    for k, unit in enumerate(np.eye(len(theta))):
        above, below = (
            network.gradient(theta + h * unit, inputs, squares)[0] for h in (1e-5, -1e-5)
        )
        assert gradient[k] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-7)

"""RankBoost with trees: what it promises, and its twin over listed pairs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial import Groups, LabelFeedback, RankBoost
from naive.boosted_trees import boost
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import Table, tables

ways = st.fixed_dictionaries(
    {
        "step": st.sampled_from([None, "bound", "numeric"]),
        "learning_rate": st.sampled_from([1.0, 0.3]),
        "balance": st.sampled_from(["pairs", "queries"]),
        "max_leaves": st.sampled_from([2, 5]),
        "min_rows": st.sampled_from([0.0, 2.0]),
        "l2": st.sampled_from([0.0, 1.0]),
        "interactions": st.sampled_from([None, 1, 2]),
        "on_perfect": st.sampled_from(["smooth", "stop"]),
    }
)


def fitted(table: Table, way: dict[str, Any], rounds: int = 8, **more: Any) -> RankBoost:
    with quiet():
        found: RankBoost = table.fit(RankBoost(rounds, n_jobs=1, weak="tree", **way, **more))
        return found


@holds_for(tables(), ways, quick=10, full=1_000)
def test_risk_is_bounded_by_the_product_of_z(table: Table, way: dict[str, Any]) -> None:
    """R1 <= E1 = prod Z after every round (Freund et al. 2003, theorem 1), and no Z is above 1."""
    for path in PATHS:
        with using(path):
            model = fitted(table, way, record_risks=True)
        groups = Groups.from_qid(table.qid, table.n_rows)
        feedback = LabelFeedback(table.y, groups, weight=table.weight, balance=way["balance"])
        product = 1.0
        for one, scores in zip(model.trace_, model.staged_predict(table.X), strict=True):
            product *= one.z
            assert one.z <= 1.0 + 1e-9
            assert abs(one.r) <= 1.0 + 1e-9
            assert one.log_loss == pytest.approx(feedback.log_loss(scores), abs=1e-8)
            assert one.loss == pytest.approx(product, rel=1e-8)
            assert one.r1 is not None
            assert feedback.r1(scores) <= one.loss * (1 + 1e-9)
            assert one.r1 <= one.loss * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_trees_and_z_are_those_of_listed_pairs(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 40
    X = random.normal(size=(n, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + 3 * random.normal(size=n), [-0.5, 0.8]) * 1.0
    X[random.random(X.shape) < 0.1] = np.nan
    weight = random.integers(1, 3, n) * 1.0
    table = Table(X, y, random.integers(0, 3, n), weight)
    limits = {"max_leaves": 4, "min_rows": 4.0, "l2": 0.5 * (seed % 2)}
    rate = 0.5
    rounds, scores = boost(X, table.pairs(), weight, 5, rate, **limits)
    model = fitted(table, {"learning_rate": rate, **limits}, 5)
    assert len(model.trace_) == len(rounds) == 5
    for one, naive in zip(model.trace_, rounds, strict=True):
        tree: Any = one.ranker
        leaves = naive.root.leaves()
        assert len(tree.values) == len(leaves)
        assert tree.features[0] == naive.root.feature
        assert tree.thresholds[0] == naive.root.threshold
        assert tree.span == pytest.approx(rate * naive.alpha, rel=1e-6)
        assert one.z == pytest.approx(naive.z, rel=1e-9)
    found = model.predict(X)
    groups = table.qid
    pairs = [(i, j) for i in range(n) for j in range(n) if groups[i] == groups[j]]
    apart = np.array([[found[i] - found[j], scores[i] - scores[j]] for i, j in pairs])
    np.testing.assert_allclose(apart[:, 0], apart[:, 1], atol=1e-6)

"""RankBoost picks the stumps, trees and weights that a search over all pairs picks."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial import RankBoost
from naive.boost import NaiveBoost, Rules
from naive.boosted_trees import boost
from naive.pairs import from_list
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import Table, tables

ROUNDS = 10

rules = st.builds(
    Rules,
    choice=st.sampled_from(["steepest", "steepest_positive", "largest_drop"]),
    step=st.sampled_from(["bound", "exact", "numeric"]),
    default_rank=st.sampled_from(["learned", 0, 1]),
    cumulative=st.booleans(),
    on_perfect=st.sampled_from(["smooth", "smooth", "stop"]),
    rate=st.sampled_from([1.0, 0.3]),
)


def estimator(rules, **more):
    positive = "cumulative" if rules.cumulative else None
    return RankBoost(
        ROUNDS, rules.rate, choice=rules.choice, step=rules.step, default_rank=rules.default_rank,
        positive_weights=positive, on_perfect=rules.on_perfect, monotone_constraints=rules.monotone,
        max_bins=None, n_jobs=1, **more,
    )  # fmt: skip


def assert_same(fitted, naive):
    found = list(zip(fitted.model_.rankers, fitted.model_.weights, strict=True))
    assert [ranker for ranker, _ in found] == [ranker for ranker, _ in naive.rounds]
    np.testing.assert_allclose(
        [alpha for _, alpha in found], [alpha for _, alpha in naive.rounds], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        [one.loss for one in fitted.trace_], naive.losses, rtol=1e-9, atol=1e-14
    )
    if len(naive.rounds) < ROUNDS:
        assert fitted.trace_.stopped == naive.stopped


@holds_for(
    tables(), rules, st.sampled_from(["pairs", "queries"]),
    st.sampled_from([None, "linear", "exp"]), quick=120, full=10_000,
)  # fmt: skip
def test_labels(table, rules, balance, gain):
    gains = {None: None, "linear": lambda y: y, "exp": lambda y: 2**y - 1}[gain]
    pairs = table.pairs(balance=balance, gain=gains)
    naive = NaiveBoost(table.X, pairs, rules, table.pairs(gain=gains).total).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            fitted = table.fit(estimator(rules, balance=balance, gain=gain))
        assert_same(fitted, naive)


@holds_for(tables(max_features=3), rules, st.data(), quick=60, full=2_000)
def test_labels_under_monotone_constraints(table, rules, data):
    signs = st.lists(
        st.sampled_from([-1, 0, 1]), min_size=table.X.shape[1], max_size=table.X.shape[1]
    )
    rules.monotone = data.draw(signs)
    naive = NaiveBoost(table.X, table.pairs(), rules, table.pairs().total).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            fitted = table.fit(estimator(rules))
        assert_same(fitted, naive)


@holds_for(tables(max_rows=30, max_queries=2, labels=range(12)), rules, quick=30, full=1_000)
def test_many_levels(table, rules):
    naive = NaiveBoost(table.X, table.pairs(), rules, table.pairs().total).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            fitted = table.fit(estimator(rules))
        assert_same(fitted, naive)


@holds_for(tables(weighted=False), rules, st.data(), quick=60, full=2_000)
def test_explicit_pairs_alone_and_with_labels(table, rules, data):
    row = st.integers(0, table.n_rows - 1)
    pair = st.tuples(row, row).filter(lambda p: p[0] != p[1])
    pairs = data.draw(st.lists(pair, min_size=1, max_size=8))
    weight = data.draw(
        st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(pairs), max_size=len(pairs))
    )
    explicit = from_list(pairs, table.n_rows, weight)
    alone = NaiveBoost(table.X, explicit, rules, explicit.total).run(ROUNDS)
    everything = table.pairs() + explicit
    together = NaiveBoost(table.X, everything, rules, everything.total).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            model = estimator(rules)
            fitted = model.fit_pairs(table.X, pairs, pair_weight=weight)
            assert_same(fitted, alone)
            fitted = model.fit_pairs(table.X, pairs, pair_weight=weight, y=table.y, qid=table.qid)
            assert_same(fitted, together)


@pytest.mark.parametrize("seed", range(3))
def test_trees_and_z_are_those_of_listed_pairs(seed):
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
    model = table.fit(RankBoost(5, rate, weak="tree", symmetric=False, n_jobs=1, **limits))
    assert len(model.trace_) == len(rounds) == 5
    for one, naive in zip(model.trace_, rounds, strict=True):
        tree = one.ranker
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

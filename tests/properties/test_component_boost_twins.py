"""LogitBoost and ComponentwiseBoost against their twins, and what must not matter."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.model.weak import Affine
from crucial.rankers import ComponentwiseBoost, LogitBoost
from naive.component_boost import NaiveComponents, NaiveLogitBoost
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import tables

ROUNDS = 6
LOSSES = ["l2", "l1", "exp", "hinge", "piecewise"]

two_classes = tables(max_rows=16, max_queries=1, labels=(0, 1))


def ones(table):
    return np.ones(table.n_rows) if table.weight is None else table.weight


def learned_from(table):
    """Which rows are in a pair."""
    live = np.isin(table.qid, [q for q in set(table.qid) if table.take(table.qid == q).pairs()])
    return live & (ones(table) > 0)


def logit(table, **more):
    settings = {"learning_rate": 1.0, "max_bins": None, "n_jobs": 1} | more
    with quiet():
        return LogitBoost(ROUNDS, **settings).fit(table.X, table.y, sample_weight=table.weight)


@pytest.mark.kernels
@holds_for(
    two_classes, st.sampled_from([1.0, 0.3]), st.sampled_from(["learned", 0, 1]), quick=40, full=800
)
def test_logitboost_rounds(table, rate, default_rank):
    naive = NaiveLogitBoost(table.X, 2 * table.y - 1, ones(table), rate, 4.0, default_rank)
    naive.run(ROUNDS)
    for path in PATHS:
        with using(path):
            found = logit(table, learning_rate=rate, default_rank=default_rank)
        shared = min(len(naive.rounds), len(found.trace_))
        # (at scores of no pattern beyond rounding, either may go on by one more round)
        assert abs(len(naive.rounds) - len(found.trace_)) <= ROUNDS - shared
        for (ranker, low, high), entry in zip(naive.rounds, found.trace_):
            assert isinstance(entry.ranker, Affine)
            assert entry.ranker.ranker == ranker
            values = entry.ranker.intercept, entry.ranker.intercept + entry.ranker.slope
            assert values == pytest.approx((low, high), rel=1e-7, abs=1e-9)
        losses = found.trace_.column("loss")[:shared]
        np.testing.assert_allclose(losses, naive.losses[:shared], rtol=1e-8)


@pytest.mark.kernels
@holds_for(
    tables(max_rows=12, labels=(0.0, 1.0, 1.5, 4.0)), st.sampled_from(LOSSES),
    st.sampled_from(["updated", "simple"]), quick=60, full=1_000,
)  # fmt: skip
def test_componentwise_rounds(table, loss, choice):
    """Of exp, hinge and piecewise by the kernel surrogate_sums."""
    kept = table.take(learned_from(table))
    naive = NaiveComponents(kept.X, kept.y, kept.qid, ones(kept), loss, choice).run(ROUNDS)
    for path in PATHS:
        with using(path), quiet():
            found = table.fit(ComponentwiseBoost(ROUNDS, loss=loss, selection=choice, n_jobs=1))
        assert found.diverged_ is None
        assert [one.ranker.feature for one in found.trace_] == [j for j, _ in naive.rounds]
        np.testing.assert_allclose(
            found.trace_.column("r"), [s for _, s in naive.rounds], rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(found.trace_.column("risk"), naive.risks, rtol=1e-8, atol=1e-12)


@holds_for(tables(max_rows=12, labels=(0, 1)), quick=30, full=300)
def test_componentwise_binomial_rounds(table):
    kept = table.take(learned_from(table))
    naive = NaiveComponents(kept.X, kept.y, kept.qid, ones(kept), "binomial").run(ROUNDS)
    with quiet():
        found = table.fit(ComponentwiseBoost(ROUNDS, loss="binomial"))
    assert [one.ranker.feature for one in found.trace_] == [j for j, _ in naive.rounds]
    np.testing.assert_allclose(found.trace_.column("risk"), naive.risks, rtol=1e-8)

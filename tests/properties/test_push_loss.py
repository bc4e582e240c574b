"""The push: what the objective says is what its listed pairs say, and p = 1 is RankBoost."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize_scalar

from crucial import Groups, LabelFeedback, PNormPush, RankBoost
from crucial.boosting.pair_losses import ExponentialLoss
from crucial.boosting.push import PNormLoss
from crucial.boosting.steps import newton_root
from crucial.errors import ParameterError
from crucial.feedback.base import Potentials
from naive.paths import PATHS, quiet, using
from naive.push import NaiveDescent, Push
from naive.sweep import holds_for
from naive.tables import GAINS, scores_of, tables, weightings, with_own_gain

powers = st.sampled_from([1.5, 2.0, 4.0, 16.0, 100.0])


@st.composite
def losses(draw, **shape):
    """A table, feedback on it, the same loss by listing, and scores."""
    table = draw(tables(max_features=1, **shape))
    p = draw(powers)
    how = draw(weightings(table))
    listed = Push.of(table, p, **with_own_gain(how))
    assume(len(listed.pairs) > 0)
    scores = draw(scores_of(table, [0.0, 1.0, 3.0, 700.0]))
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight, **how), listed, scores


def begun(feedback, p, scores):
    potentials = Potentials(PNormLoss(p).begin(feedback, 2))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials


@holds_for(losses(), quick=15, full=5_000)
def test_potentials_are_those_of_the_listed_pairs(case):
    feedback, listed, scores = case
    d = np.array(listed.distribution(scores))
    expected = np.bincount(listed.pairs.hi, d, len(scores)) - np.bincount(
        listed.pairs.lo, d, len(scores)
    )
    change = listed.value(scores) - listed.value(np.zeros(len(scores)))
    for path in PATHS:
        with using(path):
            found = begun(feedback, listed.p, scores)
        pi = found.scale * found.pi[: len(feedback.rows)]
        np.testing.assert_allclose(pi, expected[feedback.rows], rtol=1e-8, atol=1e-10)
        assert found.log_loss == pytest.approx(change, rel=1e-9, abs=1e-10)


@holds_for(losses(missing=False), quick=15, full=500)
def test_potentials_are_minus_the_gradient(case):
    feedback, listed, _ = case
    rows = feedback.rows

    def value(at):
        scores = np.zeros(feedback.n_rows)
        scores[rows] = at
        return begun(feedback, listed.p, scores).log_loss

    def slope(at):
        scores = np.zeros(feedback.n_rows)
        scores[rows] = at
        found = begun(feedback, listed.p, scores)
        return -found.scale * found.pi[: len(rows)]

    at = np.random.default_rng(0).normal(size=len(rows))
    assert check_grad(value, slope, at) < 1e-5


@holds_for(losses(), st.integers(0, 999), quick=15, full=2_000)
def test_the_loss_along_a_ranker(case, seed):
    feedback, listed, scores = case
    assume(np.ptp(scores) <= 10)
    output = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.uint8)
    lo, hi = np.array(listed.pairs.lo), np.array(listed.pairs.hi)
    d, margin = np.array(listed.distribution(scores)), output[hi] * 1.0 - output[lo]
    for path in PATHS:
        with using(path):
            line = begun(feedback, listed.p, scores).pairs.line(output[feedback.rows])
        right, wrong = line.weights()
        assert (right, wrong) == pytest.approx(
            (d[margin > 0].sum(), d[margin < 0].sum()), rel=1e-8, abs=1e-10
        )
        value = lambda alpha: listed.value(scores + alpha * output)  # noqa: E731
        for alpha in (0.0, 0.3, -0.2):
            slope, curvature = line(alpha)
            step = 1e-4
            numeric = (value(alpha + step) - value(alpha - step)) / (2 * step)
            assert slope == pytest.approx(numeric, abs=1e-4)
            bend = (value(alpha + step) - 2 * value(alpha) + value(alpha - step)) / step**2
            assert curvature == pytest.approx(bend, rel=1e-2, abs=1e-3)
        if min(right, wrong) < 1e-6:
            continue
        best = newton_root(line, 1e-10)
        lowest = minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12)
        assert best == pytest.approx(lowest.x, abs=1e-5)
        known = line.closed_form()
        best = newton_root(line, 1e-14)
        assert known is None or known == pytest.approx(best, rel=1e-9, abs=1e-12)


@holds_for(losses(), quick=25, full=500)
def test_the_loss_bounds_the_heights_of_what_should_stand_low(case):
    """Rudin 2009: F bounds the sum of p-th powers of how much each row wrongly beats."""
    _, listed, scores = case
    height = {}
    for a, b, w in zip(listed.pairs.lo, listed.pairs.hi, listed.pairs.weight):
        height[a] = height.get(a, 0.0) + w * (scores[b] <= scores[a])
    total = sum(
        listed.coefficient[a] * listed.lo_weight[a] * one**listed.p for a, one in height.items()
    )
    assert total == 0.0 or math.log(total) / listed.p <= listed.value(scores) + 1e-9


# -- p = 1 ----------------------------------------------------------------------------------


@holds_for(
    tables(),
    st.sampled_from(["bound", "exact"]),
    st.sampled_from(["pairs", "queries"]),
    quick=15,
    full=500,
)
def test_p_1_is_rankboost_to_the_byte(table, step, balance):
    for path in PATHS:
        with using(path), quiet():
            push = table.fit(PNormPush(1, 8, step=step, balance=balance, n_jobs=1))
            rank = table.fit(RankBoost(8, step=step, balance=balance, n_jobs=1))
        assert push.model_.rankers == rank.model_.rankers
        assert push.model_.weights == rank.model_.weights
        assert push.trace_.column("log_loss").tolist() == rank.trace_.column("log_loss").tolist()


@holds_for(tables(), st.sampled_from(["pairs", "queries"]), quick=15, full=500)
def test_the_push_itself_becomes_rankboost_at_p_1(table, balance):
    """Not only by taking RankBoost's way there."""
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(table.y, groups, weight=table.weight, balance=balance)
    output = (np.nan_to_num(table.X[:, 0]) > 0.8).astype(np.uint8)[feedback.rows]
    push = Potentials(PNormLoss(1.0).begin(feedback, 1))
    rank = Potentials(ExponentialLoss().begin(feedback, 1))
    for alpha in (0.4, -1.0, 0.3):
        push.advance(output, alpha)
        rank.advance(output, alpha)
        np.testing.assert_allclose(push.scale * push.pi, rank.scale * rank.pi, atol=1e-12)
        assert push.log_loss == pytest.approx(rank.log_loss, abs=1e-12)
        assert push.pairs.binary_weights(output) == pytest.approx(
            rank.pairs.binary_weights(output), abs=1e-12
        )
        assert push.pairs.risks() == rank.pairs.risks()


# -- the estimator --------------------------------------------------------------------------


@holds_for(
    tables(max_rows=12),
    powers,
    st.sampled_from(["pairs", "queries"]),
    st.sampled_from([None, "linear"]),
    quick=12,
    full=1_000,
)
def test_it_picks_what_a_search_over_all_pairs_picks(table, p, balance, gain):
    listed = Push.of(table, p, balance=balance, gain=GAINS[gain])
    raw = table.pairs(gain=GAINS[gain]).total
    naive = NaiveDescent(table.X, listed, 0.5, raw).run(6)
    assume(not naive.unclear)  # (its steps have ten digits: what is equal may differ then)
    for path in PATHS:
        with using(path), quiet():
            made = table.fit(
                PNormPush(p, 6, 0.5, balance=balance, gain=gain, max_bins=None, n_jobs=1)
            )
        found = list(made.model_.rankers)
        assert found == [ranker for ranker, _ in naive.rounds]
        np.testing.assert_allclose(
            made.model_.weights, [alpha for _, alpha in naive.rounds], rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(made.trace_.column("log_loss"), naive.values, atol=1e-6)


@holds_for(tables(), powers, st.sampled_from(["bound", "exact"]), quick=15, full=1_000)
def test_every_round_gains_what_the_bound_promises(table, p, step):
    """F falls by ``sqrt(1 - r^2)`` at least (the p-norm by its p-th root)."""
    with quiet():
        made = table.fit(PNormPush(p, 10, 1.0, step=step, on_perfect="stop", n_jobs=1))
    for one in made.trace_:
        promised = 0.5 * math.log1p(-min(one.r**2, 1 - 1e-16)) / p
        assert math.log(one.z) <= promised + 1e-9


@pytest.mark.parametrize("p", [0.5, 0, -1, math.nan, None, "4", True])
def test_a_p_that_is_none(p):
    with pytest.raises(ParameterError, match=r"'p' .* must be a number in \[1, 100\]"):
        PNormPush(p).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("p", [101, 1e308, math.inf, np.float32(1000)])
def test_a_p_beyond_all_measure_names_the_infinite_push(p):
    with pytest.raises(ParameterError, match="use InfinitePush"):
        PNormPush(p).fit([[1.0], [2.0]], [0, 1])

"""The push and the logistic loss over pairs: their listed pairs, their limits, their minima."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from crucial import RankBoost
from crucial.boosting.pair_losses import LogisticLoss, PNormLoss, PushLine
from crucial.boosting.steps import newton_root
from crucial.data import Groups
from crucial.errors import DataError, ParameterError
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.feedback.base import Potentials
from crucial.feedback.pairs import SumFeedback
from crucial.rankers import LogisticRanker, PNormPush
from naive.own_losses import logistic_weights
from naive.pairs import from_list
from naive.paths import PATHS, quiet, using
from naive.push import Logistic, NaiveDescent, Push
from naive.sweep import holds_for
from naive.tables import GAINS, scores_of, tables, weightings, with_own_gain

pytestmark = pytest.mark.kernels

powers = st.sampled_from([1.0, 1.5, 2.0, 4.0, 16.0, 100.0])
kinds = powers | st.sampled_from([None, None])  # (None is the logistic loss)
balances = st.sampled_from(["pairs", "queries"])


def objective_of(p):
    return LogisticLoss() if p is None else PNormLoss(p)


def ranker_of(p, *how, **more):
    return LogisticRanker(*how, **more) if p is None else PNormPush(p, *how, **more)


@st.composite
def losses(draw, powers=kinds, **shape):
    """A power, feedback on a table, the same loss by listing, and scores."""
    many = {"labels": [k / 4 for k in range(12)], "max_queries": 1}
    shape |= draw(st.sampled_from([{}, many]))
    table = draw(tables(max_features=1, **shape))
    p, how = draw(powers), draw(weightings(table))
    own = with_own_gain(how)
    listed = Logistic(table.pairs(**own)) if p is None else Push.of(table, p, **own)
    assume(len(listed.pairs) > 0)
    scores = draw(scores_of(table, [0.0, 1.0, 3.0, 100.0 if p is None else 700.0]))
    groups = Groups.from_qid(table.qid, table.n_rows)
    return p, LabelFeedback(table.y, groups, weight=table.weight, **how), listed, scores


def begun(feedback, p, scores):
    potentials = Potentials(objective_of(p).begin(feedback, 2))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials


def check_potentials(found, p, feedback, listed, scores):
    d, n, rows = np.array(listed.distribution(scores)), len(scores), feedback.rows
    high, low, slack = listed.pairs.hi, listed.pairs.lo, 1e-12 if p is None else 1e-10
    expected = np.bincount(high, d, n) - np.bincount(low, d, n)
    pi = found.scale * found.pi[: len(rows)]
    np.testing.assert_allclose(pi, expected[rows], rtol=1e-8, atol=slack)
    change = listed.value(scores) - listed.value(np.zeros(n))
    assert found.log_loss == pytest.approx(change, rel=1e-9, abs=1e-10)
    if p is None:
        raw, bend = (np.array(one) for one in logistic_weights(listed.pairs, scores))
        curvature = (np.bincount(high, bend, n) + np.bincount(low, bend, n)) / raw.sum()
        bends = found.scale * found.pairs.curvature
        np.testing.assert_allclose(bends, curvature[rows], rtol=1e-8, atol=slack)


@holds_for(losses(), quick=40, full=10_000)
def test_potentials_are_those_of_the_listed_pairs(case):
    """By the kernels push_logs and logistic_sums."""
    p, feedback, listed, scores = case
    for path in PATHS:
        with using(path):
            found = begun(feedback, p, scores)
        check_potentials(found, p, feedback, listed, scores)
        assert p is not None or found.pairs.risks()[0] <= math.exp(found.log_loss) + 1e-12


@pytest.mark.parametrize("p", [None, 3.0])
def test_explicit_pairs(p):
    random = np.random.default_rng(4)
    pairs = [(a, b) for a, b in random.integers(0, 9, (30, 2)).tolist() if a != b]
    weight, ones = random.uniform(0.5, 2.0, len(pairs)), np.ones(9)
    listed = from_list(pairs, 9, weight.tolist())
    listed = Logistic(listed) if p is None else Push(listed, p, ones, ones)
    scores, output = random.normal(size=9), random.integers(0, 2, 9).astype(np.uint8)
    feedback = PairFeedback(pairs, 9, weight=weight)
    found = begun(feedback, p, scores)
    check_potentials(found, p, feedback, listed, scores)
    if p is not None:
        slope = listed.value(scores + 0.2001 * output) - listed.value(scores + 0.1999 * output)
        assert found.pairs.line(output[feedback.rows])(0.2)[0] == pytest.approx(
            slope / 2e-4, abs=1e-6
        )


@holds_for(losses(), st.integers(0, 999), quick=30, full=4_000)
def test_the_loss_along_a_ranker(case, seed):
    """By the kernels push_split and logistic_along."""
    p, feedback, listed, scores = case
    assume(np.ptp(scores) <= 10)
    output = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.uint8)
    d, slack = np.array(listed.distribution(scores)), 1e-12 if p is None else 1e-10
    margin = output[listed.pairs.hi] * 1.0 - output[listed.pairs.lo]
    value = lambda alpha: listed.value(scores + alpha * output)  # noqa: E731
    for path in PATHS:
        with using(path):
            line = begun(feedback, p, scores).pairs.line(output[feedback.rows])
            right, wrong = line.weights()
            expected = d[margin > 0].sum(), d[margin < 0].sum()
            assert (right, wrong) == pytest.approx(expected, rel=1e-8, abs=slack)
            for alpha in () if p is None else (0.0, 0.3, -0.2):
                slope, curvature = line(alpha)
                step = 1e-4
                up, down = value(alpha + step), value(alpha - step)
                assert slope == pytest.approx((up - down) / (2 * step), abs=1e-4)
                bend = (up - 2 * value(alpha) + down) / step**2
                assert curvature == pytest.approx(bend, rel=1e-2, abs=1e-3)
            if min(right, wrong) < 1e-6:
                continue
            best = newton_root(line, 1e-10)
            lowest = minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12)
            assert best == pytest.approx(lowest.x, abs=1e-5)
            known = None if p is None else line.closed_form()
            assert known is None or known == pytest.approx(
                newton_root(line, 1e-14), rel=1e-9, abs=1e-12
            )


def test_a_large_p_looks_at_the_top_alone():
    """At the same scores, the weight on the highest negative grows with p."""
    feedback, scores = LabelFeedback([1, 1, 0, 0, 0, 0]), [0.0, 1.0, 2.0, 0.5, 0.0, -1.0]
    place = np.flatnonzero(feedback.rows == 2)[0]
    found = [begun(feedback, p, scores) for p in (1.5, 4.0, 16.0, 64.0)]
    shares = [-one.scale * one.pi[place] for one in found]
    assert shares == sorted(shares)
    assert shares[0] < 0.9 < 0.999 < shares[-1]


def test_sums_along_a_stump_do_not_depend_on_the_top_they_are_divided_by():
    random = np.random.default_rng(4)
    terms = random.normal(size=(9, 2)), random.normal(size=(9, 2))
    near, far = PushLine(*terms, 8.0, 0.0), PushLine(*terms, 8.0, 900.0)
    assert near.weights() == pytest.approx(far.weights(), rel=1e-13)
    for alpha in (0.0, 0.7, -2.0, 40.0):
        assert near(alpha) == pytest.approx(far(alpha), rel=1e-12, abs=1e-13)


# -- p = 1 ----------------------------------------------------------------------------------


@holds_for(tables(), st.sampled_from(["bound", "exact"]), balances, quick=15, full=500)
def test_p_1_is_rankboost_to_the_byte(table, step, balance):
    for path in PATHS:
        with using(path), quiet():
            push = table.fit(PNormPush(1, 8, step=step, balance=balance, n_jobs=1))
            rank = table.fit(RankBoost(8, step=step, balance=balance, n_jobs=1))
        assert push.model_.rankers == rank.model_.rankers
        assert push.model_.weights == rank.model_.weights
        assert push.trace_.column("log_loss").tolist() == rank.trace_.column("log_loss").tolist()


# -- the estimators -------------------------------------------------------------------------


@holds_for(tables(max_rows=12), kinds, balances, st.sampled_from([*GAINS]), quick=24, full=2_000)
def test_they_pick_what_a_search_over_all_pairs_picks(table, p, balance, gain):
    how = {"balance": balance, "gain": GAINS[gain]}
    listed = Logistic(table.pairs(**how)) if p is None else Push.of(table, p, **how)
    naive = NaiveDescent(table.X, listed, 0.5, table.pairs(gain=GAINS[gain]).total).run(6)
    assume(not naive.unclear)  # (its steps have ten digits: what is equal may differ then)
    more = {"balance": balance, "gain": gain, "max_bins": None, "n_jobs": 1}
    for path in PATHS:
        with using(path), quiet():
            made = table.fit(ranker_of(p, 6, 0.5, **more))
        assert list(made.model_.rankers) == [ranker for ranker, _ in naive.rounds]
        weights = [alpha for _, alpha in naive.rounds]
        np.testing.assert_allclose(made.model_.weights, weights, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(made.trace_.column("log_loss"), naive.values, atol=1e-6)


@holds_for(tables(), kinds, st.sampled_from(["bound", "exact"]), quick=30, full=2_000)
def test_every_round_gains_what_the_bound_promises(table, p, step):
    """F falls by ``sqrt(1 - r^2)`` at least (the p-norm by its p-th root).

    The logistic loss never rises: ln(1 + s(e^-a - 1)) lies under s(e^-a - 1) (Collins et al. 2002).
    """
    perfect = "smooth" if p is None else "stop"
    with quiet():
        made = table.fit(ranker_of(p, 10, 1.0, step=step, on_perfect=perfect, n_jobs=1))
    for one in made.trace_:
        promised = 0.0 if p is None else 0.5 * math.log1p(-min(one.r**2, 1 - 1e-16)) / p
        assert math.log(one.z) <= promised + (1e-12 if p is None else 1e-9)
        if step == "bound" and abs(one.r) < 1 - 1e-9:  # (method 3, in p alpha)
            assert one.alpha == pytest.approx(math.atanh(one.r) / (p or 1.0), rel=1e-8)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("p", [None, 2.0, 100.0])
def test_numbers_stay_numbers_on_separable_data(path, p):
    """Hundreds of rounds on what one stump can order; scores go far beyond e^700."""
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    with using(path), np.errstate(over="raise", invalid="raise", divide="raise"):
        made = ranker_of(p, 900 if p is None else 600, 1.0).fit(X, y)
        assert np.isfinite(made.predict(X)).all()
        assert np.isfinite(made.trace_.column("log_loss")).all()
        found = begun(LabelFeedback(y[::-1]), p, 1000.0 * np.arange(12))
        assert np.abs(found.scale * found.pi).max() <= 1.0
        if p is not None:
            assert found.log_loss > 10_000
            return
        assert np.ptp(made.predict(X)) > 1000
        # Where every margin is large the loss is the exponential's, by its logarithm.
        right, wrong = (begun(LabelFeedback([0, 1]), p, s) for s in ([0, 2000.0], [2000.0, 0]))
        assert right.log_loss == pytest.approx(-2000.0 - math.log(math.log(2.0)))
        assert (right.scale * right.pi[:2]).tolist() == [-1.0, 1.0]
        assert math.exp(wrong.log_loss) == pytest.approx(2000.0 / math.log(2.0))


def test_labels_and_pairs_together_are_refused():
    for p, name in ((None, "the logistic loss"), (2, "the p-norm push")):
        with pytest.raises(DataError, match=f"{name} learns from labels or from pairs, not from S"):
            ranker_of(p, 2).fit_pairs([[1.0], [2.0]], [(1, 0)], y=[0, 1])
    with pytest.raises(DataError, match="RankBoost takes both together"):
        PNormLoss(2.0).begin(SumFeedback([LabelFeedback([0, 1])]), 1)


@pytest.mark.parametrize("p", [101, 1e308, math.inf, np.float32(1000)])
def test_a_p_beyond_all_measure_names_the_infinite_push(p):
    with pytest.raises(ParameterError, match="use InfinitePush"):
        PNormPush(p).fit([[1.0], [2.0]], [0, 1])

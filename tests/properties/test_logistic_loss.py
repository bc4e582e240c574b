"""The logistic loss over pairs: what the objective says is what its listed pairs say."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize_scalar

from crucial import Groups, LabelFeedback, LogisticRanker
from crucial.boosting.pair_losses import LogisticLoss
from crucial.boosting.steps import newton_root
from crucial.feedback.base import Potentials
from naive.own_losses import logistic_loss, logistic_weights
from naive.paths import PATHS, quiet, using
from naive.push import Logistic, NaiveDescent
from naive.sweep import holds_for
from naive.tables import GAINS, scores_of, tables, weightings, with_own_gain


@st.composite
def losses(draw, **shape):
    """Feedback on a table, its listed pairs, and scores."""
    table = draw(tables(max_features=1, **shape))
    how = draw(weightings(table))
    pairs = table.pairs(**with_own_gain(how))
    assume(len(pairs) > 0)
    scores = draw(scores_of(table, [0.0, 1.0, 3.0, 100.0]))
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight, **how), pairs, scores


def begun(feedback, scores):
    potentials = Potentials(LogisticLoss().begin(feedback, 2))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials


@holds_for(losses(), quick=30, full=5_000)
def test_potentials_are_those_of_the_listed_pairs(case):
    feedback, pairs, scores = case
    d, bend = (np.array(one) for one in logistic_weights(pairs, scores))
    n, rows = len(scores), feedback.rows
    expected = np.bincount(pairs.hi, d, n) - np.bincount(pairs.lo, d, n)
    curvature = np.bincount(pairs.hi, bend, n) + np.bincount(pairs.lo, bend, n)
    for path in PATHS:
        with using(path):
            found = begun(feedback, scores)
        pi = found.scale * found.pi[: len(rows)]
        np.testing.assert_allclose(pi, expected[rows] / d.sum(), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(
            found.scale * found.pairs.curvature, curvature[rows] / d.sum(), rtol=1e-8, atol=1e-12
        )
        assert found.log_loss == pytest.approx(
            math.log(logistic_loss(pairs, scores)), rel=1e-9, abs=1e-10
        )
        r1, _ = found.pairs.risks()
        assert r1 <= math.exp(found.log_loss) + 1e-12


def test_potentials_are_minus_the_gradient_and_curvature_the_second_derivative():
    random = np.random.default_rng(0)
    y, qid = random.integers(0, 3, 25), random.integers(0, 3, 25)
    feedback = LabelFeedback(y, Groups.from_qid(qid, 25), weight=random.uniform(0.5, 2, 25))
    rows = feedback.rows

    def ask(at):
        scores = np.zeros(25)
        scores[rows] = at
        return begun(feedback, scores)

    def slope(at):  # of the loss itself, in its own units
        found = ask(at)
        return -found.pi[: len(rows)] * unit

    at = random.normal(size=len(rows))
    # sum of w s at equal scores is half of the weight, and there the loss is 1
    unit = 1.0 / (2.0 * (1.0 / ask(np.zeros(len(rows))).scale) * math.log(2.0))
    assert check_grad(lambda x: math.exp(ask(x).log_loss), slope, at) < 1e-6
    for i in (0, 3, 7):
        step = np.zeros(len(rows))
        step[i] = 1e-5
        numeric = (slope(at + step)[i] - slope(at - step)[i]) / 2e-5
        assert ask(at).pairs.curvature[i] * unit == pytest.approx(numeric, rel=1e-6)


@holds_for(losses(), st.integers(0, 999), quick=15, full=2_000)
def test_the_loss_along_a_ranker(case, seed):
    feedback, pairs, scores = case
    assume(np.ptp(scores) <= 10)
    output = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.uint8)
    d = np.array(logistic_weights(pairs, scores)[0])
    margin = output[pairs.hi] * 1.0 - output[pairs.lo]
    for path in PATHS:
        with using(path):
            line = begun(feedback, scores).pairs.line(output[feedback.rows])
            right, wrong = line.weights()
            assert (right, wrong) == pytest.approx(
                (d[margin > 0].sum() / d.sum(), d[margin < 0].sum() / d.sum()), rel=1e-8, abs=1e-12
            )
            if min(right, wrong) < 1e-6:
                continue
            best = newton_root(line, 1e-10)
        value = lambda alpha: logistic_loss(pairs, scores + alpha * output)  # noqa: E731
        assert best == pytest.approx(
            minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12).x, abs=1e-5
        )


@holds_for(
    tables(max_rows=12), st.sampled_from(["pairs", "queries"]), st.sampled_from([None, "exp"]),
    quick=12, full=1_000,
)  # fmt: skip
def test_it_picks_what_a_search_over_all_pairs_picks(table, balance, gain):
    pairs = table.pairs(balance=balance, gain=GAINS[gain])
    raw = table.pairs(gain=GAINS[gain]).total
    naive = NaiveDescent(table.X, Logistic(pairs), 0.5, raw).run(6)
    assume(not naive.unclear)  # (its steps have ten digits: what is equal may differ then)
    for path in PATHS:
        with using(path), quiet():
            made = table.fit(
                LogisticRanker(6, 0.5, balance=balance, gain=gain, max_bins=None, n_jobs=1)
            )
        assert list(made.model_.rankers) == [ranker for ranker, _ in naive.rounds]
        np.testing.assert_allclose(
            made.model_.weights, [alpha for _, alpha in naive.rounds], rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(made.trace_.column("log_loss"), naive.values, atol=1e-6)


@holds_for(tables(), st.sampled_from(["bound", "exact"]), quick=15, full=1_000)
def test_the_loss_never_rises(table, step):
    """The bound step too: ln(1 + s(e^-a - 1)) lies under s(e^-a - 1) (Collins et al. 2002)."""
    with quiet():
        made = table.fit(LogisticRanker(10, 1.0, step=step, n_jobs=1))
    assert (made.trace_.column("z") <= 1 + 1e-12).all()

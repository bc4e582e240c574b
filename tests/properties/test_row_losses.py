"""Losses over labels: their states say what the definitions say, for queries in any order."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from crucial.boosting.loop import ExponentialLoss
from crucial.boosting.row_losses import LambdaLoss, QuerySquares, SoftmaxLoss, XENDCGLoss, YetiLoss
from crucial.data import Groups
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.feedback.base import Potentials
from crucial.feedback.pairs import SumFeedback
from naive import top_losses as naive
from naive.pairs import from_list
from naive.paths import PATHS, using
from naive.sweep import holds_for
from naive.tables import tables

pytestmark = pytest.mark.kernels

EXP = {None: lambda y: y, "linear": lambda y: y, "exp": lambda y: 2.0**y - 1.0}

LOSSES = {
    "squares": QuerySquares(),
    "squares of gains": QuerySquares("exp"),
    "softmax": SoftmaxLoss(),
    "softmax of gains": SoftmaxLoss("linear"),
}


@st.composite
def problems(draw, weighted=None):
    """A table whose queries weigh something, with scores."""
    table = draw(tables(max_features=1, labels=(0, 1, 2, 3), weighted=weighted))
    spread = draw(st.sampled_from([0.0, 1.0, 30.0]))
    score = st.sampled_from([-1.0, 0.0, 0.25, 1.0]).map(lambda s: s * spread)
    scores = np.array(draw(st.lists(score, min_size=table.n_rows, max_size=table.n_rows)))
    queries = np.unique(table.qid).tolist()
    weights = {q: draw(st.sampled_from([1.0, 0.5, 4.0])) for q in queries}
    return table, scores, weights


def begun(loss, table, scores, query_weight=None, balance="pairs", threads=2):
    """Potentials and the rows they are of, in the order of the table."""
    feedback = LabelFeedback(
        table.y,
        Groups.from_qid(table.qid, table.n_rows),
        weight=table.weight,
        query_weight=query_weight,
        balance=balance,
    )
    potentials = Potentials(loss.begin(feedback, threads))
    potentials.pairs.advance(np.asarray(scores)[feedback.rows], 1.0)
    potentials.renew()
    return potentials, feedback


def by_row(potentials, feedback):
    """Potentials and curvature of every row of the table; 0 for rows without a pair."""
    out = np.zeros((2, feedback.n_rows))
    out[0, feedback.rows] = potentials.pi[: len(feedback.rows)]
    out[1, feedback.rows] = potentials.pairs.curvature
    return out


def usable(table):
    """Rows of every query that has rows of different labels, by rising label."""
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for q in np.unique(table.qid):
        rows = [i for i in np.flatnonzero(table.qid == q) if weight[i] > 0]
        if len({table.y[i] for i in rows}) > 1:
            yield q, np.array(sorted(rows, key=lambda i: (table.y[i], i))), weight


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_with_a_value_agree_with_it_and_its_slope(name, path):
    """By the kernels squares and cross_entropy."""
    loss = LOSSES[name]

    @holds_for(problems(), st.sampled_from(["pairs", "queries"]), quick=12, full=1_000)
    def check(case, balance):
        table, scores, weights = case
        whole, first = 0.0, 0.0
        slope = np.zeros(table.n_rows)
        for q, rows, weight in usable(table):
            y, u, s = table.y[rows], weight[rows], scores[rows]
            c = weights[q.item()] / max(weights.values())
            if name.startswith("squares"):
                c /= u.sum() if balance == "queries" else 1.0
                target = EXP[loss.gain](y)
                value = naive.squares
            else:
                target = np.exp(y) if loss.gain is None else y - y.min()
                target = target * u / (target * u).sum()
                value = naive.divergence
            whole += c * value(s, target, u)
            first += c * value(np.zeros(len(s)), target, u)
            for at, row in enumerate(rows):
                step = np.zeros(len(rows))
                step[at] = 1e-6
                slope[row] = c * (value(s + step, target, u) - value(s - step, target, u)) / 2e-6
        with using(path):
            potentials, feedback = begun(loss, table, scores, weights, balance)
        heaviest = max(weights[q.item()] for q, *_ in usable(table)) / max(weights.values())
        assume(heaviest == 1.0)  # (weights count relative to the heaviest query with a pair)
        pi, curvature = by_row(potentials, feedback)
        np.testing.assert_allclose(-pi, slope, rtol=1e-5, atol=1e-6)
        assert potentials.log_loss == pytest.approx(
            math.log(max(whole / first, 1e-16)), rel=1e-6, abs=1e-6
        )
        assert (curvature >= 0).all()
        assert np.abs(potentials.scale * pi).sum() == pytest.approx(2.0 if pi.any() else 0.0)

    check()


@holds_for(problems(), quick=15, full=1_000)
def test_xendcg_draws_noise_by_round_query_and_row(case):
    """By the kernel xendcg; a row of weight 2 is two rows with the same noise."""
    table, scores, _ = case
    whole = table.changed(weight=np.arange(table.n_rows) % 2 + 1.0)
    assume(any(True for _ in usable(whole)))
    for path in PATHS:
        with using(path):
            found = by_row(*begun(XENDCGLoss(3), whole, scores))
        for rows, key, weight in keyed(whole):
            noise = np.array([naive.uniform_at(key, i) for i in range(len(rows))])
            copies = weight.astype(int)
            twice = np.repeat(np.arange(len(rows)), copies)
            worth = np.exp2(table.y[rows]) - noise
            gradient, bend = naive.xendcg_gradient(scores[rows][twice], worth[twice])
            first = np.cumsum(copies) - copies
            expected = copies * np.array([-gradient[first], bend[first]])
            np.testing.assert_allclose(found[:, rows], expected, rtol=1e-8, atol=1e-9)


def keyed(table):
    """Rows of every usable query, the key of its noise in the first round, and their weights."""
    ids = np.unique(table.qid).tolist()
    for q, rows, weight in usable(table):
        yield rows, naive.query_key(3, 1, ids.index(q)), weight[rows]


measured = st.sampled_from([("ndcg", None), ("ndcg", 1), ("ndcg", 3), ("map", None), ("mrr", None)])
at_the_top = st.builds(
    lambda measure, *how: LambdaLoss(*measure, *how),
    measured, st.sampled_from([1, 2, 5, 100]), st.sampled_from([0.5, 1.0, 2.0]), st.booleans(),
) | st.sampled_from([0.5, 0.99, 1.0]).map(lambda decay: YetiLoss(4, decay, seed=3))  # fmt: skip


@holds_for(problems(), at_the_top, quick=40, full=3_000)
def test_pairs_of_the_top_are_those_of_the_definition(case, loss):
    """What a swap changes, by lambda_sums; noisy neighbours, by yeti_sums."""
    table, scores, weights = case
    expected = np.zeros((2, table.n_rows))
    heaviest = max((weights[q.item()] for q, *_ in usable(table)))
    assume(heaviest == max(weights.values()))
    for rows, key, weight in keyed(table):
        y, s = table.y[rows], scores[rows]
        if isinstance(loss, YetiLoss):
            won = naive.yeti_pairs(s, y, weight, key, 4, loss.decay)[:2]
        else:
            worth = 2.0**y - 1.0 if loss.measure == "ndcg" else (y > 0).astype(float)
            change = naive.measure_of(loss.measure, loss.k, loss.truncation)
            how = (loss.truncation, loss.sigmoid, loss.normalise)
            won = naive.lambda_pairs(s, worth, weight, change, *how)
        expected[:, rows] = weights[table.qid[rows[0]].item()] / heaviest * np.array(won)
    assume(expected.any())
    for path in PATHS:
        with using(path):
            found = by_row(*begun(loss, table, scores, weights))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)


@holds_for(
    problems(), st.sampled_from(["pairs", "queries"]), st.sampled_from([None, "linear", "exp"]),
    quick=20, full=2_000,
)  # fmt: skip
def test_curvature_of_the_exponential_loss_over_labels(case, balance, gain):
    table, scores, weights = case
    pairs = table.pairs(balance=balance, gain=None if gain is None else EXP[gain])
    factor = np.array([weights[q] for q in table.qid[pairs.hi].tolist()])
    logs = scores[pairs.lo] - scores[pairs.hi]
    d = np.array(pairs.weight) * factor * np.exp(logs - logs.max())
    expected = np.bincount(pairs.hi, d, table.n_rows) + np.bincount(pairs.lo, d, table.n_rows)
    feedback = LabelFeedback(
        table.y, Groups.from_qid(table.qid, table.n_rows),
        weight=table.weight, balance=balance, gain=gain, query_weight=weights,
    )  # fmt: skip
    for path in PATHS:
        with using(path):
            potentials = Potentials(ExponentialLoss().begin(feedback, 2))
            potentials.pairs.advance(scores[feedback.rows], 1.0)
            potentials.renew()
            found = potentials.scale * potentials.pairs.curvature
        np.testing.assert_allclose(found, expected[feedback.rows] / d.sum(), rtol=1e-7, atol=1e-12)


def test_curvature_of_the_exponential_loss_over_pairs_and_sums():
    random = np.random.default_rng(1)
    pairs = [(a, b) for a, b in random.integers(0, 9, (30, 2)).tolist() if a != b]
    listed = from_list(pairs, 9, [1.0] * len(pairs))
    scores = random.normal(size=9)
    y = random.integers(0, 3, 9)

    def curvature(feedback):
        potentials = Potentials(ExponentialLoss().begin(feedback, 1))
        potentials.pairs.advance(scores[feedback.rows], 1.0)
        potentials.renew()
        out = np.zeros(9)
        out[feedback.rows] = potentials.scale * potentials.pairs.curvature
        return out, math.exp(potentials.log_loss)

    d = np.array(listed.weight) * np.exp(scores[listed.lo] - scores[listed.hi])
    expected = np.bincount(listed.hi, d, 9) + np.bincount(listed.lo, d, 9)
    explicit, labels = PairFeedback(pairs, 9), LabelFeedback(y)
    one, first = curvature(explicit)
    np.testing.assert_allclose(one, expected / d.sum(), rtol=1e-12)
    # A sum of both: every part by its share of the loss.
    two, second = curvature(labels)
    share = np.array([explicit.total * first, labels.total * second])
    share /= share.sum()
    both, _ = curvature(SumFeedback([explicit, labels]))
    np.testing.assert_allclose(both, share[0] * one + share[1] * two, rtol=1e-10)


def test_curvature_of_scores_that_overflow():
    feedback = LabelFeedback([0.0, 1.0, 2.0])
    potentials = Potentials(ExponentialLoss().begin(feedback, 1))
    potentials.pairs.advance(np.array([0.0, 900.0, 1799.0]), 1.0)
    potentials.renew()
    # Of the margins 900, 899 and 1799 the middle one has all the weight but e^-1.
    share = math.exp(-1.0) / (1.0 + math.exp(-1.0))
    np.testing.assert_allclose(
        potentials.scale * potentials.pairs.curvature, [share, 1.0, 1.0 - share], rtol=1e-9
    )

"""AdaBoostRanker agrees with a plain AdaBoost, and is invariant where it should be."""

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.errors import NotSeparableWarning
from crucial.feedback import LabelFeedback
from crucial.feedback.classes import BipartiteState
from crucial.inspection import class_margins
from crucial.rankers import AdaBoostRanker
from naive.adaboost import NaiveAdaBoost
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import tables

ROUNDS = 12

two_classes = tables(max_rows=16, max_queries=1, labels=(0, 1))
few_rows = tables(max_rows=8, max_queries=1, labels=(0, 1), values=10)
rates = st.sampled_from([1.0, 0.3])


def ones(table):
    return np.ones(table.n_rows) if table.weight is None else table.weight


def fitted(table, rounds=ROUNDS, **more):
    settings = {"learning_rate": 1.0, "max_bins": None, "n_jobs": 1} | more
    ranker = AdaBoostRanker(rounds, **settings)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        return ranker.fit(table.X, table.y, sample_weight=table.weight)


@pytest.mark.kernels
@holds_for(
    two_classes, rates, st.sampled_from(["learned", 0, 1]), st.sampled_from(["smooth", "stop"]),
    quick=60, full=1_500,
)  # fmt: skip
def test_rounds(table, rate, default_rank, on_perfect):
    naive = NaiveAdaBoost(table.X, 2 * table.y - 1, ones(table), rate, default_rank, on_perfect)
    naive.run(ROUNDS)
    for path in PATHS:
        with using(path):
            found = fitted(
                table, learning_rate=rate, default_rank=default_rank, on_perfect=on_perfect
            )
        assert list(found.model_.rankers) == [ranker for ranker, _ in naive.rounds]
        np.testing.assert_allclose(
            found.model_.weights, [a for _, a in naive.rounds], rtol=1e-8, atol=1e-12
        )
        for column, expected in (("loss", naive.losses), ("f_skew", naive.skews)):
            np.testing.assert_allclose(found.trace_.column(column), expected, rtol=1e-8, atol=1e-11)
        if len(naive.rounds) < ROUNDS:
            assert found.trace_.stopped == naive.stopped


@pytest.mark.kernels
@holds_for(two_classes, st.data(), quick=40, full=400)
def test_the_state_answers_what_its_rows_say(table, data):
    """Weights, moments and wrong weights from scratch, near 0 and far beyond the floats."""
    feedback = LabelFeedback(table.y, weight=table.weight)
    n, bad = len(feedback.rows), feedback.two_classes()[2]
    sign = np.where(np.arange(n) < bad, -1.0, 1.0)
    weight = np.ones(n) if feedback.weight is None else feedback.weight
    codes = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.uint8)
    scale = data.draw(st.sampled_from([0.5, 40.0, 400.0]))
    steps = data.draw(st.lists(st.tuples(st.integers(0, 3), st.floats(-1, 1)), max_size=4))
    real = data.draw(st.booleans())
    for path in PATHS:
        with using(path):
            state = BipartiteState(feedback)
            scores = np.zeros(n)
            state.potentials(np.zeros(n + 8))
            for k, alpha in steps:
                vote = (codes >= k).astype(np.uint8)
                output = vote / 2 if real else vote
                state.advance(output, scale * alpha)
                scores += scale * alpha * (output if real else 2.0 * vote - 1.0)
                pi = np.zeros(n + 8)
                factor, log_loss = state.potentials(pi)
            np.testing.assert_allclose(state.scores, scores, atol=1e-9)
            if not steps:
                continue
            exponent = np.log(weight) - sign * scores
            d = np.exp(exponent - exponent.max())
            total = np.log(d.sum()) + exponent.max() - np.log(weight.sum())
            d /= d.sum()
            assert log_loss == pytest.approx(total, rel=1e-9, abs=1e-9)
            np.testing.assert_allclose(factor * pi[:n], sign * d, rtol=1e-7, atol=1e-12)
            assert state.net == pytest.approx((sign * d).sum(), abs=1e-9)
            vote = (codes >= 2).astype(np.uint8)
            right = d[(vote == 1) == (sign > 0)].sum()
            assert state.binary_weights(vote) == pytest.approx((right, 1 - right), abs=1e-9)
            h = codes / 3.0
            moments = ((d * sign * h).sum(), (d * h * h).sum())
            assert state.moments(h) == pytest.approx(moments, abs=1e-9)
            for rank in (0, 1):
                out = np.zeros(4)  # (code 3 is an abstention)
                state.wrong_weights(codes, 3, rank, out)
                for k in range(4):
                    vote = np.where(codes == 3, rank, codes >= k)
                    assert out[k] == pytest.approx(d[(vote == 1) != (sign > 0)].sum(), abs=1e-9)
            assert state.risks() == pytest.approx(
                (feedback.r1(_spread(feedback, scores)), feedback.r2(_spread(feedback, scores)))
            )
            fork = state.copy()
            fork.advance(vote.astype(np.uint8), 1.0)
            np.testing.assert_allclose(state.scores, scores, atol=1e-9)


def _spread(feedback, scores):
    whole = np.zeros(feedback.n_rows)
    whole[feedback.rows] = scores
    return whole


# -- coordinate ascent boosting and its approximation


@holds_for(
    few_rows, st.sampled_from([1.0, 0.5]), st.sampled_from(["smooth", "line_search"]),
    quick=60, full=1_500,
)  # fmt: skip
def test_rounds_of_smooth_margins(table, rate, step):
    naive = NaiveAdaBoost(table.X, 2 * table.y - 1, ones(table), rate, step=step).run(25)
    # A line search is as exact as its optimum is flat; ties are then a matter of luck.
    loose = 1e-8 if step == "smooth" else 2e-4
    for path in PATHS:
        with using(path):
            found = fitted(table, 25, learning_rate=rate, step=step)
        same = len(naive.rounds) if step == "smooth" else first_ascent(naive) + 1
        rankers = [ranker for ranker, _ in naive.rounds]
        assert list(found.model_.rankers)[:same] == rankers[:same]
        np.testing.assert_allclose(
            found.model_.weights[:same], [a for _, a in naive.rounds][:same], rtol=loose, atol=loose
        )
        for column, expected in (
            ("smooth_margin", naive.smooth_margins),
            ("margin", naive.margins),
        ):
            np.testing.assert_allclose(
                found.trace_.column(column)[:same], expected[:same], rtol=loose, atol=loose
            )


def first_ascent(naive):
    above = [n for n, g in enumerate(naive.smooth_margins, 1) if g > 0]
    return above[0] if above else len(naive.rounds) - 1


@holds_for(few_rows, quick=40, full=400)
def test_class_margins_are_those_of_a_sum_over_rows(table):
    booster = fitted(table, 25)
    if not len(booster.trace_):
        return
    live = np.flatnonzero(ones(table) > 0)
    X, y = table.X[live], table.y[live]
    signs = 2 * y - 1
    total = {}
    for ranker, weight in zip(booster.model_.rankers, booster.model_.weights):
        total[ranker] = total.get(ranker, 0.0) + weight
    norm = sum(map(abs, total.values()))
    if norm < 1e-9:
        return
    expected = np.sort(signs * booster.predict(X) / norm)
    found = class_margins(booster, X, y)
    assert found.n_pairs == len(X)
    np.testing.assert_allclose(found.minimum, expected[0], atol=1e-12)
    np.testing.assert_allclose(found.maximum, expected[-1], atol=1e-12)
    np.testing.assert_allclose(found.norm, norm)
    assert abs(found.at_most(0.1) - np.mean(expected <= 0.1)) < 1e-12

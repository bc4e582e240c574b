"""Feedback answers what its listed pairs answer: labels, explicit pairs, and sums of both."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from crucial.data import Groups
from crucial.errors import DataError
from crucial.feedback import LabelFeedback, PairFeedback, SumFeedback
from naive.pairs import from_list
from naive.paths import PATHS, using
from naive.sweep import holds_for
from naive.tables import GAINS, scores_of, tables, weightings, with_own_gain

pytestmark = pytest.mark.kernels


@st.composite
def cases(draw, spreads=(0.0, 1.0, 3.0, 300.0, 5000.0), **shape):
    table = draw(tables(max_features=1, **shape))
    how = draw(weightings(table))
    pairs = table.pairs(**with_own_gain(how))
    assume(len(pairs) > 0)
    return table, how, pairs, draw(scores_of(table, spreads))


@st.composite
def pair_lists(draw, n_rows=None):
    n = draw(st.integers(2, 8)) if n_rows is None else n_rows
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, min_size=1, max_size=12))
    many = {"min_size": len(pairs), "max_size": len(pairs)}
    weight = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5]), **many))
    scores = draw(st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0]), min_size=n, max_size=n))
    return pairs, weight, n, np.array(scores)


def feedback_of(table, how):
    groups = Groups.from_qid(table.qid, table.n_rows)
    return LabelFeedback(table.y, groups, weight=table.weight, **how)


def check(make, pairs, scores, data):
    """Ask everything; NumPy and the compiled kernels, in two ranges, answer with the same bytes.

    The kernels are potentials, log_halves, binary_weights, moments, misordered and advance_binary.
    """
    n, reach = pairs.n_rows, max(1.0, float(np.ptp(scores)))
    slack = 1e-13 if reach < 10 else 1e-12

    def column(cell, kind=float):
        return np.array(data.draw(st.lists(cell, min_size=n, max_size=n)), kind)

    binary, real = column(st.integers(0, 1), np.uint8), column(st.floats(0, 1))
    n_bins, alpha = data.draw(st.sampled_from([1, 2, 3, 6, 255])), data.draw(st.floats(-2, 2))
    top = data.draw(st.integers(n_bins - 1, n_bins))  # (with or without abstentions)
    codes = column(st.integers(0, top), data.draw(st.sampled_from([np.uint8, np.uint16])))
    answers = []
    for path in PATHS:
        with using(path):
            feedback = make()
            rows = feedback.rows
            pi = np.zeros(-(-len(rows) // 8) * 8)
            assert feedback.log_loss(scores) == pytest.approx(
                pairs.log_loss(scores), rel=1e-13, abs=2e-15 * reach
            )
            found = feedback.potentials(scores)
            np.testing.assert_allclose(found, pairs.potentials(scores), atol=4e-15 * reach)
            risks = feedback.r1(scores), feedback.r2(scores)
            assert risks == pytest.approx(pairs.risks(scores), abs=1e-13)
            assert (
                0.0 <= risks[1] <= risks[0] <= 1.0 + (isinstance(feedback, SumFeedback) and 1e-15)
            )
            assert feedback.loss(np.zeros(n)) == pytest.approx(1.0, abs=1e-14)
            state = feedback.state(threads=2)
            state.advance(scores[rows], 1.0)
            answers.append([state.potentials(pi), pi.tobytes()])
            if reach > 650:  # (weights of a ranker are approximate there)
                continue
            z = math.exp(pairs.log_loss(scores + alpha * real) - pairs.log_loss(scores))
            assert feedback.z(scores, real, alpha) == pytest.approx(z, rel=1e-11)
            weights = state.binary_weights(binary[rows])
            assert weights == pytest.approx(pairs.split(scores, binary)[:2], abs=slack)
            moments = pairs.moments(scores, real)
            assert state.moments(real[rows]) == pytest.approx(moments, abs=slack)
            padded = np.resize(codes[rows], len(pi))
            state.prepare_scan()
            for rank in (0, 1):
                wrong = np.full(n_bins + 1, np.nan)
                state.wrong_weights(padded, n_bins, rank, wrong)
                sides = [np.where(codes == n_bins, rank, codes >= k) for k in range(n_bins + 1)]
                expected = [pairs.split(scores, one)[1] for one in sides]
                np.testing.assert_allclose(wrong, expected, rtol=0, atol=slack)
                assert (wrong >= 0).all()
            state.advance(binary[rows], alpha)
            scale, log_loss = state.potentials(pi)
            moved = scores + alpha * binary
            assert log_loss == pytest.approx(pairs.log_loss(moved), abs=slack)
            expected = pairs.potentials(moved)[rows]
            np.testing.assert_allclose(scale * pi[: len(rows)], expected, atol=slack)
            answers[-1] += [weights, log_loss, pi.tobytes()]
    assert answers[0] == answers[1]


@holds_for(cases(), st.data(), quick=60, full=3_000)
def test_labels(case, data):
    table, how, pairs, scores = case
    check(lambda: feedback_of(table, how), pairs, scores, data)


@holds_for(cases(max_queries=2, max_rows=20, labels=range(14)), st.data(), quick=30, full=3_000)
def test_many_levels(case, data):
    table, how, pairs, scores = case
    check(lambda: feedback_of(table, how), pairs, scores, data)


@holds_for(pair_lists(), st.sampled_from(["keep", "net"]), st.data(), quick=60, full=3_000)
def test_explicit_pairs(drawn, contradictions, data):
    pairs, weight, n, scores = drawn
    listed = from_list(pairs, n, weight, contradictions)
    if not len(listed):
        with pytest.raises(DataError, match=r"zero|No comparable pair"):
            PairFeedback(pairs, n, weight=weight, contradictions=contradictions)
        return
    feedback = PairFeedback(pairs, n, weight=weight, contradictions=contradictions)
    assert feedback.n_pairs == len(listed)
    assert feedback.total == pytest.approx(listed.total)
    assert feedback.rows.tolist() == sorted({*listed.lo, *listed.hi})
    check(lambda: feedback, listed, scores, data)


@holds_for(cases(spreads=(0.0, 1.0)), st.data(), quick=40, full=1_000)
def test_sums_of_feedbacks_are_all_their_pairs_together(case, data):
    table, how, _, scores = case
    how, labels = {"gain": how["gain"]}, table.pairs(gain=GAINS[how["gain"]])
    pairs, weight, _, _ = data.draw(pair_lists(table.n_rows))
    assume(sum(weight) > 0)
    explicit = from_list(pairs, table.n_rows, weight)
    shares = data.draw(st.sampled_from([None, [1.0, 1.0], [0.2, 0.7]]))
    listed = labels + explicit
    if shares is not None:
        listed = labels.times(shares[0] / labels.total) + explicit.times(shares[1] / explicit.total)
    parts = [feedback_of(table, how), PairFeedback(pairs, table.n_rows, weight=weight)]
    factors = shares and [share / part.total for share, part in zip(shares, parts)]
    feedback = SumFeedback(parts, factors)
    assert feedback.n_pairs == parts[0].n_pairs + parts[1].n_pairs
    assert feedback.total == pytest.approx(listed.total)
    check(lambda: SumFeedback(parts, factors), listed, scores, data)


@holds_for(cases(), quick=40, full=1_000)
def test_counts(case):
    table, how, pairs, _ = case
    feedback = feedback_of(table, how)
    assert feedback.n_pairs == len(pairs)
    plain = table.pairs(gain=GAINS[how["gain"]])
    counted = how.get("query_weight")
    raw = [
        w
        for a, w in zip(plain.lo, plain.weight)
        if counted is None or counted[table.qid[a].item()] > 0
    ]
    assert feedback.total == pytest.approx(math.fsum(raw), rel=1e-13)
    used = {table.qid[a].item() for a in pairs.lo}
    assert feedback.n_queries == len(used)
    assert feedback.n_skipped == len(np.unique(table.qid)) - len(used)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    counting = np.isin(table.qid, list(used)) & (weight > 0)
    assert sorted(feedback.rows.tolist()) == np.flatnonzero(counting).tolist()


@holds_for(pair_lists(), st.integers(0, 99), quick=20, full=1_000)
def test_draws_count_the_drawn_pairs_only(drawn, seed):
    pairs, weight, n, scores = drawn
    listed = from_list(pairs, n, weight)
    assume(len(listed) > 0)
    feedback = PairFeedback(pairs, n, weight=weight)
    state = feedback.state()
    state.advance(scores[feedback.rows], 1.0)
    state.subsample(0.5, np.random.default_rng(seed))
    pi = np.zeros(8)
    scale, log_loss = state.potentials(pi)
    assert log_loss == pytest.approx(listed.log_loss(scores), abs=1e-12)
    assert scale * np.abs(pi).sum() <= 2 + 1e-12
    fork = state.copy()
    moved = np.zeros(8)
    fork_scale, _ = fork.potentials(moved)
    np.testing.assert_allclose(fork_scale * moved, scale * pi, atol=1e-13)
    fork.advance(np.linspace(0, 1, len(feedback.rows)), 5.0)
    again = np.zeros(8)
    state.potentials(again)
    assert again.tobytes() == pi.tobytes()

"""Explicit pairs, and sums of feedbacks, answer what their listed pairs answer."""

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from crucial import Groups, LabelFeedback, PairFeedback, SumFeedback
from crucial.errors import DataError
from naive.pairs import from_list
from naive.paths import PATHS, using
from naive.sweep import holds_for
from naive.tables import tables


@st.composite
def pair_lists(draw, n_rows=None):
    n = draw(st.integers(2, 8)) if n_rows is None else n_rows
    row = st.integers(0, n - 1)
    pairs = draw(
        st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), min_size=1, max_size=12)
    )
    weight = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5]), min_size=len(pairs), max_size=len(pairs))
    )
    scores = draw(st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0]), min_size=n, max_size=n))
    return pairs, weight, n, np.array(scores)


def check(feedback, pairs, scores, data):
    """Every question of a feedback against the listed pairs."""
    assert feedback.log_loss(scores) == pytest.approx(pairs.log_loss(scores), abs=1e-12)
    np.testing.assert_allclose(
        feedback.potentials(scores), pairs.potentials(scores), rtol=0, atol=1e-13
    )
    assert (feedback.r1(scores), feedback.r2(scores)) == pytest.approx(
        pairs.risks(scores), abs=1e-13
    )
    n = feedback.n_rows
    binary = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint8)
    real = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    n_bins = 3
    codes = np.zeros(-(-n // 8) * 8, np.uint8)
    codes[:n] = data.draw(st.lists(st.integers(0, n_bins), min_size=n, max_size=n))
    rows = feedback.rows
    state = feedback.state()
    state.advance(scores[rows], 1.0)
    state.potentials(np.zeros(-(-len(rows) // 8) * 8))
    assert state.binary_weights(binary[rows]) == pytest.approx(
        pairs.split(scores, binary)[:2], abs=1e-13
    )
    assert state.moments(real[rows]) == pytest.approx(pairs.moments(scores, real), abs=1e-13)
    for missing_rank in (0, 1):
        found = np.full(n_bins + 1, np.nan)
        state.prepare_scan()
        state.wrong_weights(np.resize(codes[rows], len(codes)), n_bins, missing_rank, found)
        for k in range(n_bins + 1):
            one = np.where(codes[:n] == n_bins, missing_rank, codes[:n] >= k)
            assert found[k] == pytest.approx(pairs.split(scores, one)[1], abs=1e-13)


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
    check(feedback, listed, scores, data)


@holds_for(tables(max_features=1), st.data(), quick=40, full=1_000)
def test_sums_of_feedbacks_are_all_their_pairs_together(table, data):
    pairs, weight, _, _ = data.draw(pair_lists(table.n_rows))
    assume(sum(weight) > 0)
    scores = np.array(
        data.draw(
            st.lists(
                st.sampled_from([-1.0, 0.0, 0.5]), min_size=table.n_rows, max_size=table.n_rows
            )
        )
    )
    explicit = from_list(pairs, table.n_rows, weight)
    groups = Groups.from_qid(table.qid, table.n_rows)
    shares = data.draw(st.sampled_from([None, [1.0, 1.0], [0.2, 0.7]]))
    labels = table.pairs()
    listed = labels + explicit
    if shares is not None:
        listed = labels.times(shares[0] / labels.total) + explicit.times(shares[1] / explicit.total)
    for path in PATHS:
        with using(path):
            parts = [
                LabelFeedback(table.y, groups, weight=table.weight),
                PairFeedback(pairs, table.n_rows, weight=weight),
            ]
            feedback = SumFeedback(parts, shares)
            assert feedback.n_pairs == parts[0].n_pairs + parts[1].n_pairs
            assert feedback.total == pytest.approx(labels.total + explicit.total)
            check(feedback, listed, scores, data)


@holds_for(pair_lists(), st.integers(0, 99), quick=20, full=1_000)
def test_draws_count_the_drawn_pairs_only(drawn, seed):
    pairs, weight, n, scores = drawn
    listed = from_list(pairs, n, weight)
    assume(len(listed) > 0)
    feedback = PairFeedback(pairs, n, weight=weight)
    state = feedback.state()
    state.advance(scores[feedback.rows], 1.0)
    state.draw(0.5, np.random.default_rng(seed))
    pi = np.zeros(8)
    scale, log_loss = state.potentials(pi)
    assert log_loss == pytest.approx(listed.log_loss(scores), abs=1e-12)
    assert scale * np.abs(pi).sum() <= 2 + 1e-12
    fork = state.fork()
    moved = np.zeros(8)
    fork_scale, _ = fork.potentials(moved)
    np.testing.assert_allclose(fork_scale * moved, scale * pi, atol=1e-13)
    fork.advance(np.linspace(0, 1, len(feedback.rows)), 5.0)
    again = np.zeros(8)
    state.potentials(again)
    assert again.tobytes() == pi.tobytes()

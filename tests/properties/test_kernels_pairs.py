"""Kernels that sum over pairs without listing them: NumPy, Numba and all pairs listed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.feedback.base import LabelledRows
from crucial.feedback.labels import LabelState
from crucial.kernels.compiled import pairs as compiled
from crucial.kernels.plain import pairs as plain
from naive.labelled import labelled
from naive.paths import PATHS, using
from naive.sweep import holds_for

pytestmark = pytest.mark.kernels

REACH = {"quick": 40, "full": 10_000}


def cuts(problem, pieces):
    """Ranges of queries, as threads would get them."""
    marks = np.linspace(0, problem.n_queries, pieces + 1).astype(int).tolist()
    return [(a, b) for a, b in itertools.pairwise(marks) if a < b]


def raw(problem, query=None):
    """(lo, hi, weight times exponentials) of the pairs, not normalised."""
    pairs = problem.pairs_of(query)
    return [
        (a, b, w * math.exp(problem.scores[a] - problem.scores[b]))
        for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight)
    ]


def plain_potentials(problem):
    lay = problem.layout
    pi, loss = np.full(len(problem.up), np.nan), np.full(problem.n_queries, np.nan)
    plain.potentials(problem.up, problem.down, problem.gap, problem.coefficient, lay, pi, loss)
    return pi, loss


def compiled_potentials(problem, pieces=2):
    lay = problem.layout
    pi, loss = np.zeros(len(problem.up)), np.full(problem.n_queries, np.nan)
    for a, b in cuts(problem, pieces):
        compiled.potentials(
            problem.up, problem.down, problem.gap, problem.coefficient, lay.arrays, a, b, pi, loss
        )
    return pi, loss


@holds_for(labelled(), **REACH)
def test_potentials_equal_a_sum_over_all_pairs(problem):
    pi, loss = plain_potentials(problem)
    for q in range(problem.n_queries):
        listed = math.fsum(d for *_, d in raw(problem, q))
        assert loss[q] == pytest.approx(listed, rel=1e-12)
    expected = np.zeros(problem.n)
    total = 0.0
    for a, b, d in raw(problem):
        expected[a] -= d
        expected[b] += d
        total += d
    np.testing.assert_allclose(pi[: problem.n], expected, rtol=0, atol=1e-12 * total)
    assert not pi[problem.n :].any()


@holds_for(labelled() | labelled(max_queries=1, max_levels=20), st.integers(1, 4), **REACH)
def test_potentials_have_the_same_bytes_in_numpy_and_numba(problem, pieces):
    pi, loss = plain_potentials(problem)
    again_pi, again_loss = compiled_potentials(problem, pieces)
    assert pi.tobytes() == again_pi.tobytes()
    assert loss.tobytes() == again_loss.tobytes()


@holds_for(
    st.sampled_from([1.0, 30.0, 700.0, 5000.0]).flatmap(lambda s: labelled(spread=s)), **REACH
)
def test_log_potentials_stand_any_range_of_scores(problem):
    lay, n = problem.layout, problem.n
    log_weight = np.log(problem.weight)
    with np.errstate(divide="ignore"):
        log_gap = np.log(problem.gap)
    inputs = (problem.scores, log_weight, log_gap)
    halves = np.empty(n), np.empty(n), np.empty(problem.n_queries)
    plain.log_halves(*inputs, lay, *halves)
    again = np.empty(n), np.empty(n), np.empty(problem.n_queries)
    for a, b in cuts(problem, 2):
        compiled.log_halves(*inputs, lay.arrays, a, b, *again)
    for one, two in zip(halves, again):
        assert one.tobytes() == two.tobytes()
    log_loss = halves[2]
    # Logarithms of weights are added to scores: 1e-16 times the size of either is lost.
    reach = max(float(np.ptp(problem.scores)), float(np.abs(problem.scores).max())) + 10.0
    for q in range(problem.n_queries):
        logs = problem.pairs_of(q).logs(problem.scores)
        listed = max(logs) + math.log(math.fsum(math.exp(one - max(logs)) for one in logs))
        assert abs(log_loss[q] - listed) <= 8e-16 * reach
    expected = np.zeros(n)
    everything = problem.pairs_of(None)
    top = float(log_loss.max())
    total = 0.0
    for a, b, one in zip(everything.lo, everything.hi, everything.logs(problem.scores)):
        expected[a] -= math.exp(one - top)
        expected[b] += math.exp(one - top)
        total += math.exp(one - top)
    slack = 4e-15 * reach * total
    factor = problem.coefficient[problem.query]
    both = factor * (np.exp(halves[0] - top) - np.exp(halves[1] - top))
    np.testing.assert_allclose(both, expected, rtol=0, atol=slack)


@holds_for(labelled() | labelled(max_queries=1, max_levels=20), **REACH)
def test_curvature_is_the_weight_of_all_pairs_of_a_row(problem):
    pairs = problem.pairs_of(None)
    weight = np.array(pairs.weight) / (problem.weight[pairs.lo] * problem.weight[pairs.hi])
    d = weight * problem.up[pairs.lo] * problem.down[pairs.hi]
    expected = np.bincount(pairs.hi, d, problem.n) + np.bincount(pairs.lo, d, problem.n)
    inputs = (problem.up, problem.down, problem.gap, problem.coefficient)
    out = np.empty(problem.n)
    for a, b in cuts(problem, 2):
        compiled.curvature(*inputs, problem.layout.arrays, a, b, out)
    np.testing.assert_allclose(out, expected, rtol=1e-11)


def outputs(problem):
    return st.lists(st.integers(0, 1), min_size=problem.n, max_size=problem.n).map(
        lambda bits: np.array(bits, np.uint8)
    )


with_output = labelled().flatmap(lambda p: st.tuples(st.just(p), outputs(p)))


@holds_for(with_output, **REACH)
def test_weights_of_a_binary_ranker(drawn):
    problem, output = drawn
    lay = problem.layout
    arguments = (problem.up, problem.down, problem.gap, problem.coefficient, output)
    found = plain.binary_weights(*arguments, lay)
    table = np.full((problem.n_queries, 2), np.nan)
    for a, b in cuts(problem, 2):
        compiled.binary_weights(*arguments, lay.arrays, a, b, table)
    listed = raw(problem)
    total = math.fsum(d for *_, d in listed)
    expected = (
        math.fsum(d for a, b, d in listed if output[b] > output[a]),
        math.fsum(d for a, b, d in listed if output[b] < output[a]),
    )
    assert tuple(found.sum(axis=0)) == pytest.approx(expected, rel=1e-12, abs=1e-13 * total)
    assert found.tobytes() == table.tobytes()


real_outputs = labelled().flatmap(
    lambda p: st.tuples(
        st.just(p), st.lists(st.floats(0, 1), min_size=p.n, max_size=p.n).map(lambda v: np.array(v))
    )
)


@holds_for(real_outputs, **REACH)
def test_moments_of_a_real_valued_ranker(drawn):
    problem, output = drawn
    lay = problem.layout
    arguments = (problem.up, problem.down, problem.gap, problem.coefficient)
    table = np.full((problem.n_queries, 3), np.nan)
    for a, b in cuts(problem, 2):
        compiled.moments(*arguments, output, lay.arrays, a, b, table)
    listed = [(d, output[b] - output[a]) for a, b, d in raw(problem)]
    expected = [math.fsum(d * m**k for d, m in listed) for k in range(3)]
    slack = 1e-12 * expected[0]
    assert table.sum(axis=0).tolist() == pytest.approx(expected, rel=0, abs=slack)


@st.composite
def coded(draw, **shape):
    problem = draw(labelled(**shape))
    n_bins = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 255]))
    top = n_bins if draw(st.booleans()) else n_bins - 1  # with or without abstentions
    codes = np.zeros(len(problem.up), np.uint8)
    codes[: problem.n] = draw(st.lists(st.integers(0, top), min_size=problem.n, max_size=problem.n))
    return problem, codes, n_bins, draw(st.integers(0, 1))


def listed_wrong_weights(problem, codes, n_bins, missing_rank):
    """W- of every threshold, pair by pair; the weights of all pairs sum to 1."""
    listed = raw(problem)
    total = math.fsum(d for *_, d in listed)
    out = []
    for k in range(n_bins + 1):
        one = codes[: problem.n] >= k
        one = np.where(codes[: problem.n] == n_bins, bool(missing_rank), one)
        out.append(math.fsum(d for a, b, d in listed if one[a] and not one[b]) / total)
    return np.array(out)


def check_wrong_weights(drawn, slack, dtype=np.uint8):
    problem, codes, n_bins, missing_rank = drawn
    expected = listed_wrong_weights(problem, codes, n_bins, missing_rank)
    start = math.log(problem.pairs_of(None).total)
    weights = (problem.weight, problem.gains, problem.coefficient, False, start)
    rows = LabelledRows(problem.layout, *weights)
    for path in PATHS:
        with using(path):
            state = LabelState(rows, 1)
            state.advance(problem.scores, 1.0)
            state.potentials(np.zeros(len(problem.up)))
            state.prepare_scan()
            found = np.full(n_bins + 1, np.nan)
            state.wrong_weights(codes.astype(dtype), n_bins, missing_rank, found)
            units = state.wrong_units(codes.astype(dtype), n_bins, missing_rank)
        np.testing.assert_allclose(found, expected, rtol=0, atol=slack)
        assert (found >= 0).all()
        assert units.dtype == np.int64  # (so that those of parts of the queries add up)
        worth = state.wrong_unit / math.fsum(d for *_, d in raw(problem))
        np.testing.assert_allclose(units * worth, expected, rtol=0, atol=slack)


@holds_for(coded(), **REACH)
def test_wrong_weights_of_all_thresholds(drawn):
    check_wrong_weights(drawn, 1e-13)


@holds_for(coded(max_queries=2, max_levels=14), **REACH)
def test_wrong_weights_of_all_thresholds_with_many_levels(drawn):
    check_wrong_weights(drawn, 1e-12)


@holds_for(coded(), **REACH)
def test_wrong_weights_of_all_thresholds_with_wide_codes(drawn):
    check_wrong_weights(drawn, 1e-13, np.uint16)


@holds_for(labelled() | labelled(max_queries=2, max_levels=14), **REACH)
def test_misordered_pairs_are_counted_by_inversions(problem):
    lay = problem.layout
    order = np.lexsort((-problem.scores, problem.query))
    table = np.full((problem.n_queries, 2), np.nan)
    for a, b in cuts(problem, 2):
        compiled.misordered(
            problem.scores[order],
            problem.level[order],
            problem.weight[order],
            problem.gains,
            lay.query_first,
            lay.row_start,
            a,
            b,
            table,
        )
    for q in range(problem.n_queries):
        pairs = problem.pairs_of(q)
        margin = [problem.scores[b] - problem.scores[a] for a, b in zip(pairs.lo, pairs.hi)]
        expected_wrong = math.fsum(w for w, m in zip(pairs.weight, margin) if m < 0)
        expected_tied = math.fsum(w for w, m in zip(pairs.weight, margin) if m == 0)
        slack = 1e-12 * pairs.total
        assert table[q, 0] == pytest.approx(expected_wrong, rel=0, abs=slack)
        assert table[q, 1] == pytest.approx(expected_tied, rel=0, abs=slack)


@holds_for(with_output, st.floats(-3, 3), st.integers(1, 3), **REACH)
def test_advancing_scores_by_a_binary_ranker(drawn, alpha, pieces):
    problem, output = drawn
    grow, shrink = math.exp(alpha), math.exp(-alpha)
    scores, up, down = problem.scores.copy(), problem.up, problem.down
    plain.advance_binary(output, alpha, grow, shrink, scores, up, down)
    again_scores, again_up, again_down = problem.scores.copy(), problem.up, problem.down
    marks = np.linspace(0, problem.n, pieces + 1).astype(int).tolist()
    for a, b in itertools.pairwise(marks):
        compiled.advance_binary(
            output, alpha, grow, shrink, a, b, again_scores, again_up, again_down
        )
    for one, two in ((scores, again_scores), (up, again_up), (down, again_down)):
        assert one.tobytes() == two.tobytes()
    expected = problem.scores + alpha * output
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_allclose(up[: problem.n], problem.weight * np.exp(expected), rtol=1e-14)
    np.testing.assert_allclose(down[: problem.n], problem.weight * np.exp(-expected), rtol=1e-14)

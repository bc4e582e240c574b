"""Sums of the push and of the logistic loss are those of all pairs listed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.kernels.compiled import losses
from crucial.kernels.compiled import pairs as push
from crucial.kernels.losses import NARROW
from naive.labelled import labelled
from naive.own_losses import inner_logs, sigmoid, softplus
from naive.pairs import Pairs
from naive.sweep import holds_for

pytestmark = pytest.mark.kernels

REACH = {"quick": 25, "full": 5_000}

powers = st.sampled_from([1.0, 1.5, 2.0, 4.0, 64.0, 100.0])
problems = st.sampled_from([1.0, 3.0, 30.0, 900.0]).flatmap(lambda s: labelled(spread=s)) | (
    labelled(max_queries=1, max_levels=12)
)


def ranges(n, pieces=2):
    marks = np.linspace(0, n, pieces + 1).astype(int).tolist()
    return [(a, b) for a, b in itertools.pairwise(marks) if a < b]


def logs_of(problem):
    with np.errstate(divide="ignore"):
        return np.log(problem.weight), np.log(problem.gap)


def without_losers(problem, query):
    """Pairs of a query that weigh what stands inside of the power: no weight of the loser."""
    pairs = problem.pairs_of(query)
    weight = [w / problem.weight[a] for a, w in zip(pairs.lo, pairs.weight)]
    return Pairs(pairs.lo, pairs.hi, weight, pairs.n_rows)


@holds_for(problems, powers, **REACH)
def test_push_sums_equal_a_sum_over_all_pairs(problem, p):
    lay, n = problem.layout, problem.n
    log_weight, log_gap = logs_of(problem)
    out = np.empty(n), np.empty(n), np.empty(problem.n_queries)
    for a, b in ranges(problem.n_queries):
        push.push_logs(problem.scores, log_weight, log_gap, p, lay.arrays, a, b, *out)
    positive, negative, log_loss = out
    for q in range(problem.n_queries):
        pairs = without_losers(problem, q)
        inner = inner_logs(pairs, problem.scores)
        terms = {a: math.log(problem.weight[a]) + p * one for a, one in inner.items()}
        for a, term in terms.items():
            assert negative[a] == pytest.approx(term, rel=1e-12, abs=1e-9)
        top = max(terms.values())
        total = top + math.log(math.fsum(math.exp(t - top) for t in terms.values()))
        assert log_loss[q] == pytest.approx(total, rel=1e-12, abs=1e-9)
        won = {}
        for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight):
            log = math.log(problem.weight[a] * w) + problem.scores[a] - problem.scores[b]
            won.setdefault(b, []).append(log + (p - 1) * inner[a])
        for b, logs in won.items():
            most = max(logs)
            expected = most + math.log(math.fsum(math.exp(one - most) for one in logs))
            assert positive[b] == pytest.approx(expected, rel=1e-12, abs=1e-9)
    everything = without_losers(problem, None)
    assert (negative[sorted(set(range(n)) - set(everything.lo))] == -np.inf).all()
    assert (positive[sorted(set(range(n)) - set(everything.hi))] == -np.inf).all()


@holds_for(problems, powers, st.integers(0, 999), **REACH)
def test_split_push_sums_put_together_again(problem, p, seed):
    lay = problem.layout
    output = np.random.default_rng(seed).integers(0, 2, problem.n).astype(np.uint8)
    log_weight, log_gap = logs_of(problem)
    given = (problem.scores, log_weight, log_gap, p, output)
    size = (len(lay.values), 2)
    above, inside = np.empty(size), np.empty(size)
    for a, b in ranges(problem.n_queries):
        push.push_split(*given, lay.arrays, a, b, above, inside)
    out = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n_queries)
    for alpha in (0.0, 0.7):
        scores = problem.scores + alpha * output
        push.push_logs(scores, *given[1:4], lay.arrays, 0, problem.n_queries, *out)
        moved = np.logaddexp(above[:, 0], above[:, 1] - alpha)
        terms = np.logaddexp(inside[:, 0], inside[:, 1] + p * alpha) + p * moved
        sums = np.logaddexp.reduceat(terms, lay.query_first[:-1])
        np.testing.assert_allclose(sums, out[2], rtol=1e-12, atol=1e-9)


def grown_of(problem):
    """Exponentials around the middle of each query, and whether they can be used."""
    lay = problem.layout
    top = np.maximum.reduceat(problem.scores, lay.row_start[:-1])
    bottom = np.minimum.reduceat(problem.scores, lay.row_start[:-1])
    if float((top - bottom).max()) > NARROW:
        return np.ones(problem.n), False
    return np.exp(problem.scores - ((top + bottom) / 2)[lay.query_of_row()]), True


def listed_logistic(problem, shift):
    """Everything by listing pairs: positive, negative, curvature, loss."""
    out = np.zeros((4, problem.n))
    for q in range(problem.n_queries):
        pairs = problem.pairs_of(q)
        for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight):
            margin = problem.scores[b] - problem.scores[a]
            # Far out, e^shift times either is e^(shift - margin).
            far = margin > 40
            s = math.exp(shift - margin) if far else sigmoid(-margin) * math.exp(shift)
            cost = math.exp(shift - margin) if far else softplus(-margin) * math.exp(shift)
            out[0, b] += w * s
            out[1, a] += w * s
            out[2, [a, b]] += w * s * sigmoid(margin)
            out[3, b] += w * cost
    return out


@holds_for(problems, **REACH)
def test_logistic_sums_equal_a_sum_over_all_pairs(problem):
    lay, n = problem.layout, problem.n
    everything = problem.pairs_of(None)
    least = min(problem.scores[b] - problem.scores[a] for a, b in zip(everything.lo, everything.hi))
    weighted = bool((problem.weight != 1).any())
    places = (*lay.arrays, lay.query_of_row(), lay.level_of_row())
    grown, narrow = grown_of(problem)
    for shift in {0.0} | ({least} if least > 0 else set()):
        expected = listed_logistic(problem, shift)
        given = (problem.weight, problem.gains, shift)
        for how in {narrow and shift == 0.0, False}:
            for as_weighted in {weighted, True}:
                again = tuple(np.empty(n) for _ in range(4))
                for a, b in ranges(n, 3):
                    losses.logistic_sums(
                        problem.scores, grown, *given, how, as_weighted, places, a, b, again
                    )
                np.testing.assert_allclose(np.array(again), expected, rtol=1e-11, atol=1e-300)


@holds_for(problems, st.integers(0, 999), **REACH)
def test_logistic_sums_along_a_ranker(problem, seed):
    lay, n = problem.layout, problem.n
    output = np.random.default_rng(seed).integers(0, 2, n).astype(float)
    expected = np.zeros((n, 3))
    for q in range(problem.n_queries):
        pairs = problem.pairs_of(q)
        for a, b, w in zip(pairs.lo, pairs.hi, pairs.weight):
            margin = problem.scores[b] - problem.scores[a]
            gained = output[b] - output[a]
            expected[b, 0] += w * sigmoid(-margin) * (gained > 0)
            expected[b, 1] += w * sigmoid(-margin) * (gained < 0)
            expected[b, 2] += w * sigmoid(-margin) * sigmoid(margin) * (gained != 0)
    places = (*lay.arrays, lay.query_of_row(), lay.level_of_row())
    given = (problem.weight, problem.gains, 0.0)
    grown, narrow = grown_of(problem)
    for how in {narrow, False}:
        again = np.empty((n, 3))
        for a, b in ranges(n):
            losses.logistic_along(problem.scores, grown, *given, how, output, places, a, b, again)
        np.testing.assert_allclose(again, expected, rtol=1e-11, atol=1e-300)

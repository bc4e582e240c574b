"""Losses of whole queries and of pairs at the top: the kernels and their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.kernels.compiled import losses, sums
from crucial.kernels.compiled.losses import lambda_sums, yeti_sums
from crucial.kernels.compiled.sums import uniforms
from crucial.kernels.sums import QueryNoise
from naive import top_losses as naive
from naive.labelled import labelled
from naive.sweep import holds_for

pytestmark = pytest.mark.kernels

REACH = {"quick": 25, "full": 3_000}
problems = st.sampled_from([0.0, 1.0, 3.0, 30.0, 300.0]).flatmap(lambda s: labelled(spread=s))


def outputs(problem):
    return np.empty(problem.n), np.empty(problem.n), np.empty(problem.n_queries)


def labels_of(problem):
    return np.repeat(problem.layout.values, np.diff(problem.layout.level_start))


def queries_of(problem):
    starts = problem.layout.row_start.tolist()
    return [(q, slice(a, b)) for q, (a, b) in enumerate(itertools.pairwise(starts))]


def in_two_ranges(problem, kernel, *inputs):
    """The outputs of a kernel that gets the queries in two ranges, as threads would."""
    out, middle = outputs(problem), problem.n_queries // 2
    with np.errstate(over="ignore"):  # (hashes wrap around where the JIT is disabled)
        for a, b in ((0, middle), (middle, problem.n_queries)):
            kernel(*inputs, problem.layout.row_start, a, b, *out)
    return out


@holds_for(problems, **REACH)
def test_squared_error_up_to_a_shift(problem):
    target = labels_of(problem)
    pi, curvature, loss = in_two_ranges(
        problem, losses.squares,
        problem.scores, target, problem.weight, problem.coefficient,
    )  # fmt: skip
    for q, at in queries_of(problem):
        s, t, u, c = problem.scores[at], target[at], problem.weight[at], problem.coefficient[q]
        assert loss[q] == pytest.approx(naive.squares(s, t, u), rel=1e-9, abs=1e-9)
        residual = t - s - np.average(t - s, weights=u)
        np.testing.assert_allclose(pi[at], c * u * residual, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(curvature[at], c * u)


def slopes(function, at, step=1e-6):
    """The gradient of a function, by central differences."""
    out = np.zeros(len(at))
    for i in range(len(at)):
        ahead, behind = at.copy(), at.copy()
        ahead[i] += step
        behind[i] -= step
        out[i] = (function(ahead) - function(behind)) / (2 * step)
    return out


@holds_for(problems, **REACH)
def test_cross_entropy_of_a_softmax(problem):
    target = np.exp(labels_of(problem)) * problem.weight
    for _, at in queries_of(problem):
        target[at] /= target[at].sum()
    pi, curvature, loss = in_two_ranges(
        problem, losses.cross_entropy,
        problem.scores, target, problem.weight, problem.coefficient,
    )  # fmt: skip
    for q, at in queries_of(problem):
        s, t, u = problem.scores[at], target[at], problem.weight[at]
        value = lambda x, t=t, u=u: naive.cross_entropy(x, t, u)  # noqa: E731
        assert loss[q] == pytest.approx(value(s), rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(
            -pi[at] / problem.coefficient[q], slopes(value, s), rtol=1e-6, atol=1e-6
        )
        assert (curvature[at] >= 0).all()


@holds_for(problems, st.integers(0, 99), **REACH)
def test_xendcg(problem, seed):
    worth = np.exp2(labels_of(problem))
    noise = np.random.default_rng(seed).random(problem.n)
    unit = np.ones(problem.n_queries)
    copies = np.random.default_rng(seed).integers(1, 3, problem.n).astype(float)
    pi, curvature, _ = in_two_ranges(
        problem, losses.xendcg,
        problem.scores, worth, unit, noise, copies, problem.coefficient,
    )  # fmt: skip
    assert np.isfinite(pi).all()
    for q, at in queries_of(problem):
        repeat = copies[at].astype(int)
        gradient, bend = naive.xendcg_gradient(
            np.repeat(problem.scores[at], repeat), np.repeat((worth - noise)[at], repeat)
        )
        first = np.cumsum(repeat) - repeat
        factor = problem.coefficient[q] * repeat
        np.testing.assert_allclose(pi[at], -factor * gradient[first], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(curvature[at], factor * bend[first], rtol=1e-8, atol=1e-12)


@holds_for(problems, st.integers(0, 99), quick=15, full=1_000)
def test_xendcg_with_weights_below_1(problem, seed):
    noise = np.random.default_rng(seed).random(problem.n)
    pi, curvature, _ = in_two_ranges(
        problem, losses.xendcg, problem.scores,
        np.exp2(labels_of(problem)), np.ones(problem.n_queries), noise,
        problem.weight / 20.0, problem.coefficient,
    )  # fmt: skip
    assert np.isfinite(pi).all()
    assert (curvature >= 0).all()


@holds_for(
    problems,
    st.sampled_from([("ndcg", None), ("ndcg", 1), ("ndcg", 3), ("map", None), ("mrr", None)]),
    st.sampled_from([1, 2, 5, 100]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.booleans(),
    **REACH,
)
def test_lambda_pairs_by_swapping(problem, measure, truncation, sigmoid, normalise):
    kind, k = measure
    labels = labels_of(problem)
    worth = np.exp2(labels) - 1.0 if kind == "ndcg" else (labels > 0).astype(float)
    depth = truncation if k is None else k
    discount = 1.0 / np.log2(np.arange(problem.n) + 2.0)
    if k is not None:
        discount[k:] = 0.0
    best = {
        "ndcg": lambda one: naive.dcg(sorted(one, reverse=True), depth),
        "map": sum,
        "mrr": max,
    }[kind]
    inverse = np.array([1.0 / best(worth[at].tolist()) for _, at in queries_of(problem)])
    how = (("ndcg", "map", "mrr").index(kind), depth, truncation, sigmoid, normalise)
    pi, curvature, value = in_two_ranges(
        problem, lambda_sums,
        problem.scores, worth, problem.weight, problem.coefficient, inverse, discount, how,
    )  # fmt: skip
    change = naive.measure_of(kind, k, truncation)
    for q, at in queries_of(problem):
        s, w, u, c = problem.scores[at], worth[at], problem.weight[at], problem.coefficient[q]
        won, curved = naive.lambda_pairs(s, w, u, change, truncation, sigmoid, normalise)
        np.testing.assert_allclose(pi[at], c * won, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(curvature[at], c * curved, rtol=1e-7, atol=1e-10)
        ordered = w[sorted(range(len(s)), key=lambda i, s=s: (-s[i], i))].tolist()
        final = naive.measure_of(kind, depth, truncation)(ordered)
        assert value[q] == pytest.approx(final)


@holds_for(problems, st.integers(0, 99), st.sampled_from([0.5, 0.99, 1.0]), **REACH)
def test_yeti_pairs(problem, seed, decay):
    worth = labels_of(problem)
    keys = QueryNoise(seed, np.arange(problem.n_queries), problem.layout.row_start, 1).keys(3)
    pi, curvature, loss = in_two_ranges(
        problem, yeti_sums,
        problem.scores, worth, problem.weight, problem.coefficient, keys, 4, decay,
    )  # fmt: skip
    for q, at in queries_of(problem):
        assert int(keys[q]) == naive.query_key(seed, 3, q)
        won, curved, wrong = naive.yeti_pairs(
            problem.scores[at], worth[at], problem.weight[at], int(keys[q]), 4, decay
        )
        np.testing.assert_allclose(pi[at], problem.coefficient[q] * won, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            curvature[at], problem.coefficient[q] * curved, rtol=1e-8, atol=1e-10
        )
        assert loss[q] == pytest.approx(wrong)


@holds_for(st.integers(0, 2**63), st.integers(0, 500), quick=10, full=500)
def test_noise_is_a_hash_of_its_place(seed, number):
    starts = np.array([0, 3, 4, 9])
    queries = np.array([4, 0, 17])
    noise = QueryNoise(seed, queries, starts, 2)
    keys, out = noise.keys(number), np.empty(9)
    with np.errstate(over="ignore"):
        uniforms(keys, starts, 0, 2, out)
        uniforms(keys, starts, 2, 3, out)
    expected = []
    for query, key, size in zip(queries.tolist(), keys.tolist(), np.diff(starts).tolist()):
        assert key == naive.query_key(seed, number, query)
        expected += [naive.uniform_at(key, place) for place in range(size)]
    assert out.tolist() == noise.uniforms(number).tolist() == expected


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33, 100, 200, 201, 215, 400, 1025])
@pytest.mark.parametrize("values", [2, 10, 10**6])
def test_rows_by_falling_value_and_their_own_order(size, values):
    drawn = np.random.default_rng(size + values).integers(0, values, size + 3).astype(float)
    key, row = np.empty(size), np.empty(size, np.int64)
    sums.order_falling(drawn, 3, size, key, row, np.empty(size), np.empty(size, np.int64))
    assert row.tolist() == (3 + np.argsort(-drawn[3:], kind="stable")).tolist()
    assert key.tolist() == drawn[row].tolist()

"""Ranks inside queries: both kernels against lists and loops, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from tests.naive import feature_ranks as naive

from crucial import BLFeatureRank, DiffRank, FeatureRank
from crucial.data.groups import Groups
from crucial.kernels.compiled.ranks import interval_sums as compiled_sums
from crucial.kernels.compiled.ranks import order_rows as compiled_order
from crucial.kernels.compiled.ranks import rank_rows as compiled
from crucial.kernels.plain.ranks import interval_sums as plain_sums
from crucial.kernels.plain.ranks import order_rows as plain_order
from crucial.kernels.plain.ranks import rank_rows as plain
from crucial.model.quasi_knn import QuasiKNN
from crucial.model.query_ranks import Regions

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]

# Eighths: distances to centres and half ways are exact, so every way agrees on ties.
EIGHTHS = st.integers(-16, 16).map(lambda k: k / 8)


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    n = sum(sizes)
    values = draw(st.lists(EIGHTHS | st.just(float("nan")), min_size=n, max_size=n))
    centres = draw(
        st.lists(EIGHTHS | st.none(), min_size=2, max_size=5).filter(
            lambda found: any(one is not None for one in found)
        )
    )
    weight = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return np.array(values), np.array(sizes), centres, weight


def positions(kernel, values, sizes, centres, weight):
    regions = Regions.around(centres)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    out = np.full(len(values), -1.0)
    mass = np.zeros(0) if weight is None else np.array(weight, float)
    cuts = (regions.cuts, regions.by_interval, regions.direction)
    args = (values, mass, cuts, starts)
    half = len(sizes) // 2
    kernel(*args, 0, half, out)
    kernel(*args, half, len(sizes), out)
    return out


@given(problem=problems())
def test_both_kernels_rank_as_lists_and_loops_do(problem):
    values, sizes, centres, weight = problem
    found = positions(plain, *problem)
    assert found.tobytes() == positions(compiled, *problem).tobytes()
    rows = naive.expand(weight or [1] * len(values))
    qid = np.repeat(np.arange(len(sizes)), sizes)[rows]
    expected = naive.rank_feature(values[rows].tolist(), qid.tolist(), centres)
    assert (found[rows] + 0.5).tolist() == expected.tolist()


@given(problem=problems(), seed=st.integers(0, 99))
def test_neither_the_order_of_rows_nor_a_sign_matters(problem, seed):
    values, sizes, centres, _ = problem
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranker = QuasiKNN(0, tuple(centres))
    ranks = ranker.ranks(values[:, None], Groups.from_qid(qid, len(qid)))
    order = np.random.default_rng(seed).permutation(len(qid))
    moved = ranker.ranks(values[order, None], Groups.from_qid(qid[order], len(qid)))
    assert moved.tolist() == ranks[order].tolist()
    turned = QuasiKNN(0, tuple(None if c is None else -c for c in centres))
    mirrored = turned.ranks(-values[:, None], Groups.from_qid(qid, len(qid)))
    assert mirrored.tolist() == ranks.tolist()
    doubled = QuasiKNN(0, tuple(None if c is None else 4 * c for c in centres))
    assert doubled.ranks(4 * values[:, None], Groups.from_qid(qid, len(qid))).tolist() == (
        ranks.tolist()
    )


@given(problem=problems())
def test_ranks_add_up_and_scores_stay_between_0_and_1(problem):
    values, sizes, centres, _ = problem
    groups = Groups.from_qid(np.repeat(np.arange(len(sizes)), sizes), len(values))
    ranker = QuasiKNN(0, tuple(centres))
    ranks = ranker.ranks(values[:, None], groups)
    sums = np.add.reduceat(ranks, groups.starts[:-1])
    np.testing.assert_allclose(sums, sizes * (sizes + 1) / 2, rtol=1e-14)
    scores = ranker.scores(values[:, None], groups)
    assert scores.min() >= 0.0
    assert scores.max() <= 1.0


@given(problem=problems())
def test_rows_by_falling_score(problem):
    values, sizes, _, _ = problem
    scores = np.nan_to_num(values)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    found = []
    for kernel in (plain_order, compiled_order):
        out = np.full(len(scores), -1)
        half = len(sizes) // 2
        kernel(scores, starts, 0, half, out)
        kernel(scores, starts, half, len(sizes), out)
        assert sorted(out.tolist()) == list(range(len(scores)))
        found.append(scores[out].tolist())
    expected = [sorted(part.tolist(), reverse=True) for part in np.split(scores, starts[1:-1])]
    assert found[0] == found[1] == [one for part in expected for one in part]


@given(problem=problems(), seed=st.integers(0, 99))
def test_sums_of_intervals(problem, seed):
    values, _, _, weight = problem
    codes = np.random.default_rng(seed).integers(-1, 3, len(values))
    mass = np.zeros(0) if weight is None else np.array(weight, float)
    found = []
    for kernel in (plain_sums, compiled_sums):
        sums, counts = np.zeros(3), np.zeros(3)
        top = kernel(values, codes, mass, 0.5, sums, counts)
        found.append([top, *sums.tolist(), *counts.tolist()])
    weights = np.ones(len(values)) if weight is None else mass
    inside = [(codes == k) & ~np.isnan(values) for k in range(3)]
    products = values * weights
    expected = [float(np.abs(products[np.any(inside, axis=0)]).max(initial=0.0))]
    expected += [float(0.5 * products[rows].sum()) for rows in inside]
    expected += [float(weights[rows].sum()) for rows in inside]
    assert found[0] == found[1] == expected


@pytest.mark.parametrize("kind", ["plain", "float32", "signs", "huge", "missing", "one"])
def test_many_rows_are_ranked_as_few_are(kind):
    """Enough rows for the sort by digits; queries of one row to many."""
    random = np.random.default_rng(11)
    sizes = np.concatenate(([1, 6000, 2], random.integers(1, 60, 60)))
    values = random.normal(size=sizes.sum()).round(3)
    if kind == "float32":
        values = values.astype(np.float32).astype(np.float64)
    elif kind == "signs":
        values = random.choice([-1.0, -0.0, 0.0, 1.0, 5e-324, -5e-324], len(values))
    elif kind == "huge":
        values = values * 10.0 ** random.integers(-300, 300, len(values))
    elif kind == "missing":
        values[random.random(len(values)) < 0.3] = np.nan
        values[-int(sizes[-1]) :] = np.nan
    elif kind == "one":
        values[:] = 2.5
    weight = random.integers(1, 4, len(values)).tolist()
    given_ = (values, sizes, [-1.0, 0.5, None, 0.25, 0.0])
    for mass in (None, weight):
        expected = positions(plain, *given_, mass)
        assert positions(compiled, *given_, mass).tobytes() == expected.tobytes()
    scores = np.nan_to_num(values)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    orders = [np.full(len(scores), -1), np.full(len(scores), -1)]
    plain_order(scores, starts, 0, len(sizes), orders[0])
    compiled_order(scores, starts, 0, len(sizes), orders[1])
    assert scores[orders[0]].tolist() == scores[orders[1]].tolist()


@pytest.mark.parametrize("n", [0, 1, 7, 100, 1000, 5000])
def test_long_queries_are_sorted_too(n):
    random = np.random.default_rng(n)
    scores = random.integers(0, max(1, n // 3), n).astype(float)
    starts = np.array([0, n])
    orders = [np.full(n, -1), np.full(n, -1)]
    plain_order(scores, starts, 0, 1, orders[0])
    compiled_order(scores, starts, 0, 1, orders[1])
    assert sorted(orders[1].tolist()) == list(range(n))
    assert scores[orders[0]].tolist() == scores[orders[1]].tolist()


@pytest.mark.parametrize("ranker", [FeatureRank(4, 2), BLFeatureRank(4, 2), DiffRank(4, 5)])
def test_compiled_and_plain_kernels_learn_the_same(ranker, monkeypatch):
    random = np.random.default_rng(5)
    X = random.normal(size=(60, 4)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    y, qid = random.integers(0, 30, 60), random.integers(0, 4, 60)
    small = clone(ranker).fit(X, y, qid=qid)
    expected = small.predict(X, qid=qid)
    monkeypatch.setattr("crucial.kernels.sizes.PLAIN_CELLS", 0)
    monkeypatch.setattr("crucial.kernels.sizes.COUNT_COMPILED", 0)
    for threads in (1, 2):
        large = clone(ranker).set_params(n_jobs=threads).fit(X, y, qid=qid)
        assert large.model_.rankers == small.model_.rankers
        np.testing.assert_allclose(large.model_.weights, small.model_.weights, rtol=1e-12)
        np.testing.assert_allclose(large.predict(X, qid=qid), expected, rtol=1e-12)

"""Similarities of features against listing all pairs, and the greedy search against its twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crucial.data import Groups
from crucial.measures.pairs import order_agreement
from crucial.rankers import SelectByRanking
from naive.selection import agreement, greedy


@st.composite
def problems(draw):
    n = draw(st.integers(2, 14))
    p = draw(st.integers(1, 4))
    cell = st.integers(-2, 3)
    table = draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n))
    qid = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return np.array(table, float), np.array(y), np.array(qid)


@given(problems())
def test_agreement_is_that_of_all_pairs(problem):
    X, _, qid = problem
    found = order_agreement(X, Groups.from_qid(qid, len(X)))
    expected = [[agreement(a, b, qid) for b in X.T] for a in X.T]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert np.array_equal(found, found.T)


def test_agreement_of_many_rows_and_any_number_of_threads():
    random = np.random.default_rng(0)
    X = random.integers(0, 30, (30_000, 3)).astype(float)
    groups = Groups.from_qid(random.integers(0, 40, len(X)), len(X))
    one = order_agreement(X, groups, threads=1)
    assert one.tobytes() == order_agreement(X, groups, threads=2).tobytes()
    rows = groups.order[: groups.starts[1]]
    first = order_agreement(X[rows], Groups.single(len(rows)))
    expected = agreement(X[rows, 0], X[rows, 1], np.zeros(len(rows)))
    assert abs(first[0, 1] - expected) < 1e-12


@given(problems(), st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.7, 3.0]))
def test_selection_is_the_greedy_one(problem, count, c):
    X, y, _ = problem
    y = np.arange(len(y)) % 3
    found = SelectByRanking(count, c, measure="r2").fit(X, y)
    size = min(count, X.shape[1])
    assert found.chosen_.tolist() == greedy(found.scores_, found.similarity_, c, size)
    moved = np.random.default_rng(1).permutation(len(X))
    again = SelectByRanking(count, c, measure="r2")
    again.fit(X[moved], y[moved])
    np.testing.assert_allclose(again.scores_, found.scores_, rtol=1e-12)
    np.testing.assert_allclose(again.similarity_, found.similarity_, rtol=1e-12)


@given(problems())
def test_monotone_transforms_change_nothing_but_directions(problem):
    X, y, _ = problem
    y = np.arange(len(y)) % 2
    one = SelectByRanking(2, 0.3).fit(X, y)
    two = SelectByRanking(2, 0.3).fit(np.exp(X) * 5.0, y)
    assert np.array_equal(one.chosen_, two.chosen_)
    assert np.array_equal(one.directions_, two.directions_)
    three = SelectByRanking(2, 0.3).fit(-X, y)
    np.testing.assert_allclose(one.scores_, three.scores_, atol=1e-14)
    differ = np.abs(one.scores_ - 0.5) > 1e-9  # (at 1/2 both directions are alike)
    assert np.array_equal(one.directions_[differ], -three.directions_[differ])

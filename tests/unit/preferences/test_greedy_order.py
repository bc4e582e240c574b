"""Greedy orders of a preference graph: by the words of the paper, and against every order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.errors import DataError, ParameterError
from crucial.measures.median_order import kemeny_order
from crucial.preferences import Comparisons, Rankings, consensus, greedy_order
from naive.preferences import greedy, kemeny, kemeny_cost, reaches

matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=n, max_size=n
    ).map(lambda rows: np.array(rows, float) * (1 - np.eye(n)))
)


@given(matrices, st.sampled_from([1.0, 0.1, 1 / 3]))
def test_greedy_is_its_naive_twin(above, scale):
    """Also for tenths and thirds, whose sums round: equal potentials stay equal."""
    assert greedy_order(scale * above, components=False).tolist() == greedy(above)


@given(matrices, st.booleans())
def test_at_least_half_of_the_weight_agrees(above, components):
    """And so at least half of what agrees with the best order (theorem 2 of the paper)."""
    order = greedy_order(above, components=components).tolist()
    assert sorted(order) == list(range(len(above)))
    total, against = above.sum(), kemeny_cost(above, order)
    assert total - against >= total / 2
    assert total - against >= (total - kemeny(above)) / 2


@given(matrices)
def test_components_follow_majorities(above):
    order = greedy_order(above).tolist()
    found = reaches(above)
    place = {item: k for k, item in enumerate(order)}
    for i in order:
        for j in order:
            if found[i][j] and not found[j][i]:
                assert place[i] < place[j]
    # Items of one component stand together, in greedy order.
    component = [[j for j in range(len(above)) if found[i][j] and found[j][i]] for i in order]
    assert order == [
        inside[k]
        for at, inside in enumerate(component)
        if inside not in component[:at]
        for k in greedy(above[np.ix_(inside, inside)])
    ]


@given(matrices)
def test_without_circles_the_components_find_the_best_order(above):
    found = reaches(above)
    n = len(above)
    if all(not (found[i][j] and found[j][i]) for i in range(n) for j in range(i)):
        assert kemeny_cost(above, greedy_order(above).tolist()) == kemeny(above)


def test_greedy_alone_may_break_a_majority_that_components_keep():
    """Item 0 beats 1, which beats two others by more: the greedy order begins with 1."""
    above = np.zeros((4, 4))
    above[0, 1], above[1, 2], above[1, 3] = 1, 3, 3
    assert greedy_order(above, components=False).tolist()[0] == 1
    assert greedy_order(above).tolist()[:2] == [0, 1]
    assert kemeny_cost(above, greedy_order(above).tolist()) == 0


def test_a_large_circle_is_ordered_at_once():
    n = 1500
    random = np.random.default_rng(0)
    above = random.integers(0, 100, (n, n)).astype(float)
    order = greedy_order(above)
    agreeing = np.triu(above[np.ix_(order, order)], 1).sum()
    assert agreeing >= above.sum() / 2
    few = above[:12, :12]
    best = kemeny_cost(few, kemeny_order(few, np.arange(12))[0].tolist())
    assert best <= kemeny_cost(few, greedy_order(few).tolist()) <= few.sum() / 2


def test_consensus_by_greedy_orders():
    votes = Rankings.from_orders(
        [["a", "b", "c", "d"], ["b", "c", "a", "d"], ["c", "a", "b", "d"]], count=[3, 2, 2]
    )
    for method in ("greedy", "greedy-components"):
        found = consensus(votes, method)
        assert found.method == method
        assert found.items == ("a", "b", "c", "d")
        assert found.distance == consensus(votes).distance == 8
        assert not found.exact
        assert "found greedily" in str(found)
    straight = consensus(Comparisons.from_columns(["a", "b"], ["b", "c"]), "greedy-components")
    assert straight.items == ("a", "b", "c")
    assert straight.exact  # (its distance is the lower bound)


def test_what_is_no_preference_graph():
    with pytest.raises(DataError, match=r"a row and a column for every item.*shape \(2, 3\)"):
        greedy_order(np.ones((2, 3)))
    with pytest.raises(DataError, match="That of 1 over 0 is -1"):
        greedy_order([[0, 1], [-1, 0]])
    with pytest.raises(DataError, match="must be a table of numbers"):
        greedy_order([["a", "b"], ["c", "d"]])
    with pytest.raises(ParameterError, match="'method' parameter of consensus must be one of"):
        consensus(Rankings.from_orders([["a", "b"]]), "borda")


def test_huge_preferences_do_not_overflow():
    table = np.array([[0, 3, 1, 9], [1, 0, 3, 9], [3, 1, 0, 9], [0, 0, 0, 0]], float)
    for components in (True, False):
        expected = greedy_order(table, components=components).tolist()
        with np.errstate(all="raise"):
            found = greedy_order(table * 1.9e307, components=components).tolist()
        assert found == expected

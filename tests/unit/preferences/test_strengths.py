"""Strengths, circles, consensus and greedy orders against plain twins."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError, ParameterError
from crucial.measures.pairs import _by_moves, kemeny_order
from crucial.preferences import consensus, greedy_order, leaderboard
from crucial.preferences.likelihood import circles, parts_of
from crucial.preferences.orders import mallows_theta
from naive.preferences import (
    cyclic_triads,
    greedy,
    kemeny,
    kemeny_cost,
    mallows_log_likelihood,
    reaches,
)
from naive.preferences import mm_strengths as naive_strengths
from refusals import refused


def strengths_of(data, prior=0.0):
    """The strengths of the items, in their order; a tie is half a win each way."""
    board = leaderboard(data, prior=prior, ties="split", intervals=False)
    return np.array([board[item].strength for item in data.items])


def named(rows):
    return [f"i{k}" for k in rows]


rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 4), st.booleans(), st.floats(0.1, 5)),
    min_size=1,
    max_size=12,
)


def comparisons_of(found, circle=False):
    table = [(a, (a + d) % 5, tie, w) for a, d, tie, w in found]
    if circle:  # everybody has beaten everybody through others: maximum likelihood exists
        table += [(k, (k + 1) % 5, False, 1.0) for k in range(5)]
    a, b, tie, w = zip(*table)
    return Comparisons.from_columns(named(a), named(b), tie=tie, weight=w)


@settings(max_examples=15)
@given(rows)
def test_comparisons_against_mm(found):
    made = comparisons_of(found, circle=True)
    high, low, weight, _ = made.directed()
    choices = [(w, h, [h, l]) for h, l, w in zip(high.tolist(), low.tolist(), weight.tolist())]
    expected = naive_strengths(5, choices)
    assert strengths_of(made) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=10)
@given(st.lists(st.permutations(range(5)), min_size=1, max_size=5), st.integers(2, 5))
def test_rankings_against_mm(orders, length):
    orders = [order[:length] for order in orders] + [[k, (k + 1) % 5] for k in range(5)]
    made = Rankings.from_orders([named(order) for order in orders])
    choices = [(1.0, o[k], o[k:]) for o in orders for k in range(len(o) - 1)]
    expected = naive_strengths(5, choices)
    assert strengths_of(made) == pytest.approx(expected, abs=1e-7)


@given(rows, st.floats(0.01, 10))
def test_the_prior_is_draws_with_an_average_item(found, prior):
    """The slope of the likelihood, draws included, is 0 at the strengths found."""
    made = comparisons_of(found)
    high, low, weight, _ = made.directed()
    part = parts_of(len(made.items), high, low)
    s = strengths_of(made, prior)
    # (centring moved every part; the slope of the choices alone does not see that)
    miss = weight / (1 + np.exp(s[high] - s[low]))
    slope = np.bincount(high, miss, minlength=len(s)) - np.bincount(low, miss, minlength=len(s))
    for number in range(part.max() + 1):
        inside = part == number

        def drawn(c, x=s[inside]):
            return prior * (0.5 - 1 / (1 + np.exp(-(x + c))))

        shift = brentq(lambda c, f=drawn: f(c).sum(), -60, 60, xtol=1e-14)
        assert slope[inside] + drawn(shift) == pytest.approx(0, abs=1e-6 * (1 + weight.sum()))


def test_who_never_loses_needs_a_prior():
    made = Comparisons.from_columns(["a", "b", "a"], ["b", "c", "c"])
    match = "infinite: some items only ever won .* prior above 0"
    refused(DataError, match, strengths_of, made)
    s = strengths_of(made, 1e-3)
    assert s[0] > s[1] > s[2]
    assert np.isfinite(s).all()


@given(rows)
def test_circles_against_listing(found):
    made = comparisons_of(found)
    won = np.zeros((len(made.items),) * 2)
    for w, l, tie, weight in zip(made.winner, made.loser, made.tie, made.weight):
        won[w, l] += 0 if tie else weight
    counted = circles(made)
    assert (counted.triads, counted.cyclic) == cyclic_triads((won > won.T).tolist())
    assert counted.contradicted == int(((won > 0) & (won.T > 0)).sum()) // 2
    pairs = {frozenset(pair) for pair in zip(made.winner.tolist(), made.loser.tolist())}
    assert counted.pairs == len(pairs)


matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=n, max_size=n
    ).map(lambda rows: np.array(rows, float) * (1 - np.eye(n)))
)


@given(matrices)
def test_consensus_against_every_order(above):
    start = np.argsort(above.sum(axis=0) - above.sum(axis=1), kind="stable")
    order, exact = kemeny_order(above, start)
    assert exact
    assert sorted(order.tolist()) == list(range(len(above)))
    assert kemeny_cost(above, order.tolist()) == kemeny(above)
    moved = kemeny_cost(above, _by_moves(above).tolist())
    assert kemeny(above) <= moved <= kemeny_cost(above, list(range(len(above))))


def test_groups_are_ordered_apart():
    """Forty items whose circles are small: found exactly, though 40 are far too many to try."""
    rng = np.random.default_rng(3)
    orders = []
    for _ in range(9):
        order = np.arange(40)
        for cut in range(0, 40, 8):
            order[cut : cut + 8] = rng.permutation(order[cut : cut + 8])
        orders.append([f"{k:02}" for k in order])
    found = consensus(Rankings.from_orders(orders))
    assert found.exact
    assert [int(item) // 8 for item in found.items] == sorted(k // 8 for k in range(40))
    assert found.lower_bound <= found.distance
    assert found.theta > 0


def test_many_in_one_circle_are_moved():
    n = 30
    orders = [[f"{(k + shift) % n:02}" for k in range(n)] for shift in range(n)]
    found = consensus(Rankings.from_orders(orders))
    assert not found.exact
    assert found.lower_bound < found.distance <= n * (n * (n - 1) / 2) / 2


def kendall_distance(first, second):
    """The pairs that two orders disagree on, without ties and unranked items."""
    a, b = ({item: k for k, group in enumerate(one) for item in group} for one in (first, second))
    pairs = combinations(sorted(set(a) & set(b)), 2)
    return sum((a[x] - a[y]) * (b[x] - b[y]) < 0 for x, y in pairs)


@given(st.lists(st.permutations(range(4)), min_size=1, max_size=6))
def test_theta_is_the_most_likely(orders):
    rankings = Rankings.from_orders([named(order) for order in orders])
    found = consensus(rankings)
    centre = tuple((rankings.items.index(item),) for item in found.items)
    distances = [kendall_distance(order, centre) for order in rankings.orders]
    counts = rankings.count.tolist()
    assert found.distance == sum(d * c for d, c in zip(distances, counts))
    if found.distance == 0:
        assert found.theta == np.inf
        return
    best = minimize_scalar(
        lambda t: -mallows_log_likelihood(t, 4, distances, counts), bounds=(0, 20), method="bounded"
    )
    assert found.theta == pytest.approx(max(best.x, 0), abs=1e-3)


def test_theta_of_first_choices_and_of_ties():
    first = Rankings.from_orders([["a", {"b", "c"}]] * 3 + [["b", {"a", "c"}]])
    # the first choice stands v = 0 or 1 below the best of 3; sum of v is 1 in 4 choices
    theta = mallows_theta(first, np.array([0, 1, 2]))
    q = np.exp(-theta)
    assert (q + 2 * q * q) / (1 + q + q * q) == pytest.approx(1 / 4)
    assert consensus(Rankings.from_orders([[{"a", "b"}, "c"]])).theta is None
    assert consensus(Comparisons.from_columns(["a", "b"], ["b", "c"])).items == ("a", "b", "c")


# Greedy orders of a preference graph: by the words of the paper, and against every order


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
    for table, match in (
        (np.ones((2, 3)), r"a row and a column for every item.*shape \(2, 3\)"),
        ([[0, 1], [-1, 0]], "That of 1 over 0 is -1"),
        ([["a", "b"], ["c", "d"]], "must be a table of numbers"),
    ):
        refused(DataError, match, greedy_order, table)
    votes, match = Rankings.from_orders([["a", "b"]]), "'method' parameter of consensus must be one"
    refused(ParameterError, match, consensus, votes, "borda")


def test_huge_preferences_do_not_overflow():
    table = np.array([[0, 3, 1, 9], [1, 0, 3, 9], [3, 1, 0, 9], [0, 0, 0, 0]], float)
    for components in (True, False):
        expected = greedy_order(table, components=components).tolist()
        with np.errstate(all="raise"):
            found = greedy_order(table * 1.9e307, components=components).tolist()
        assert found == expected

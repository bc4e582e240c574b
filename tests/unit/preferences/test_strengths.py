"""Strengths, circles and consensus against plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError
from crucial.measures.median_order import _by_moves, kemeny_order
from crucial.preferences import consensus, leaderboard
from crucial.preferences.likelihood import circles, parts_of
from crucial.preferences.orders import kendall_distance, mallows_theta
from naive.preferences import cyclic_triads, kemeny, kemeny_cost, mallows_log_likelihood
from naive.preferences import mm_strengths as naive_strengths


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
        shift = _root(lambda c, x=s[inside]: (prior * (0.5 - 1 / (1 + np.exp(-(x + c))))).sum())
        drawn = prior * (0.5 - 1 / (1 + np.exp(-(s[inside] + shift))))
        assert slope[inside] + drawn == pytest.approx(0, abs=1e-6 * (1 + weight.sum()))


def _root(function):
    from scipy.optimize import brentq

    return brentq(function, -60, 60, xtol=1e-14)


def test_large_graphs_take_the_other_solver(monkeypatch):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, 600)
    b = (a + rng.integers(1, 40, 600)) % 40
    made = Comparisons.from_columns(named(a), named(b))
    for prior in (0.0, 0.1):
        dense = strengths_of(made, prior)
        monkeypatch.setattr("crucial.preferences.likelihood._DENSE", 0)
        assert strengths_of(made, prior) == pytest.approx(dense, abs=1e-8)
        monkeypatch.undo()


def test_who_never_loses_needs_a_prior():
    made = Comparisons.from_columns(["a", "b", "a"], ["b", "c", "c"])
    with pytest.raises(DataError, match=r"infinite: some items only ever won .* prior above 0"):
        strengths_of(made)
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

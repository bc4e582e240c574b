"""The likelihood of rankings by running sums, against the one that lists every choice."""

import numpy as np
import pytest

from crucial.data.comparisons import Rankings
from crucial.errors import DataError
from crucial.preferences import leaderboard
from crucial.preferences.likelihood import RankingLikelihood
from naive.preferences import listed_choices
from refusals import refused


def votes(seed: int, n: int = 6, count: int = 9) -> Rankings:
    """Partial rankings with ties, some of one form."""
    rng = np.random.default_rng(seed)
    orders = []
    for _ in range(count):
        chosen = rng.permutation(n)[: rng.integers(2, n + 1)]
        cut = np.sort(rng.choice(np.arange(1, len(chosen)), rng.integers(1, len(chosen)), False))
        orders.append([[f"i{k}" for k in group] for group in np.split(chosen, cut)])
    return Rankings.from_orders([*orders, orders[0]], rng.uniform(0.5, 3.0, count + 1).tolist())


@pytest.mark.parametrize("small", [120, 0])
@pytest.mark.parametrize("seed", range(6))
def test_running_sums_are_the_sums_over_choices(monkeypatch, small, seed):
    monkeypatch.setattr("crucial.preferences.likelihood._SMALL", small)
    made = votes(seed)
    quick = RankingLikelihood(made, 0.3, np.zeros(len(made.items), int))
    s = np.random.default_rng(seed).normal(size=len(made.items))
    value, slope, curve = listed_choices(made, s)
    at = 1 / (1 + np.exp(-s))
    assert quick.value(s) == pytest.approx(value + 0.3 * np.log(at * (1 - at)).sum() / 2)
    found = quick.derivatives(s)
    assert found[0] == pytest.approx(slope + 0.3 * (0.5 - at), abs=1e-9)
    assert found[1] == pytest.approx(curve + np.diag(0.3 * at * (1 - at)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_rankings_are_counted_one_by_one(seed):
    made = votes(seed, n=7, count=12)
    n = len(made.items)
    wanted = np.zeros((n, n))
    for order, count in zip(made.orders, made.count):
        for k, group in enumerate(order):
            for other in order[k + 1 :]:
                for a in group:
                    for b in other:
                        wanted[a, b] += count
    assert made.above() == pytest.approx(wanted)


def test_many_rankings_have_intervals():
    rng = np.random.default_rng(0)
    s = np.linspace(1, -1, 5)
    orders = [[f"i{k}" for k in np.argsort(-(s + rng.gumbel(size=5)))] for _ in range(1100)]
    board = leaderboard(Rankings.from_orders(orders))
    assert board.intervals == "wald"
    assert [one.item for one in board.standings] == ["i0", "i1", "i2", "i3", "i4"]
    for one, truth in zip(board.standings, s):
        assert one.low - 0.1 < truth < one.high + 0.1


def test_rankings_without_an_order():
    votes = Rankings.from_orders([[{"a", "b"}], ["c"]])
    refused(DataError, "no ranking puts an item above another", leaderboard, votes)

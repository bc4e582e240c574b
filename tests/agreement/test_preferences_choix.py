"""Strengths against choix."""

import numpy as np
import pytest

from crucial.data.comparisons import Comparisons, Rankings
from crucial.preferences import leaderboard

choix = pytest.importorskip("choix")


def strengths_of(data: Comparisons | Rankings) -> list[float]:
    board = leaderboard(data, prior=0.0, ties="split", intervals=False)
    return [board[item].strength for item in data.items]


@pytest.mark.parametrize("seed", range(5))
def test_comparisons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 15
    s = rng.normal(size=n)
    a = rng.integers(0, n, 500)
    b = (a + rng.integers(1, n, 500)) % n
    wins = rng.random(500) < 1 / (1 + np.exp(s[b] - s[a]))
    pairs = [(int(h), int(l)) for h, l in zip(np.where(wins, a, b), np.where(wins, b, a))]
    mine = Comparisons.from_columns([f"{h:02}" for h, _ in pairs], [f"{l:02}" for _, l in pairs])
    found = strengths_of(mine)
    assert found == pytest.approx(choix.ilsr_pairwise(n, pairs), abs=1e-6)
    assert found == pytest.approx(choix.mm_pairwise(n, pairs), abs=1e-5)
    # a tie is two half wins: twice the data say the same as every pair and its ties
    tied = [(0, 1)] * 10
    doubled = pairs * 2 + tied + [(l, h) for h, l in tied]
    high, low = ([f"{one:02}" for one in column] for column in zip(*pairs + tied))
    mine = Comparisons.from_columns(high, low, tie=np.arange(len(high)) >= len(pairs))
    found = strengths_of(mine)
    assert found == pytest.approx(choix.ilsr_pairwise(n, doubled), abs=1e-6)


@pytest.mark.parametrize("length", [2, 4, 9])
def test_rankings(length: int) -> None:
    rng = np.random.default_rng(length)
    n = 9
    s = rng.normal(size=n)
    orders = []
    for _ in range(160):
        order = rng.permutation(n)[:length]
        noisy = s[order] + rng.gumbel(size=length)
        orders.append(tuple(int(k) for k in order[np.argsort(-noisy)]))
    mine = Rankings.from_orders([[f"{k}" for k in order] for order in orders])
    found = strengths_of(mine)
    assert found == pytest.approx(choix.ilsr_rankings(n, orders), abs=1e-6)
    assert found == pytest.approx(choix.mm_rankings(n, orders), abs=1e-5)

"""How often intervals contain the truth, where data are made by the model that is fitted."""

from __future__ import annotations

import numpy as np
import pytest

from crucial.apps.preferences import leaderboard
from crucial.data.comparisons import Comparisons


def made_board(rng, *, n=20, rows=200, sd=1.0, nu=0.0):
    """True strengths of mean 0, and comparisons of random pairs by Davidson's model."""
    s = rng.normal(0.0, sd, n)
    a = rng.integers(0, n, rows)
    b = (a + rng.integers(1, n, rows)) % n
    d = s[a] - s[b]
    won, lost = np.exp(d / 2), np.exp(-d / 2)
    u = rng.random(rows) * (won + lost + nu)
    first = (u < won) | (u >= won + lost)
    items = tuple(f"i{k:02}" for k in range(n))
    made = Comparisons.from_places(
        items, np.where(first, a, b), np.where(first, b, a), tie=u >= won + lost
    )
    return s - s.mean(), made


def covered(repeats, seed, *, sd, nu, **options):
    """The share of strengths inside their intervals, and of ranks inside theirs."""
    rng = np.random.default_rng(seed)
    strengths, ranks = [], []
    for _ in range(repeats):
        truth, made = made_board(rng, sd=sd, nu=nu)
        board = leaderboard(made, **options)
        if board.n_parts > 1:
            continue
        found = {one.item: one for one in board.standings}
        order = [found[item] for item in made.items]
        strengths += [one.low <= t <= one.high for one, t in zip(order, truth)]
        place = np.argsort(np.argsort(-truth)) + 1
        ranks += [one.rank_low <= k <= one.rank_high for one, k in zip(order, place)]
    return float(np.mean(strengths)), float(np.mean(ranks))


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.0, 0.5])
@pytest.mark.parametrize("sd", [1.0, 2.0])
def test_default_intervals_cover_what_they_say(sd, nu):
    strengths, ranks = covered(200, 1, sd=sd, nu=nu)
    assert 0.94 <= strengths <= 0.96
    assert ranks >= 0.95


@pytest.mark.slow
def test_other_intervals_beside_them():
    found = {
        name: covered(60, 2, sd=2.0, nu=0.0, intervals=name, n_bootstrap=300)[0]
        for name in ("wald", "sandwich", "percentile", "bca")
    }
    assert found["sandwich"] < found["wald"]
    assert found["percentile"] < found["wald"]
    assert 0.93 <= found["wald"] <= 0.98
    assert found["bca"] >= 0.88


def test_default_intervals_cover_in_a_short_run():
    strengths, ranks = covered(12, 3, sd=1.0, nu=0.5)
    assert 0.90 <= strengths <= 0.99
    assert ranks >= 0.95

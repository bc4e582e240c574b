"""How often intervals contain the truth, where data are made by the model that is fitted."""

from dataclasses import replace

import numpy as np
import pytest

from crucial.data.comparisons import Comparisons
from crucial.preferences import leaderboard


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
def test_intervals_of_many_items_cover_slightly_more(monkeypatch):
    monkeypatch.setattr("crucial.preferences.standings._PROFILED", 0)
    assert 0.93 <= covered(60, 2, sd=2.0, nu=0.0)[0] <= 0.98


def judged_board(rng, s, judges, each):
    """Comparisons by judges, each with strengths of their own around the given ones."""
    judge = np.repeat(np.arange(judges), each)
    own = s + rng.normal(0.0, 1.0, (judges, len(s)))
    a = rng.integers(0, len(s), judges * each)
    b = (a + rng.integers(1, len(s), judges * each)) % len(s)
    won = rng.random(len(a)) < 1 / (1 + np.exp(own[judge, b] - own[judge, a]))
    items = tuple(f"i{k:02}" for k in range(len(s)))
    high, low = np.where(won, a, b), np.where(won, b, a)
    return Comparisons.from_places(items, high, low, judge=judge.tolist())


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "each"), [(8, 40), (30, 20)])
def test_intervals_of_independent_judges_cover_what_they_say(judges, each):
    s = np.random.default_rng(5).normal(size=8)
    # (what the comparisons of infinitely many judges would give)
    rng = np.random.default_rng(99)
    board = leaderboard(
        replace(judged_board(rng, s, 40_000, 20), judge=None, judges=()), intervals=False
    )
    truth = {one.item: one.strength for one in board.standings}
    inside = {"observation": [], "judge": []}
    for _ in range(100):
        made = judged_board(rng, s, judges, each)
        for what, found in inside.items():
            board = leaderboard(made, independent=what)
            found += [one.low <= truth[one.item] <= one.high for one in board.standings]
    assert 0.93 <= np.mean(inside["judge"]) <= 0.98
    assert np.mean(inside["observation"]) < 0.9


def test_default_intervals_cover_in_a_short_run():
    strengths, ranks = covered(12, 3, sd=1.0, nu=0.5)
    assert 0.90 <= strengths <= 0.99
    assert ranks >= 0.95

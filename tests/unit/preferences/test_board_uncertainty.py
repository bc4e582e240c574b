"""Intervals, rank intervals, ties, covariates, scales, categories and judges of a leaderboard."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError, ParameterError
from crucial.preferences import judge_agreement, leaderboard, leaderboards
from crucial.preferences.likelihood import PairedLikelihood, cells_of, maximise


def battles(rows=400, n=6, seed=0, *, tied=0.2, bias=0.0, length=0.0, judges=0):
    """Comparisons of items i0 (best) to i5, shown in random order."""
    rng = np.random.default_rng(seed)
    s = np.linspace(1.5, -1.5, n)
    a = rng.integers(0, n, rows)
    b = (a + rng.integers(1, n, rows)) % n
    x = rng.normal(size=rows)
    won = rng.random(rows) < 1 / (1 + np.exp(s[b] - s[a] - bias - length * x))
    return Comparisons.from_columns(
        [f"i{k}" for k in np.where(won, a, b)],
        [f"i{k}" for k in np.where(won, b, a)],
        tie=rng.random(rows) < tied,
        first=won,
        judge=[f"j{k}" for k in rng.integers(0, judges, rows)] if judges else None,
        category=np.where(np.arange(rows) % 3, "prose", "code"),
        covariates={"length_diff": np.where(won, x, -x)},
    )


def naive_value(made, p, prior, names=()):
    """Davidson's log-likelihood, comparison by comparison."""
    n = len(made.items)
    total = 0.0
    for row in range(len(made)):
        d = p[made.winner[row]] - p[made.loser[row]]
        for j, name in enumerate(names):
            x = made.covariates[row, made.covariate_names.index(name)]
            d += p[n + j] * x
        nu = np.exp(p[-1]) if made.tie.any() else 0.0
        sum_ = np.exp(d / 2) + np.exp(-d / 2) + nu
        chance = (nu if made.tie[row] else np.exp(d / 2)) / sum_
        total += made.weight[row] * np.log(chance)
    return total + prior * sum(s / 2 - np.log1p(np.exp(s)) for s in p[:n])


@pytest.mark.parametrize("tied", [0.0, 0.3])
def test_the_likelihood_is_that_of_single_comparisons(tied):
    made = battles(rows=40, tied=tied)
    cells = cells_of(made, made.covariates)
    model = PairedLikelihood(cells, cells.counts(), 0.5, np.zeros(6, int))
    rng = np.random.default_rng(1)
    p = rng.normal(size=model.size)
    weak = model.weak[0] * p[6] ** 2 / 2
    assert model.value(p) == pytest.approx(naive_value(made, p, 0.5, ["length_diff"]) - weak)
    slope, curve = model.derivatives(p)
    for k in range(model.size):
        step = np.eye(model.size)[k] * 1e-5
        assert slope[k] == pytest.approx(
            (model.value(p + step) - model.value(p - step)) / 2e-5, abs=1e-5
        )
        assert curve[k] == pytest.approx(
            -(model.derivatives(p + step)[0] - model.derivatives(p - step)[0]) / 2e-5, abs=1e-5
        )
    best = maximise(model)
    found = minimize(
        lambda p: -model.value(p), model.start(), jac=lambda p: -model.derivatives(p)[0]
    )
    assert best == pytest.approx(found.x, abs=1e-3)
    scores = model.group_slopes(p, np.arange(40) % 7).toarray()
    prior_slope = 0.5 * (0.5 - 1 / (1 + np.exp(-p[:6])))
    assert scores.sum(axis=0)[:6] + prior_slope == pytest.approx(slope[:6])


def test_many_items_are_fitted_like_few(monkeypatch):
    made = battles(rows=120)
    cells = cells_of(made, made.covariates)
    model = PairedLikelihood(cells, cells.counts(), 0.5, np.zeros(6, int))
    dense = maximise(model)
    monkeypatch.setattr("crucial.preferences.likelihood._DENSE", 0)
    assert maximise(model) == pytest.approx(dense, abs=1e-7)


def test_wald_intervals_are_near_the_profile(monkeypatch):
    made = battles(rows=600)
    near = leaderboard(made)
    monkeypatch.setattr("crucial.preferences.standings._PROFILED", 0)
    board = leaderboard(made)
    assert (near.intervals, board.intervals) == ("profile", "wald")
    for one, other in zip(board.standings, near.standings):
        assert (one.item, one.strength) == (other.item, other.strength)
        assert one.low == pytest.approx(other.low, abs=0.15)
        assert one.high == pytest.approx(other.high, abs=0.15)
        assert one.low < one.strength < one.high


def test_profile_ends_have_the_likelihood_ratio_they_must_have():
    made = battles(rows=60, n=4, tied=0.0)
    board = leaderboard(made, prior=0.5)
    items = list(made.items)
    for item, end in ((board.standings[0].item, "high"), (board.standings[-1].item, "low")):
        target, k = getattr(board[item], end), items.index(item)

        def value(s):
            return -naive_value(made, np.append(s, 0.0), 0.5)

        best = minimize(value, np.zeros(4))
        held = minimize(
            value, best.x,
            constraints={"type": "eq", "fun": lambda s, k=k, t=target: s[k] - s.mean() - t},
        )  # fmt: skip
        assert 2 * (held.fun - best.fun) == pytest.approx(3.8415, abs=0.02)


def test_one_comparison_makes_nothing_sure():
    for level in (0.5, 0.95):
        board = leaderboard(Comparisons.from_columns(["a"], ["b"]), level=level)
        assert not any("surely first" in note for note in board.notes)
        assert all((one.rank_low, one.rank_high) == (1, 2) for one in board.standings)
        assert all(one.provisional for one in board.standings)
    assert any(
        note.startswith("a weak prior: every item is also given 0.7") for note in board.notes
    )
    many = leaderboard(
        Comparisons.from_columns(["new", *["a", "b"] * 20], ["a", *["b", "a"] * 20]), level=0.5
    )
    assert many["new"].rank_high == 3


def test_an_item_that_never_lost_is_surely_first(monkeypatch):
    """Its standard error is large, but the likelihood ratio is not in doubt."""
    sure = Comparisons.from_columns(["a"] * 60 + ["b", "c"] * 10, ["b", "c"] * 30 + ["c", "b"] * 10)
    for most in (64, 0):  # (the profile, and Wald's)
        monkeypatch.setattr("crucial.preferences.standings._PROFILED", most)
        board = leaderboard(sure, prior=0.01)
        assert "surely first: a" in board.notes
        assert board["a"].provisional


def test_rank_intervals_account_for_the_number_of_items():
    """Equal items, many of them: without adjustment some pair would look different."""
    rng = np.random.default_rng(0)
    n, rows = 30, 900
    a = rng.integers(0, n, rows)
    b = (a + rng.integers(1, n, rows)) % n
    made = Comparisons.from_columns([f"i{k}" for k in a], [f"i{k}" for k in b])
    board = leaderboard(made)
    sure = sum(n - 1 - len(one.tied_with) for one in board.standings) // 2
    assert sure <= 5  # (of 435 pairs; 22 without adjustment)
    for one in board.standings:
        assert one.rank_low <= one.rank <= one.rank_high
        assert len(one.tied_with) >= one.rank_high - one.rank_low


def test_ties_of_the_model_do_not_shrink_strengths():
    made = battles(rows=4000, tied=0.4)
    split, fitted = (
        leaderboard(made, ties=ties, intervals=False) for ties in ("split", "davidson")
    )
    assert fitted.standings[0].strength == pytest.approx(1.5, abs=0.25)
    assert split.standings[0].strength < 0.8 * fitted.standings[0].strength
    assert fitted.tie_share > 0.3
    assert [one.item for one in split.standings] == [one.item for one in fitted.standings]
    none = leaderboard(battles(tied=0.0), intervals=False)
    assert none.tie_share == 0.0


def test_covariates_are_taken_out():
    made = battles(rows=3000, length=1.0, tied=0.0)
    board = leaderboard(made, covariates=["length_diff"])
    (effect,) = board.effects
    assert effect.name == "length_diff"
    assert effect.low < 1.0 < effect.high
    assert effect.p_value < 1e-4
    assert board.standings[0].strength == pytest.approx(1.5, abs=0.25)
    with pytest.raises(DataError, match=r"no covariate 'style' \(known: 'length_diff'\)"):
        leaderboard(made, covariates=["style"])
    plain = Comparisons.from_columns(["a"], ["b"])
    with pytest.raises(DataError, match="who was shown first is not known"):
        leaderboard(plain, covariates=["position"])


def test_position_bias_is_found_per_judge():
    fair, swayed = battles(1200, judges=1, tied=0.1), battles(1200, seed=1, bias=0.8, judges=1)
    columns = {
        name: [*getattr(fair, name), *getattr(swayed, name)] for name in ("tie", "first")
    }  # fmt: skip
    made = Comparisons.from_columns(
        [f.items[k] for f in (fair, swayed) for k in f.winner],
        [f.items[k] for f in (fair, swayed) for k in f.loser],
        judge=["fair"] * 1200 + ["swayed"] * 1200,
        **columns,
    )
    board = leaderboard(made, intervals=False)
    bias = board.position
    assert bias.judges == ("all", "fair", "swayed")
    assert bias.p_value[1] > 0.05
    assert bias.p_value[2] < 1e-4
    assert bias.low[2] < 0.8 < bias.high[2]
    assert "p < 1e-4" in bias.text()
    assert len(bias.to_frame()) == 3
    out = leaderboard(made, covariates=["position"], intervals=False)
    assert 0.2 < out.effects[0].effect < 0.6
    assert leaderboard(Comparisons.from_columns(["a"], ["b"])).position is None


def test_elo_points_are_ten_to_one_per_400():
    made = battles()
    logit, elo = (leaderboard(made, scale=scale) for scale in ("logit", "elo"))
    for one, other in zip(logit.standings, elo.standings):
        assert other.strength == pytest.approx(1000 + one.strength * 400 / np.log(10))
        assert other.low == pytest.approx(1000 + one.low * 400 / np.log(10))
    assert logit.chance("i0", "i5") == pytest.approx(elo.chance("i0", "i5"))
    assert any("400 points are odds of 10 to 1" in note for note in elo.notes)
    assert any(note.startswith("odds of ") and "% of decided" in note for note in logit.notes)
    with pytest.raises(ParameterError, match="'scale' parameter of leaderboard"):
        leaderboard(made, scale="glicko")


def test_boards_by_category():
    made = battles()
    boards = leaderboards(made, intervals=False)
    assert list(boards) == ["prose", "code"]
    own = leaderboard(made.take(made.category == 0), intervals=False)
    assert boards["code"].text() == own.text()
    with pytest.raises(DataError, match="have no categories"):
        leaderboards(Comparisons.from_columns(["a"], ["b"]))
    many = Comparisons.from_columns(["a"] * 101, ["b"] * 101, category=range(101))
    with pytest.raises(DataError, match="there are 101 categories, more than 100"):
        leaderboards(many)


def test_identical_judges_are_equally_reliable():
    one = battles(300, tied=0.0)
    high, low = ([one.items[k] for k in codes] for codes in (one.winner, one.loser))
    rng = np.random.default_rng(0)
    flips = rng.random(300) < 0.5
    guess = [[b if f else a for a, b, f in zip(x, y, flips)] for x, y in ((high, low), (low, high))]
    made = Comparisons.from_columns(
        high * 2 + guess[0], low * 2 + guess[1], judge=["x"] * 300 + ["y"] * 300 + ["z"] * 300
    )
    found = judge_agreement(made)
    assert found.reliability[0] == pytest.approx(found.reliability[1])
    assert found.reliability[0] > 0.8
    assert abs(found.reliability[2]) < 0.3
    assert found.reliability_low[0] < found.reliability[0] < found.reliability_high[0]
    assert found.to_frame()["reliability"].tolist() == list(found.reliability)


def test_weight_two_is_a_comparison_twice():
    made = battles(rows=60)
    twice = made.take(np.tile(np.arange(60), 2))
    heavy = Comparisons(**{**vars(made), "weight": made.weight * 2})
    a, b = (leaderboard(one, covariates=["length_diff"]) for one in (twice, heavy))
    for one, other in zip(a.standings, b.standings):
        assert (one.item, one.rank_low, one.rank_high) == (
            other.item,
            other.rank_low,
            other.rank_high,
        )
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-6)


def test_a_picture_says_what_it_leaves_out():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    board = leaderboard(battles())
    assert board.plot(top=4).get_title(loc="left") == "the first 4 of 6 items"
    assert board.plot().get_title(loc="left") == ""
    pyplot.close("all")


def ends(board):
    """The intervals of the strengths and of the ranks, by item."""
    rows = sorted(board.standings, key=lambda one: one.item)
    return np.array([(one.low, one.high, one.rank_low, one.rank_high) for one in rows])


def test_voters_of_equal_orders_count_one_by_one():
    orders = (((0,), (1,), (2,)), ((1,), (0,), (2,)), ((2,), (0,), (1,)), ((0,), (2,), (1,)))
    count = np.array([50.0, 40.0, 30.0, 25.0])
    names = ("tea", "milk", "wine")
    together = leaderboard(Rankings(names, orders, count))
    single = [one for one, often in zip(orders, count) for _ in range(int(often))]
    alone = leaderboard(Rankings(names, tuple(single), np.ones(145)))
    np.testing.assert_allclose(ends(together), ends(alone), rtol=1e-6)
    assert np.ptp(ends(together)[:, :2], axis=1).max() < 0.6


def test_comparisons_of_weight_0_are_no_judges():
    made = battles(rows=120, judges=4)
    names, judges = np.array(made.items), np.array(made.judges)[made.judge]
    columns = [names[made.winner].tolist(), names[made.loser].tolist()]
    expected = leaderboard(
        Comparisons.from_columns(*columns, judge=judges.tolist()), independent="judge"
    )
    # judges whose names are first, and who weigh nothing
    more = [[*one, "i1", "i2", "i3"] for one in columns]
    more[1][-3:] = ["i4", "i5", "i0"]
    also = Comparisons.from_columns(
        *more, judge=[*judges.tolist(), "a", "b", "b"], weight=[1.0] * 120 + [0.0] * 3
    )
    found = leaderboard(also, independent="judge")
    np.testing.assert_allclose(ends(found), ends(expected), rtol=1e-6, atol=1e-9)


def repeated(made, times):
    """Return every comparison so many times, by the same judge."""
    rows = np.tile(np.arange(len(made)), times)
    names = np.array(made.items)
    return Comparisons.from_columns(
        names[made.winner[rows]].tolist(),
        names[made.loser[rows]].tolist(),
        first=made.first[rows],
        judge=np.array(made.judges)[made.judge[rows]].tolist(),
        covariates={"length_diff": made.covariates[rows, 0]},
    )


def test_copies_by_the_same_judge_prove_nothing():
    made = battles(rows=120, tied=0.0, bias=0.5, length=0.4, judges=12)
    way = {"covariates": ["position", "length_diff"], "independent": "judge"}
    once = leaderboard(repeated(made, 1), prior=0.7, **way)
    often = leaderboard(repeated(made, 10), prior=7.0, **way)
    for one, other in zip(once.effects, often.effects, strict=True):
        for name in ("effect", "low", "high", "p_value"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=0.01, abs=1e-3)
    for name in ("effect", "low", "high", "p_value"):
        mine, theirs = (getattr(board.position, name)[0] for board in (once, often))
        assert theirs == pytest.approx(mine, rel=0.01, abs=1e-3)
    apart = leaderboard(repeated(made, 10), prior=7.0, covariates=way["covariates"])
    for one, other in zip(apart.effects, often.effects, strict=True):
        assert one.high - one.low < 0.6 * (other.high - other.low)


def test_one_judge_leaves_effects_open():
    made = battles(rows=60, tied=0.0, judges=1)
    way = {"independent": "judge", "intervals": False, "covariates": ["position"]}
    board = leaderboard(made, **way)
    assert np.isnan([board.effects[0].low, board.effects[0].p_value]).all()
    assert np.isnan([board.position.low[0], board.position.p_value[0]]).all()
    assert "nan" in board.position.text()


def test_effects_by_the_sandwich_are_near_those_by_curvature():
    made = battles(rows=600, length=0.4, judges=100)
    plain, robust = (
        leaderboard(made, independent=what, covariates=["length_diff"]).effects[0]
        for what in ("observation", "judge")
    )
    assert plain.effect == robust.effect
    assert plain.high != robust.high
    assert robust.high - robust.low == pytest.approx(plain.high - plain.low, rel=0.15)

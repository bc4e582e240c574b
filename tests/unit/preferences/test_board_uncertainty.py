"""Intervals, rank intervals, ties, covariates, scales, categories and judges of a leaderboard."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError, DataTypeError, ParameterError
from crucial.preferences import (
    board_page,
    consensus,
    judge_agreement,
    leaderboard,
    leaderboards,
    learn_preferences,
)
from crucial.preferences.likelihood import PairedLikelihood, cells_of, maximise
from refusals import refused


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
        up, down = p + np.eye(model.size)[k] * 1e-5, p - np.eye(model.size)[k] * 1e-5
        rise = (model.value(up) - model.value(down)) / 2e-5
        bend = (model.derivatives(up)[0] - model.derivatives(down)[0]) / 2e-5
        assert slope[k] == pytest.approx(rise, abs=1e-5)
        assert curve[k] == pytest.approx(-bend, abs=1e-5)
    losses = {"fun": lambda p: -model.value(p), "jac": lambda p: -model.derivatives(p)[0]}
    assert maximise(model) == pytest.approx(minimize(x0=np.zeros(model.size), **losses).x, abs=1e-3)
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
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.15)
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
    prior = "a weak prior: every item is also given 0.7"
    assert any(note.startswith(prior) for note in board.notes)
    many = Comparisons.from_columns(["new", *["a", "b"] * 20], ["a", *["b", "a"] * 20])
    assert leaderboard(many, level=0.5)["new"].rank_high == 3


def test_an_item_that_never_lost_is_surely_first(monkeypatch):
    """Its standard error is large, but the likelihood ratio is not in doubt."""
    sure = Comparisons.from_columns(["a"] * 60 + ["b", "c"] * 10, ["b", "c"] * 30 + ["c", "b"] * 10)
    for most in (64, 0):  # (the profile, and Wald's)
        monkeypatch.setattr("crucial.preferences.standings._PROFILED", most)
        board = leaderboard(sure, prior=0.01)
        assert "surely first: a" in board.notes
        assert board["a"].provisional
    assert leaderboard(sure).groups[:2] == (("a",), ("b", "c"))


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
    match = r"no covariate 'style' \(known: 'length_diff'\)"
    refused(DataError, match, leaderboard, made, covariates=["style"])
    plain = Comparisons.from_columns(["a"], ["b"])
    match = "who was shown first is not known"
    refused(DataError, match, leaderboard, plain, covariates=["position"])


def test_position_bias_is_found_per_judge():
    fair, swayed = battles(1200, judges=1, tied=0.1), battles(1200, seed=1, bias=0.8, judges=1)
    both = {
        name: np.concatenate([getattr(one, name) for one in (fair, swayed)])
        for name in ("winner", "loser", "tie", "first")
    }
    made = Comparisons.from_places(fair.items, **both, judge=["fair"] * 1200 + ["swayed"] * 1200)
    board = leaderboard(made, intervals=False)
    bias = board.position
    assert bias.judges == ("all", "fair", "swayed")
    assert bias.p_value[1] > 0.05
    assert bias.p_value[2] < 1e-4
    assert bias.low[2] < 0.8 < bias.high[2]
    assert "p < 1e-4" in str(bias)
    assert len(bias.to_frame()) == 3
    out = leaderboard(made, covariates=["position"], intervals=False)
    assert 0.2 < out.effects[0].effect < 0.6
    takes = "the covariate position takes it out"
    assert [takes in str(one) for one in (board, out)] == [True, False]
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
    refused(ParameterError, "'scale' parameter of leaderboard", leaderboard, made, scale="glicko")


def test_boards_by_category():
    made = battles()
    boards = leaderboards(made, intervals=False)
    assert list(boards) == ["prose", "code"]
    own = leaderboard(made.take(made.category == 0), intervals=False)
    assert boards["code"].text() == own.text()
    plain = Comparisons.from_columns(["a"], ["b"])
    refused(DataError, "have no categories", leaderboards, plain)
    many = Comparisons.from_columns(["a"] * 101, ["b"] * 101, category=range(101))
    refused(DataError, "there are 101 categories, more than 100", leaderboards, many)


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
        ranks = (other.item, other.rank_low, other.rank_high, other.wins)
        assert (one.item, one.rank_low, one.rank_high, one.wins) == ranks
        assert one.strength == pytest.approx(other.strength, abs=1e-9)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-6)


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
    plain = Comparisons.from_columns(*columns, judge=judges.tolist())
    expected = leaderboard(plain, independent="judge")
    # judges whose names are first, and who weigh nothing
    more = [*columns[0], "i1", "i2", "i3"], [*columns[1], "i4", "i5", "i0"]
    how = {"judge": [*judges.tolist(), "a", "b", "b"], "weight": [1.0] * 120 + [0.0] * 3}
    found = leaderboard(Comparisons.from_columns(*more, **how), independent="judge")
    np.testing.assert_allclose(ends(found), ends(expected), rtol=1e-6, atol=1e-9)


def test_copies_by_the_same_judge_prove_nothing():
    made = battles(rows=120, tied=0.0, bias=0.5, length=0.4, judges=12)
    way = {"covariates": ["position", "length_diff"], "independent": "judge"}
    repeated = made.take(np.tile(np.arange(120), 10))
    once = leaderboard(made, prior=0.7, **way)
    often = leaderboard(repeated, prior=7.0, **way)
    for one, other in zip(once.effects, often.effects, strict=True):
        for name in ("effect", "low", "high", "p_value"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=0.01, abs=1e-3)
    for name in ("effect", "low", "high", "p_value"):
        mine, theirs = (getattr(board.position, name)[0] for board in (once, often))
        assert theirs == pytest.approx(mine, rel=0.01, abs=1e-3)
    apart = leaderboard(repeated, prior=7.0, covariates=way["covariates"])
    for one, other in zip(apart.effects, often.effects, strict=True):
        assert one.high - one.low < 0.6 * (other.high - other.low)


def test_one_judge_leaves_effects_open():
    made = battles(rows=60, tied=0.0, judges=1)
    way = {"independent": "judge", "intervals": False, "covariates": ["position"]}
    board = leaderboard(made, **way)
    assert np.isnan([board.effects[0].low, board.effects[0].p_value]).all()
    assert np.isnan([board.position.low[0], board.position.p_value[0]]).all()
    assert "nan" in str(board.position)


# Comparisons and rankings of odd kinds: what is refused, and in which words

compared = Comparisons.from_columns


@pytest.mark.parametrize("column", ["tie", "first"])
@pytest.mark.parametrize("value", ["no", "False", float("nan"), None, 2, 0.3, [1], pd.NA])
def test_yes_and_no_are_no_text_and_no_other_numbers(column, value):
    match = rf"{column} must be True or False. Got .* comparison 1"
    refused(DataError, match, compared, ["a", "b"], ["b", "a"], **{column: [False, value]})


@pytest.mark.parametrize(
    "values", [[True, False], [1, 0], np.array([1.0, 0.0]), pd.Series([True, False]), (True, 0)]
)
def test_yes_and_no_in_other_forms(values):
    made = compared(["a", "b"], ["b", "a"], tie=values, first=values)
    assert made.tie.tolist() == [True, False]
    assert made.first.tolist() == [True, False]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, ""])
def test_items_without_a_name(nothing):
    lacks = "1 .* lacks the name of an item"
    refused(DataError, f"comparison {lacks}", compared, ["a", nothing], ["b", "a"])
    if not isinstance(nothing, str):
        orders = [["a", "b"], ["a", ("b", nothing)]]
        refused(DataError, f"ranking {lacks}", Rankings.from_orders, orders)


def test_judges_without_a_name_are_one():
    assert compared(["a", "b"], ["b", "a"], judge=[None, float("nan")]).judges == ("",)


@pytest.mark.parametrize("names", [None, 3, "ab"])
def test_names_that_are_no_list(names):
    refused(DataTypeError, "winner must be a sequence of names", compared, names, names)
    orders = names if names != "ab" else ["ab"]
    refused(DataTypeError, r"must be a list of (rankings|names)", Rankings.from_orders, orders)
    table = np.array([["a", "b"]])
    refused(DataError, r"Got a table of shape \(1, 2\)", compared, table, ["c"])


def test_counts_of_rankings_are_limited():
    orders = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]
    for count, match in (
        ([1, 1, 1e15], r"from 0 to 1e\+09. Got 1000000000000000.0 for ranking 2"),
        ([0, 0, 0], "add up to a number above 0"),
    ):
        refused(DataError, match, Rankings.from_orders, orders, count=count)
    board = leaderboard(Rankings.from_orders(orders, count=[1e9, 1, 1]))
    assert [one.item for one in board.standings] == ["a", "b", "c"]
    assert np.isfinite([one.strength for one in board.standings]).all()


WINNER, LOSER = ["a"] * 6 + ["b"] * 4, ["b"] * 6 + ["a"] * 4


def test_one_judge_says_nothing_about_others():
    alone = compared(WINNER, LOSER, judge=["x"] * 10)
    assert leaderboard(alone, independent="judge", intervals=False).intervals == "none"
    # one of two judges weighs nothing
    how = {"judge": ["x"] * 10 + ["y"], "weight": [1] * 10 + [0]}
    for data in (alone, compared([*WINNER, "b"], [*LOSER, "a"], **how)):
        match = "all comparisons are of one judge"
        refused(DataError, match, leaderboard, data, independent="judge")


def test_a_category_of_one_judge_has_no_intervals_and_says_so():
    how = {"judge": ["x"] * 10 + ["x", "y"] * 5, "category": ["one"] * 10 + ["two"] * 10}
    boards = leaderboards(compared(WINNER * 2, LOSER * 2, **how), independent="judge")
    assert "No intervals: all comparisons are of one judge" in boards["one"].text()
    assert "No intervals" not in boards["two"].text()
    assert np.isfinite(boards["two"].standings[0].low)


@pytest.mark.parametrize("data", [None, [("a", "b")], pd.DataFrame({"winner": ["a"]})])
def test_anything_else_is_answered_with_what_to_write(data):
    board = leaderboard(compared(["a", "b"], ["b", "a"]))
    match = "must be Comparisons.*from_columns"
    for call in (leaderboard, leaderboards, consensus, judge_agreement):
        refused(ParameterError, match, call, data)
    refused(ParameterError, match, learn_preferences, data, [[1.0]], ["a"])
    refused(ParameterError, match, board_page, board, data)
    refused(ParameterError, "'board' parameter of board_page", board_page, None, data)

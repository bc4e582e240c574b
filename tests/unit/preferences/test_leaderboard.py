"""The leaderboard: ranks, ties, parts, judges, and rankers from features."""

import numpy as np
import pytest
from scipy.stats import norm

from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError, ParameterError
from crucial.model.file import load_model
from crucial.preferences import judge_agreement, leaderboard, learn_preferences
from crucial.preferences.intervals import sandwich_covariance
from crucial.preferences.likelihood import PairedLikelihood, cells_of, maximise
from crucial.preferences.standings import _runs_of_ties
from refusals import refused


def judged(n=8, rows=300, seed=0, noise=(1.0, 1.0, 1.0)):
    """Items i0 < i1 < ... by strength; judge k errs with temperature noise[k]."""
    rng = np.random.default_rng(seed)
    s = np.linspace(-2, 2, n)
    a = rng.integers(0, n, rows)
    b = (a + rng.integers(1, n, rows)) % n
    judge = rng.integers(0, len(noise), rows)
    wins = rng.random(rows) < 1 / (1 + np.exp((s[b] - s[a]) / np.array(noise)[judge]))
    high, low = np.where(wins, a, b), np.where(wins, b, a)
    return Comparisons.from_columns(
        [f"i{k}" for k in high], [f"i{k}" for k in low], judge=[f"j{k}" for k in judge]
    )


def test_a_leaderboard_is_near_the_truth():
    board = leaderboard(judged(rows=1500))
    assert [one.item for one in board.standings] == [f"i{k}" for k in range(7, -1, -1)]
    truth = np.linspace(2, -2, 8)
    assert [one.strength for one in board.standings] == pytest.approx(truth, abs=0.4)
    inside = [one.low <= t <= one.high for one, t in zip(board.standings, truth)]
    assert sum(inside) >= 6
    for k, one in enumerate(board.standings, 1):
        assert one.rank == k
        assert one.rank_low <= k <= one.rank_high
        assert one.rank_high - one.rank_low <= len(one.tied_with)
        for other in one.tied_with:
            assert one.item in board[other].tied_with
    assert board.n_parts == 1
    assert "the comparisons connect all items" in board.notes
    assert sum(one.wins for one in board.standings) == 1500
    assert 0 < board.misordered < 0.35


def test_the_sandwich_is_that_of_as_many_groups_less_one():
    made = judged(rows=80)
    cells = cells_of(made)
    model = PairedLikelihood(cells, cells.counts(), 0.5, np.zeros(8, int))
    p = maximise(model)
    slopes = model.group_slopes(p, made.judge).toarray()
    half = np.linalg.inv(model.derivatives(p)[1]) @ slopes.T
    covariance, freedom = sandwich_covariance(model, p, made.judge)
    assert freedom == 2.0
    assert covariance == pytest.approx(3 / 2 * half @ half.T)


def test_parts_are_told_apart():
    made = Comparisons.from_columns(["a", "b", "x", "c"], ["b", "a", "y", "a"])
    board = leaderboard(made)
    assert board.n_parts == 2
    assert {one.item for one in board.standings if one.part == 1} == {"a", "b", "c"}
    assert [one.rank for one in board.standings if one.part == 2] == [1, 2]
    assert "fall into 2 parts (of 3, 2 items)" in board.notes[0]
    assert "cannot be compared" in board.notes[0]
    assert "in 2 places those above only ever won" in board.notes[1]
    assert "part 2 of 2" in board.text()
    assert np.isnan(board.chance("a", "x"))
    for one in board.standings:
        assert all(board[other].part == one.part for other in one.tied_with)
    board = leaderboard(Comparisons.from_columns(["a"], ["b"], items=["lonely"]))
    assert board["lonely"].part == 2  # (nobody compared it)
    assert board["lonely"].strength == 0


def test_equal_items_share_a_rank():
    board = leaderboard(Comparisons.from_columns(["a", "b"], ["b", "a"]), intervals=False)
    assert [one.rank for one in board.standings] == [1, 1]
    assert board.groups == ()
    assert all(one.low != one.low for one in board.standings)
    refused(KeyError, "c", board.__getitem__, "c")


def test_ties_hang_together_along_the_order():
    above = np.zeros((4, 4), bool)
    above[0, 3] = above[1, 3] = True
    assert _runs_of_ties(np.arange(4), above) == [(0, 1, 2), (2, 3)]


def test_judges_who_guess_are_found_out():
    made = judged(rows=900, noise=(0.5, 0.5, 200.0))
    found = judge_agreement(made)
    assert found.left_out
    assert found.with_others[2] < 0.6 < 0.7 < min(found.with_others[:2])
    assert sum(found.n) == 900
    assert "as the others" in str(found)


def test_agreement_on_the_same_pair_is_counted_by_hand():
    made = Comparisons.from_columns(
        ["a", "a", "b", "a", "a"],
        ["b", "b", "a", "c", "b"],
        judge=["x", "y", "z", "x", "x"],
        context=["p", "p", "p", "p", "q"],
    )
    found = judge_agreement(made)
    assert (found.n_same_pair, found.same_pair) == (3, pytest.approx(1 / 3))
    lone = Comparisons.from_columns(["a"], ["b"])
    refused(DataError, "have no judges", judge_agreement, lone)


def test_rankings_make_a_leaderboard():
    orders = [["a", "b", "c"]] * 8 + [["b", "a", "c"]] * 4 + [["c", "b"]] * 2
    board = leaderboard(Rankings.from_orders(orders))
    assert [one.item for one in board.standings] == ["a", "b", "c"]
    assert board.circles is None
    many = Rankings.from_orders([["a", "b", "c"], ["b", "a", "c"], ["c", "b"]], [8, 4, 2])
    for one, other in zip(board.standings, leaderboard(many).standings):
        assert one.strength == pytest.approx(other.strength)
        assert one.high - one.low == pytest.approx(other.high - other.low, rel=1e-6)


def test_parameters():
    made = judged(rows=20)
    refused(ParameterError, "'prior' parameter of leaderboard", leaderboard, made, prior=-1)
    match = "'independent' parameter of leaderboard"
    refused(ParameterError, match, leaderboard, made, independent="day")
    refused(DataError, "no column of contexts", leaderboard, made, independent="context")
    refused(DataError, "the most likely strengths are infinite", leaderboard, made, prior=0)


def test_features_rank_items_nobody_compared(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    s = 2 * X[:, 1]
    a = rng.integers(0, 40, 400)
    b = (a + rng.integers(1, 40, 400)) % 40
    wins = rng.random(400) < 1 / (1 + np.exp(s[b] - s[a]))
    made = Comparisons.from_columns(
        [f"i{k}" for k in np.where(wins, a, b)],
        [f"i{k}" for k in np.where(wins, b, a)],
        tie=rng.random(400) < 0.1,
    )
    learned = learn_preferences(made, X, [f"i{k}" for k in range(60)], n_estimators=100)
    assert learned.accuracy > 0.7
    assert learned.n_held_out == int((~made.tie).sum())
    unseen = learned.predict(X[40:])
    right = np.sign(unseen[:, None] - unseen) == np.sign(s[40:, None] - s[40:])
    assert right.mean() > 0.75
    assert learned.to_frame()["feature"][0] == "feature 1"
    assert "held out come out right" in str(learned)
    learned.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").predict(X[40:]).tolist() == unseen.tolist()


def test_features_of_too_few_items_and_of_wrong_ones():
    made = Comparisons.from_columns(["a", "b"], ["b", "c"])
    learned = learn_preferences(made, [[3.0], [2.0], [1.0]], ["a", "b", "c"], n_estimators=10)
    assert learned.n_held_out == 0
    assert learned.accuracy != learned.accuracy
    scores = learned.predict([[3.0], [2.0], [1.0]])
    assert scores[0] > scores[1] > scores[2]
    for names, match in (
        (["a", "b"], "1 compared items have no row of features; .* 'c'"),
        (["a", "a"], "rows 0 and 1 are both of 'a'"),
    ):
        refused(DataError, match, learn_preferences, made, [[3.0], [2.0]], names)


def test_very_many_judges():
    made = judged(rows=1200, noise=[1.0] * 150)
    found = judge_agreement(made)
    assert not found.left_out
    board = leaderboard(made, intervals=False)
    decided = made.weight[~made.tie].sum()
    n = np.array(found.n)
    right = np.nansum(n * np.array(found.with_others)) / decided
    assert right == pytest.approx(1 - board.misordered)


def test_a_judge_of_items_nobody_else_connects_is_not_held_against_them():
    made = Comparisons.from_columns(
        ["a", "b", "a", "x", "x"], ["b", "a", "b", "y", "y"], judge=["1", "2", "2", "3", "3"]
    )
    # 1: the others are undecided about a and b. 2: half as 1 has it. 3: nobody else knows x, y.
    assert judge_agreement(made).with_others == pytest.approx([np.nan, 0.5, np.nan], nan_ok=True)


def test_the_interval_of_reliability_is_of_95_percent():
    """One pair: the log-odds of k of n decisions have the variance 1 / (n p (1 - p))."""
    votes = {"x": (600, 300), "y": (700, 300), "z": (800, 300)}
    high = [name for ahead, behind in votes.values() for name in "a" * ahead + "b" * behind]
    low = ["b" if name == "a" else "a" for name in high]
    judge = [name for name, counts in votes.items() for _ in range(sum(counts))]
    found = judge_agreement(Comparisons.from_columns(high, low, judge=judge))
    for at, (ahead, behind) in enumerate(votes.values()):
        n, p = ahead + behind, ahead / (ahead + behind)
        relative = norm.ppf(0.975) / np.sqrt(n * p * (1 - p)) / np.log(ahead / behind)
        slope = found.reliability[at]
        ends = found.reliability_high[at] - slope, slope - found.reliability_low[at]
        assert ends == pytest.approx((relative * slope, relative * slope), rel=0.01)

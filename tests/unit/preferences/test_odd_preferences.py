"""Comparisons and rankings of odd kinds: what is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from crucial.errors import DataError, DataTypeError, ParameterError
from crucial.preferences import (
    Comparisons,
    Rankings,
    board_page,
    consensus,
    judge_agreement,
    leaderboard,
    leaderboards,
    learn_preferences,
)

compared = Comparisons.from_columns


@pytest.mark.parametrize("column", ["tie", "first"])
@pytest.mark.parametrize("value", ["no", "False", float("nan"), None, 2, 0.3, [1], pd.NA])
def test_yes_and_no_are_no_text_and_no_other_numbers(column, value):
    with pytest.raises(DataError, match=rf"{column} must be True or False. Got .* comparison 1"):
        compared(["a", "b"], ["b", "a"], **{column: [False, value]})


@pytest.mark.parametrize(
    "values", [[True, False], [1, 0], np.array([1.0, 0.0]), pd.Series([True, False]), (True, 0)]
)
def test_yes_and_no_in_other_forms(values):
    made = compared(["a", "b"], ["b", "a"], tie=values, first=values)
    assert made.tie.tolist() == [True, False]
    assert made.first.tolist() == [True, False]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, ""])
def test_items_without_a_name(nothing):
    with pytest.raises(DataError, match=r"comparison 1 .* lacks the name of an item"):
        compared(["a", nothing], ["b", "a"])
    if isinstance(nothing, str):
        return
    with pytest.raises(DataError, match=r"ranking 1 .* lacks the name of an item"):
        Rankings.from_orders([["a", "b"], ["a", ("b", nothing)]])


def test_judges_without_a_name_are_one():
    assert compared(["a", "b"], ["b", "a"], judge=[None, float("nan")]).judges == ("",)


@pytest.mark.parametrize("names", [None, 3, "ab"])
def test_names_that_are_no_list(names):
    with pytest.raises(DataTypeError, match="winner must be a sequence of names"):
        compared(names, names)
    with pytest.raises(DataTypeError, match=r"must be a list of (rankings|names)"):
        Rankings.from_orders(names if names != "ab" else ["ab"])


def test_a_table_is_no_list_of_names():
    with pytest.raises(DataError, match=r"Got a table of shape \(1, 2\)"):
        compared(np.array([["a", "b"]]), ["c"])


def test_counts_of_rankings_are_limited():
    orders = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]
    with pytest.raises(DataError, match=r"from 0 to 1e\+09. Got 1000000000000000.0 for ranking 2"):
        Rankings.from_orders(orders, count=[1, 1, 1e15])
    with pytest.raises(DataError, match="add up to a number above 0"):
        Rankings.from_orders(orders, count=[0, 0, 0])
    board = leaderboard(Rankings.from_orders(orders, count=[1e9, 1, 1]))
    assert [one.item for one in board.standings] == ["a", "b", "c"]
    assert np.isfinite([one.strength for one in board.standings]).all()


def test_one_judge_says_nothing_about_others():
    winner, loser = ["a"] * 6 + ["b"] * 4, ["b"] * 6 + ["a"] * 4
    alone = compared(winner, loser, judge=["x"] * 10)
    with pytest.raises(DataError, match="all comparisons are of one judge"):
        leaderboard(alone, independent="judge")
    assert leaderboard(alone, independent="judge", intervals=False).intervals == "none"
    # one of two judges weighs nothing
    second = compared(
        [*winner, "b"], [*loser, "a"], judge=["x"] * 10 + ["y"], weight=[1] * 10 + [0]
    )
    with pytest.raises(DataError, match="all comparisons are of one judge"):
        leaderboard(second, independent="judge")


def test_judges_of_no_weight_do_not_count():
    winner, loser = ["a"] * 6 + ["b"] * 4, ["b"] * 6 + ["a"] * 4
    judge = ["x"] * 5 + ["y"] * 5
    board = leaderboard(compared(winner, loser, judge=judge), independent="judge")
    more = compared([*winner, "b"], [*loser, "a"], judge=[*judge, "z"], weight=[1] * 10 + [0])
    again = leaderboard(more, independent="judge")
    for one, other in zip(board.standings, again.standings, strict=True):
        assert (other.low, other.high) == pytest.approx((one.low, one.high))


def test_a_category_of_one_judge_has_no_intervals_and_says_so():
    winner, loser = ["a"] * 6 + ["b"] * 4, ["b"] * 6 + ["a"] * 4
    data = compared(
        winner * 2,
        loser * 2,
        judge=["x"] * 10 + ["x", "y"] * 5,
        category=["one"] * 10 + ["two"] * 10,
    )
    boards = leaderboards(data, independent="judge")
    assert "No intervals: all comparisons are of one judge" in boards["one"].text()
    assert "No intervals" not in boards["two"].text()
    assert np.isfinite(boards["two"].standings[0].low)


@pytest.mark.parametrize("data", [None, [("a", "b")], pd.DataFrame({"winner": ["a"]})])
def test_anything_else_is_answered_with_what_to_write(data):
    board = leaderboard(compared(["a", "b"], ["b", "a"]))
    for call in (
        leaderboard,
        leaderboards,
        consensus,
        judge_agreement,
        lambda data: learn_preferences(data, [[1.0]], ["a"]),
        lambda data: board_page(board, data),
    ):
        with pytest.raises(ParameterError, match=r"must be Comparisons.*from_columns"):
            call(data)
    with pytest.raises(ParameterError, match="'board' parameter of board_page"):
        board_page(None, data)

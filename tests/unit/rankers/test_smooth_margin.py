"""Smooth margin ranking as an estimator."""

import warnings

import numpy as np
import pytest

import crucial
from crucial import RankBoost
from crucial.errors import NotSeparableWarning
from crucial.rankers import SmoothMarginRanker

Y = np.array([3, 2, 2, 1, 1, 0])
X = np.array([[int(c) for c in word] for word in
              ("111011", "011000", "110110", "011100", "101100")], float).T  # fmt: skip


def test_it_warns_once_where_pairs_cannot_all_be_ordered():
    table, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 1, 0, 1]
    with pytest.warns(NotSeparableWarning, match="some pair is in the wrong order") as caught:
        ranker = SmoothMarginRanker(50).fit(table, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "choice='steepest' also uses features that point down" in str(caught[0].message)
    assert ranker.separable_round_ is None
    descent = RankBoost.preset("coordinate_descent", n_estimators=50).fit(table, y)
    assert ranker.model_.weights == descent.model_.weights
    # Stumps that point down as well can order them.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = SmoothMarginRanker(50, choice="steepest").fit(table, y)
    assert free.separable_round_ is not None
    assert min(free.model_.weights) < 0
    assert free.trace_[-1].extras["smooth_margin"] > 0


def test_it_says_why_the_rounds_were_not_enough():
    with pytest.warns(NotSeparableWarning, match="weights are too small yet.* More rounds may"):
        SmoothMarginRanker(10, weak="column").fit(X, Y)
    with pytest.warns(NotSeparableWarning, match="ended by themselves: no weak ranker helps"):
        SmoothMarginRanker(10).fit([[0.0], [1.0], [0.0], [1.0], [1.0]], [0, 1, 1, 0, 1])


def test_a_perfect_ranker():
    table, y = np.array([[0.0], [0.0], [1.0]]), [0, 0, 1]
    ranker = SmoothMarginRanker(50).fit(table, y)
    g = ranker.trace_.column("smooth_margin")
    assert ranker.trace_[-1].extras["margin"] == pytest.approx(1.0)
    assert (np.diff(g[ranker.separable_round_ - 1 :]) > 0).all()
    assert 0.9 < g[-1] < 1.0
    one_pair = SmoothMarginRanker(50).fit(table[1:], y[1:])
    assert one_pair.trace_.stopped == "no weak ranker helps"  # (G is the margin: both are 1)
    assert len(one_pair.trace_) == one_pair.separable_round_ == 1
    with pytest.warns(crucial.errors.NoProgressWarning, match="perfect weak ranker"):
        stopped = SmoothMarginRanker(50, on_perfect="stop").fit(table, y)
    assert len(stopped.trace_) == 0
    assert stopped.separable_round_ is None


def test_features_themselves_take_the_same_step_as_columns():
    """A column of 0 and 1 scaled to [0, 1] is itself; numeric and closed form agree."""
    columns = SmoothMarginRanker(60, weak="column").fit(X, Y)
    features = SmoothMarginRanker(60, weak="feature").fit(X, Y)
    assert [one.feature for one in features.model_.rankers] == [
        one.feature for one in columns.model_.rankers
    ]
    assert features.model_.weights == pytest.approx(columns.model_.weights, rel=1e-8)
    for weak in ("column", "feature"):
        searched = SmoothMarginRanker(60, weak=weak, step="line_search").fit(X, Y)
        assert searched.separable_round_ == 14
        # The best step of one round is not the best start for the next.
        assert (
            searched.trace_[14].extras["smooth_margin"]
            >= (columns.trace_[14].extras["smooth_margin"])
        )

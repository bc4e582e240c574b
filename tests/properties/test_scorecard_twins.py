"""Scorecards beside plain listings: bins, edges, points, areas."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crucial.errors import DataError
from crucial.inspection import scorecard
from crucial.inspection.scorecards import merge_cells, short_edge
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Constant, ScaledFeature, Stump

seeds = st.integers(0, 10**6)


def naive_error(weight, value, begins):
    total = 0.0
    for low, high in zip(begins, [*begins[1:], len(weight)], strict=True):
        w, v = weight[low:high], value[low:high]
        total += float(w @ (v - np.average(v, weights=w)) ** 2)
    return total


@given(seeds, st.integers(1, 7), st.integers(1, 4), st.integers(0, 3))
def test_merging_is_the_best_of_all_cuts(seed, n_cells, max_bins, least):
    random = np.random.default_rng(seed)
    weight = random.integers(1, 4, n_cells).astype(float)
    value = random.integers(0, 5, n_cells).astype(float)
    best = np.inf
    for count in range(1, min(max_bins, n_cells) + 1):
        for cuts in combinations(range(1, n_cells), count - 1):
            begins = [0, *cuts]
            if count == 1 or np.add.reduceat(weight, begins).min() >= least:
                best = min(best, naive_error(weight, value, begins))
    found = merge_cells(weight, value, max_bins, least)
    assert found[0] == 0
    assert len(found) <= max_bins
    assert len(found) == 1 or np.add.reduceat(weight, found).min() >= least
    assert naive_error(weight, value, found) == pytest.approx(best, abs=1e-6)


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e9), st.floats(0, 1))
def test_an_edge_lies_between_its_values_and_is_short(low, width, part):
    high = low + width
    assume(high > low)
    edge = short_edge(low, high, low + part * width)
    assert low <= edge < high
    assert len(repr(edge)) <= max(len(repr(low)), len(repr(high)), 3)


def problem(seed, n_rows=80, ramps=False):
    """A random ranker, rows with missing values, and labels it orders somewhat."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3)).round(1)
    X[random.random(X.shape) < 0.15] = np.nan
    rankers = [
        Stump(int(f), float(t), int(d))
        for f, t, d in zip(
            random.integers(0, 3, 12), random.normal(size=12).round(2), random.integers(0, 2, 12)
        )
    ]
    if ramps:
        rankers[:2] = [ScaledFeature(0, -1.0, 1.0, 0.3), ScaledFeature(1, -2.0, 0.5, 0.0)]
    rankers.append(Constant())
    model = AdditiveRanker(3, rankers, random.exponential(size=13), ["a", "b", "c"])
    scores = model.predict(X)
    y = (scores + random.normal(size=n_rows) * scores.std() > np.median(scores)).astype(int)
    return model, X, y


def made(model, X, y, **settings):
    try:
        return scorecard(model, X, y, **settings)
    except DataError:  # (labels of one value, or ordered the wrong way by chance)
        assume(False)
        raise


@given(seeds, st.sampled_from(["lowest", "neutral", "spread"]), st.booleans())
def test_points_are_the_scaled_log_odds_up_to_rounding(seed, anchor, low_is_good):
    model, X, y = problem(seed)
    card = made(model, X, y, max_bins=None, anchor=anchor, low_is_good=low_is_good)
    log_odds = card.calibration.log_odds(model.predict(X))
    exact = card.scale.points(log_odds)
    # Half a point for each feature of the model, and for the start.
    bound = 0.5 * (len(card.features) + len(card.left_out) + 1) + 1e-6
    assert np.abs(card.score(X) - exact).max() <= bound
    assert card.auc["bins"] == pytest.approx(card.auc["model"], abs=1e-9)


@given(seeds, st.sampled_from([2, 4, None]), st.booleans())
def test_the_table_read_by_hand_gives_the_points_counts_and_areas(seed, max_bins, ramps):
    model, X, y = problem(seed, ramps=ramps)
    card = made(model, X, y, max_bins=max_bins, min_share=0.1)
    table = card.to_frame()
    lines = table.to_dict("records")
    points = np.full(len(X), sum(one["points"] for one in lines if one["feature"] == "every row"))
    for name in {one["feature"] for one in lines} - {"every row"}:
        own = [one for one in lines if one["feature"] == name]
        for row, x in enumerate(X[:, "abc".index(name)].tolist()):
            at = [
                one
                for one in own
                if (one["missing"] if np.isnan(x) else one["above"] < x <= one["up_to"])
            ]
            assert len(at) == 1
            points[row] += at[0]["points"]
    np.testing.assert_array_equal(card.score(X), points)
    high, low = points[y == 1], points[y == 0]
    wins = (high[:, None] > low).sum() + 0.5 * (high[:, None] == low).sum()
    assert card.auc["points"] == pytest.approx(wins / (len(high) * len(low)))
    for name, part in table[table["feature"] != "every row"].groupby("feature"):
        assert part["rows"].sum() == len(X)
        assert part["goods"].sum() == y.sum()
        if max_bins is not None:
            assert len(part) <= max_bins + 1
            inside = part[~part["missing"]]
            assert len(inside) == 1 or inside["rows"].min() >= 0.1 * len(X)
        missing = part.loc[part["missing"], "rows"].iloc[0]
        assert missing == np.isnan(X[:, "abc".index(name)]).sum()


@given(seeds)
def test_order_of_rows_and_rows_of_weight_2_change_nothing(seed):
    model, X, y = problem(seed)
    random = np.random.default_rng(seed)
    weight, order = random.integers(1, 3, len(y)), random.permutation(len(y))
    card = made(model, X, y, sample_weight=weight)
    twice = np.repeat(np.arange(len(y)), weight)
    for other in (
        made(model, X[twice], y[twice]),
        made(model, X[order], y[order], sample_weight=weight[order]),
    ):
        np.testing.assert_array_equal(other.score(X), card.score(X))
        assert other.calibration.slope == pytest.approx(card.calibration.slope)
        assert other.auc["points"] == pytest.approx(card.auc["points"])
        assert [one.text for f in other.features for one in f.bins] == [
            one.text for f in card.features for one in f.bins
        ]
        assert [band.rows for band in other.bands] == [band.rows for band in card.bands]

"""Shapes: what a feature adds is what the model adds."""

import math
import sys
import tracemalloc

import numpy as np
import pandas
import pytest

from crucial import RankBoost, inspection
from crucial.errors import MissingExtraError, NotRankedError
from crucial.inspection.importance import importances
from crucial.inspection.shape_functions import shapes
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Presence, ScaledFeature, Stump, Tree
from crucial.results import NumberedNames
from refusals import refused


def test_shares_count_every_row_once(ranker, frame) -> None:
    found = inspection.shapes(ranker, frame)
    for one in found.features:
        assert one.share is not None
        assert one.share.sum() + one.share_missing == pytest.approx(1.0, abs=1e-12)
        column = frame[one.name].to_numpy()
        assert one.share_missing == np.isnan(column).mean()
        inner = (column > one.thresholds[0]) & (column <= [*one.thresholds, math.inf][1])
        assert one.share[1] == inner.mean()
        assert one.histogram[1].sum() == frame[one.name].notna().sum()
    assert [one.share_of_weight for one in found.features] == sorted(
        (one.share_of_weight for one in found.features), reverse=True
    )
    assert (found.unused, found.n_rows) == (("length",), len(frame))


def test_ramps_and_steps_of_one_feature_are_added() -> None:
    rounds = [Stump(0, 1.0, 1), ScaledFeature(0, 0.0, 4.0, 0.25), Presence(1, 0)]
    model = AdditiveRanker(2, rounds, [1.0, 2.0, 0.5])
    X = np.array([[-1.0, 0.0], [2.0, np.nan], [np.nan, 7.0]])
    both, presence = inspection.shapes(model).features
    assert [both(-1.0), both(2.0), both(math.nan)] == [0.0, 2.0, 1.5]
    assert (presence(0.0), presence(math.nan)) == (0.5, 0.0)
    assert [both(a) + presence(b) for a, b in X] == model.predict(X).tolist()


def test_without_matplotlib_it_says_what_to_install(ranker, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    refused(MissingExtraError, r"pip install crucial\[plots\]", inspection.shapes(ranker).plot)


def test_without_pandas_frames_are_columns(ranker, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = inspection.shapes(ranker).to_frame()
    assert isinstance(table, dict)
    assert set(map(len, table.values())) == {len(table["adds"])}


class Nearest:
    """A weak ranker of all features."""

    def scores(self, X, groups=None):
        return np.linspace(0, 1, len(X))


def test_what_cannot_be_split_is_refused_with_the_way_out() -> None:
    mixed = AdditiveRanker(2, [Stump(0, 1.0, 0), Nearest()], [1.0, 1.0])
    refused(NotRankedError, r"round 2 is a Nearest.*kind='permutation'", inspection.shapes, mixed)
    with pytest.raises(NotRankedError, match=r"why splits .* Nearest is none.*'permutation'"):
        inspection.why(Nearest(), np.zeros((2, 2)), 0, 1)
    with pytest.raises(NotRankedError, match=r"contributions needs weak rankers of one feature"):
        inspection.contributions(mixed, [0.0, 1.0])


def test_rows_of_categories_are_counted() -> None:
    rng = np.random.default_rng(0)
    when = rng.integers(0, 60, 60)
    days = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(when, unit="D")
    rows = pandas.DataFrame({"shop": rng.choice(["a", "b", "c"], 60), "since": days})
    y = (rows["shop"] == "b").astype(int) + (when > 30)
    fitted = RankBoost(n_estimators=10).fit(rows, y)
    found = inspection.shapes(fitted, rows)
    assert found["shop"].category_rows == rows["shop"].value_counts().to_dict()
    for ax in found.plot():
        ax.figure.canvas.draw()


def test_a_plot_steps_exactly_where_the_model_does() -> None:
    """A value that equals a threshold is on the step below it, as in `predict`."""
    stumps = [Stump(0, 1.0, 0), Stump(0, 2.0, 0), Stump(0, 4.0, 0)]
    model = AdditiveRanker(1, stumps, [1.0, 0.5, 0.25])
    axes = inspection.shapes(model).plot()[0]
    x, y = (np.asarray(one) for one in axes.lines[0].get_data())
    assert y.tolist() == model.predict(x[:, None]).tolist()
    edges = np.array([1.0, 2.0, 4.0])
    for edge in (edges, np.nextafter(edges, 9.0)):
        assert np.isin(edge, x).all()
    assert y[np.isin(x, edges)].tolist() == [0.0, 1.0, 1.5]
    assert y[np.isin(x, np.nextafter(edges, 9.0))].tolist() == [1.0, 1.5, 1.75]


# -- functions of one and of two features of a ranker with trees ----------------------------------


# 1 where both are above their thresholds
AND = Tree((0, 1), (0.5, 2.0), (0, 1), (~0, ~1), (1, ~2), (2.0, 1.0), (0.0, 0.0, 1.0))
ALONE = Tree((1,), (3.0,), (0,), (~0,), (~1,), (1.0,), (-0.5, 0.5))


def model() -> AdditiveRanker:
    return AdditiveRanker(3, [AND, ALONE, Stump(0, 1.5, 0)], [1.0, 1.0, 2.0], ["a", "b", "c"])


def rows(n: int = 200) -> np.ndarray:
    random = np.random.default_rng(0)
    X = random.random((n, 3)) * [2, 5, 1]
    X[random.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("with_rows", [False, True])
def test_functions_of_one_and_two_features_add_up_to_the_score(with_rows: bool) -> None:
    X = rows()
    found = inspection.shapes(model(), X if with_rows else None)
    (pair,) = found.pairs
    assert (pair.names, pair.importance) == (("a", "b"), pytest.approx(3 / 4))
    total = [sum(one(x[one.feature]) for one in found.features) + pair(x[0], x[1]) for x in X]
    difference = model().predict(X) - total
    np.testing.assert_allclose(difference, difference[0], atol=1e-8)
    assert found.unused == ("c",)
    assert "a with b" in str(found)


def test_a_pair_has_nothing_that_one_feature_explains() -> None:
    X = rows()
    (pair,) = inspection.shapes(model(), X).pairs
    joint = np.array([pair(x[0], x[1]) for x in X])
    for feature, cuts in zip((0, 1), pair.thresholds, strict=True):
        cell = np.where(np.isnan(X[:, feature]), -1, cuts.searchsorted(X[:, feature]))
        for one in np.unique(cell):
            assert joint[cell == one].mean() == pytest.approx(0.0, abs=1e-5)


def test_a_function_of_one_feature_becomes_no_pair() -> None:
    flat = Tree((0, 1), (0.5, 2.0), (0, 1), (1, ~1), (~0, ~2), (2.0, 1.0), (0.25, 0.0, 0.0))
    found = inspection.shapes(AdditiveRanker(2, [flat], [1.0]))
    assert np.abs(found.pairs[0].values).max() < 0.25


def test_trees_of_three_features_have_no_functions() -> None:
    deep = Tree(
        (0, 1, 2), (0.5,) * 3, (0,) * 3, (~0, ~1, ~2), (1, 2, ~3), (1.0,) * 3, (0.0, 0.0, 0.0, 1.0)
    )
    larger = AdditiveRanker(3, [AND, deep], [1.0, 1.0], ["a", "b", "c"])
    message = r"at most 2 features, and that of round 2 combines 3. why\(ranker, X, a, b\)"
    for explain in (inspection.shapes, lambda one: inspection.contributions(one, [0.0, 1.0, 2.0])):
        refused(NotRankedError, message, explain, larger)
    assert larger.explain(2) == [
        "1 pair of features together:", "  a with b  50.0% of the gains",
        "1 tree combines 3 features:", "  a > 0.5 (gain 1)", "    yes: b > 0.5 (gain 1)",
        "      yes: not shown", "      no: adds 0", "    no: adds 0",
    ]  # fmt: skip


@pytest.mark.parametrize("with_rows", [False, True])
def test_contributions_of_features_and_pairs_add_up_to_the_score(with_rows: bool) -> None:
    X = rows()
    for x in X[:10]:
        found = inspection.contributions(model(), x, X if with_rows else None)
        assert found.pairs == ((0, 1),)
        total = found.added.sum() + found.pair_added.sum() + found.intercept
        assert total == pytest.approx(found.score, abs=1e-8)
        functions = inspection.shapes(model(), X if with_rows else None)
        (pair,) = functions.pairs
        assert found.pair_added[0] == pair(x[0], x[1])
        for name, part in zip(found.names, found.added, strict=True):
            assert part == pytest.approx(functions[name](x["abc".index(name)]), abs=1e-12)
    assert str(found).splitlines()[-1].endswith("a with b")
    frame = found.to_frame()
    assert list(frame["name"])[-1] == "a with b"
    assert list(frame["adds"])[-1] == found.pair_added[0]


# -- names of features that have none behave like a tuple and take no memory ----------------------


@pytest.mark.parametrize("out", [[], [0], [4], [1, 2], [0, 2, 4], [0, 1, 2, 3, 4]])
def test_like_a_tuple(out):
    names = NumberedNames(5, out)
    like = tuple(f"feature {k}" for k in range(5) if k not in out)
    assert (names, like, names[1:3]) == (like, names, like[1:3])
    assert [names.index(name) for name in like] == list(range(len(like)))
    assert all(name in names for name in like)
    for other in (*(f"feature {k}" for k in out), "feature 5", "feature 01", "feature x", 3, ""):
        assert other not in names
    assert names != (*like, "feature 5")
    if like:
        assert names[-1] == like[-1]
    with pytest.raises(IndexError, match="out of range"):
        names[len(like)]


def test_a_wide_model_costs_little_to_explain():
    model = AdditiveRanker(1 << 24, [Stump(3, 0.5, 0)], [1.0])
    tracemalloc.start()
    try:
        found = shapes(model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 << 20
    assert (len(found.unused), found.unused[3]) == ((1 << 24) - 1, "feature 4")
    assert importances(model)["feature 3"] == 1.0

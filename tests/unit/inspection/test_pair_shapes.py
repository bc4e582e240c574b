"""Functions of one and of two features of a ranker with trees."""

import numpy as np
import pytest

from crucial import inspection
from crucial.errors import NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump, Tree

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
    assert pair.names == ("a", "b")
    assert pair.importance == pytest.approx(3 / 4)
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


def test_heat_maps_are_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    (ax,) = inspection.shapes(model()).plot_pairs()
    assert ax.get_xlabel() == "a"
    assert ax.get_ylabel() == "b"


def test_trees_of_three_features_have_no_functions() -> None:
    deep = Tree(
        (0, 1, 2), (0.5,) * 3, (0,) * 3, (~0, ~1, ~2), (1, 2, ~3), (1.0,) * 3, (0.0, 0.0, 0.0, 1.0)
    )
    larger = AdditiveRanker(3, [AND, deep], [1.0, 1.0], ["a", "b", "c"])
    message = r"at most 2 features, and that of round 2 combines 3. why\(ranker, X, a, b\)"
    for explain in (inspection.shapes, lambda one: inspection.contributions(one, [0.0, 1.0, 2.0])):
        with pytest.raises(NotRankedError, match=message):
            explain(larger)
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


def test_contributions_are_drawn_largest_first() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    ax = inspection.contributions(model(), [1.0, 4.0, 0.0]).plot()
    assert {label.get_text() for label in ax.get_yticklabels()} == {"a = 1", "b = 4", "a with b"}

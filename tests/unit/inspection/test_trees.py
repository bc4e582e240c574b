"""Rankers with trees of one, two and many features under every way of looking into them."""

import itertools
from typing import Any

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, inspection
from crucial.errors import NotRankedError
from crucial.inspection.shape_functions import describe_with_pairs

RANDOM = np.random.default_rng(0)
N = 180
X = RANDOM.normal(size=(N, 4)).round(1)
QID = np.repeat(np.arange(6), 30)
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RANDOM.normal(size=N), [0.0, 1.0]) * 1.0
X[RANDOM.random(X.shape) < 0.05] = np.nan


@pytest.fixture(
    scope="module", params=list(itertools.product(["rankboost", "gradient"], [1, 2, None]))
)
def fitted(request: Any) -> tuple[Any, int | None]:
    kind, interactions = request.param
    maker: Any = RankBoost if kind == "rankboost" else GradientRanker
    how = {"weak": "tree", "interactions": interactions, "min_rows": 5}
    return maker(15, **how).fit(X, Y, qid=QID), interactions


def test_functions_and_parts_where_there_are_any(fitted: tuple[Any, int | None]) -> None:
    ranker, interactions = fitted
    if interactions is None:
        for explain in (inspection.shapes, lambda one: inspection.contributions(one, X[0])):
            with pytest.raises(NotRankedError, match=r"why\(ranker, X, a, b\)"):
                explain(ranker)
        return
    functions = inspection.shapes(ranker, X)
    assert bool(functions.pairs) == (interactions == 2)
    assert sum(one.importance for one in functions.pairs) <= 1.0 + 1e-12
    scores = ranker.predict(X)
    for row in range(5):
        parts = inspection.contributions(ranker, X[row], X)
        total = parts.added.sum() + parts.pair_added.sum() + parts.intercept
        assert total == pytest.approx(scores[row], abs=1e-7)


def test_the_description_has_the_functions_of_features(fitted: tuple[Any, int | None]) -> None:
    ranker, interactions = fitted
    learned = describe_with_pairs(ranker.model_)
    if interactions is None:
        joint = {f for tree in ranker.model_.rankers for f in tree.features}
        assert all(one.shape is None for one in learned.features if one.feature in joint)
        return
    functions = inspection.shapes(ranker)
    for one in learned.features:
        same = functions[f"feature {one.feature}"]
        assert one.shape is not None
        assert one.direction == same.direction
        for value in (-3.0, 0.0, 0.7, 3.0):
            step = int(one.shape.thresholds.searchsorted(value))
            assert one.shape.values[step] == pytest.approx(same(value), abs=1e-9)


def test_importances(fitted: tuple[Any, int | None]) -> None:
    ranker, _ = fitted
    for kind in ("weight", "drop", "r_squared"):
        values = inspection.importances(ranker, kind=kind).values
        assert values.sum() == pytest.approx(1.0)
        assert values[3] == values.min()
    found = inspection.importances(ranker, X, Y, qid=QID, kind="permutation", repeats=2)
    assert found.values.argmax() == 2
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def made(fitted: tuple[Any, int | None]) -> Any:
    return inspection.report(fitted[0], X, Y, qid=QID)


def test_a_report(fitted: tuple[Any, int | None], made: Any) -> None:
    ranker, interactions = fitted
    data = made.data
    assert (data["shapes"] is None) == (interactions is None)
    assert (data["trees"] is None) == (interactions is not None)
    assert data["margins"] is not None
    assert data["curve"]["measured"]["ndcg@10"][-1] == pytest.approx(data["measures"][0]["value"])
    if interactions is None:
        assert sum(share for _, share in data["trees"]["features"]) == pytest.approx(1.0)
        assert "adds" in data["trees"]["first"][0]
        assert "Trees that combine features" in str(made)
    elif interactions == 2:
        assert data["shapes"]["n_pairs"] == len(inspection.shapes(ranker).pairs)
        assert f"{data['shapes']['n_pairs']} pairs of features act together" in str(made)
    assert made.to_html().count("<script") == 2


def test_reasons_on_the_page_are_those_of_why(fitted: tuple[Any, int | None], made: Any) -> None:
    ranker, interactions = fitted
    lists = made.data["lists"]
    assert lists["exact"]
    entry = lists["worst"][0]
    if interactions == 1:
        assert entry["reasons"] is None
        return
    items = entry["items"]
    assert len(entry["reasons"]) == len(items) * (len(items) - 1) // 2
    for (i, j), reasons in zip(itertools.combinations(range(len(items)), 2), entry["reasons"]):
        margin = items[i]["score"] - items[j]["score"]
        assert sum(part for _, part in reasons) == pytest.approx(margin, abs=1e-6)
    rows = [int(one["id"].split()[1]) - 1 for one in items[:2]]
    found = inspection.why(ranker, X, *rows)
    named = dict(zip(found.names, found.added, strict=True))
    for place, part in entry["reasons"][0]:
        assert part == pytest.approx(named[lists["features"][place]], rel=1e-5, abs=1e-12)


def test_margins_lie_between_minus_one_and_one(fitted: tuple[Any, int | None]) -> None:
    ranker, _ = fitted
    found = inspection.margins(ranker, X, Y, QID)
    assert -1.0 <= found.minimum < found.maximum <= 1.0
    assert found.norm == pytest.approx(sum(one.span for one in ranker.model_.rankers))

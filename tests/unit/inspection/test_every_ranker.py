"""Every ranker can be looked into, or the way out is named; and every one can be reported."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, inspection
from crucial.errors import NotRankedError
from crucial.inspection.shape_functions import describe_with_pairs
from crucial.rankers.registry import RANKERS, ranker_class
from refusals import refused


@pytest.fixture(scope="module", params=sorted(RANKERS))
def fitted(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).round(1)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=90) > 0.4).astype(int)
    maker = ranker_class(request.param)
    short = {"n_estimators": 5} if "n_estimators" in maker().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker(**short).fit(X, y), X, y


def test_reasons_sum_to_the_margin_or_are_refused(fitted) -> None:
    ranker, X, _ = fitted
    if inspection.report(ranker, X, fitted[2]).data["shapes"] is None:
        if isinstance(ranker, GradientRanker):  # trees of several features: Shapley values
            found, scores = inspection.why(ranker, X, 0, 1), ranker.predict(X)
            assert found.added.sum() == pytest.approx(scores[0] - scores[1], rel=1e-9, abs=1e-9)
            return
        refused(NotRankedError, "kind='permutation'", inspection.why, ranker, X, 0, 1)
        return
    found = inspection.why(ranker, X, 0, 1)
    scores = ranker.predict(X)
    assert found.added.sum() == pytest.approx(scores[0] - scores[1], rel=1e-9, abs=1e-9)
    total = np.zeros(len(X))
    functions = inspection.shapes(ranker, X)
    for one in functions.features:
        total += [one(float(value)) for value in X[:, one.feature]]
    for pair in functions.pairs:
        total += [pair(*values) for values in X[:, pair.features].tolist()]
    # (an intercept moves no rank)
    assert total - total[0] == pytest.approx(scores - scores[0], rel=1e-9, abs=1e-9)


def test_a_report_is_made(fitted) -> None:
    ranker, X, y = fitted
    made = inspection.report(ranker, X, y)
    drawn = made.data["shapes"] is not None or made.data["trees"] is not None
    assert made.data["lists"]["exact"] == drawn
    assert made.data["permutation"]["features"]
    assert made.to_html().count("<script") == 2


def test_points_are_the_scaled_scores_or_a_card_is_refused(fitted) -> None:
    ranker, X, y = fitted
    try:
        functions = inspection.shapes(ranker)
    except NotRankedError:
        functions = None
    if functions is None or functions.pairs:
        with pytest.raises(NotRankedError, match="Train a sum of functions of one feature"):
            inspection.scorecard(ranker, X, y)
        return
    card = inspection.scorecard(ranker, X, y, max_bins=None)
    exact = card.scale.points(card.calibration.log_odds(ranker.predict(X)))
    assert np.abs(card.score(X) - exact).max() <= 0.5 * (len(functions.features) + 1) + 1e-6


# -- rankers with trees of one, two and many features under every way of looking into them --------


RANDOM = np.random.default_rng(0)
N = 180
X = RANDOM.normal(size=(N, 4)).round(1)
QID = np.repeat(np.arange(6), 30)
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RANDOM.normal(size=N), [0.0, 1.0]) * 1.0
X[RANDOM.random(X.shape) < 0.05] = np.nan


@pytest.fixture(
    scope="module", params=list(itertools.product(["rankboost", "gradient"], [1, 2, None]))
)
def tree_fitted(request: Any) -> tuple[Any, int | None]:
    kind, interactions = request.param
    maker: Any = RankBoost if kind == "rankboost" else GradientRanker
    how = {"weak": "tree", "interactions": interactions, "min_rows": 5, "max_leaves": 8, "l2": 1.0}
    return maker(15, **how).fit(X, Y, qid=QID), interactions


def test_the_description_has_the_functions_of_features(tree_fitted: Any) -> None:
    ranker, interactions = tree_fitted
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


def test_importances(tree_fitted: Any) -> None:
    ranker, _ = tree_fitted
    for kind in ("weight", "drop", "r_squared"):
        values = inspection.importances(ranker, kind=kind).values
        assert (values.sum(), values[3]) == (pytest.approx(1.0), values.min())
    found = inspection.importances(ranker, X, Y, qid=QID, kind="permutation", repeats=2)
    assert found.values.argmax() == 2
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def made(tree_fitted: Any) -> Any:
    return inspection.report(tree_fitted[0], X, Y, qid=QID)


def test_a_report(tree_fitted: Any, made: Any) -> None:
    ranker, interactions = tree_fitted
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


def test_reasons_on_the_page_are_those_of_why(tree_fitted: Any, made: Any) -> None:
    ranker, interactions = tree_fitted
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

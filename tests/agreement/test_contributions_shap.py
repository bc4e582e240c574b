"""Contributions of all rows: SHAP's exact values, and a table that its plots take."""

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap

from crucial import GradientRanker, RankBoost, inspection
from crucial.errors import NotRankedError
from crucial.rankers.registry import RANKERS, ranker_class

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4)).round(1)
QID = np.repeat(np.arange(6), 20)
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RANDOM.normal(size=len(X)), [0.0, 1.0]) * 1.0
FRAME = pd.DataFrame(X, columns=["bm25", "age", "clicks", "length"])
MAKERS: dict[str, Any] = {
    "stumps": lambda: RankBoost(20),
    "pairs": lambda: RankBoost(20, weak="tree", interactions=2, min_rows=5),
    "trees": lambda: GradientRanker(20, max_leaves=8, min_rows=5),
}


@pytest.fixture(scope="module", params=MAKERS)
def fitted(request: Any) -> Any:
    return MAKERS[request.param]().fit(FRAME, Y, qid=QID)


def test_they_are_the_exact_values_of_shap(fitted: Any) -> None:
    rows, background = FRAME[:6], FRAME[60:90]
    found = inspection.contributions(fitted, rows, background)
    masker = shap.maskers.Independent(background.to_numpy(), max_samples=len(background))

    def score(table: Any) -> Any:
        return fitted.predict(pd.DataFrame(table, columns=FRAME.columns))

    exact = shap.explainers.Exact(score, masker)(rows.to_numpy())
    out = np.zeros(rows.shape)
    out[:, list(found.features)] = found.added
    np.testing.assert_allclose(out, exact.values, atol=1e-12)
    np.testing.assert_allclose(found.base, exact.base_values, atol=1e-12)


@pytest.mark.parametrize("plot", ["beeswarm", "waterfall", "bar", "scatter", "heatmap"])
def test_shap_draws_them(fitted: Any, plot: str) -> None:
    table = inspection.contributions(fitted, FRAME).to_shap()
    one = {"waterfall": table[3], "scatter": table[:, "bm25"]}.get(plot, table)
    getattr(shap.plots, plot)(one, show=False)
    axes = plt.gcf().axes
    words = " ".join(
        [one.get_text() for ax in axes for one in ax.get_yticklabels()]
        + [ax.get_xlabel() for ax in axes]
    )
    assert "bm25" in words
    plt.close("all")


def test_categories_and_dates_are_shown_by_name() -> None:
    frame = pd.DataFrame({"colour": ["red", "green", "blue"] * 20, "size": np.arange(60.0)})
    y = (frame["colour"] == "red") * 1.0 + (frame["size"] > 30)
    table = inspection.contributions(RankBoost(20).fit(frame, y), frame).to_shap()
    assert table.display_data[0, table.feature_names.index("colour")] == "red"
    shap.plots.waterfall(table[0], show=False)
    assert any("red" in one.get_text() for one in plt.gca().get_yticklabels())
    plt.close("all")


#: Their scores are no sums of functions of rows: parts of queries, nets, recursive trees.
NO_SUMS = {"diffrank", "featurerank", "ranknet", "ranking-forest", "rankover", "treerank"}


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_that_is_a_sum_adds_up(name: str) -> None:
    maker = ranker_class(name)
    few = {"n_estimators": 5} if "n_estimators" in maker().get_params() else {}
    ranker = maker(**few).fit(X, (Y > 0) * 1.0)
    if name in NO_SUMS:
        remedy = "importances(ranker, X, y, kind='permutation')"
        with pytest.raises(NotRankedError, match=re.escape(remedy)):
            inspection.contributions(ranker, X)
        return
    found = inspection.contributions(ranker, X)
    np.testing.assert_allclose(found.scores, ranker.predict(X))
    np.testing.assert_allclose(found.base + found.added.sum(axis=1), found.scores, atol=1e-9)

"""Every ranker can be looked into, or the way out is named; and every one can be reported."""

import warnings

import numpy as np
import pytest

from crucial import GradientRanker, inspection
from crucial.errors import NotRankedError
from crucial.rankers.registry import RANKERS, ranker_class


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
        with pytest.raises(NotRankedError, match="kind='permutation'"):
            inspection.why(ranker, X, 0, 1)
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

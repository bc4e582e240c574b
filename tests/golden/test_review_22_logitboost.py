"""Section 22, LogitBoost, on set B."""

import numpy as np
import pytest

from crucial import LogitBoost
from naive.set_b import X12 as X
from naive.set_b import YB


def test_section_22_stumps_without_clipping():
    ranker = LogitBoost(3, 1.0, clip=None, max_bins=None).fit(X, YB)
    expected = [
        (1, 0.625, -0.6, 1.0, 0.522471354402),
        (1, 0.0625, 2.160058461368, -0.276794790327, 0.237358890669),
        (1, 0.625, -0.504004772501, 0.617706905051, 0.100609456305),
    ]
    found = [
        (
            one.ranker.feature,
            one.ranker.threshold,
            one.alpha * one.ranker.intercept,
            one.alpha * (one.ranker.intercept + one.ranker.slope),
            one.loss,
        )
        for one in ranker.trace_
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_section_22_the_score_is_half_the_log_odds():
    ranker = LogitBoost(3, 1.0, clip=None).fit(X, YB)
    score, good = ranker.predict(X), ranker.predict_proba(X)[:, 1]
    np.testing.assert_allclose(np.log(good / (1 - good)), 2 * score, rtol=1e-12)
    loss = np.mean(np.log2(1 + np.exp(-2 * (2 * YB - 1) * score)))
    assert loss == pytest.approx(0.100609456305, rel=1e-11)


def test_section_22_linear_with_a_ridge():
    ranker = LogitBoost(2000, 1.0, weak="linear", l2=0.1, standardise=False).fit(X, YB)
    w = np.zeros(2)
    for line, weight in ranker.model_.weighted():
        w[line.feature] += weight
    np.testing.assert_allclose(w, [0.287723774987, 0.972723163640], rtol=1e-10)
    assert ranker.model_.intercept == pytest.approx(-0.618523664571, rel=1e-10)
    objective = ranker.trace_[-1].extras["risk"] + 0.05 * w @ w
    assert objective == pytest.approx(0.871725995045, rel=1e-11)


def test_section_22_linear_begins_at_half_the_log_odds():
    y = np.array([0, 1, 0, 0, 1, 0, 0, 0])
    first = LogitBoost(1, 0.1, weak="linear").fit(X, y).model_
    # (the first fit has mean 0, so the mean score is still the offset)
    assert first.predict(X).mean() == pytest.approx(0.5 * np.log(2 / 6), rel=1e-12)

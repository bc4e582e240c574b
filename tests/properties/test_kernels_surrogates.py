"""Surrogates over pairs: surrogate_sums agrees with listing every pair."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.pairs import SurrogateSums

pytestmark = pytest.mark.kernels


def cost(surrogate: str, z: float, width: float) -> tuple[float, float]:
    """The loss at z, and minus its slope; at a corner that of the flat side."""
    if surrogate == "exp":
        return float(np.exp(-z)), float(np.exp(-z))
    if surrogate == "hinge":
        return max(0.0, 1.0 - z), float(z < 1.0)
    return min(1.0, max(0.0, 1.0 - z / width)), 1.0 / width if 0.0 < z <= width else 0.0


@pytest.mark.parametrize("surrogate", ["exp", "hinge", "piecewise"])
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_sums(surrogate: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 30))
    y = random.integers(0, 4, n) / 2.0
    y[:2] = [0.0, 1.0]
    qid = random.integers(0, 3, n)
    qid[:2] = 0
    feedback = LabelFeedback(y, Groups.from_qid(qid, n), weight=random.integers(1, 3, n) * 1.0)
    rows = feedback.labelled()
    layout = rows.layout
    scores = random.normal(size=len(feedback.rows)) * 2
    weight = np.ones(layout.n_rows) if rows.weight is None else rows.weight
    sums = SurrogateSums(surrogate, 0.5, layout, layout.values, rows.weight, rows.coefficient)
    found, gradient = sums.gradient(scores)
    assert found == pytest.approx(sums.loss(scores))
    label = np.repeat(layout.values, np.diff(layout.level_start))
    query = layout.query_of_row()
    loss, slopes = 0.0, np.zeros(layout.n_rows)
    for i, j in product(range(layout.n_rows), repeat=2):
        if query[i] == query[j] and label[i] > label[j]:
            gap, c = label[i] - label[j], rows.coefficient[query[i]]
            value, slope = cost(surrogate, gap * (scores[i] - scores[j]), 0.5)
            loss += c * weight[i] * weight[j] * value
            slopes[i] += c * weight[j] * gap * slope
            slopes[j] -= c * weight[i] * gap * slope
    assert found == pytest.approx(loss, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-10)

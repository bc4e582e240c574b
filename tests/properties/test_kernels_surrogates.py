"""Surrogates over pairs: surrogate_sums agrees with listing every pair, as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.kernels import surrogates
from crucial.kernels.surrogates import SurrogateSums

pytestmark = pytest.mark.kernels


def cost(surrogate: str, z: float, width: float) -> float:
    if surrogate == "exp":
        return float(np.exp(-z))
    if surrogate == "hinge":
        return max(0.0, 1.0 - z)
    return min(1.0, max(0.0, 1.0 - z / width))


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
    found = []
    for small in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(surrogates, "is_small", lambda *a, small=small: small)
            sums = SurrogateSums(
                surrogate, 0.5, layout, layout.values, rows.weight, rows.coefficient
            )
        assert (sums._listed is not None) == small
        loss, gradient = sums.gradient(scores)
        assert loss == pytest.approx(sums.loss(scores))
        found.append((loss, gradient))
    label = np.repeat(layout.values, np.diff(layout.level_start))
    query = layout.query_of_row()
    expected = sum(
        rows.coefficient[query[i]] * weight[i] * weight[j]
        * cost(surrogate, (label[i] - label[j]) * (scores[i] - scores[j]), 0.5)
        for i in range(layout.n_rows)
        for j in range(layout.n_rows)
        if query[i] == query[j] and label[i] > label[j]
    )  # fmt: skip
    assert found[0][0] == pytest.approx(expected, rel=1e-10)
    assert found[1][0] == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-10)

"""Columns of mean 0 and spread 1, whatever the features were."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from crucial.data.instances import Instances
from crucial.rankers.linear.columns import Design

RANDOM = np.random.default_rng(0)
X = np.column_stack(
    [
        RANDOM.normal(5.0, 3.0, 40),
        np.full(40, 2.0),
        RANDOM.exponential(size=40) * 1e300,
        RANDOM.integers(0, 2, 40),
        np.full(40, np.nan),
    ]
)
X[:7, 0] = np.nan
ROWS = np.arange(40)


def test_mean_0_spread_1_and_abstentions_at_the_mean() -> None:
    made = Design.of(Instances.from_input(X), ROWS)
    assert [one.feature for one in made.rankers] == [0, 2, 3]
    assert (made.matrix[:7, 0] == 0.0).all()
    there = ~np.isnan(X[:, [0, 2, 3]])
    for j in range(3):
        values = made.matrix[there[:, j], j]
        assert values.mean() == pytest.approx(0.0, abs=1e-12)
        assert values.std() == pytest.approx(1.0, rel=1e-12)
        # In a model: the ranker times scale, up to a constant.
        scores = made.scale[j] * made.rankers[j].scores(X)
        np.testing.assert_allclose(np.ptp(scores - made.matrix[:, j]), 0.0, atol=1e-12)


def test_in_the_unit_interval_on_request() -> None:
    made = Design.of(Instances.from_input(X), ROWS, scaling="unit")
    assert made.matrix.min() == 0.0
    assert made.matrix.max() == 1.0
    assert made.scale.tolist() == [1.0] * 3
    assert made.matrix[0, 0] == pytest.approx(made.matrix[7:, 0].mean(), rel=1e-12)


@pytest.mark.parametrize("scaling", ["standard", "unit", "raw"])
def test_sparse_columns_differ_by_a_constant_at_most(scaling: Any) -> None:
    table = np.where(np.nan_to_num(X[:, [0, 3]]) < 4.0, 0.0, X[:, [0, 3]] - 9.0)
    table = np.column_stack([table, X[:, 0]])
    dense = Design.of(Instances.from_input(table), ROWS, scaling=scaling)
    sparse = Design.of(Instances.from_input(sp.csr_array(table)), ROWS, scaling=scaling)
    assert sp.issparse(sparse.matrix)
    assert sparse.rankers == dense.rankers
    apart = sparse.matrix.toarray() - dense.matrix
    np.testing.assert_allclose(np.ptp(apart, axis=0), 0.0, atol=1e-9)
    if scaling != "standard":
        assert not apart.any()


def test_abstentions_may_have_a_column_of_their_own() -> None:
    made = Design.of(Instances.from_input(X), ROWS, learned=True)
    assert [(type(one).__name__, one.feature) for one in made.rankers] == [
        ("ScaledFeature", 0), ("Presence", 0), ("ScaledFeature", 2), ("ScaledFeature", 3),
    ]  # fmt: skip
    assert made.scale.tolist() == [1.0] * 4
    assert made.matrix[:, 1].tolist() == [1.0] * 7 + [0.0] * 33
    for ranker, column in zip(made.rankers, np.asarray(made.matrix).T):
        apart = column - ranker.scores(X)
        assert np.ptp(apart) == 0.0

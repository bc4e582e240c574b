"""The kernel ranker: scores, importances, files and what is refused."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from crucial import load_model
from crucial.errors import ModelFileError, NotRankedError, ParameterError
from crucial.model import KernelRanker
from crucial.model.describe import describe
from crucial.model.kernel import Column, Kernel
from crucial.model.weak import ScaledFeature
from naive.random_models import sealed
from refusals import refused

COLUMNS = [
    Column(ScaledFeature(0, 0.0, 4.0, 0.5), 1.25, -0.625),
    Column(ScaledFeature(2, -1.0, 1.0, 0.25), 2.0, -0.5),
]
SUPPORT = np.array([[0.5, -0.25], [-0.5, 1.0], [0.125, 0.75]])
COEFFICIENTS = [1.5, -0.75, -0.75]
X = np.array([[1.0, 0.0, 0.5], [np.nan, 2.0, -3.0], [9.0, 0.0, 0.25], [-1.0, 1.0, np.nan]])


def twice(a: Any, b: Any) -> Any:
    """A kernel of a user's own."""
    return 2.0 * a @ b.T


def model(kernel: Kernel | None = None, **more: Any) -> KernelRanker:
    kernel = kernel or Kernel("rbf", 0.5)
    return KernelRanker(3, kernel, COLUMNS, SUPPORT, COEFFICIENTS, **more)


def columns() -> Any:
    """The columns by hand: cut off, scaled, the default where a feature abstains."""
    first = np.where(np.isnan(X[:, 0]), 0.5, np.clip(X[:, 0], 0, 4) / 4)
    second = np.where(np.isnan(X[:, 2]), 0.25, (np.clip(X[:, 2], -1, 1) + 1) / 2)
    return np.column_stack([1.25 * first - 0.625, 2.0 * second - 0.5])


@pytest.mark.parametrize(("kernel", "function"), [
    (Kernel("rbf", 0.5), lambda a, b: np.exp(-0.5 * np.sum((a - b) ** 2))),
    (Kernel("poly", 0.5, 2, 1.0), lambda a, b: (0.5 * np.dot(a, b) + 1.0) ** 2),
    (Kernel("linear"), np.dot),
    (Kernel(twice), lambda a, b: 2.0 * np.dot(a, b)),
], ids=["rbf", "poly", "linear", "own"])  # fmt: skip
def test_scores_slopes_and_importances(kernel: Kernel, function: Any) -> None:
    found = model(kernel)
    rows = columns()
    expected = [sum(c * function(r, s) for c, s in zip(COEFFICIENTS, SUPPORT)) for r in rows]
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-12)
    np.testing.assert_allclose(found.predict(sp.csr_array(X)), expected, rtol=1e-12)
    step = 1e-6
    slopes = kernel.slopes(SUPPORT, np.array(COEFFICIENTS), rows)
    for j in range(2):
        moved = rows + step * np.eye(2)[j]
        after = [sum(c * function(r, s) for c, s in zip(COEFFICIENTS, SUPPORT)) for r in moved]
        np.testing.assert_allclose(slopes[:, j], (np.array(after) - expected) / step, atol=1e-4)
    shares = found.feature_importances()
    assert (shares.sum(), shares[1]) == (pytest.approx(1.0), 0.0)


def test_a_precomputed_kernel_is_a_weighted_sum_of_columns() -> None:
    found = KernelRanker(
        4, Kernel("precomputed"), [], np.zeros((2, 0)), [1.0, -2.0], rows=np.array([3, 1])
    )
    table = np.arange(8.0).reshape(2, 4)
    assert found.predict(table).tolist() == [3.0 - 2.0, 7.0 - 10.0]
    assert found.predict(sp.csc_array(table)).tolist() == [1.0, -3.0]
    assert found.feature_importances().round(3).tolist() == [0.0, 0.667, 0.0, 0.333]
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        found.predict(np.where(table == 7.0, np.nan, table))


def test_a_kernel_of_the_user_is_pickled_and_not_saved(tmp_path: Path) -> None:
    found = model(Kernel(twice))
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(NotRankedError, match=r"'twice' is a function.*kernel='precomputed'"):
        found.save(tmp_path / "m.json")


@pytest.mark.parametrize(("change", "message"), [
    ({"support": [[1.0]], "coefficients": [1.0]}, "rows of 2 columns"),
    ({"coefficients": [1.0]}, "coefficients"),
    ({"n_features": 2}, "features below 2"),
])  # fmt: skip
def test_a_file_that_does_not_fit_together_is_refused(tmp_path, change, message):
    path = tmp_path / "m.json"
    model().save(path)
    path.write_bytes(sealed(json.loads(path.read_text())["model"] | change))
    refused(ModelFileError, message, load_model, path)


def test_models_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="rows of 2 finite columns"):
        KernelRanker(3, Kernel("rbf"), COLUMNS, np.array([[np.inf, 0.0]]), [1.0])
    with pytest.raises(ParameterError, match="one row below 4 per coefficient"):
        KernelRanker(4, Kernel("precomputed"), [], np.zeros((1, 0)), [1.0], rows=[4])
    with pytest.raises(ValueError, match=r"array of shape \(4, 3\)"):
        model(Kernel(lambda a, b: np.zeros(3))).predict(X)
    with pytest.raises(ValueError, match="finite numbers"):
        model(Kernel(lambda a, b: np.full((len(a), len(b)), np.nan))).predict(X)


def test_it_says_that_it_is_not_additive() -> None:
    learned = describe(model())
    assert learned.size == "rbf kernel with 3 support rows"
    text = "\n".join(learned.lines)
    assert "exp(-0.5 |x - z|^2)" in text
    assert "not additive" in text
    assert learned.n_used == 2
    assert repr(model()) == "KernelRanker(n_features=3, rbf kernel with 3 support rows)"


def test_no_support_scores_nothing() -> None:
    empty = KernelRanker(3, Kernel("rbf"), COLUMNS, np.zeros((0, 2)), [])
    assert empty.predict(X).tolist() == [0.0] * 4
    assert empty.feature_importances().tolist() == [0.0] * 3

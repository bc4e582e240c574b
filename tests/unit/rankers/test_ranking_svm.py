"""RankingSVM: forms that must agree, invariances, kernels and what it refuses."""

from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from crucial.model import KernelRanker
from crucial.rankers import RankingSVM

RANDOM = np.random.default_rng(7)
N = 80
QID = np.array([f"q{i}" for i in RANDOM.integers(0, 5, N)])
X = RANDOM.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, -3.0]
GRADES = np.digitize(X[:, 0] - 0.05 * X[:, 1] + 0.7 * RANDOM.normal(size=N), [-1.0, 0.5])
HOLES = np.where(RANDOM.random(X.shape) < 0.15, np.nan, X)
LOSSES = ["hinge", "squared_hinge"]


def rbf(a: Any, b: Any) -> Any:
    """The Gaussian kernel, as a function of a user's own."""
    return np.exp(-0.25 * ((a[:, None] - b) ** 2).sum(axis=2))


def fitted(rows: Any = X, y: Any = GRADES, qid: Any = QID, **settings: Any) -> RankingSVM:
    return RankingSVM(0.05, **{"tol": 1e-8, **settings}).fit(rows, y, qid=qid)


def test_squared_hinge_without_queries_is_scikit_learns_on_listed_differences() -> None:
    """LinearSVC minimises |w|^2 / 2 + C sum hinge^2 over differences and their opposites."""
    y = (GRADES > 0).astype(int)
    found = fitted(y=y, qid=None, loss="squared_hinge", standardise=False, tol=1e-14)
    high, low = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    differences = (X[high][:, None] - X[low]).reshape(-1, 4)
    signs = np.where(np.arange(len(differences)) % 2, 1, -1)
    c = 1.0 / (0.05 * len(differences)) / 2.0
    svc = LinearSVC(C=c, loss="squared_hinge", fit_intercept=False, tol=1e-10, max_iter=100_000)
    svc.fit(signs[:, None] * differences, signs)
    weights = np.array(found.model_.weights) / np.ptp(X, axis=0)
    np.testing.assert_allclose(weights, svc.coef_[0], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_polynomial_of_degree_one_is_the_linear_ranker(loss: str) -> None:
    """Both spaces of the solvers, and the same minimum."""
    linear = fitted(HOLES, loss=loss)
    kernel = fitted(HOLES, loss=loss, kernel="poly", degree=1, gamma=1.0, coef0=0.0)
    assert kernel.objective_ == pytest.approx(linear.objective_, abs=3e-8)
    apart = linear.predict(HOLES) - kernel.predict(HOLES)
    assert max(np.ptp(apart[one == QID]) for one in np.unique(QID)) < 2e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_three_ways_to_one_kernel(loss: str) -> None:
    named = fitted(loss=loss, kernel="rbf", gamma=0.25)
    own = fitted(loss=loss, kernel=rbf)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = rbf(standard, standard)
    computed = fitted(gram, loss=loss, kernel="precomputed")
    for other, rows in ((own, X), (computed, gram)):
        assert other.objective_ == pytest.approx(named.objective_, abs=3e-8)
        np.testing.assert_allclose(other.predict(rows), named.predict(X), atol=2e-3)
    assert isinstance(named.model_, KernelRanker)


def test_coefficients_sum_to_nothing_in_every_query_and_few_rows_support() -> None:
    named = fitted(rbf(X, X) + 10.0 * np.eye(N), kernel="precomputed")
    assert len(named.model_.rows) <= N
    for one in np.unique(QID):
        inside = np.isin(named.model_.rows, np.flatnonzero(one == QID))
        assert named.model_.coefficients[inside].sum() == pytest.approx(0.0, abs=1e-6)
    easy = np.column_stack([np.arange(40.0), np.zeros(40)])
    found = RankingSVM(1e-3, kernel="rbf", gamma=1.0).fit(easy, np.arange(40) > 19)
    assert len(found.model_.coefficients) <= 10


# Features of different scales, where planes that are almost parallel decide the last digits.
LONG_ROWS = [
    ("product", [[-19.0, 2.497], [2.0, -0.164], [-14.0, -1.29]], [0, 1, 2], [1, 1, 1]),
    (
        "sign",
        [[42.077, -0.514], [-22.415, -0.209], [-19.777, 0.24], [-25.249, -1.056]],
        [0, 1, 1, 0],
        [3, 3, 1, 1],
    ),
    (
        "sign",
        [[-35.401, 0.295], [20.844, -0.224], [-7.126, -2.402], [-14.268, -0.397]],
        [0, 1, 0, 1],
        [1, 1, 1, 1],
    ),
    (
        "product",
        [
            [27.606926989195706, -1.5259304065189514],
            [17.31311373771754, 1.1921661041016585],
            [-19.093909391129415, -0.6710896751741096],
            [16.2585666123088, 1.0002694196594604],
        ],
        [0, 1, 0.75, 0],
        [1, 1, 1, 1],
    ),
]


@pytest.mark.parametrize(("margin", "X", "y", "weight"), LONG_ROWS)
def test_it_gets_as_close_as_it_is_asked(margin: str, X: Any, y: Any, weight: Any) -> None:
    ranker = RankingSVM(0.05, margin=margin, standardise=False, tol=1e-7)
    ranker.fit(X, y, sample_weight=weight)
    assert ranker.gap_ <= 1e-7
    assert ranker.n_iter_ < 150


def test_landmarks() -> None:
    whole = fitted(kernel="rbf", loss="squared_hinge")
    every = fitted(kernel="rbf", loss="squared_hinge", n_landmarks=N)
    assert every.objective_ == pytest.approx(whole.objective_, abs=1e-6)
    np.testing.assert_allclose(every.predict(X), whole.predict(X), atol=1e-3)
    few = fitted(kernel="rbf", loss="squared_hinge", n_landmarks=15)
    assert len(few.model_.coefficients) == 15
    assert few.objective_ >= whole.objective_ - 1e-9
    same = fitted(kernel=rbf, loss="squared_hinge", n_landmarks=15)
    assert same.objective_ == pytest.approx(
        fitted(kernel="rbf", gamma=0.25, loss="squared_hinge", n_landmarks=15).objective_, abs=1e-8
    )
    doubled = np.repeat(X[:10], 2, axis=0)  # (rank 10: no more landmarks than that)
    found = fitted(doubled, np.arange(20) % 3, None, kernel="rbf", n_landmarks=20)
    assert len(found.model_.coefficients) == 10


def test_a_raw_polynomial_kernel_sees_a_constant_column() -> None:
    """(1 + x y + c c)^2 is the kernel of x with 1 + c c for 1."""
    rows, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 3
    settings = {"kernel": "poly", "degree": 2, "gamma": 1.0, "standardise": False}
    wide = np.column_stack([rows, np.full(40, 3.0)])
    found = RankingSVM(coef0=1.0, **settings).fit(wide, y)
    same = RankingSVM(coef0=10.0, **settings).fit(rows, y)
    np.testing.assert_allclose(found.predict(wide), same.predict(rows), atol=1e-6)

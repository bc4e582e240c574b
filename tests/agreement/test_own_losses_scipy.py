"""Losses minimised by boosting end where general solvers end."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from crucial.rankers import LogisticRanker, PNormPush


def binary_columns(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of 0 and 1, whose stumps are the columns themselves, and noisy grades."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n, 4)).astype(float)
    y = np.digitize(X @ [1.0, 0.7, -0.5, 0.2] + random.logistic(size=n), [0.0, 1.2])
    return X, y


def differences(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    pairs = [(a, b) for a, b in itertools.product(range(len(y)), repeat=2) if y[a] > y[b]]
    return np.array([X[a] - X[b] for a, b in pairs])


@pytest.mark.parametrize("step", ["exact", "bound"])
def test_the_logistic_loss_is_logistic_regression_on_differences(step: str) -> None:
    X, y = binary_columns()
    D = differences(X, y)
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    regression = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000)
    regression.fit(D * sign[:, None], sign)
    expected = regression.coef_[0]
    ranker = LogisticRanker(400, 1.0, step=step).fit(X, y)
    weights = np.zeros(4)
    for one, alpha in zip(ranker.model_.rankers, ranker.model_.weights):
        weights[one.feature] += alpha
    np.testing.assert_allclose(weights, expected, atol=1e-4)
    loss = np.log2(1 + np.exp(-D @ expected)).mean()
    assert ranker.trace_[-1].loss == pytest.approx(loss, rel=1e-8)


@pytest.mark.parametrize("p", [1.0, 2.0, 6.0])
@pytest.mark.parametrize("step", ["exact", "bound"])
def test_the_push_reaches_the_minimum_of_its_norm(p: float, step: str) -> None:
    X, y = binary_columns()
    above = y[:, None] < y[None, :]

    def norm(w: np.ndarray) -> float:
        scores = X @ w
        inner = np.where(above, np.exp(scores[:, None] - scores[None, :]), 0.0).sum(axis=1)
        start = above.sum(axis=1)
        return float(np.log((inner**p).sum() / (start**p).sum()) / p)

    best = minimize(norm, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    ranker = PNormPush(p, 1500 if step == "bound" else 600, 1.0, step=step).fit(X, y)
    assert ranker.trace_[-1].log_loss == pytest.approx(best.fun, abs=1e-7)

"""GradientRanker's trees are LightGBM's, under the same gradients, bins and limits."""

import numpy as np
import pytest

from crucial import GradientRanker

lightgbm = pytest.importorskip("lightgbm")

RANDOM = np.random.default_rng(3)
SIZES = RANDOM.integers(5, 40, 60)
N = int(SIZES.sum())
QID = np.repeat(np.arange(len(SIZES)), SIZES)
X = RANDOM.integers(0, 60, size=(N, 4)) / 2.0
Y = np.digitize(X[:, 0] * X[:, 1] / 30 + X[:, 2] + 3 * RANDOM.normal(size=N), [15, 25, 35]) * 1.0
STARTS = np.concatenate(([0], np.cumsum(SIZES)))[:-1]


def squares(scores):
    error = scores - Y
    return error - np.repeat(np.add.reduceat(error, STARTS) / SIZES, SIZES), np.ones(N)


def softmax(scores):
    def shares(values):
        grown = np.exp(values)
        return grown / np.repeat(np.add.reduceat(grown, STARTS), SIZES)

    share = shares(scores)
    return share - shares(Y), share * (1.0 - share)


def exponential(scores):
    gradient, curvature = np.zeros(N), np.zeros(N)
    for start, size in zip(STARTS, SIZES, strict=True):
        s, y = scores[start : start + size], Y[start : start + size]
        weight = np.exp(s[None, :] - s[:, None]) * (y[:, None] > y[None, :])  # (hi, lo)
        gradient[start : start + size] = weight.sum(axis=0) - weight.sum(axis=1)
        curvature[start : start + size] = weight.sum(axis=0) + weight.sum(axis=1)
    return gradient, curvature


# (LightGBM estimates the number of rows of a leaf by their curvature, so that the least number
# of rows is exact only where all have the same)
@pytest.mark.parametrize(("loss", "gradient", "leaves", "min_rows", "l2"), [
    ("query_rmse", squares, 2, 10, 0.0),
    ("query_rmse", squares, 6, 10, 0.0),
    ("query_rmse", squares, 6, 25, 5.0),
    ("query_rmse", squares, 20, 10, 0.0),
    ("softmax", softmax, 2, 10, 0.0),
    ("softmax", softmax, 6, 10, 0.0),
    ("exponential", exponential, 2, 10, 0.0),
    ("exponential", exponential, 6, 1, 0.0),
])  # fmt: skip
def test_the_first_trees_agree(loss, gradient, leaves, min_rows, l2):
    """A row of the squared error has a curvature of 1, so that l2 is in the same unit in both."""
    data = lightgbm.Dataset(X, Y, params={"min_data_in_bin": 1, "max_bin": 255})
    settings = {
        "objective": lambda scores, _: gradient(scores), "num_leaves": leaves, "verbosity": -1,
        "learning_rate": 0.2, "min_data_in_leaf": min_rows, "min_sum_hessian_in_leaf": 0.0,
        "lambda_l2": l2, "num_threads": 1, "deterministic": True,
    }  # fmt: skip
    booster = lightgbm.train(settings, data, 4)
    ranker = GradientRanker(
        4, 0.2, loss=loss, symmetric=False, max_leaves=leaves, min_rows=min_rows, l2=l2,
        subsample_rows=1.0, n_jobs=1,
    )  # fmt: skip
    ranker.fit(X, Y, qid=QID)
    np.testing.assert_allclose(ranker.predict(X), booster.predict(X), rtol=1e-4, atol=1e-5)

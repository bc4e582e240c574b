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


# (LightGBM estimates the number of rows of a leaf by their curvature, so that the least number
# of rows is exact only where all have the same)
@pytest.mark.parametrize(
    ("loss", "gradient", "leaves"),
    [
        ("query_rmse", squares, 2),
        ("query_rmse", squares, 6),
        ("query_rmse", squares, 20),
        ("softmax", softmax, 2),
        ("softmax", softmax, 6),
    ],
)
def test_the_first_trees_agree(loss, gradient, leaves):
    data = lightgbm.Dataset(X, Y, params={"min_data_in_bin": 1, "max_bin": 255})
    settings = {
        "objective": lambda scores, _: gradient(scores), "num_leaves": leaves, "verbosity": -1,
        "learning_rate": 0.2, "min_data_in_leaf": 10, "min_sum_hessian_in_leaf": 0.0,
        "lambda_l2": 0.0, "num_threads": 1, "deterministic": True,
    }  # fmt: skip
    booster = lightgbm.train(settings, data, 4)
    ranker = GradientRanker(4, 0.2, loss=loss, max_leaves=leaves, min_rows=10, l2=0.0, n_jobs=1)
    ranker.fit(X, Y, qid=QID)
    np.testing.assert_allclose(ranker.predict(X), booster.predict(X), rtol=1e-4, atol=1e-5)

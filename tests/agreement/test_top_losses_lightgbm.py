"""Gradients of LightGBM's ranking objectives, read from the leaves of its first tree.

A leaf has the value ``-G / (H + l2)`` for the sums of gradient and curvature of its rows.
"""

import numpy as np
import pytest

from crucial.boosting.row_losses import LambdaLoss
from crucial.data import Groups
from crucial.feedback import LabelFeedback
from crucial.feedback.base import Potentials
from crucial.kernels.losses import query_losses

lightgbm = pytest.importorskip("lightgbm")

SIZES = np.array([30, 7, 55, 2, 40, 21])
N = int(SIZES.sum())
RANDOM = np.random.default_rng(1)
QID = np.repeat(np.arange(len(SIZES)), SIZES)
Y = RANDOM.integers(0, 5, N)
SCORES = RANDOM.normal(size=N) * 1.5
X = RANDOM.normal(size=(N, 1))


def leaves(objective, l2, **more):
    """Leaf and value of every row after one round from the scores."""
    data = lightgbm.Dataset(
        X, Y, group=SIZES, init_score=SCORES, params={"min_data_in_bin": 1, "max_bin": 500}
    )
    settings = {
        "objective": objective, "lambda_l2": l2, "learning_rate": 1.0, "num_leaves": 12,
        "min_data_in_leaf": 6, "min_sum_hessian_in_leaf": 1e-6, "verbosity": -1,
        "num_threads": 1, "deterministic": True, "boost_from_average": False, **more,
    }  # fmt: skip
    booster = lightgbm.train(settings, data, 1)
    return booster.predict(X, pred_leaf=True)[:, 0], booster.predict(X, raw_score=True)


def assert_leaves_agree(pi, curvature, objective, rtol, **more):
    for l2 in (0.0, 0.3):
        leaf, value = leaves(objective, l2, **more)
        assert len(np.unique(leaf)) >= 8
        for one in np.unique(leaf):
            at = leaf == one
            expected = pi[at].sum() / (curvature[at].sum() + l2)
            np.testing.assert_allclose(value[at], expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("truncation", [3, 30])
@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_lambda_is_lambdarank(normalise, truncation, sigmoid):
    feedback = LabelFeedback(Y, Groups.from_qid(QID, N))
    loss = LambdaLoss(truncation=truncation, sigmoid=sigmoid, normalise=normalise)
    potentials = Potentials(loss.begin(feedback, 1))
    potentials.advance(SCORES[feedback.rows], 1.0)
    pi, curvature = np.zeros(N), np.zeros(N)
    pi[feedback.rows] = potentials.pi[: len(feedback.rows)]
    curvature[feedback.rows] = potentials.pairs.curvature
    # (LightGBM looks sigmoids up in a table, and keeps gradients in single precision)
    assert_leaves_agree(
        pi, curvature, "lambdarank", 3e-4, lambdarank_norm=normalise,
        lambdarank_truncation_level=truncation, sigmoid=sigmoid, label_gain=[0, 1, 3, 7, 15],
    )  # fmt: skip


def noise_of(seed, size):
    """LightGBM's random numbers in [0, 1) for a query: a linear congruential generator."""
    state, out = seed, []
    for _ in range(size):
        state = (214013 * state + 2531011) % 2**32
        out.append(((state >> 16) & 0x7FFF) / 32768.0)
    return out


def test_xendcg_is_rank_xendcg():
    seed = 11
    noise = np.concatenate([noise_of(seed + q, size) for q, size in enumerate(SIZES)])
    starts = np.concatenate(([0], np.cumsum(SIZES)))
    pi, curvature, loss = np.empty(N), np.empty(N), np.empty(len(SIZES))
    ones = np.ones(len(SIZES))
    inputs = (SCORES, np.exp2(Y), ones, noise, np.ones(len(Y)), ones)
    query_losses("xendcg", inputs, starts, 1, (pi, curvature, loss))
    assert_leaves_agree(pi, curvature, "rank_xendcg", 1e-5, objective_seed=seed)

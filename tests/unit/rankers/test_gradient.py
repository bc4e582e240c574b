"""GradientRanker: every loss with trees and stumps, samples, constraints, what it refuses."""

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, evaluate
from crucial.boosting.row_losses import LOSSES
from crucial.data import Groups
from crucial.errors import DataError, NoProgressWarning
from crucial.feedback import LabelFeedback
from naive.paths import PATHS, using

RANDOM = np.random.default_rng(0)
N = 600
X = RANDOM.normal(size=(N, 5)).round(1)
QID = np.repeat(np.arange(20), 30)
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RANDOM.normal(size=N), [0.0, 1.0, 2.0]) * 1.0
X[RANDOM.random(X.shape) < 0.03] = np.nan
TRAIN, TEST = QID < 14, QID >= 14


def fitted(rows=TRAIN, n_estimators=30, **more):
    return GradientRanker(n_estimators, **more).fit(X[rows], Y[rows], qid=QID[rows])


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_what_no_sum_of_features_can(loss):
    tree, stump = (fitted(loss=loss, l2=1.0, weak=weak) for weak in ("tree", "stump"))
    right = [ranker.score(X[TEST], Y[TEST], qid=QID[TEST]) for ranker in (tree, stump)]
    assert right[0] > 0.85
    assert right[0] > right[1] + 0.03
    assert right[1] > 0.7
    losses = tree.trace_.column("loss")
    assert losses[-1] < losses[0] < 1.0
    assert 8 < max(len(one.values) for one in tree.model_.rankers) <= 16
    assert {len(one.values) for one in stump.model_.rankers} == {2}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("balance", ["pairs", "queries"])
def test_the_exponential_loss_of_the_trace_is_that_of_all_pairs(path, balance):
    with using(path):
        ranker = fitted(loss="exponential", balance=balance, gain="exp")
    groups = Groups.from_qid(QID[TRAIN], int(TRAIN.sum()))
    feedback = LabelFeedback(Y[TRAIN], groups, balance=balance, gain="exp")
    assert ranker.trace_[-1].loss == pytest.approx(feedback.loss(ranker.predict(X[TRAIN])))
    assert feedback.r1(ranker.predict(X[TRAIN])) <= ranker.trace_[-1].loss


def test_a_step_to_the_minimum_along_each_tree_is_no_worse():
    newton, line = (
        fitted(n_estimators=1, learning_rate=1.0, loss="exponential", step=step)
        for step in ("newton", "line")
    )
    assert line.trace_[0].loss < newton.trace_[0].loss


def test_a_loss_of_ones_own():
    calls = []

    def squares(scores, labels, groups):
        calls.append(len(scores))
        error = scores - labels
        mean = np.add.reduceat(error, groups.starts[:-1]) / groups.sizes
        return error - np.repeat(mean, groups.sizes), np.ones(len(error))

    own, known = fitted(loss=squares), fitted(loss="query_rmse")
    np.testing.assert_allclose(own.predict(X), known.predict(X), rtol=1e-9)
    assert len(calls) == 31
    assert own.model_.training["parameters"]["loss"] == squares.__qualname__  # (no address)


def test_explicit_pairs():
    pairs = [(a, b) for a in range(60) for b in range(60) if Y[a] > Y[b] and QID[a] == QID[b]]
    for loss in (name for name, one in LOSSES.items() if one.takes_pairs):
        labels = GradientRanker(10, loss=loss)
        labels.fit(X[:60], Y[:60], qid=QID[:60])
        same = GradientRanker(10, loss=loss).fit_pairs(X[:60], pairs)
        np.testing.assert_allclose(labels.predict(X), same.predict(X), rtol=1e-6, atol=1e-8)
    both = GradientRanker(10, loss="exponential")
    both.fit_pairs(X[:60], pairs, y=Y[:60], qid=QID[:60])
    assert both.score(X[:60], Y[:60], qid=QID[:60]) > 0.8
    for loss in (name for name, one in LOSSES.items() if not one.takes_pairs):
        with pytest.raises(DataError, match=rf"loss='{loss}' learns from labels.*RankBoost"):
            GradientRanker(10, loss=loss).fit_pairs(X[:60], pairs)
    with pytest.raises(DataError, match="the logistic loss learns from labels or"):
        GradientRanker(10, loss="logistic").fit_pairs(X[:60], pairs, y=Y[:60])


@pytest.mark.parametrize("measure", ["ndcg", "map", "mrr"])
def test_lambda_raises_its_measure(measure):
    ranker = fitted(loss="lambda", measure=measure, l2=1.0)
    first, last = ranker.trace_[0].loss, ranker.trace_[-1].loss
    assert last < 0.6 * first
    name = "ndcg_exp" if measure == "ndcg" else measure
    value, start = (
        evaluate(Y[TRAIN], scores, qid=QID[TRAIN], measures=name)[name]
        for scores in (ranker.predict(X[TRAIN]), -Y[TRAIN])
    )
    # (a few rows of equal score are ordered worst first here, and by expectation there)
    assert last == pytest.approx((1.0 - value) / (1.0 - start), abs=0.01)


@pytest.mark.parametrize("ranker", [GradientRanker(3, min_rows=20), RankBoost(3, weak="tree")])
def test_weights_that_are_no_numbers_of_rows(ranker):
    X = np.arange(100.0)[:, None] % 7
    with pytest.warns(NoProgressWarning, match=r"weights of the rows add up to 1, and two leaves"):
        ranker.fit(X, X[:, 0] > 3, sample_weight=np.full(100, 0.01))

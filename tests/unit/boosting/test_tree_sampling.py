"""What a tree sees of the data: drawn rows and features, anew in every round, by the seed alone."""

import numpy as np
import pytest

from crucial import GradientRanker
from crucial.boosting.loop import Constraints, TrainingRows
from crucial.boosting.row_losses import QuerySquares
from crucial.boosting.steps import FixedStep
from crucial.boosting.trees import RowDraws, Sampling, TreeLearner, TreeLimits
from crucial.data import Groups
from crucial.data.instances import Instances
from crucial.feedback import LabelFeedback
from crucial.feedback.base import Potentials
from crucial.kernels.elementary import QueryNoise

RANDOM = np.random.default_rng(0)
N = 300
X, QID = RANDOM.normal(size=(N, 6)), np.repeat(np.arange(15), 20)
Y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0, 1]) * 1.0
FEEDBACK = LabelFeedback(Y, Groups.from_qid(QID, N))


def proposed(sampling):
    """A learner, the state it grows its first tree on, and that tree."""
    learner = TreeLearner(TreeLimits(max_leaves=5, min_rows=1, l2=0.0), sampling=sampling)
    table = Instances.from_input(X)
    rows = TrainingRows(table, FEEDBACK.rows, None, Groups.from_qid(QID, N), 1)
    learner.prepare(rows, Constraints(), FixedStep())
    potentials = Potentials(QuerySquares().begin(FEEDBACK, 1))
    return potentials, learner.propose(potentials)


def test_the_leaves_are_newton_steps_over_the_drawn_rows():
    potentials, candidate = proposed(Sampling(rows=0.4, seed=3))
    n = len(FEEDBACK.rows)
    at = RowDraws(QID[FEEDBACK.rows], 3, 1).uniforms(0) < 0.4
    assert 0.3 * n < at.sum() < 0.5 * n
    output, pi, curvature = candidate.output, potentials.pi[:n], potentials.pairs.curvature
    assert len(np.unique(output)) == 5
    for value in np.unique(output):
        leaf = at & (output == value)
        assert value == pytest.approx(pi[leaf].sum() / curvature[leaf].sum())
    # all rows get a score, those that were not drawn too
    np.testing.assert_array_equal(candidate.ranker.scores(X[FEEDBACK.rows]), output)


def test_rows_are_drawn_by_query_and_place_in_any_order():
    draws = RowDraws(QID, 3, 1)
    first, second = draws.uniforms(0), draws.uniforms(1)
    assert len({*first, *second}) == 2 * N
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2
    order = np.argsort(RANDOM.permutation(15)[QID], kind="stable")  # (queries in another order)
    np.testing.assert_array_equal(RowDraws(QID[order], 3, 1).uniforms(0), first[order])
    # noise that a loss adds under the same seed is another
    noise = QueryNoise(3, np.arange(15), np.arange(0, N + 1, 20), 1).uniforms(0)
    assert abs(np.corrcoef(first, noise)[0, 1]) < 0.2


def test_a_tree_uses_the_drawn_features_alone():
    for seed in range(5):
        _, candidate = proposed(Sampling(features=0.34, seed=seed))
        free = np.random.default_rng([seed, 0]).permutation(6)[:2]
        assert set(candidate.ranker.features) <= set(free.tolist())


def test_draws_differ_from_round_to_round():
    ranker = GradientRanker(12, max_features=0.3, max_leaves=3).fit(X, Y, qid=QID)
    assert len({tree.features for tree in ranker.model_.rankers}) > 3

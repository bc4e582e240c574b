"""What must not change a model does not change it."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial import RankBoost, make_letor
from crucial.boosting.loop import Constraints, ExponentialLoss, TrainingRows, boost
from crucial.boosting.steps import STEPS
from crucial.boosting.stumps import StumpLearner
from crucial.data import Instances
from crucial.data.groups import Groups
from crucial.feedback import LabelFeedback
from crucial.feedback.base import smoothing_of
from naive.paths import quiet, using
from naive.sweep import holds_for
from naive.tables import tables

REACH = {"quick": 25, "full": 1_000}

ways = st.sampled_from(
    [
        {"choice": "steepest", "step": "bound"},
        {"choice": "steepest_positive", "step": "exact"},
        {"choice": "largest_drop", "step": "exact"},
        {"choice": "largest_drop", "step": "exact", "positive_weights": "cumulative"},
        {"choice": "steepest", "step": "bound", "positive_weights": "cumulative"},
        {"choice": "steepest", "step": "bound", "balance": "queries"},
        {"choice": "steepest", "step": "bound", "default_rank": 0},
    ]
)


def fitted(table, way, **more):
    with quiet():
        return table.fit(RankBoost(8, 1.0, n_jobs=1, **way, **more))


def assert_same_model(one, two, rename=lambda ranker: ranker):
    assert [rename(ranker) for ranker in one.model_.rankers] == list(two.model_.rankers)
    np.testing.assert_allclose(one.model_.weights, two.model_.weights, rtol=1e-9, atol=1e-12)


@holds_for(tables(), ways, st.sampled_from([-7.0, 0.5, 100.0]), **REACH)
def test_shifted_and_stretched_labels(table, way, shift):
    """Only the order of labels counts, and gains by their differences."""
    model = fitted(table, way)
    assert_same_model(fitted(table.changed(y=table.y + shift), way), model)
    assert_same_model(fitted(table.changed(y=np.exp(table.y)), way), model)
    linear = fitted(table, way, gain="linear")
    assert_same_model(fitted(table.changed(y=table.y + shift), way, gain="linear"), linear)


# -- threads ------------------------------------------------------------------------------

LETOR = make_letor(n_queries=25, docs_per_query=50, n_features=50, seed=3)


# -- what need not be scanned -------------------------------------------------------------


def run(learner, X, y, qid, step, subsample=1.0, rounds=40):
    """The loop with a learner that can be looked into."""
    feedback = LabelFeedback(y, Groups.from_qid(qid, len(y)))
    training = TrainingRows(
        Instances.from_input(X), feedback.rows, None, Groups.from_qid(qid, len(y)), 2
    )
    return boost(
        training,
        feedback,
        ExponentialLoss(),
        learner,
        STEPS[step](smoothing_of(feedback.total)),
        rounds=rounds,
        constraints=Constraints(rate=0.3),
        subsample=subsample,
        seed=7,
    )


class Counting(StumpLearner):
    """Counts the features whose histogram is made."""

    def prepare(self, training, constraints, step):
        bins = super().prepare(training, constraints, step)
        self.scanned, scan = 0, self.search.scan

        def counted(features):
            self.scanned += len(features)
            scan(features)

        self.search.scan = counted
        return bins


class Forgetful(Counting):
    """Knows nothing of earlier rounds, so that every feature must be scanned."""

    def propose(self, potentials):
        self.search.slope_change[:] = np.inf
        self.reset_bounds()
        return super().propose(potentials)


@pytest.mark.parametrize("subsample", [1.0, 0.3])
@pytest.mark.parametrize(
    ("choice", "step"),
    [("steepest", "bound"), ("steepest_positive", "exact"), ("largest_drop", "exact")],
)
def test_features_that_are_not_scanned_would_not_have_been_chosen(choice, step, subsample):
    """What changed since they were is bounded by the kernels distance and distance_between."""
    X, y, qid = LETOR.X, LETOR.y, LETOR.qid
    with using("compiled"):
        pruned, full = Counting(choice), Forgetful(choice)
        made = run(pruned, X, y, qid, step, subsample)
        expected = run(full, X, y, qid, step, subsample)
    assert made.rankers == expected.rankers
    assert made.weights == expected.weights
    if subsample == 1.0 and choice != "largest_drop":
        assert pruned.scanned < 0.8 * full.scanned

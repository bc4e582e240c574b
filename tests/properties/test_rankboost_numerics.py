"""Numbers stay numbers: perfect rankers, extreme weights, many rounds, any range of scores."""

import math
import warnings

import numpy as np
import pytest

from crucial import RankBoost
from crucial.errors import DataWarning, NoProgressWarning
from crucial.feedback import LabelFeedback
from naive.paths import PATHS, using

WAYS = [
    {"choice": "steepest", "step": "bound"},
    {"choice": "steepest_positive", "step": "exact"},
    {"choice": "largest_drop", "step": "exact"},
    {"choice": "steepest", "step": "numeric", "weak": "feature"},
    {"choice": "steepest", "step": "bound", "weak": "feature"},
    {"choice": "steepest", "step": "exact", "weak": "column"},
]


@pytest.fixture(params=PATHS, autouse=True)
def path(request):
    with using(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def no_numeric_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.fixture(params=WAYS, ids=lambda way: "-".join(way.values()))
def way(request):
    return request.param


def assert_sane(model, X):
    assert np.isfinite(model.ensemble_.weights).all()
    assert np.isfinite(model.predict(X)).all()
    for name in ("alpha", "r", "z", "log_loss"):
        assert np.isfinite(model.trace_.column(name)).all(), name
    assert (np.abs(model.trace_.column("r")) <= 1 + 1e-12).all()


PERFECT = np.array([[0.0], [0.25], [0.5], [0.75], [1.0]])
LABELS = np.array([0, 1, 2, 3, 4])


def test_a_perfect_feature(way):
    X = PERFECT if way.get("weak") != "column" else (PERFECT > 0.3).astype(float)
    model = RankBoost(20, 1.0, n_jobs=1, **way).fit(X, LABELS)
    assert_sane(model, X)
    feedback = LabelFeedback(LABELS)
    assert feedback.r1(model.predict(X)) == feedback.r1(X[:, 0])


def test_a_perfectly_inverted_feature(way):
    X = 1 - PERFECT if way.get("weak") != "column" else (PERFECT < 0.3).astype(float)
    if way["choice"] == "steepest_positive":
        with pytest.warns(NoProgressWarning, match="no weak ranker helps"):
            model = RankBoost(20, 1.0, n_jobs=1, **way).fit(X, LABELS)
        assert not model.predict(X).any()
        return
    model = RankBoost(20, 1.0, n_jobs=1, **way).fit(X, LABELS)
    assert_sane(model, X)
    assert (np.array(model.model_.weights) < 0).any()
    feedback = LabelFeedback(LABELS)
    assert feedback.r1(model.predict(X)) == feedback.r1(-X[:, 0])


@pytest.mark.parametrize("value", [0.0, 0.5, math.nan])
def test_nothing_but_constant_features(way, value):
    X = np.full((4, 2), value)
    warnings.simplefilter("ignore", DataWarning)
    with pytest.warns(NoProgressWarning, match="no round could be made"):
        model = RankBoost(9, **way).fit(X, [0, 1, 2, 2])
    assert not model.predict(X).any()
    assert model.feature_importances_.tolist() == [0.0, 0.0]


def test_no_signal_at_all(way):
    """Slopes that are 0 but for rounding pick no weak ranker."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    y = np.array([0, 1, 1, 0] * 3)
    with pytest.warns(NoProgressWarning, match="no weak ranker helps"):
        model = RankBoost(9, **way).fit(X, y, sample_weight=np.repeat([0.1, 0.7, 1.3], 4))
    assert model.model_.n_rounds == 0


def test_weights_as_far_apart_as_floats_go():
    """Even one pair of a huge and a tiny weight is learned, or refused with a reason."""
    X, y = np.array([[1.0], [0.0]]), [1, 0]
    model = RankBoost(50).fit_pairs(X, [(0, 1), (1, 0)], pair_weight=[1e300, 1e-300])
    assert_sane(model, X)
    with pytest.raises(ValueError, match="too small to distinguish from 0"):
        RankBoost(50).fit(X, y, sample_weight=[1e300, 1e-300])


@pytest.mark.parametrize("rate", [1.0, 1e-3, 1e-300, 5e-324])
def test_learning_rates_from_1_to_the_smallest(way, rate):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    model = RankBoost(30, rate, **way).fit(X, [0, 1, 1, 0, 0])
    assert_sane(model, X)
    assert (np.abs(model.ensemble_.weights) <= 20 * rate + 5e-324).all()


def test_scores_that_grow_without_end(way):
    """A separable problem: every round goes the same way."""
    X = (PERFECT > 0.3).astype(float) if way.get("weak") == "column" else PERFECT
    y = (LABELS > 1).astype(int)
    model = RankBoost(150 if way["step"] == "numeric" else 800, 1.0, n_jobs=1, **way).fit(X, y)
    assert_sane(model, X)
    assert np.ptp(model.predict(X)) > 200  # (where exponentials give way to logarithms)
    assert (np.diff(model.trace_.column("log_loss")) < 0).all()
    assert LabelFeedback(y).r1(model.predict(X)) == 0


def test_draws_of_queries_that_contradict_each_other():
    """Scores run away for the queries that are not drawn; nothing overflows but the loss."""
    X = np.array([[1.0, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]])
    y, qid = [1, 0, 1, 0, 0, 1], [0, 0, 1, 1, 2, 2]
    for way in WAYS[:3]:
        model = RankBoost(600, 1.0, subsample=0.34, n_jobs=1, **way).fit(X, y, qid=qid)
        assert np.isfinite(model.ensemble_.weights).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.trace_.column("log_loss")).all()


def test_a_query_of_weight_0_may_be_as_wrong_as_it_likes():
    X = np.array([[1.0], [0.0], [1.0], [0.0]])
    for way in WAYS[:3]:
        model = RankBoost(600, 1.0, n_jobs=1, **way)
        model.fit(X, [1, 0, 0, 1], qid=[0, 0, 1, 1], query_weight={0: 1.0, 1: 0.0})
        assert_sane(model, X)
        assert LabelFeedback([1, 0]).r1(model.predict(X[:2])) == 0

"""Rankers as classifiers of two classes."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import brier_score_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from crucial import AdaBoostRanker, RankBoost
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.rankers.classifiers import RankingClassifier
from refusals import refused

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
TRAIN, HELD, TEST = slice(0, 300), slice(300, 430), slice(430, None)


@parametrize_with_checks(
    [RankingClassifier(RankBoost(20)), RankingClassifier(AdaBoostRanker(20, 1.0))]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def f_parts(decision, y, weight=1.0):
    parts = weight * np.exp(np.where(y, -decision, decision))
    return parts[y == 1].sum(), parts[y == 0].sum()


@pytest.mark.parametrize("ranker", [RankBoost(60), AdaBoostRanker(60)], ids=["rank", "ada"])
def test_the_intercept_balances_the_classes(ranker):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    ranker.fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    made = ranker.to_classifier()
    decision = made.decision_function(X[TRAIN])
    np.testing.assert_array_equal(decision, ranker.predict(X[TRAIN]) + made.intercept_)
    good, bad = f_parts(decision, Y[TRAIN], weight)
    assert good == pytest.approx(bad, rel=1e-10)
    assert is_classifier(made)
    assert made.classes_.tolist() == [0, 1]
    assert made.classes_.dtype == np.int64
    assert made.score(X[TEST], Y[TEST]) > 0.85
    proba = made.predict_proba(X[TEST])
    decision = made.decision_function(X[TEST])
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-2 * decision)), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert made.predict(X[TEST]).tolist() == (decision > 0).astype(int).tolist()


def test_it_holds_no_data_and_can_be_pickled():
    small, large = (RankBoost(5).fit(np.tile(X, (n, 1)), np.tile(Y, n)) for n in (1, 20))
    sizes = [len(pickle.dumps(one.to_classifier())) for one in (small, large)]
    assert abs(sizes[1] - sizes[0]) < 200
    again = pickle.loads(pickle.dumps(small.to_classifier()))
    assert again.predict(X).tolist() == small.to_classifier().predict(X).tolist()


def test_the_intercept_is_of_the_rounds_that_are_kept():
    ranker = RankBoost(100, 1.0, early_stopping_rounds=3)
    ranker.fit(X[TRAIN], Y[TRAIN], eval_set=(X[HELD], Y[HELD]))
    assert ranker.best_round_ < len(ranker.trace_)
    good, bad = f_parts(ranker.to_classifier().decision_function(X[TRAIN]), Y[TRAIN])
    assert good == pytest.approx(bad, rel=1e-10)


def test_extreme_scores_have_probabilities():
    x, y = np.arange(20.0)[:, None], np.arange(20) > 9
    made = RankBoost(3000, 1.0).fit(x, y).to_classifier()
    proba = made.predict_proba(x)
    assert np.isfinite(proba).all()
    assert made.predict(x).tolist() == y.astype(int).tolist()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_by_scikit_learn(method):
    ranker = RankBoost(400, 1.0).fit(X[TRAIN], Y[TRAIN])
    plain = ranker.to_classifier()
    made = ranker.to_classifier(method, X[HELD], Y[HELD])
    assert isinstance(made, CalibratedClassifierCV)
    assert made.classes_.tolist() == [0, 1]
    assert made.method == method
    before, after = (
        brier_score_loss(Y[TEST], one.predict_proba(X[TEST])[:, 1]) for one in (plain, made)
    )
    assert after < before
    weights = np.ones(430 - 300)
    again = ranker.to_classifier(method, X[HELD], Y[HELD], sample_weight=weights)
    np.testing.assert_allclose(again.predict_proba(X), made.predict_proba(X), rtol=1e-12)


def test_what_is_no_ranker_makes_no_classifier():
    with pytest.raises(ParameterError, match=r"'ranker' parameter of RankingClassifier must be a"):
        RankingClassifier("x").fit(X, Y)


def test_few_rows_are_enough_to_calibrate():
    ranker = RankBoost(10).fit(X[TRAIN], Y[TRAIN])
    rows = np.flatnonzero(Y == 1)[:2].tolist() + np.flatnonzero(Y == 0)[:2].tolist()
    assert ranker.to_classifier("sigmoid", X[rows], Y[rows]).predict(X[TEST]).shape == (139,)


def test_what_makes_no_classifier():
    graded = RankBoost(5).fit(X, np.arange(len(X)) % 3)
    refused(NotRankedError, r"not fitted to labels of two values.*X=X, y=y", graded.to_classifier)
    made = graded.to_classifier(X=X, y=np.where(Y == 1, "benign", "malignant"))
    assert made.classes_.tolist() == ["benign", "malignant"]
    paired = RankBoost(5).fit_pairs(X, [(0, 20), (1, 30)])
    refused(NotRankedError, "not fitted to labels of two values", paired.to_classifier)
    assert paired.to_classifier(X=X, y=Y).classes_.tolist() == [0, 1]
    asked = RankBoost(5).fit(X, Y, qid=np.arange(len(X)) % 2)
    refused(NotRankedError, r"fitted with queries.*no common zero", asked.to_classifier, X=X, y=Y)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((True,), r"'calibrated' .* one of False, 'sigmoid'.* Got True"),
        (("sigmoid",), r"calibrated='sigmoid' needs rows to learn it from"),
        ((False, X), "both X and y, or neither"),
        (("sigmoid", X, Y + 1), r"labels that RankBoost was fitted to, \[0, 1\]\. Got"),
        ((False, X, np.arange(len(X)) % 3), "Only binary classification is supported"),
        ((False, X, np.eye(len(X), 2, dtype=int)), "type of the target is multilabel-indicator"),
    ],
)
def test_bad_arguments(given, match):
    refused((DataError, ParameterError), match, RankBoost(5).fit(X, Y).to_classifier, *given)


def test_labels_keep_their_values():
    half = RankBoost(5).fit(X, Y - 0.5).to_classifier()
    assert half.classes_.tolist() == [-0.5, 0.5]
    assert set(half.predict(X)) == {-0.5, 0.5}


def test_rows_that_are_given_balance_the_classes():
    ranker = RankBoost(20).fit(X[TRAIN], Y[TRAIN])
    weight = np.where(Y[HELD] == 1, 5.0, 1.0)
    made = ranker.to_classifier(X=X[HELD], y=Y[HELD], sample_weight=weight)
    good, bad = f_parts(made.decision_function(X[HELD]), Y[HELD], weight)
    assert good == pytest.approx(bad)
    assert made.intercept_ != pytest.approx(ranker.to_classifier().intercept_, rel=0.01)

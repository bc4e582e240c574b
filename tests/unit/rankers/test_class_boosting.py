"""ComponentwiseBoost, LogitBoost and AdaBoostRanker: limits, stopping, divergence."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

import crucial
from crucial.errors import DataWarning, NoProgressWarning
from crucial.model.weak import Constant
from crucial.rankers import AdaBoostRanker, ComponentwiseBoost, LogitBoost

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 5))
Y = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + RANDOM.normal(size=120)
GOOD = (Y > 0).astype(int)


def weights(ranker: LogitBoost) -> np.ndarray:
    out = np.zeros(X.shape[1])
    for line, weight in ranker.model_.weighted():
        out[line.feature] += weight / (line.high - line.low)
    return out


def test_l2_leads_to_least_squares() -> None:
    ranker = ComponentwiseBoost(2000, 0.5).fit(X, Y)
    exact = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(ranker.coef_, exact.coef_, rtol=1e-9)
    assert ranker.intercept_ == pytest.approx(exact.intercept_, rel=1e-9)
    assert ranker.objective_ == pytest.approx(np.mean((Y - exact.predict(X)) ** 2), rel=1e-12)


def test_binomial_and_linear_logitboost_lead_to_logistic_regression() -> None:
    y = (Y + 2 * RANDOM.normal(size=120) > 0).astype(int)
    exact = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(X, y)
    one = ComponentwiseBoost(3000, 1.0, loss="binomial").fit(X, y)
    two = LogitBoost(3000, 1.0, weak="linear").fit(X, y)
    for found in (one.coef_, weights(two)):
        np.testing.assert_allclose(2 * found, exact.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(two.predict_proba(X), exact.predict_proba(X), atol=1e-5)


def test_a_ridge_of_logitboost_is_that_of_logistic_regression() -> None:
    y = (Y > 0.3).astype(int)
    ranker = LogitBoost(3000, 1.0, weak="linear", l2=0.05).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # (their weights are twice ours, their loss ln 2 times ours)
    exact = LogisticRegression(C=4 / (0.05 * np.log(2) * len(y)), tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(
        ranker.predict(X), exact.fit(Z, y).decision_function(Z) / 2, atol=1e-5
    )


def test_l1_resists_an_outlier() -> None:
    y = Y.copy()
    y[0] += 1000.0
    for loss, near in (("l1", True), ("l2", False)):
        found = ComponentwiseBoost(400, loss=loss).fit(X, y).coef_
        assert (np.abs(found - [2, -1, 0.5, 0, 0]).max() < 0.6) == near


def test_effective_parameters_are_the_trace_of_the_hat_matrix() -> None:
    ranker = ComponentwiseBoost(40, 0.3, aicc=True).fit(X, Y)
    n, left = len(Y), np.eye(len(Y)) - np.full((len(Y), len(Y)), 1 / len(Y))
    for entry in ranker.trace_:
        h = X[:, entry.ranker.feature] - X[:, entry.ranker.feature].mean()
        left = left - 0.3 * np.outer(h, h @ left) / (h @ h)
        k = np.trace(np.eye(n) - left)
        assert entry.extras["parameters"] == pytest.approx(k, rel=1e-10)
        risk = np.mean((left @ Y) ** 2)
        assert entry.extras["risk"] == pytest.approx(risk, rel=1e-10)
        aicc = np.log(risk) + (1 + k / n) / (1 - (k + 2) / n)
        assert entry.extras["aicc"] == pytest.approx(aicc, rel=1e-9)
    best = int(np.argmin(ranker.trace_.column("aicc"))) + 1
    assert ranker.best_round_ == ranker.model_.n_rounds == best
    assert ranker.ensemble_.n_rounds == 40


def test_the_exponential_loss_diverges_and_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"diverged in round \d+.*expit=True"):
        ranker = ComponentwiseBoost(100, loss="exp").fit(X, 10 * Y)
    assert ranker.diverged_ == len(ranker.trace_) + 1
    assert ranker.trace_.stopped == f"diverged in round {ranker.diverged_}"
    assert np.isfinite(ranker.predict(X)).all()
    bounded = ComponentwiseBoost(100, loss="exp", expit=True).fit(X, 10 * Y)
    assert bounded.diverged_ is None
    assert bounded.score(X, Y) > 0.8


def test_a_round_that_diverges_at_once_leaves_no_model() -> None:
    with pytest.warns(UserWarning, match="diverged in round 1") as seen:
        ranker = ComponentwiseBoost(3, loss="exp").fit(X, 1e13 * Y)
    assert any(issubclass(one.category, NoProgressWarning) for one in seen)
    assert len(ranker.trace_) == 0
    assert np.isnan(ranker.objective_)
    assert ranker.predict(X).tolist() == [0.0] * 120


def test_features_far_from_zero_keep_their_digits() -> None:
    one = ComponentwiseBoost(50).fit(X, Y)
    two = ComponentwiseBoost(50).fit(X + 1e7, Y)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_recorded_risks_are_those_of_the_scores() -> None:
    for loss in ("l2", "hinge"):
        ranker = ComponentwiseBoost(4, loss=loss, record_risks=True).fit(X, Y)
        for entry, scores in zip(ranker.trace_, ranker.staged_predict(X)):
            assert entry.r2 == pytest.approx(
                crucial.feedback.LabelFeedback(Y).r2(scores), abs=1e-12
            )


def test_probabilities_and_classifiers() -> None:
    labels = np.where(GOOD, 7, 3)
    ranker = LogitBoost(30).fit(X, labels)
    assert ranker.classes_.tolist() == [3, 7]
    found = ranker.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    classifier = ranker.to_classifier()
    assert classifier.intercept_ == 0.0
    np.testing.assert_allclose(classifier.predict_proba(X), found, rtol=1e-12)
    assert (classifier.predict(X) == np.where(found[:, 1] > 0.5, 7, 3)).all()


def test_logitboost_stops_by_auc_or_by_the_loss() -> None:
    other = RANDOM.normal(size=(200, 5))
    good = (other @ [2.0, -1.0, 0.5, 0, 0] + RANDOM.normal(size=200) > 0).astype(int)
    for metric, better in (("auc", np.argmax), ("loss", np.argmin)):
        ranker = LogitBoost(150, 0.5, eval_metric=[metric], early_stopping_rounds=20)
        ranker.fit(X, GOOD, eval_set=(other, good))
        values = (
            ranker.trace_.column(metric)
            if metric == "auc"
            else [one.measures["loss"] for one in ranker.trace_]
        )
        assert ranker.best_round_ == int(better(values)) + 1
    score = ranker.predict(other)
    expected = np.mean(np.log2(1 + np.exp(-2 * (2 * good - 1) * score)))
    assert min(values) == pytest.approx(expected, rel=1e-12)
    both = LogitBoost(5, eval_metric=["loss", "auc"]).fit(X, GOOD, eval_set=(other, good))
    assert list(both.trace_[0].measures) == ["loss", "auc"]


@pytest.mark.parametrize("kind", [AdaBoostRanker, LogitBoost])
def test_a_share_of_the_rows_in_every_round(kind) -> None:
    seeds = (kind(20, subsample=0.5, random_state=seed).fit(X, GOOD) for seed in (4, 4, 5))
    one, two, other = seeds
    assert one.model_ == two.model_
    assert one.model_ != other.model_
    assert one.model_ != kind(20).fit(X, GOOD).model_
    assert one.score(X, GOOD) > 0.85


def test_rows_that_are_separated_do_not_overflow() -> None:
    ranker = LogitBoost(2000, 1.0).fit(X, X[:, 0] > 0)
    assert np.isfinite(ranker.predict(X)).all()
    assert ranker.score(X, X[:, 0] > 0) == 1.0
    np.testing.assert_allclose(ranker.predict_proba(X).sum(axis=1), 1.0)


# -- AdaBoostRanker as an estimator: what it takes, what it refuses, what it tells. --


def test_the_constant_takes_part_where_classes_differ_in_size():
    """With no feature that says anything, the odds of the classes are all there is to learn."""
    y = np.array([1, 0, 0, 0])
    with pytest.warns(UserWarning, match="constant"):
        ranker = AdaBoostRanker(5, 1.0).fit(np.zeros((4, 1)), y)
    assert ranker.model_.rankers == (Constant(),)
    assert ranker.model_.weights[0] == pytest.approx(0.5 * np.log(1 / 3))
    assert ranker.score(np.zeros((4, 1)), y) == 0.5
    with pytest.warns() as said:
        AdaBoostRanker(5).fit([[1.0], [1.0]], [0, 1])
    assert {one.category for one in said} == {DataWarning, NoProgressWarning}


def test_a_perfect_hypothesis_is_smoothed_or_ends_the_rounds():
    x, y = np.arange(10.0)[:, None], np.arange(10) > 4
    smoothed = AdaBoostRanker(50, 1.0).fit(x, y)
    assert smoothed.score(x, y) == 1.0
    assert np.isfinite(smoothed.model_.weights).all()
    with pytest.warns(NoProgressWarning, match="perfect weak ranker"):
        AdaBoostRanker(50, on_perfect="stop").fit(x, y)
    long = AdaBoostRanker(2000, 1.0).fit(x, y)  # far beyond where weights underflow
    assert np.isfinite(long.trace_.column("log_loss")).all()
    assert np.diff(long.trace_.column("log_loss")).max() < 0
    assert long.trace_[-1].log_loss < -1000

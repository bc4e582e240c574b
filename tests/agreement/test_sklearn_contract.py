"""scikit-learn's own checks over every public estimator, and over other settings than defaults.

Two are excused: rankers whose score is a rank inside the query have nobody to rank against where
rows are scored one by one, and a precomputed kernel cannot be rounded.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_methods_subset_invariance,
    parametrize_with_checks,
)

import crucial
from crucial import RankBoost, RankBoostPlus
from crucial.rankers import (
    AdaBoostRanker,
    DiffRank,
    FeatureRank,
    RankCosine,
    RankingSVM,
    RankRLS,
    SmoothMarginRanker,
    SVMMap,
)
from crucial.rankers.classifiers import OrdinalClassifier, RankingClassifier


def public_estimators() -> list[type[BaseEstimator]]:
    """Every public name that is an estimator, found by looking."""
    found = [getattr(crucial.rankers, name) for name in crucial.rankers.__all__]
    found.append(crucial.AutoRanker)
    return [one for one in found if isinstance(one, type) and issubclass(one, BaseEstimator)]


def test_the_search_for_estimators_finds_them():
    assert RankBoost in public_estimators()


RANKS_INSIDE_QUERIES = (DiffRank, FeatureRank)


def excused(estimator: BaseEstimator) -> dict[str, str]:
    """Checks that an estimator cannot pass, and why."""
    if isinstance(estimator, RANKS_INSIDE_QUERIES):
        reason = "its score is a rank among the rows of a query, which a part of them does not have"
        return {"check_methods_subset_invariance": reason}
    if getattr(estimator, "kernel", None) == "precomputed":
        reason = "it rounds the kernel to integers, which then is not positive semidefinite"
        return {"check_estimators_dtypes": reason}
    return {}


def quick(estimator: type[BaseEstimator]) -> BaseEstimator:
    """An estimator with its defaults, but for how long it learns (as scikit-learn has it)."""
    made = estimator()
    shorter = {
        "n_estimators": 5 if estimator is crucial.rankers.RankingForest else 30,
        "max_iter": 20,
    }
    if estimator is not crucial.rankers.RankNet:  # (others would warn that they have not converged)
        del shorter["max_iter"]
    if estimator is crucial.rankers.RSRank:
        shorter["tol"] = 1e-3
    return made.set_params(
        **{name: value for name, value in shorter.items() if name in made.get_params()}
    )


#: Classifiers around rankers, and kernel rankers, whose defaults are linear.
MORE = [
    RankingClassifier(RankBoost(20)),
    RankingClassifier(AdaBoostRanker(20, 1.0)),
    OrdinalClassifier(RankBoost(20)),
    RankingSVM(kernel="rbf"),
    RankingSVM(kernel="poly", loss="squared_hinge", margin="gap"),
    RankingSVM(kernel="rbf", n_landmarks=5, margin="product"),
    RankingSVM(kernel="precomputed"),
    RankRLS(kernel="rbf"),
    RankRLS(kernel="poly", n_landmarks=5),
    RankRLS(kernel="precomputed"),
]


@parametrize_with_checks(
    [*(quick(estimator) for estimator in public_estimators()), *MORE],
    expected_failed_checks=excused,
)
def test_scikit_learns_checks(estimator: Any, check: Any):
    check(estimator)


@pytest.mark.parametrize("ranker", RANKS_INSIDE_QUERIES)
def test_what_is_excused_does_fail(ranker: type[BaseEstimator]):
    with pytest.raises(AssertionError, match="not invariant when applied to a subset"):
        check_methods_subset_invariance(ranker.__name__, ranker())


VARIANTS = [
    RankBoost(50, 1.0, choice="largest_drop", step="exact"),
    RankBoost(50, choice="steepest_positive", positive_weights="cumulative"),
    RankBoost(50, weak="feature"),
    RankBoost(20, weak="tree", min_rows=2),
    RankBoost(50, step="numeric", max_bins=None, default_rank=0),
    RankBoost(50, subsample=0.5, balance="queries", record_risks=True),
    RankBoostPlus(40, search="optimal"),
    RankBoostPlus(40, 0.5, balance="queries", static_after=3),
    SmoothMarginRanker(50, choice="steepest", step="line_search"),
    SmoothMarginRanker(30, weak="feature"),
    SmoothMarginRanker(50, 0.3, balance="queries"),
    RankCosine(centred=False),
    SVMMap(top=3),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [*VARIANTS, *(one() for one in public_estimators())], ids=str)
def test_scikit_learns_checks_with_defaults_and_other_parameters(estimator: BaseEstimator):
    results = check_estimator(
        estimator, on_fail="raise", on_skip=None, expected_failed_checks=excused(estimator)
    )
    skipped = {one["check_name"] for one in results if one["status"] == "skipped"}
    # (LabelRanker has no probabilities)
    no_chances = "check_classifiers_multilabel_output_format_predict_proba"
    assert skipped <= {"check_array_api_input", no_chances}


def test_it_is_neither_a_classifier_nor_a_regressor():
    from sklearn.base import is_classifier, is_regressor

    assert not is_classifier(RankBoost())
    assert not is_regressor(RankBoost())


@pytest.mark.parametrize("ranker", [RankBoost(n_estimators=5), crucial.rankers.TreeRank()], ids=str)
def test_partial_dependence_of_what_a_ranker_predicts(ranker: Any):
    from sklearn.inspection import PartialDependenceDisplay, partial_dependence
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).random((60, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.9).astype(int)
    ranker = clone(ranker).fit(X, y)
    found = partial_dependence(ranker, X, [0], grid_resolution=4)
    for value, mean in zip(found["grid_values"][0], found["average"][0]):
        rows = X.copy()
        rows[:, 0] = value
        assert mean == pytest.approx(ranker.predict(rows).mean())
    inside = make_pipeline(StandardScaler(), clone(ranker)).fit(X, y)
    shown = PartialDependenceDisplay.from_estimator(inside, X, [0, (0, 1)], grid_resolution=4)
    assert len(shown.axes_.ravel()) == 2


@pytest.mark.parametrize("kind", [RankingSVM, RankRLS])
def test_a_precomputed_kernel_is_cut_both_ways(kind: Any) -> None:
    """GridSearchCV and the like take rows and columns of a pairwise table."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * random.normal(size=60) > 0).astype(int)
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    computed = cross_val_score(kind(kernel="precomputed"), gram, y, cv=3)
    named = cross_val_score(kind(kernel="rbf", gamma=1.0, standardise=False), X, y, cv=3)
    np.testing.assert_allclose(computed, named, atol=0.03)
    search = GridSearchCV(kind(kernel="rbf"), {"gamma": [0.01, 1.0], "l2": [0.01]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.8
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()

"""scikit-learn's own checks over kernel rankers, whose defaults are linear."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from crucial import RankingSVM, RankRLS

VARIANTS = [
    RankingSVM(kernel="rbf"),
    RankingSVM(kernel="poly", loss="squared_hinge", margin="gap"),
    RankingSVM(kernel="rbf", n_landmarks=5, margin="product"),
    RankingSVM(kernel="precomputed"),
    RankRLS(kernel="rbf"),
    RankRLS(kernel="poly", n_landmarks=5),
    RankRLS(kernel="precomputed"),
]


def excused(estimator: Any) -> dict[str, str]:
    """The one check that an estimator cannot pass, and why."""
    if estimator.kernel != "precomputed":
        return {}
    reason = "it rounds the kernel to integers, which then is not positive semidefinite"
    return {"check_estimators_dtypes": reason}


@parametrize_with_checks(VARIANTS, expected_failed_checks=excused)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


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

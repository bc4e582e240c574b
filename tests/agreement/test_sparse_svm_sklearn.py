"""SparseRankingSVM against scikit-learn's LinearSVC on all listed pairs."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from crucial import SparseRankingSVM
from naive.sparse import pairs_of


@pytest.mark.parametrize("l1", [0.003, 0.02, 0.1])
def test_the_l1_penalty_is_that_of_liblinear(l1):
    """liblinear minimises |w|_1 + C sum [..]^2 over rows; a pair is the difference of two."""
    random = np.random.default_rng(0)
    X = random.random((60, 6))
    X[0], X[1] = 0.0, 1.0  # (columns of range 1: weights come back in the same units)
    y = np.digitize(3 * X[:, 0] - 2 * X[:, 4] + random.normal(size=60), [-0.5, 0.5, 1.5])
    qid = np.arange(60) % 3
    pairs = np.array(pairs_of(y, qid))
    signs = np.where(np.arange(len(pairs)) % 2 == 0, 1, -1)  # (it wants two classes)
    rows = (X[pairs[:, 0]] - X[pairs[:, 1]]) * signs[:, None]
    peer = LinearSVC(
        penalty="l1",
        dual=False,
        C=1 / (2 * l1 * len(pairs)),
        fit_intercept=False,
        tol=1e-8,
        max_iter=100_000,
        random_state=0,
    ).fit(rows, signs)
    ranker = SparseRankingSVM(l1=l1, standardise=False, tol=1e-10).fit(X, y, qid=qid)
    found = np.zeros(6)
    found[ranker.selected_] = ranker.model_.weights
    np.testing.assert_allclose(found, peer.coef_[0], atol=2e-5)
    assert np.array_equal(found != 0, peer.coef_[0] != 0)

"""Leaves of rows in trees of tests: find_leaves agrees with following every row by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.kernels.trees import Routes

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]


def random_routes(random: np.random.Generator, n_trees: int) -> Routes:
    """Trees of tests that lead to later tests or to leaves."""
    n_tests, roots = 0, []
    yes, no = [], []
    for _ in range(n_trees):
        count = int(random.integers(1, 6))
        roots.append(n_tests)
        for test in range(count):
            for side in (yes, no):
                later = int(random.integers(test + 1, count + 3))
                side.append(n_tests + later if later < count else ~int(random.integers(0, 4)))
        n_tests += count
    return Routes(
        random.integers(0, 3, n_tests),
        random.integers(0, 4, n_tests) / 2.0,
        random.random(n_tests) < 0.5,
        np.array(yes),
        np.array(no),
        np.array(roots),
    )


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_leaves(seed: int) -> None:
    random = np.random.default_rng(seed)
    routes = random_routes(random, int(random.integers(1, 4)))
    X = random.integers(0, 5, (30, 3)) / 2.0
    X[random.random(X.shape) < 0.2] = np.nan
    expected = np.empty((30, len(routes.roots)), int)
    for i, x in enumerate(X):
        for tree, at in enumerate(routes.roots.tolist()):
            while at >= 0:
                value = x[routes.feature[at]]
                above = routes.missing[at] if np.isnan(value) else value > routes.threshold[at]
                at = int(routes.yes[at] if above else routes.no[at])
            expected[i, tree] = ~at
    assert routes.leaves(X, 2).tolist() == expected.tolist()

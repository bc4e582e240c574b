"""Shapley values of the change from one item to another, against all subsets of features."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial import inspection
from crucial.inspection import explain
from crucial.inspection.explain import mean_tree_differences, tree_differences
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump, Tree


def random_tree(random: np.random.Generator, n_features: int, n_leaves: int) -> Tree:
    """A tree whose leaves are split at random."""
    left, right = [0], [0]
    open_ends: list[tuple[int, int]] = [(0, 0), (0, 1)]
    while len(left) < n_leaves - 1:
        node, side = open_ends.pop(int(random.integers(len(open_ends))))
        (left, right)[side][node] = len(left)
        open_ends += [(len(left), 0), (len(left), 1)]
        left.append(0)
        right.append(0)
    for leaf, (node, side) in enumerate(open_ends):
        (left, right)[side][node] = ~leaf
    n = len(left)
    thresholds = tuple(
        None if random.random() < 0.1 else float(t) for t in random.integers(0, 3, n) + 0.5
    )
    return Tree(
        tuple(random.integers(0, n_features, n).tolist()),
        thresholds,
        tuple(random.integers(0, 2, n).tolist()),
        tuple(left),
        tuple(right),
        tuple(random.random(n).tolist()),
        tuple((random.integers(-8, 9, n + 1) / 8).tolist()),
    )


def items(random: np.random.Generator, n_features: int) -> Any:
    X = random.integers(0, 4, (2, n_features)).astype(float)
    X[random.random(X.shape) < 0.15] = np.nan
    return X


def by_orders(tree: Tree, a: Any, b: Any) -> Any:
    """Mean over all orders of what a feature changes when it joins those before it."""
    out = np.zeros(len(a))
    orders = list(permutations(range(len(a))))
    for order in orders:
        x = b.copy()
        for feature in order:
            before = tree.scores(x[None])[0]
            x[feature] = a[feature]
            out[feature] += tree.scores(x[None])[0] - before
    return out / len(orders)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 5), n_leaves=st.integers(2, 9))
def test_shapley_values_of_all_orders(seed: int, n_features: int, n_leaves: int) -> None:
    random = np.random.default_rng(seed)
    tree, (a, b) = random_tree(random, n_features, n_leaves), items(random, n_features)
    found = tree_differences(tree, np.stack((a, b)), np.array([[0, 1]]))[0]
    np.testing.assert_allclose(found, by_orders(tree, a, b), atol=1e-12)
    scores = tree.scores(np.stack((a, b)))
    assert found.sum() == pytest.approx(scores[0] - scores[1], abs=1e-12)
    model = AdditiveRanker(n_features, [tree, Stump(0, 1.5, 1)], [0.5, 2.0])
    why, both = inspection.why(model, np.stack((a, b)), 0, 1), 0.5 * found
    both[0] += 2.0 * np.subtract(*Stump(0, 1.5, 1).scores(np.stack((a, b))))
    np.testing.assert_allclose(why.added, both[list(why.features)], atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 5), n_leaves=st.integers(2, 9))
def test_many_pairs_at_once_are_each_alone(seed: int, n_features: int, n_leaves: int) -> None:
    random = np.random.default_rng(seed)
    tree = random_tree(random, n_features, n_leaves)
    rows = np.concatenate([items(random, n_features) for _ in range(3)])
    pairs = np.array([(a, b) for a in range(len(rows)) for b in range(len(rows))])
    found = tree_differences(tree, rows, pairs)
    for (a, b), row in zip(pairs, found, strict=True):
        np.testing.assert_allclose(row, by_orders(tree, rows[a], rows[b]), atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 5), n_leaves=st.integers(2, 9))
def test_means_over_a_background_count_patterns(seed: int, n_features: int, n_leaves: int) -> None:
    random = np.random.default_rng(seed)
    tree = random_tree(random, n_features, n_leaves)
    rows, background = (
        np.concatenate([items(random, n_features) for _ in range(n)]) for n in (2, 4)
    )
    both = np.concatenate((rows, background))
    means = [
        tree_differences(tree, both, np.array([(a, b) for b in range(4, 12)])).mean(axis=0)
        for a in range(4)
    ]
    for cells in (1 << 22, 1):  # (blocks of patterns change nothing)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(explain, "_CELLS", cells)
            found = mean_tree_differences(tree, rows, background)
        np.testing.assert_allclose(found, means, atol=1e-12)


def test_a_path_may_test_more_features_than_an_integer_has_bits() -> None:
    n = 80  # the tree adds 1 where all features are above 0
    left, right = tuple(~k for k in range(n)), (*range(1, n), ~n)
    tree = Tree(tuple(range(n)), (0.0,) * n, (0,) * n, left, right, (1.0,) * n, (*[0.0] * n, 1.0))
    rows = np.ones((3, n))
    rows[1, 0] = rows[2, n - 1] = -1.0
    found = mean_tree_differences(tree, rows, rows[1:])
    pairs = np.array([(a, b) for a in range(3) for b in (1, 2)])
    means = tree_differences(tree, rows, pairs).reshape(3, 2, n).mean(axis=1)
    np.testing.assert_allclose(found, means, atol=1e-12)

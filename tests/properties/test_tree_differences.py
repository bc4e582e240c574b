"""Shapley values of the change from one item to another, against all subsets of features."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial import inspection
from crucial.inspection.explain import tree_differences
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

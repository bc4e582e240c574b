"""What each feature contributes to the difference of two items in trees of several features."""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np

from crucial.model.weak import Tree
from crucial.types import Bools, Floats, Ints

__all__ = ["tree_difference", "tree_differences"]


@lru_cache(maxsize=4096)
def _weights(n_own: int, n_other: int) -> tuple[float, float]:
    """Return the Shapley weights of a leaf for a feature of either item.

    A leaf that is reached where ``n_own`` features have the values of one item and ``n_other``
    those of the other counts in the orders of features in which the last of the former comes
    before the first of the latter.
    """
    orders = factorial(n_own + n_other)
    up = factorial(n_own - 1) * factorial(n_other) / orders if n_own else 0.0
    down = factorial(n_own) * factorial(n_other - 1) / orders if n_other else 0.0
    return up, down


@lru_cache(maxsize=64)
def _weight_table(n_features: int) -> Floats:
    """Return `_weights` of all numbers of features up to the given one."""
    numbers = range(n_features + 1)
    return np.array([[_weights(own, other) for other in numbers] for own in numbers])


def tree_difference(tree: Tree, a: Floats, b: Floats, out: Floats) -> None:
    """Add the Shapley values of the change from item b to item a in one tree.

    The value of a set of features is the score of an item that has the values of a in them and
    those of b elsewhere (interventional Shapley values with b as the only reference). They are
    exact and add up to the difference of the two scores. Both items are walked through the tree
    at once, so that only leaves count that a mixture of the two can reach.

    Parameters
    ----------
    tree : Tree
    a, b : float64 arrays of shape (n_features,)
    out : float64 array of shape (n_features,)  # OUT

    Examples
    --------
    >>> tree = Tree((0, 1), (0.5, 0.5), (0, 0), (~0, ~1), (1, ~2), (1.0, 1.0), (0.0, 0.0, 1.0))
    >>> parts = np.zeros(2)
    >>> tree_difference(tree, np.array([1.0, 1.0]), np.array([0.0, 0.0]), parts)
    >>> parts
    array([0.5, 0.5])
    """
    ways = [(0, frozenset[int](), frozenset[int]())]
    while ways:
        at, own, other = ways.pop()
        if at < 0:
            up, down = _weights(len(own), len(other))
            value = tree.values[~at]
            for feature in own:
                out[feature] += up * value
            for feature in other:
                out[feature] -= down * value
            continue
        feature = tree.features[at]
        right_a, right_b = _goes_right(tree, at, a), _goes_right(tree, at, b)
        children = tree.left[at], tree.right[at]
        if right_a == right_b or feature in own:
            ways.append((children[right_a], own, other))
        elif feature in other:
            ways.append((children[right_b], own, other))
        else:
            ways.append((children[right_a], own | {feature}, other))
            ways.append((children[right_b], own, other | {feature}))


def _goes_right(tree: Tree, node: int, x: Floats) -> bool:
    """Return whether an item goes right at a node."""
    value, threshold = x[tree.features[node]], tree.thresholds[node]
    if np.isnan(value):
        return bool(tree.missing[node])
    return threshold is not None and bool(value > threshold)


def tree_differences(tree: Tree, rows: Floats, pairs: Ints, out: Floats) -> None:
    """Add what `tree_difference` adds, for many pairs of rows at once.

    A leaf counts for a pair where every feature on the way to it lets one of both items pass;
    which features let only one of them pass decides its weight.

    Parameters
    ----------
    tree : Tree
    rows : float64 array of shape (n_rows, n_features)
    pairs : int array of shape (n_pairs, 2)
        Rows (a, b).
    out : float64 array of shape (n_pairs, n_features)  # OUT
    """
    goes_right = [_go_right(tree, node, rows) for node in range(len(tree.features))]
    weights = _weight_table(len(set(tree.features)))
    ways: list[tuple[int, dict[int, Bools]]] = [(0, {})]
    while ways:
        at, passed = ways.pop()
        if at >= 0:
            feature, right = tree.features[at], goes_right[at]
            for child, here in ((tree.left[at], ~right), (tree.right[at], right)):
                before = passed.get(feature)
                ways.append((child, passed | {feature: here if before is None else before & here}))
            continue
        both = {f: (lets[pairs[:, 0]], lets[pairs[:, 1]]) for f, lets in passed.items()}
        reached = np.logical_and.reduce([a | b for a, b in both.values()])
        own = sum((a & ~b).astype(np.int64) for a, b in both.values())
        other = sum((b & ~a).astype(np.int64) for a, b in both.values())
        value = np.where(reached, tree.values[~at], 0.0)
        up, down = (value * weights[own, other, side] for side in (0, 1))
        for f, (a, b) in both.items():
            out[:, f] += np.where(a & ~b, up, 0.0) - np.where(b & ~a, down, 0.0)


def _go_right(tree: Tree, node: int, rows: Floats) -> Bools:
    """Return which rows go right at a node."""
    column, threshold = rows[:, tree.features[node]], tree.thresholds[node]
    right = np.zeros(len(column), bool) if threshold is None else column > threshold
    return np.where(np.isnan(column), bool(tree.missing[node]), right)

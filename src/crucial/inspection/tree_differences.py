"""What each feature contributes to the difference of two items in trees of several features."""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np

from crucial.model.tree import Tree
from crucial.types import Floats

__all__ = ["tree_difference"]


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

"""A tree as a weak ranker: comparisons of features with thresholds, one value per leaf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from crucial.model.frozen import FrozenRanker
from crucial.parameters import refuse
from crucial.types import Floats, Ints, Numbers

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = ["Tree"]

_LARGEST_VALUE = 1e100  # so that no sum of values can overflow


class Tree(FrozenRanker, frozen=True, tag="tree"):
    """The value of the leaf that a row reaches.

    Every node compares one feature with a threshold. Nodes come before their children, so that a
    tree read from a file cannot contain a circle.

    Parameters
    ----------
    features : tuple of int, one per node
        The compared feature.
    thresholds : tuple of float or None, one per node
        A row whose feature is greater goes right, others go left. None: any value goes left, so
        that the node tells whether the feature abstains.
    missing : tuple of int, one per node
        Where a row goes on which the feature abstains: 0 for left, 1 for right.
    left, right : tuple of int, one per node
        The next node, or ``~leaf``.
    gains : tuple of float, one per node
        What the split gained in training.
    values : tuple of float, one per leaf

    Examples
    --------
    >>> tree = Tree((0,), (2.5,), (1,), (~0,), (~1,), (1.0,), (-0.5, 0.25))
    >>> tree.scores(np.array([[2.0], [3.0], [np.nan]]))
    array([-0.5 ,  0.25,  0.25])
    """

    features: tuple[int, ...]
    thresholds: tuple[float | None, ...]
    missing: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    gains: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        n_nodes, n_leaves = len(self.features), len(self.values)
        columns = (self.thresholds, self.missing, self.left, self.right, self.gains)
        if not n_nodes or n_leaves != n_nodes + 1 or any(len(one) != n_nodes for one in columns):
            raise refuse("Tree", "values", "one leaf more than there are nodes", n_leaves)
        for node in range(n_nodes):
            threshold = self.thresholds[node]
            if self.features[node] < 0:
                raise refuse("Tree", "features", "at least 0", self.features[node])
            if threshold is not None and not math.isfinite(threshold):
                raise refuse("Tree", "thresholds", "finite numbers or None", threshold)
            if self.missing[node] not in (0, 1):
                raise refuse("Tree", "missing", "0 or 1", self.missing[node])
            if not (math.isfinite(self.gains[node]) and self.gains[node] >= 0.0):
                raise refuse("Tree", "gains", "finite numbers of at least 0", self.gains[node])
        for value in self.values:
            if not abs(value) <= _LARGEST_VALUE:
                raise refuse("Tree", "values", "numbers of at most 1e100", value)
        reached = sorted(self.left + self.right)
        everything = [*range(-n_leaves, 0), *range(1, n_nodes)]
        ordered = all(
            child < 0 or child > node
            for side in (self.left, self.right)
            for node, child in enumerate(side)
        )
        if reached != everything or not ordered:
            rule = "later nodes or ~leaf, each reached once"
            raise refuse("Tree", "left", rule, (self.left, self.right))

    @property
    def largest_feature(self) -> int:
        """The last feature that is compared."""
        return max(self.features)

    @property
    def span(self) -> float:
        """Difference of the largest and the smallest value."""
        return max(self.values) - min(self.values)

    @property
    def size(self) -> float:
        """Largest absolute value."""
        return max(map(abs, self.values))

    @property
    def reach(self) -> float:
        """Largest absolute score, at least 1."""
        return max(1.0, self.size)

    def gain_by_feature(self) -> dict[int, float]:
        """Return what the splits of every feature gained."""
        out: dict[int, float] = {}
        for feature, gain in zip(self.features, self.gains, strict=True):
            out[feature] = out.get(feature, 0.0) + gain
        return out

    def leaves(self, X: Numbers) -> Ints:
        """Return the number of the leaf of every row."""
        out = np.zeros(len(X), np.int64)
        waiting = {0: np.arange(len(X))}
        for node in range(len(self.features)):
            rows = waiting.pop(node)
            x = X[rows, self.features[node]].astype(np.float64)
            threshold = self.thresholds[node]
            right = np.zeros(len(x), bool) if threshold is None else x > threshold
            right[np.isnan(x)] = bool(self.missing[node])
            for child, part in ((self.left[node], rows[~right]), (self.right[node], rows[right])):
                if child < 0:
                    out[part] = ~child
                else:
                    waiting[child] = part
        return out

    def scores(self, X: Numbers, groups: Groups | None = None) -> Floats:
        """Return the value of the leaf of every row."""
        return np.array(self.values)[self.leaves(X)]

    def with_features(self, slot: Mapping[int, int]) -> Tree:
        """Return the tree over other numbers of the same features."""
        return replace(self, features=tuple(slot[feature] for feature in self.features))

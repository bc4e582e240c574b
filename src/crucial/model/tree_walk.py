"""Trees walked by NumPy, all trees and rows of one query at a time, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.model.export.form import FormTree
from crucial.types import Floats, Ints, Numbers

__all__ = ["TreeWalk"]

_WALK_CELLS = 1 << 14  # (tree, row) pairs that are walked at a time: they stay in the cache
_MAX_NODES = 200_000
#: Feature, threshold, place of the left child, value and depth of a node.
_Node: TypeAlias = "tuple[int, float, int, float, int]"


@dataclass(frozen=True, eq=False)
class TreeWalk:
    """All nodes of some trees; the children of a node are side by side, a leaf leads to itself.

    The columns of a call are doubled: in the second ones, an abstention is infinite, which is
    above every threshold, and in the first ones minus infinite. A node uses the one that sends
    abstentions to its side, so that one comparison is all it takes.

    Attributes
    ----------
    columns : int64 array
        The used features, ascending.
    feature : int64 array, one per node
        The place of its feature in ``columns``, or that plus their number.
    threshold : float64 array, one per node
    left : int64 array, one per node
    value : float64 array, one per node
    roots, depths : int64 arrays, one per tree
    """

    columns: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    value: Floats
    roots: Ints
    depths: Ints

    @classmethod
    def of(cls, trees: Sequence[FormTree]) -> TreeWalk | None:
        """Return the walk through trees in which no nodes are shared; None if they are too large.

        Examples
        --------
        >>> tree = FormTree(np.array([3]), np.array([0.5]), np.array([True]), np.array([~0]),
        ...     np.array([~1]), np.array([-1.0, 2.0]))
        >>> X = np.zeros((3, 4))
        >>> X[1:, 3] = 0.75, np.nan
        >>> TreeWalk.of([tree, tree]).scores(X).tolist()
        [-2.0, 4.0, 4.0]
        """
        if sum(2 * len(tree.features) + 1 for tree in trees) > _MAX_NODES:
            return None
        used = sorted({feature for tree in trees for feature in tree.features.tolist()})
        place = {feature: at for at, feature in enumerate(used)}
        nodes: list[_Node] = []
        roots, depths = [], []
        for tree in trees:
            roots.append(len(nodes))
            own = _nodes(tree, place, len(nodes))
            depths.append(max(node[4] for node in own))
            nodes += own
        feature, threshold, left, value, _ = zip(*nodes, strict=True) if nodes else [()] * 5
        return cls(
            np.array(used, np.int64),
            np.array(feature, np.int64),
            np.array(threshold, np.float64),
            np.array(left, np.int64),
            np.array(value, np.float64),
            np.array(roots, np.int64),
            np.array(depths, np.int64),
        )

    def scores(self, X: Numbers) -> Floats:
        """Return the sum of the trees of every row, added from the first tree to the last."""
        n = len(X)
        if not n or not len(self.roots):
            return np.zeros(n)
        k = len(self.columns)
        x = np.empty((2 * k, n))
        x[:k] = x[k:] = X.T[self.columns]
        missing = np.isnan(x[:k])
        x[:k][missing], x[k:][missing] = -np.inf, np.inf
        cells, first, rows = x.ravel(), self.feature * n, np.arange(n)
        leaves = np.empty((len(self.roots), n))
        step = max(1, _WALK_CELLS // n)
        for begin in range(0, len(self.roots), step):
            part = slice(begin, begin + step)
            node = np.broadcast_to(self.roots[part, None], leaves[part].shape)
            for _ in range(int(self.depths[part].max())):
                at = first.take(node)
                at += rows
                above = cells.take(at) > self.threshold.take(node)
                node = self.left.take(node)
                node += above
            leaves[part] = self.value.take(node)
        # (a single column would be added in pairs, and not from first to last)
        if n == 1:
            return np.add.accumulate(leaves[:, 0])[-1:] + 0.0
        total: Floats = np.add.reduce(leaves, axis=0) + 0.0  # (no negative zero)
        return total


def _nodes(tree: FormTree, place: dict[int, int], base: int) -> list[_Node]:
    """Return the nodes and leaves of a tree, level by level; the first has the number ``base``."""
    out: list[_Node] = []
    features, thresholds = tree.features.tolist(), tree.thresholds.tolist()
    left, right = tree.left.tolist(), tree.right.tolist()
    missing_right, values = tree.missing_right.tolist(), tree.values.tolist()
    waiting = [(0 if features else ~0, 0)]
    for source, depth in waiting:
        own = base + len(out)
        if source < 0:
            out.append((0, np.inf, own, values[~source], depth))
            continue
        threshold = thresholds[source]
        if threshold != threshold:  # any value goes left, and an infinite one is an abstention
            threshold = float(np.finfo(np.float64).max)
        column = place[features[source]] + len(place) * bool(missing_right[source])
        out.append((column, threshold, base + len(waiting), 0.0, depth))
        waiting += [(left[source], depth + 1), (right[source], depth + 1)]
    return out

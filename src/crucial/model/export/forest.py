"""Trees as an engine holds them, walked by its rules: the twin of its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Numbers

__all__ = ["EngineTree", "Forest", "NestedNode", "flattened"]

_CELLS = 1 << 20  # (row, tree) pairs that are walked at a time


@dataclass(frozen=True, eq=False)
class EngineTree:
    """One tree as a file has it.

    Attributes
    ----------
    features : int array, one per node
        -1 at a leaf.
    thresholds : array, one per node
    missing_left : bool array, one per node
    left, right : int array, one per node
    values : array, one per node
        Used at leaves.
    """

    features: NDArray[np.int64]
    thresholds: Floats
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: Floats


@dataclass(frozen=True)
class NestedNode:
    """A node or leaf of a nested tree, as a file has it.

    Attributes
    ----------
    value : float
        Of a leaf.
    feature : int
        -1 for a leaf.
    threshold : float
    children : pair of nested nodes, or ()
        The left and the right one, in the form of the file.
    missing_left : bool
        Whether a missing value goes left.
    """

    value: float = 0.0
    feature: int = -1
    threshold: float = 0.0
    children: tuple[Any, ...] = ()
    missing_left: bool = False


def flattened(root: Any, read: Callable[[Any], NestedNode]) -> EngineTree:
    """Return a nested tree by what ``read`` makes of its nodes."""
    nodes: list[NestedNode] = []
    left: list[int] = []
    right: list[int] = []

    def visit(part: Any) -> int:
        at = len(nodes)
        nodes.append(read(part))
        left.append(0)
        right.append(0)
        if nodes[at].children:
            left[at], right[at] = (visit(child) for child in nodes[at].children)
        return at

    visit(root)
    return EngineTree(
        np.array([node.feature for node in nodes], np.int64),
        np.array([node.threshold for node in nodes]),
        np.array([node.missing_left for node in nodes], np.bool_),
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array([node.value for node in nodes]),
    )


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees with an engine's comparison and number types.

    Attributes
    ----------
    trees : sequence of EngineTree
    test : {"<", "<="}
        A value for which it holds goes left.
    numbers : dtype
        Values and thresholds are converted to it before they are compared.
    sums : dtype
        Leaves are added in it, tree after tree.
    """

    trees: Sequence[EngineTree]
    test: Literal["<", "<="]
    numbers: type[np.floating]
    sums: type[np.floating]

    def scores(self, X: Numbers, start: float = 0.0) -> Floats:
        """Return the sum of the leaves that each row reaches, beginning with ``start``."""
        roots = np.cumsum([0, *(len(tree.features) for tree in self.trees)])[:-1]
        offset = np.repeat(roots, [len(tree.features) for tree in self.trees])
        features = np.concatenate([tree.features for tree in self.trees])
        thresholds = np.concatenate([tree.thresholds for tree in self.trees]).astype(self.numbers)
        missing_left = np.concatenate([tree.missing_left for tree in self.trees])
        left = np.concatenate([tree.left for tree in self.trees]) + offset
        right = np.concatenate([tree.right for tree in self.trees]) + offset
        values = np.concatenate([tree.values for tree in self.trees]).astype(self.sums)
        with np.errstate(over="ignore"):
            table = X.astype(self.numbers)
        out = np.empty(len(X))
        step = max(1, _CELLS // len(roots))
        for begin in range(0, len(X), step):
            rows = table[begin : begin + step]
            at = np.broadcast_to(roots, (len(rows), len(roots))).copy()
            row, tree = np.nonzero(features[at] >= 0)
            while len(row):
                node = at[row, tree]
                x, t = rows[row, features[node]], thresholds[node]
                goes_left = np.where(
                    np.isnan(x), missing_left[node], x < t if self.test == "<" else x <= t
                )
                after = np.where(goes_left, left[node], right[node])
                at[row, tree] = after
                going = features[after] >= 0
                row, tree = row[going], tree[going]
            leaves = np.concatenate((np.full((len(rows), 1), start, self.sums), values[at]), axis=1)
            out[begin : begin + step] = np.add.accumulate(leaves, axis=1, dtype=self.sums)[:, -1]
        return out

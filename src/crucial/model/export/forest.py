"""Trees as an engine holds them, walked by its rules: the twin of its evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints, Numbers

__all__ = ["EngineForest", "EngineTrees", "NestedNode", "flattened", "spliced"]

_WALK_CELLS = 1 << 18  # (row, tree) pairs that are walked at a time


@dataclass(frozen=True, eq=False)
class EngineTrees:
    """All trees of a file, one after the other; nodes have numbers among those of all trees.

    Attributes
    ----------
    roots : int array, one per tree
    features : int array, one per node
        -1 at a leaf.
    thresholds : array, one per node
    missing_left : bool array, one per node
    left, right : int array, one per node
        Ignored at a leaf.
    values : array, one per node
        Used at leaves.
    """

    roots: Ints
    features: Ints
    thresholds: Floats
    missing_left: NDArray[np.bool_]
    left: Ints
    right: Ints
    values: Floats


class NestedNode(NamedTuple):
    """A node or leaf of a nested tree, as a file has it.

    Attributes
    ----------
    value : float
        Of a leaf.
    feature : int
        -1 for a leaf.
    threshold : float
    children : pair of nested nodes, or ()
        The left and the right one, in the form of the file; a missing value goes right.
    """

    value: float = 0.0
    feature: int = -1
    threshold: float = 0.0
    children: tuple[Any, ...] = ()


def flattened(roots: Iterable[Any], read: Callable[[Any], NestedNode]) -> EngineTrees:
    """Return nested trees by what ``read`` makes of their nodes.

    Examples
    --------
    >>> read = lambda part: NestedNode(part) if isinstance(part, float) else NestedNode(*part)
    >>> trees = flattened([(0.0, 3, 0.5, (1.0, 2.0)), 4.0], read)
    >>> trees.roots.tolist(), trees.features.tolist(), trees.values.tolist()
    ([0, 3], [3, -1, -1, -1], [0.0, 1.0, 2.0, 4.0])
    >>> trees.left.tolist(), trees.right.tolist()
    ([1, 0, 0, 0], [2, 0, 0, 0])
    """
    first: list[int] = []
    nodes: list[NestedNode] = []
    left: list[int] = []
    for root in roots:
        first.append(len(nodes))
        waiting = [root]
        for part in waiting:  # (which grows: level by level, children side by side)
            node = read(part)
            left.append(first[-1] + len(waiting) if node.children else 0)
            waiting += node.children
            nodes.append(node)
    values, features, thresholds, children = zip(*nodes, strict=True)
    before = np.array(left, np.int64)
    inner = np.array([len(two) > 0 for two in children], np.bool_)
    return EngineTrees(
        np.array(first, np.int64),
        np.array(features, np.int64),
        np.array(thresholds, np.float64),
        np.zeros(len(nodes), np.bool_),
        before,
        before + inner,
        np.array(values, np.float64),
    )


def spliced(parts: Iterable[Iterable[Any]], kind: type) -> NDArray[Any]:
    """Return the items of several lists as one array."""
    items = [item for part in parts for item in part]
    return np.array(items, kind)


@dataclass(frozen=True, eq=False)
class EngineForest:
    """Trees with an engine's comparison and number types.

    Attributes
    ----------
    trees : EngineTrees
    test : {"<", "<="}
        A value for which it holds goes left.
    numbers : dtype
        Values and thresholds are converted to it before they are compared.
    sums : dtype
        Leaves are added in it, tree after tree.
    """

    trees: EngineTrees
    test: Literal["<", "<="]
    numbers: type[np.floating]
    sums: type[np.floating]

    def scores(self, X: Numbers, start: float = 0.0) -> Floats:
        """Return the sum of the leaves that each row reaches, beginning with ``start``."""
        values, out = self.trees.values.astype(self.sums), np.empty(len(X))
        for begin, leaves in self._blocks(X):
            # (along the trees; a running sum never adds in pairs)
            first = np.full((1, leaves.shape[1]), start, self.sums)
            parts = np.concatenate((first, values[leaves]))
            sums = np.add.accumulate(parts, axis=0, dtype=self.sums)
            out[begin : begin + leaves.shape[1]] = sums[-1]
        return out

    def leaves(self, X: Numbers) -> NDArray[Any]:
        """Return the value of the leaf that each row reaches in each tree: (rows, trees)."""
        values = self.trees.values.astype(self.sums)
        out = np.empty((len(X), len(self.trees.roots)), self.sums)
        for begin, leaves in self._blocks(X):
            out[begin : begin + leaves.shape[1]] = values[leaves].T
        return out

    def counts(self, X: Numbers) -> Ints:
        """Return how many rows end in every node; more than 0 at leaves alone."""
        out = np.zeros(len(self.trees.features), np.int64)
        for _, leaves in self._blocks(X):
            out += np.bincount(leaves.ravel(), minlength=len(out))
        return out

    def _blocks(self, X: Numbers) -> Iterator[tuple[int, Ints]]:
        """Yield the first of some rows, and their leaves, of shape (trees, rows)."""
        with np.errstate(over="ignore"):
            table = X.T.astype(self.numbers, order="C")
            thresholds = self.trees.thresholds.astype(self.numbers)
        children = np.stack((self.trees.right, self.trees.left), axis=1).ravel()
        step = max(1, _WALK_CELLS // len(self.trees.roots))
        for begin in range(0, len(X), step):
            rows = np.ascontiguousarray(table[:, begin : begin + step])
            yield begin, self._leaves(rows, thresholds, children)

    def _leaves(self, columns: NDArray[Any], thresholds: NDArray[Any], children: Ints) -> Ints:
        """Return the leaf of every row of some columns in every tree, of shape (trees, rows)."""
        features, missing_left = self.trees.features, self.trees.missing_left
        n = columns.shape[1]
        cells, any_left = columns.ravel(), bool(missing_left.any())
        out = np.repeat(self.trees.roots, n)
        place = np.flatnonzero(features[out] >= 0)
        node, row = out[place], place % n
        while len(place):
            x, t = cells.take(features.take(node) * n + row), thresholds.take(node)
            goes_left = x < t if self.test == "<" else x <= t  # (no comparison is true of NaN)
            if any_left:
                goes_left |= np.isnan(x) & missing_left.take(node)
            node = children.take(2 * node + goes_left)
            going = features.take(node) >= 0
            if not going.all():
                out[place[~going]] = node[~going]
                place, node, row = place[going], node[going], row[going]
        return out.reshape(-1, n)

"""TreeRank: split a node so that the ROC curve of the tree rises most."""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import dot
from crucial.trees.grow import Node
from crucial.trees.scan import NodeCells, NodeRows, Sides
from crucial.trees.splitters import NodeSplit, Splitter
from crucial.types import Bytes, Floats

__all__ = ["TwoClassTask", "curve_area", "tree_area"]


class TwoClassTask:
    """Tells high rows from low ones, with both classes of a node weighing the same.

    With alpha and beta the shares of all low and all high rows in a node C, a split into L and
    the rest adds ``G = (alpha(C) beta(L) - beta(C) alpha(L)) / 2`` to the area under the ROC
    curve of the tree, so that AUC = 1/2 + the sum of all G (Clemencon & Vayatis 2009).

    Parameters
    ----------
    good : uint8 array, one entry per row of the `TreeRows`
        1 for a high row.
    weight : array like ``good``
        Weights in this tree; rows of weight 0 must not be in the root.
    """

    def __init__(self, good: Bytes, weight: Floats) -> None:
        self._good, self._weight = good, weight

    def start(self, root: Node) -> Node:
        """Set the shares of a root, which has all rows, and return it."""
        high = self._weight[root.rows] * self._good[root.rows]
        self._high = float(high.sum())
        self._low = float(self._weight[root.rows].sum()) - self._high
        root.alpha = root.beta = 1.0
        return root

    def may_split(self, node: Node) -> bool:
        """Return whether a node has rows of both classes."""
        return node.alpha > 0.0 and node.beta > 0.0

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        sides = Sides(cells, self._good[cells.rows], self._weight[cells.rows])
        splits = splitter.split(sides)
        return [
            None if split is None else (split, 0.5 * node.alpha * node.beta * split.gain)
            for node, split in zip(nodes, splits, strict=True)
        ]

    def divided(self, node: Node) -> None:
        """Set the shares of the children; one without rows of a class has none of it."""
        for child in node.children or ():
            weight, good = self._weight[child.rows], self._good[child.rows] == 1
            child.alpha = float(weight[~good].sum()) / self._low
            child.beta = float(weight[good].sum()) / self._high


def curve_area(alpha: Floats, beta: Floats) -> float:
    """Return the area under the ROC curve through cells, given their shares, the best first.

    Examples
    --------
    >>> curve_area(np.array([0.25, 0.75]), np.array([0.75, 0.25]))
    0.75
    """
    reached = np.cumsum(beta) - 0.5 * beta
    return dot(alpha, reached)


def tree_area(root: Node) -> float:
    """Return the area under the ROC curve of a tree on the rows that it was grown on."""
    leaves = root.leaves()
    return curve_area(
        np.array([leaf.alpha for leaf in leaves]), np.array([leaf.beta for leaf in leaves])
    )


def sides_of(rows: NodeRows, good: Bytes) -> Sides:
    """Return all rows as one cell."""
    cells = NodeCells.of([rows.everything()])
    return Sides(cells, good, rows.weight)

"""Grow a ranking tree level by level, and turn grown trees into the tables of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.elementary import dot
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TestRow, TreeTable
from crucial.rankers.ranking_trees.splitters import (
    NodeCells,
    NodeRows,
    NodeSplit,
    NodeTest,
    Sides,
    Splitter,
)
from crucial.types import Bytes, Floats

# --- Grow a ranking tree level by level
#
# A `TreeTask` decides what every node should tell apart, and which of the splits to make; a
# `Splitter` finds the splits. Leaves are ranked from left to right, the best first.


@dataclass(eq=False)
class Node:
    """A node of a grown tree.

    Attributes
    ----------
    rows : uint32 array
        Places of its rows in `NodeRows`.
    depth : int
        0 for the root.
    gain : float
        What its split adds to the criterion of the tree; 0 for a leaf.
    tests : tuple of NodeTest
        The questions that find the side of a row.
    left, right : Node or None
    alpha, beta : float
        Share of all low and of all high rows, in trees of two classes.
    """

    rows: NDArray[np.uint32]
    depth: int = 0
    gain: float = 0.0
    tests: tuple[NodeTest, ...] = ()
    left: Node | None = None
    right: Node | None = None
    alpha: float = 0.0
    beta: float = 0.0
    _mass: float | None = field(default=None, repr=False)

    @property
    def children(self) -> tuple[Node, Node] | None:
        """Both children, or None for a leaf."""
        return None if self.left is None or self.right is None else (self.left, self.right)

    def divide(self, split: NodeSplit, gain: float) -> tuple[Node, Node]:
        """Make the children of a split, and return them."""
        self.gain, self.tests = gain, split.tests
        self.left = Node(self.rows[split.left], self.depth + 1)
        self.right = Node(self.rows[~split.left], self.depth + 1)
        return self.left, self.right

    def cut(self) -> None:
        """Make the node a leaf."""
        self.gain, self.tests, self.left, self.right = 0.0, (), None, None

    def leaves(self) -> list[Node]:
        """Return the leaves below, from left to right."""
        out, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node.children is None:
                out.append(node)
            else:
                waiting += [node.children[1], node.children[0]]
        return out

    def inner(self) -> Iterator[Node]:
        """Yield the nodes that are split, level by level, from left to right."""
        level = [self]
        while level:
            deeper: list[Node] = []
            for node in level:
                if node.children is not None:
                    yield node
                    deeper += node.children
            level = deeper

    def forget_rows(self) -> None:
        """Drop the rows of all nodes below, which a finished tree does not need."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            node.rows = node.rows[:0].copy()
            waiting += node.children or ()

    def mass(self, weight: Floats) -> float:
        """Return the weight of the rows; a row of weight 2 counts as two."""
        if self._mass is None:
            self._mass = float(weight[self.rows].sum())
        return self._mass


class TreeTask(Protocol):
    """What the nodes of a tree should tell apart."""

    def may_split(self, node: Node) -> bool:
        """Return whether a node has anything to tell apart."""

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""

    def divided(self, node: Node) -> None:
        """Note what the task keeps of the children of a node."""


def grow(
    root: Node,
    weight: Floats,
    task: TreeTask,
    splitter: Splitter,
    max_depth: int | None,
    min_rows: float,
) -> Node:
    """Grow a tree from its root, and return it.

    Parameters
    ----------
    root : Node
        With the rows to grow the tree on.
    weight : array
        Weights of all rows of the `NodeRows`.
    task : TreeTask
    splitter : Splitter
    max_depth : int, optional
    min_rows : float
        A node with less weight is not split.
    """
    level = [root]
    while level and (max_depth is None or level[0].depth < max_depth):
        there = [n for n in level if n.mass(weight) >= min_rows and task.may_split(n)]
        if not there:
            break
        chosen = task.choose(there, NodeCells.of([node.rows for node in there]), splitter)
        level = []
        for node, found in zip(there, chosen, strict=True):
            if found is not None:
                level += node.divide(*found)
                task.divided(node)
    return root


# --- Turn grown trees into the tables of a model


def leaf_places(n_leaves: int) -> Floats:
    """Return the scores of leaves from left to right: (L - k) / L for k = 0, ..., L - 1.

    Examples
    --------
    >>> leaf_places(4).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    return np.arange(n_leaves, 0, -1) / n_leaves


def frozen_tree(
    root: Node, routers: list[Router], scores: Sequence[float] | Floats | None = None
) -> TreeTable:
    """Return a grown tree as a table.

    Parameters
    ----------
    root : Node
    routers : list of Router
        Those of the tree are added to it.
    scores : sequence of float, optional
        Scores of the leaves from left to right; default: `leaf_places`.
    """
    leaves = root.leaves()
    leaf_of = {id(leaf): number for number, leaf in enumerate(leaves)}
    inner = list(root.inner())
    sizes = [len(node.tests) for node in inner]
    first = dict(zip(map(id, inner), np.cumsum([0, *sizes]).tolist(), strict=False))
    rows: list[TestRow] = []
    for number, node in enumerate(inner):
        assert node.children is not None
        start = first[id(node)]
        ends = {
            side: first[id(child)] if child.children is not None else ~leaf_of[id(child)]
            for side, child in zip((NodeTest.LEFT, NodeTest.RIGHT), node.children, strict=True)
        }
        for test in node.tests:
            threshold = test.threshold
            if test.router is not None:
                threshold = float(len(routers))
                routers.append(test.router)
            yes, no = (ends[t] if t < 0 else start + t for t in (test.yes, test.no))
            # (a split that ranks more pairs wrong than right has no importance)
            gain = test.gain * max(node.gain, 0.0)
            rows.append((number, test.feature, threshold, test.missing, yes, no, gain))
    found = leaf_places(len(leaves)) if scores is None else np.asarray(scores)
    return TreeTable.of(rows, found.tolist())


# --- Grow trees for any task: from checked rows to grown trees and their model


class StartedTask(TreeTask, Protocol):
    """A task that prepares itself at the root of its tree."""

    def start(self, root: Node) -> Node:
        """Set what the task keeps of a root, which has all rows, and return it."""


@dataclass(frozen=True)
class TaskAlgorithm:
    """Grows trees whose nodes are split by a task.

    Attributes
    ----------
    rows : NodeRows
    make_task : callable
        Makes the task of a tree from the weights of the rows.
    make_splitter : callable
        Makes the splitter of a tree from its random numbers.
    max_depth : int or None
    min_rows : float
        A node with less weight is not split.
    """

    rows: NodeRows
    make_task: Callable[[Floats], StartedTask]
    make_splitter: Callable[[np.random.Generator], Splitter]
    max_depth: int | None
    min_rows: float

    def grow(self, weight: Floats, random: np.random.Generator) -> Node:
        """Grow a tree on the rows of positive weight."""
        task = self.make_task(weight)
        root = task.start(Node(np.flatnonzero(weight > 0.0).astype(np.uint32)))
        return grow(root, weight, task, self.make_splitter(random), self.max_depth, self.min_rows)

    def table(self, root: Node) -> RankingTrees:
        """Return a grown tree as a model."""
        routers: list[Router] = []
        tree = frozen_tree(root, routers)
        return RankingTrees(self.rows.instances.n_features, [tree], routers=routers)


# --- TreeRank: split a node so that the ROC curve of the tree rises most


class TwoClassTask:
    """Tells high rows from low ones, with both classes of a node weighing the same.

    With alpha and beta the shares of all low and all high rows in a node C, a split into L and
    the rest adds ``G = (alpha(C) beta(L) - beta(C) alpha(L)) / 2`` to the area under the ROC
    curve of the tree, so that AUC = 1/2 + the sum of all G (Clemencon & Vayatis 2009).

    Parameters
    ----------
    good : uint8 array, one entry per row of the `NodeRows`
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

"""Grow a ranking tree level by level.

A `TreeTask` decides what every node should tell apart, and which of the splits to make; a
`Splitter` finds the splits. Leaves are ranked from left to right, the best first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.trees.scan import NodeCells, NodeTest
from crucial.trees.splitters import NodeSplit, Splitter
from crucial.types import Floats

__all__ = ["Node", "TreeTask", "grow"]


@dataclass(eq=False)
class Node:
    """A node of a grown tree.

    Attributes
    ----------
    rows : uint32 array
        Places of its rows in `TreeRows`.
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
        Weights of all rows of the `TreeRows`.
    task : Task
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

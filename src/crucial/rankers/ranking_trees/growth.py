"""Grow a ranking tree level by level, and turn grown trees into the tables of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import Router, TestRow, TreeTable
from crucial.rankers.ranking_trees.splitters import (
    NodeCells,
    NodeRows,
    NodeSplit,
    NodeTest,
    Splitter,
)
from crucial.types import Floats

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


class TreeTask(Protocol):
    """What the nodes of a tree should tell apart."""

    def start(self, root: Node) -> None:
        """Prepare for a root, which has all rows of the tree."""

    def may_split(self, node: Node) -> bool:
        """Return whether a node has anything to tell apart."""

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""

    def divided(self, node: Node) -> None:
        """Note what the task keeps of the children of a node."""


#: Makes the splitter of one tree from its random numbers.
MakeSplitter = Callable[[np.random.Generator], Splitter]


@dataclass(frozen=True)
class TreeGrower:
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
    make_task: Callable[[Floats], TreeTask]
    make_splitter: MakeSplitter
    max_depth: int | None
    min_rows: float

    def grow(self, weight: Floats, random: np.random.Generator) -> Node:
        """Grow a tree on the rows of positive weight, and return its root."""
        task, splitter = self.make_task(weight), self.make_splitter(random)
        root = Node(np.flatnonzero(weight > 0.0).astype(np.uint32))
        task.start(root)
        level = [root]
        while level and (self.max_depth is None or level[0].depth < self.max_depth):
            heavy = [node for node in level if weight[node.rows].sum() >= self.min_rows]
            mixed = [node for node in heavy if task.may_split(node)]
            if not mixed:
                break
            chosen = task.choose(mixed, NodeCells.of([node.rows for node in mixed]), splitter)
            level = []
            for node, split in zip(mixed, chosen, strict=True):
                if split is not None:
                    level += node.divide(*split)
                    task.divided(node)
        return root

    def model(self, root: Node) -> RankingTrees:
        """Return a grown tree as a model."""
        routers: list[Router] = []
        tree = frozen_tree(root, routers)
        return RankingTrees(self.rows.instances.n_features, [tree], routers=routers)


# --- Turn grown trees into the tables of a model


def frozen_tree(root: Node, routers: list[Router]) -> TreeTable:
    """Return a grown tree as a table; leaves score (L - k) / L, k = 0, ..., L - 1 from the left.

    Parameters
    ----------
    root : Node
    routers : list of Router
        Those of the tree are added to it.
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
    scores = np.arange(len(leaves), 0, -1) / len(leaves)
    return TreeTable.of(rows, scores.tolist())

"""Ranking trees: grown level by level for a task, and turned into the tables of a model.

A task is what nodes tell apart: two classes, several in a tournament, or continuous labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import factorial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stumps import NOISE, TIE, worst_tied
from crucial.kernels.elementary import dot
from crucial.measures.pairs import threshold_sums, volume_of_counts
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
from crucial.types import Bools, Bytes, Floats, Ints

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

    def start(self, root: Node) -> None:
        """Set the shares of a root, which has all rows of the tree."""
        high = self._weight[root.rows] * self._good[root.rows]
        self._high = float(high.sum())
        self._low = float(self._weight[root.rows].sum()) - self._high
        root.alpha = root.beta = 1.0

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


# --- CRank: split a node by the median of its labels, for continuous labels
#
# How well a tree orders rows, by Kendall's distance or by the integrated AUC, is a sum over the
# pairs of rows that its nodes separate. So each node has a gain, and pruning is that of TreeRank.


def above_median(label: Ints, weight: Floats) -> Bools:
    """Return which rows have a label above the median of all.

    With an even number of rows the median is the mean of the middle two; with an odd one the
    middle row is not above it. If no label is above the median, the highest one counts as above.

    Parameters
    ----------
    label : int array
        Numbers of the labels, never falling.
    weight : array like ``label``
        A row of weight 2 counts as two rows.

    Examples
    --------
    >>> above_median(np.array([0, 1, 2]), np.ones(3)).tolist()
    [False, False, True]
    >>> above_median(np.array([0, 1, 1, 1]), np.ones(4)).tolist()
    [False, True, True, True]
    """
    reached = np.cumsum(weight)
    half = 0.5 * reached[-1] * (1.0 - TIE)  # (rounding does not move the median)
    middle = label[np.searchsorted(reached, half, side="left")]
    above: Bools = label > middle
    return above if above.any() else label >= middle


@dataclass(frozen=True)
class PairGains:
    """What the separated pairs of rows add to a measure: half of right less wrong pairs.

    Attributes
    ----------
    label : int array of shape (n_rows,)
        Numbers of the labels, never falling.
    weight : array of shape (n_rows,)
    below, above : arrays of shape (n_rows,)
        A pair of a row i below j counts ``below[j] - above[i]``.
    total : float
        Sum over all pairs with different labels.
    """

    label: Ints
    weight: Floats
    below: Floats
    above: Floats
    total: float

    @classmethod
    def of(cls, label: Ints, weight: Floats, measure: str) -> PairGains:
        """Make the gains of a measure, "kendall" or "iauc".

        "iauc" weighs a pair by the thresholds between its labels; of two labels, which have
        none, it is "kendall".
        """
        lowest, n = int(label[0]), int(label[-1]) - int(label[0]) + 1
        mass = np.bincount(label - lowest, weight, n).astype(np.float64, copy=False)
        if measure == "iauc":
            starts = np.array([0, n], np.int64)
            sums, each, total = threshold_sums(mass, starts, False)
            if total[0] > 0.0:
                at = label - lowest
                return cls(label, weight, sums[at], (sums + each)[at], float(total[0]))
        lower = np.cumsum(mass) - mass
        return cls(label, weight, np.ones(len(label)), np.zeros(len(label)), dot(mass, lower))

    def between(self, rows: NDArray[np.integer[Any]], left: Bools) -> float:
        """Return the gain of ranking some rows, the left ones, above the others.

        Parameters
        ----------
        rows : int array
            Rows in the order of ``label``.
        left : bool array like ``rows``
        """
        if self.total <= 0.0:
            return 0.0
        label = self.label[rows]
        first = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
        weight, below, above = self.weight[rows], self.below[rows][first], self.above[rows][first]
        right = np.add.reduceat(np.where(left, 0.0, weight), first)
        mine = np.add.reduceat(np.where(left, weight, 0.0), first)

        def lower(values: Floats) -> Floats:
            return np.cumsum(values) - values

        def higher(values: Floats) -> Floats:
            return lower(values[::-1])[::-1]

        won = below * lower(right) - lower(above * right)
        lost = higher(below * right) - above * higher(right)
        return 0.5 * dot(mine, won - lost) / self.total


class MedianTask:
    """Tells rows with labels above the median of a node from the others.

    Parameters
    ----------
    label : int array, one entry per row of the `NodeRows`
        Numbers of the labels, never falling.
    weight : array like ``label``
        Weights in this tree; rows of weight 0 must not be in the root.
    gains : PairGains
        With the same weights.
    """

    def __init__(self, label: Ints, weight: Floats, gains: PairGains) -> None:
        self._label, self._weight, self._gains = label, weight, gains

    def start(self, root: Node) -> None:
        """Nothing is kept of the root."""

    def may_split(self, node: Node) -> bool:
        """Return whether a node has different labels."""
        return bool(self._label[node.rows[0]] != self._label[node.rows[-1]])

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        weight = self._weight[cells.rows]
        good = np.concatenate(
            [above_median(self._label[node.rows], self._weight[node.rows]) for node in nodes]
        )
        splits = splitter.split(Sides(cells, good.astype(np.uint8), weight))
        return [
            None if split is None else (split, self._gains.between(node.rows, split.left))
            for node, split in zip(nodes, splits, strict=True)
        ]

    def divided(self, node: Node) -> None:
        """Nothing is kept of the children."""


# --- TreeRank Tournament: of the splits that tell two classes apart, make the best for all classes


def class_pairs(n_classes: int, which: str) -> list[tuple[int, int]]:
    """Return the pairs of classes that compete: "neighbours", or "all" of them.

    Examples
    --------
    >>> class_pairs(3, "all")
    [(0, 1), (0, 2), (1, 2)]
    """
    classes = range(n_classes)
    return list(pairwise(classes) if which == "neighbours" else combinations(classes, 2))


class TournamentTask:
    """Splits a node where the volume under the ROC surface of the whole tree rises most.

    Per node and pair of classes, the splitter finds the split of those two classes with the
    largest TPR - FPR. Of these candidates the one is made after which the tree has the largest
    volume; among equals that of the first pair. A node stays a leaf if none raises it
    (Clemencon, Robbiano & Vayatis 2013). Nodes of a level are split from left to right, each
    seeing the splits made before it.

    Parameters
    ----------
    classes : uint8 array, one entry per row of the `NodeRows`
        0 for the lowest class.
    n_classes : int
    weight : array like ``classes``
        Weights in this tree; rows of weight 0 must not be in the root.
    pairs : list of (int, int)
        Pairs of classes, the lower one first.
    """

    def __init__(
        self, classes: Bytes, n_classes: int, weight: Floats, pairs: list[tuple[int, int]]
    ) -> None:
        self._classes, self._n, self._weight = classes, n_classes, weight
        self._pairs = pairs
        self._mass: dict[int, Floats] = {}
        self.volume = 1.0 / factorial(n_classes)

    def start(self, root: Node) -> None:
        """Count the classes of a root, which has all rows of the tree."""
        self._root = root
        self._mass = {id(root): self._masses(root.rows)}

    def _masses(self, rows: NDArray[np.uint32]) -> Floats:
        """Return the weight of each class in some rows."""
        counts = np.bincount(self._classes[rows], self._weight[rows], self._n)
        return counts.astype(np.float64, copy=False)

    def may_split(self, node: Node) -> bool:
        """Return whether a node has rows of two classes that compete."""
        mass = self._mass[id(node)]
        return any(mass[low] > 0.0 and mass[high] > 0.0 for low, high in self._pairs)

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        candidates: list[list[NodeSplit]] = [[] for _ in nodes]
        for pair in self._pairs:
            self._compete(pair, nodes, splitter, candidates)
        leaves = self._root.leaves()
        columns = [self._mass[id(leaf)] for leaf in leaves]
        place = {id(leaf): number for number, leaf in enumerate(leaves)}
        out: list[tuple[NodeSplit, float] | None] = []
        made = 0  # splits of nodes further left, each of which moves the leaves after it
        for node, splits in zip(nodes, candidates, strict=True):
            at = place[id(node)] + made
            sides = [
                [self._masses(node.rows[split.left]), self._masses(node.rows[~split.left])]
                for split in splits
            ]
            volumes = self._volumes(columns, at, sides)
            best = float(volumes.max(initial=0.0))
            if best - self.volume <= NOISE:
                out.append(None)
                continue
            first = int(np.flatnonzero(volumes >= worst_tied(best))[0])
            out.append((splits[first], best - self.volume))
            self.volume = best
            columns[at : at + 1] = sides[first]
            made += 1
        return out

    def _compete(
        self,
        pair: tuple[int, int],
        nodes: list[Node],
        splitter: Splitter,
        candidates: list[list[NodeSplit]],
    ) -> None:
        """Add the best split of two classes to the candidates of every node that has both."""
        mass = [self._mass[id(node)] for node in nodes]
        mixed = [at for at, one in enumerate(mass) if one[pair[0]] > 0.0 and one[pair[1]] > 0.0]
        if not mixed:
            return
        cells = NodeCells.of([nodes[at].rows for at in mixed])
        classes = self._classes[cells.rows]
        good = classes == pair[1]
        weight = np.where(good | (classes == pair[0]), self._weight[cells.rows], 0.0)
        splits = splitter.split(Sides(cells, good.astype(np.uint8), weight))
        for at, split in zip(mixed, splits, strict=True):
            if split is not None:
                candidates[at].append(split)

    def _volumes(self, columns: list[Floats], at: int, sides: list[list[Floats]]) -> Floats:
        """Return the volume of the tree after each of several splits of one leaf."""
        if not sides:
            return np.zeros(0)
        counts = np.empty((self._n, len(sides), len(columns) + 1))
        for number, both in enumerate(sides):
            table = np.array([*columns[:at], *both, *columns[at + 1 :]])
            counts[:, number] = table[::-1].T  # (the lowest leaf first)
        return volume_of_counts(counts)

    def divided(self, node: Node) -> None:
        """Count the classes of the children."""
        for child in node.children or ():
            self._mass[id(child)] = self._masses(child.rows)

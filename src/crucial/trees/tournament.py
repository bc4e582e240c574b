"""TreeRank Tournament: of the splits that tell two classes apart, make the best for all classes."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import factorial

import numpy as np

from crucial.boosting.stump_search import NOISE, worst_tied
from crucial.measures.pairs import volume_of_counts
from crucial.trees.grow import Node
from crucial.trees.scan import NodeCells, Sides
from crucial.trees.splitters import NodeSplit, Splitter
from crucial.types import Bytes, Floats

__all__ = ["TournamentTask", "class_pairs"]


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
    classes : uint8 array, one entry per row of the `TreeRows`
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

    def start(self, root: Node) -> Node:
        """Set the classes of a root, which has all rows, and return it."""
        self._root = root
        self._mass = {id(root): self._masses(root)}
        return root

    def _masses(self, node: Node) -> Floats:
        """Return the weight of each class in a node."""
        counts = np.bincount(self._classes[node.rows], self._weight[node.rows], self._n)
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
            sides = [self._divided(node, split) for split in splits]
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

    def _divided(self, node: Node, split: NodeSplit) -> list[Floats]:
        """Return the weights of the classes in both children of a split."""
        rows = node.rows[split.left]
        left = np.bincount(self._classes[rows], self._weight[rows], self._n)
        rows = node.rows[~split.left]
        right = np.bincount(self._classes[rows], self._weight[rows], self._n)
        return [left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)]

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
            self._mass[id(child)] = self._masses(child)

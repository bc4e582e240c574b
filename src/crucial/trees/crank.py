"""CRank: split a node by the median of its labels, for continuous labels.

How well a tree orders rows, by Kendall's distance or by the integrated AUC, is a sum over the
pairs of rows that its nodes separate. So each node has a gain, and pruning is that of TreeRank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import TIE
from crucial.kernels.elementary import dot
from crucial.measures.pairs import threshold_sums
from crucial.trees.grow import Node
from crucial.trees.scan import NodeCells, Sides
from crucial.trees.splitters import NodeSplit, Splitter
from crucial.types import Bools, Floats, Ints

__all__ = ["MedianTask", "PairGains", "above_median", "held_out_gains"]


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
    label : int array, one entry per row of the `TreeRows`
        Numbers of the labels, never falling.
    weight : array like ``label``
        Weights in this tree; rows of weight 0 must not be in the root.
    gains : PairGains
        With the same weights.
    """

    def __init__(self, label: Ints, weight: Floats, gains: PairGains) -> None:
        self._label, self._weight, self._gains = label, weight, gains

    def start(self, root: Node) -> Node:
        """Return a root, which has all rows."""
        return root

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


def held_out_gains(root: Node, leaf: Ints, gains: PairGains) -> dict[int, float]:
    """Return what every node of a tree adds to the measure of other rows, by its id.

    Parameters
    ----------
    root : Node
    leaf : int array
        The leaf of every row, counted from the left.
    gains : PairGains
        Of these rows.
    """
    number = {id(node): at for at, node in enumerate(root.leaves())}
    rows: dict[int, Ints] = {id(root): np.arange(len(leaf))}
    out: dict[int, float] = {}
    for node in root.inner():
        assert node.left is not None
        assert node.right is not None
        # The leaves below a node are neighbours, and those of its left child come first.
        last = max(number[id(one)] for one in node.left.leaves())
        here = rows.pop(id(node))
        left = leaf[here] <= last
        out[id(node)] = gains.between(here, left) if len(here) else 0.0
        rows[id(node.left)], rows[id(node.right)] = here[left], here[~left]
    return out

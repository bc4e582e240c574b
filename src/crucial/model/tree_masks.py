"""Trees scored without walking: every feature says which leaves a row cannot reach.

The leaves of a tree are numbered from left to right. A test that sends a row right excludes all
leaves on its left, and of the leaves that no test excludes, the first is the one that a walk finds
(Lucchese et al., QuickScorer, SIGIR 2015). What all tests of one feature exclude depends on the
cell of its value alone, so that a table has it, as one bit per leaf; the rows of a query need one
look-up per feature, whatever the depth of the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.model.export.form import FormTree, by_feature, joined
from crucial.model.step_grid import StepGrid
from crucial.types import Floats, Numbers

__all__ = ["TreeMasks"]

_MAX_NODES = 200_000
_TYPES = (np.uint8, np.uint16, np.uint32, np.uint64)
_TABLE = 1 << 22  # bytes of the masks of one block of trees
_GATHERED = 1 << 20  # bytes of masks that are looked up at a time: they stay in the cache
# Looking up so many bytes takes as long as one step of a walk.
_BYTES_PER_STEP = 32
_EXPONENT, _BIAS = 52, 1023  # of the bits of a double


@dataclass(frozen=True, eq=False)
class _Block:
    """Some of the trees.

    Attributes
    ----------
    grid : StepGrid
        Its "values" are places in ``masks``, one per cell of every feature.
    masks : array of unsigned integers of shape (n_cells, n_trees)
        The leaves of every tree that a feature excludes in a cell.
    values : float64 array of shape (n_trees * bits,)
        Those of the leaves of every tree, from left to right.
    first : int64 array of shape (n_trees,)
        Where those of a tree begin.
    """

    grid: StepGrid
    masks: NDArray[Any]
    values: Floats
    first: NDArray[np.int64]

    def leaves(self, X: Numbers) -> Floats:
        """Return the values of the leaves of every row, of shape (n_trees, n_rows)."""
        out = np.empty((len(self.first), len(X)))
        n_features, n_trees = len(self.grid.columns), len(self.first)
        step = max(1, _GATHERED // (n_features * n_trees * self.masks.itemsize))
        for begin in range(0, len(X), step):
            cells = self.grid.entries(X[begin : begin + step]).astype(np.int64)
            gone = np.bitwise_or.reduce(self.masks.take(cells, axis=0), axis=0)
            # (the lowest bit that is not set, as a power of two, whose exponent is its place)
            leaf = (~gone & (gone + self.masks.dtype.type(1))).astype(np.float64).view(np.int64)
            leaf >>= _EXPONENT
            leaf += self.first
            out[:, begin : begin + step] = self.values.take(leaf.T)
        return out


@dataclass(frozen=True, eq=False)
class TreeMasks:
    """The tables of all trees, in blocks of trees.

    Attributes
    ----------
    blocks : tuple
    n_trees : int
    """

    blocks: tuple[_Block, ...]
    n_trees: int

    @classmethod
    def of(cls, trees: Sequence[FormTree]) -> TreeMasks | None:
        """Return the tables of plain trees; None if walking them is quicker.

        That is so if a tree has more than 64 leaves or is a leaf, and if there are many features
        and few levels. None also for trees of very many nodes, which would take much memory.

        Examples
        --------
        >>> tree = FormTree(np.array([3]), np.array([0.5]), np.array([True]), np.array([~0]),
        ...     np.array([~1]), np.array([-1.0, 2.0]))
        >>> X = np.zeros((3, 4))
        >>> X[1:, 3] = 0.75, np.nan
        >>> TreeMasks.of([tree, tree]).scores(X).tolist()
        [-2.0, 4.0, 4.0]
        """
        most = max((len(tree.values) for tree in trees), default=0)
        sizes = [len(tree.features) for tree in trees]
        if not 1 < most <= 64 or not all(sizes) or sum(sizes) > _MAX_NODES:
            return None
        kind = next(one for one in _TYPES if 8 * np.dtype(one).itemsize >= most)
        size = np.dtype(kind).itemsize
        blocks: list[_Block] = []
        begin = 0
        while begin < len(trees):
            end, n_cells = begin, 0
            while end < len(trees):
                n_cells += 3 * sizes[end]  # (thresholds, and two cells of a feature)
                if end > begin and n_cells * (end + 1 - begin) * size > _TABLE:
                    break
                end += 1
            some = trees[begin:end]
            n_features = len(np.unique(np.concatenate([tree.features for tree in some])))
            if n_features * size > _BYTES_PER_STEP * max(map(_depth, some)):
                return None
            blocks.append(_block(some, kind))
            begin = end
        return cls(tuple(blocks), len(trees))

    def scores(self, X: Numbers) -> Floats:
        """Return the sum of the trees of every row, added from the first tree to the last."""
        leaves = [block.leaves(X) for block in self.blocks]
        every = leaves[0] if len(leaves) == 1 else np.concatenate(leaves)
        # (a single column would be added in pairs, and not from first to last)
        if len(X) == 1:
            return np.add.accumulate(every[:, 0])[-1:] + 0.0
        total: Floats = np.add.reduce(every, axis=0) + 0.0  # (no negative zero)
        return total


def _depth(tree: FormTree) -> int:
    depths = [1] * len(tree.features)
    for node, children in enumerate(zip(tree.left.tolist(), tree.right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[node] + 1
    return max(depths)


def _block(trees: Sequence[FormTree], kind: type[np.unsignedinteger[Any]]) -> _Block:
    """Return the tables of some trees."""
    bits = 8 * np.dtype(kind).itemsize
    numbered = [_from_left(tree) for tree in trees]
    masks = np.array([mask for own, _ in numbered for mask in own], kind)
    values = np.zeros((len(trees), bits))
    for row, (tree, (_, order)) in zip(values, zip(trees, numbered, strict=True), strict=True):
        row[: len(order)] = tree.values[order]
    tree_of = np.repeat(np.arange(len(trees)), [len(tree.features) for tree in trees])
    features = np.concatenate([tree.features for tree in trees])
    thresholds = joined([tree.thresholds for tree in trees])
    missing_right = np.concatenate([tree.missing_right for tree in trees])
    steps: list[tuple[int, Floats, Floats]] = []
    tables: list[NDArray[Any]] = []
    base = 0
    for feature, nodes in by_feature(features):
        own = thresholds[nodes]
        cuts = np.unique(own[~np.isnan(own)])
        # (abstention, the cell below all thresholds, and one above each)
        table = np.zeros((len(cuts) + 2, len(trees)), kind)
        to_right = nodes[missing_right[nodes]]
        np.bitwise_or.at(table, (0, tree_of[to_right]), masks[to_right])
        tested = nodes[~np.isnan(own)]
        place = np.searchsorted(cuts, thresholds[tested]) + 2
        np.bitwise_or.at(table, (place, tree_of[tested]), masks[tested])
        table[1:] = np.bitwise_or.accumulate(table[1:], axis=0)
        cells = np.arange(base, base + len(table), dtype=np.float64)
        steps.append((feature, joined([np.array([-np.inf]), cuts]), cells))
        tables.append(table)
        base += len(table)
    first = np.arange(len(trees)) * bits - _BIAS  # (what is added to the exponent of a double)
    return _Block(StepGrid.of(steps), np.concatenate(tables), values.ravel(), first)


def _from_left(tree: FormTree) -> tuple[list[int], list[int]]:
    """Return, per node, the bits of the leaves on its left side, and the leaves from the left."""
    left, right = tree.left.tolist(), tree.right.tolist()
    n = len(left)
    counts, first, order = [0] * n, [0] * n, [0] * len(tree.values)

    def size(child: int) -> int:
        return counts[child] if child >= 0 else 1

    for node in reversed(range(n)):  # (every node comes before its children)
        counts[node] = size(left[node]) + size(right[node])
    for node in range(n):
        begins = (first[node], first[node] + size(left[node]))
        for child, begin in zip((left[node], right[node]), begins, strict=True):
            if child >= 0:
                first[child] = begin
            else:
                order[begin] = ~child
    return [((1 << size(left[node])) - 1) << first[node] for node in range(n)], order

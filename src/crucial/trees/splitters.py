"""Splitters: which rows of a node go to its left child.

A splitter sees all nodes of a level at once, with the rows that should go to the left. It
maximises TPR - FPR of the left side, the share of good rows less the share of the others: an
error count with both classes of the node weighing the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import NOISE
from crucial.data.instances import Instances
from crucial.kernels.elementary import dot
from crucial.trees.exact import Cut, best_two_levels
from crucial.trees.scan import NodeCells, NodeRows, NodeTest, Sides
from crucial.types import Bools, Floats, Ints

__all__ = ["ClassifierSplitter", "NodeSplit", "Splitter", "StumpSplitter", "TreeSplitter"]


@dataclass(frozen=True)
class NodeSplit:
    """How to split a node.

    Attributes
    ----------
    left : bool array, one entry per row of the node
    tests : tuple of NodeTest
        The questions that find the side of a row, the first one first.
    gain : float
        TPR - FPR of the left side, above 0.
    """

    left: Bools
    tests: tuple[NodeTest, ...]
    gain: float


class Splitter(Protocol):
    """Finds the split of every node of a level."""

    def split(self, sides: Sides) -> list[NodeSplit | None]:
        """Return a split per cell; None where no split has a gain above 0."""


class _Slots:
    """The features to try in each cell.

    Parameters
    ----------
    n_slots : int
        Number of features that can split.
    max_features : int, optional
        Number of them to try in a cell, drawn at random.
    random : Generator, optional
    """

    def __init__(
        self, n_slots: int, max_features: int | None, random: np.random.Generator | None
    ) -> None:
        self._n, self._random = n_slots, random
        self._m = n_slots if max_features is None else min(max_features, n_slots)

    def draw(self, n_cells: int) -> Ints:
        """Return the features of every cell, ascending."""
        if self._m == self._n or self._random is None:
            return np.broadcast_to(np.arange(self._n), (n_cells, self._n)).copy()
        order = np.argsort(self._random.random((n_cells, self._n)), axis=1, kind="stable")
        return np.sort(order[:, : self._m], axis=1)


class StumpSplitter:
    """Splits by one feature and threshold, the best of all.

    Parameters
    ----------
    rows : TreeRows
    max_features : int, optional
        Features to try in a node, drawn at random; default: all.
    random : Generator, optional
    """

    def __init__(
        self,
        rows: NodeRows,
        max_features: int | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self._rows, self._slots = rows, _Slots(rows.n_slots, max_features, random)

    def split(self, sides: Sides) -> list[NodeSplit | None]:
        """Return a split per cell; None where no split has a gain above 0."""
        found = self._rows.best(sides, self._slots.draw(len(sides.cells)))
        left = sides.cells.parts(self._rows.goes_left(sides.cells, found))
        places = sides.cells.parts(sides.cells.rows)
        out: list[NodeSplit | None] = []
        for cell, inside in enumerate(left):
            if found.slot[cell] < 0:
                out.append(None)
                continue
            test = self._rows.test(found, cell, NodeTest.LEFT, NodeTest.RIGHT, 1.0)
            test = self._rows.centred(test, found, cell, places[cell])
            out.append(NodeSplit(inside, (test,), float(found.criterion[cell])))
        return out


@dataclass
class _Box:
    """A box of a small tree: a leaf, or split into two boxes."""

    owner: int
    at: Ints  # places in the cell
    rows: NDArray[np.uint32]
    good: NDArray[np.uint8]
    weight: Floats
    test: NodeTest | None = None
    above: _Box | None = None
    below: _Box | None = None

    @cached_property
    def masses(self) -> tuple[float, float]:
        """Weight of the rows that are not good, and of those that are."""
        return dot(self.weight, self.good ^ 1), dot(self.weight, self.good)

    def part(self, inside: Bools) -> _Box:
        """Return the box of some of the rows."""
        rows, good, weight = self.rows[inside], self.good[inside], self.weight[inside]
        return _Box(self.owner, self.at[inside], rows, good, weight)


class TreeSplitter:
    """Splits by a small classification tree: its positive leaves together go to the left.

    Both classes of the node weigh the same. The tree is grown by the Gini impurity, all nodes
    of a level and all boxes of one depth in one scan. Then, from the bottom, a split is undone
    if it raises TPR - FPR by no more than ``min_z`` standard deviations of the difference
    between both classes in its box, if they were drawn alike.

    Parameters
    ----------
    rows : TreeRows
    depth : int
        Depth of the small tree.
    min_rows : float
        A box with less weight is not split.
    min_z : float
        What a split must gain, in standard deviations.
    exact : bool
        Whether the last two levels are the best of all, found by trying every pair of tests,
        instead of one level after the other.
    max_features : int, optional
        Features to try in a box, drawn at random; default: all.
    random : Generator, optional
    """

    def __init__(
        self,
        rows: NodeRows,
        depth: int,
        min_rows: float = 2.0,
        min_z: float = 0.0,
        exact: bool = False,
        max_features: int | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self._rows, self._depth = rows, depth
        self._min_rows, self._min_z = min_rows, min_z
        self._exact = exact and depth > 1
        self._slots = _Slots(rows.n_slots, max_features, random)

    def split(self, sides: Sides) -> list[NodeSplit | None]:
        """Return a split per cell; None where no split has a gain above 0."""
        scale = sides.scale
        parts = (sides.cells.rows, sides.good, sides.weight)
        cut = zip(*(sides.cells.parts(part) for part in parts), strict=True)
        roots = [_Box(cell, np.arange(len(part[0])), *part) for cell, part in enumerate(cut)]
        level = roots
        for _ in range(self._depth - 2 if self._exact else self._depth):
            if not level:
                break
            level = self._deeper(level, scale)
        if self._exact:
            self._two_levels(level, scale)
        return [self._collected(root, scale) for root in roots]

    def _deeper(self, level: list[_Box], scale: Floats) -> list[_Box]:
        """Split the boxes of one depth, and return those of the next."""
        level = [box for box in level if self._may_split(box)]
        if not level:
            return []
        cells = NodeCells.of([box.rows for box in level])
        good = np.concatenate([box.good for box in level])
        sides = Sides(cells, good, np.concatenate([box.weight for box in level]))
        owners = np.array([box.owner for box in level])
        slots = self._slots.draw(len(level))
        found = self._rows.best_scaled(sides, scale[owners], slots, gini=True)
        left = self._rows.goes_left(cells, found)
        deeper = []
        for cell, (box, up) in enumerate(zip(level, cells.parts(left), strict=True)):
            if found.slot[cell] < 0:
                continue
            box.test = self._rows.test(found, cell, 0, 0, float(found.criterion[cell]))
            box.above, box.below = box.part(up), box.part(~up)
            deeper += [box.above, box.below]
        return deeper

    def _two_levels(self, level: list[_Box], scale: Floats) -> None:
        """Split boxes by the best two levels of tests."""
        level = [box for box in level if self._may_split(box)]
        for box, slots in zip(level, self._slots.draw(len(level)), strict=True):
            bad_scale, good_scale = scale[box.owner].tolist()
            surplus = box.weight * np.where(box.good == 1, good_scale, -bad_scale)
            found = best_two_levels(self._rows, box.rows, surplus, slots)
            if found is None:
                continue
            for one, cut in self._cut(box, found.first, surplus):
                half = found.above if one is box.above else found.below
                if half is not None:
                    self._cut(one, half, surplus[cut])

    def _cut(self, box: _Box, cut: Cut, surplus: Floats) -> list[tuple[_Box, Bools]]:
        """Split a box by a test, and return both parts and where their rows are."""
        up = cut.above(self._rows, box.rows)
        box.above, box.below = box.part(up), box.part(~up)
        sums = (float(surplus[up].sum()), float(surplus[~up].sum()))
        gain = sum(max(one, 0.0) for one in sums) - max(sum(sums), 0.0)
        box.test = self._rows.cut_test(cut.slot, cut.place, cut.missing, max(gain, NOISE))
        return [(box.above, up), (box.below, ~up)]

    def _may_split(self, box: _Box) -> bool:
        down, up = box.masses
        return min(down, up) > 0.0 and down + up >= self._min_rows

    def _collected(self, root: _Box, scale: Floats) -> NodeSplit | None:
        """Return the union of the positive leaves, and the tests that find it."""
        bad_scale, good_scale = scale[root.owner].tolist()
        tests: list[NodeTest] = []
        left = np.zeros(len(root.rows), bool)
        # The first test of a box, or the side of all of it, and its gain, for boxes whose parents
        # wait. There is no recursion, as a box of n rows may be n levels deep.
        sides: list[tuple[int, float]] = []
        waiting = [(root, -1)]
        while waiting:
            box, at = waiting.pop()
            down, up = box.masses
            surplus = up * good_scale - down * bad_scale
            if box.test is not None and box.above is not None and box.below is not None:
                if at < 0:
                    waiting += [(box, len(tests)), (box.below, -1), (box.above, -1)]
                    tests.append(box.test)
                    continue
                (yes, gain_above), (no, gain_below) = sides[-2:]
                del sides[-2:]
                gain = gain_above + gain_below
                noise = up * good_scale * good_scale + down * bad_scale * bad_scale
                needed = self._min_z * math.sqrt(noise)
                one_side = yes == no and yes < 0
                if not one_side and gain - max(surplus, 0.0) > max(needed, NOISE):
                    tests[at] = replace(box.test, yes=yes, no=no)
                    sides.append((at, gain))
                    continue
                del tests[at:]
            left[box.at] = surplus > NOISE
            whole = NodeTest.LEFT if surplus > NOISE else NodeTest.RIGHT
            sides.append((whole, max(surplus, 0.0)))
        first, gain = sides.pop()
        if first != 0:
            return None
        weight = sum(test.gain for test in tests)
        shared = tuple(replace(test, gain=test.gain / weight) for test in tests)
        return NodeSplit(left, shared, gain)


@dataclass(frozen=True)
class FittedClassifier:
    """A fitted classifier that answers which rows go to the left.

    Attributes
    ----------
    classifier : fitted scikit-learn classifier
        Of the classes 0 and 1.
    columns : int array, or None
        The features that it sees; None for all.
    """

    classifier: Any
    columns: Ints | None

    def goes_left(self, instances: Instances, rows: Ints) -> Bools:
        """Return the answer for some rows."""
        answer = self.classifier.predict(_table(instances, rows, self.columns))
        left: Bools = np.asarray(answer) == 1
        return left


class ClassifierSplitter:
    """Splits by a classifier of scikit-learn, fitted in every node with balanced weights.

    Parameters
    ----------
    rows : TreeRows
    classifier : scikit-learn classifier
        ``fit`` must take ``sample_weight``.
    max_features : int, optional
        Features that the classifier sees in a node, drawn at random; default: all.
    random : Generator, optional
    """

    def __init__(
        self,
        rows: NodeRows,
        classifier: Any,
        max_features: int | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self._rows, self._classifier = rows, classifier
        n_features = rows.instances.n_features
        self._all = max_features is None or max_features >= n_features
        self._slots = _Slots(n_features, max_features, random)

    def split(self, sides: Sides) -> list[NodeSplit | None]:
        """Return a split per cell; None where no split has a gain above 0."""
        slots = self._slots.draw(len(sides.cells))
        parts = (sides.cells.rows, sides.good, sides.weight)
        cut = zip(*(sides.cells.parts(part) for part in parts), sides.scale, slots, strict=True)
        return [self._split(*cell) for cell in cut]

    def _split(
        self,
        places: NDArray[np.uint32],
        good: NDArray[np.uint8],
        weight: Floats,
        scale: Floats,
        columns: Ints,
    ) -> NodeSplit | None:
        from sklearn.base import clone

        counts = weight > 0.0
        balanced = weight * scale[good]
        rows = self._rows.rows[places]
        router = FittedClassifier(clone(self._classifier), None if self._all else columns)
        # (weights of mean 1: regularisation of some classifiers depends on their sum)
        mean = balanced[counts].mean()
        table = _table(self._rows.instances, rows[counts], router.columns)
        router.classifier.fit(
            table, good[counts].astype(np.int64), sample_weight=balanced[counts] / mean
        )
        left = router.goes_left(self._rows.instances, rows)
        gain = dot(balanced, np.where(left, 2.0 * good - 1.0, 0.0))
        return NodeSplit(left, (NodeTest.outside(router),), gain) if gain > NOISE else None


def _table(instances: Instances, rows: Ints, columns: Ints | None) -> Any:
    """Return some rows and columns, as classifiers take them."""
    table = instances.table.tocsr()[rows] if instances.is_sparse else instances.table[rows]
    return table if columns is None else table[:, columns]

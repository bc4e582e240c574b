"""Ranking trees: splitters of nodes, growth level by level, and the tables of a model.

A task is what nodes tell apart: two classes, several in a tournament, or continuous labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import factorial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stumps import NOISE, TIE, worst_tied
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.elementary import dot
from crucial.kernels.trees import SplitSums
from crucial.measures.pairs import threshold_sums, volume_of_counts
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import OUTSIDE, Router, TestRow, TreeTable
from crucial.types import Bools, Bytes, Floats, Ints

# --- The binned rows that trees are grown on, and the best splits of their cells


# Weights are counts here, and sums of counts are exact up to this.
_MOST_ROWS = 2.0**53


@dataclass(frozen=True)
class NodeTest:
    """A question about one feature, whose answers lead to the left or the right child.

    Attributes
    ----------
    feature : int
        Column of the input; `OUTSIDE` where ``router`` answers.
    threshold : float
        Whether the value is above; minus infinity: whether there is one.
    missing : bool
        The answer where the feature abstains.
    yes, no : int
        The next test of the same node, or `LEFT` or `RIGHT`.
    gain : float
        Share of the test in the gain of its node.
    router : Router, optional
    """

    feature: int
    threshold: float
    missing: bool
    yes: int
    no: int
    gain: float
    router: Router | None = None

    LEFT = -1
    RIGHT = -2

    @classmethod
    def outside(cls, router: Router) -> NodeTest:
        """Return the test of a node that asks a router."""
        return cls(OUTSIDE, 0.0, False, cls.LEFT, cls.RIGHT, 1.0, router)


@dataclass(frozen=True)
class NodeCells:
    """Cells of rows, one after the other.

    Attributes
    ----------
    rows : uint32 array
        Places of the rows in `NodeRows`, cell by cell.
    starts : int array of shape (n_cells + 1,)
    """

    rows: NDArray[np.uint32]
    starts: Ints

    @classmethod
    def of(cls, cells: list[NDArray[np.uint32]]) -> NodeCells:
        """Join cells."""
        rows = np.concatenate(cells) if cells else np.zeros(0, np.uint32)
        return cls(rows, np.cumsum([0, *map(len, cells)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values per cell; no cell is empty."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1]))

    def parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array like ``rows`` into one array per cell."""
        return [values[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]


@dataclass(frozen=True)
class Sides:
    """Which rows of some cells a split should send to the left.

    Attributes
    ----------
    cells : NodeCells
    good : uint8 array like ``cells.rows``
        1 where a row should be on the left.
    weight : array like ``cells.rows``
        0 for a row that does not count.
    """

    cells: NodeCells
    good: Bytes
    weight: Floats

    @cached_property
    def mass(self) -> Floats:
        """Weight of the rows that are not good and of those that are, of shape (n_cells, 2)."""
        good = self.weight * self.good
        return np.stack([self.cells.sums(self.weight - good), self.cells.sums(good)], axis=1)

    @property
    def scale(self) -> Floats:
        """Factors that make both classes of every cell weigh 1; 0 for a cell of one class."""
        mass = self.mass
        mixed = (mass > 0.0).all(axis=1, keepdims=True)
        return np.divide(1.0, mass, out=np.zeros_like(mass), where=mixed)


@dataclass(frozen=True)
class CellSplits:
    """The best split of every cell.

    Attributes
    ----------
    slot : int array of shape (n_cells,)
        The feature among those of the bins; -1 for a cell that no split improves.
    place : int array of shape (n_cells,)
        The codes from this one on are on one side, those below on the other; 0 splits present
        values from abstentions.
    above : bool array of shape (n_cells,)
        Whether the codes from ``place`` on are the left side.
    missing : bool array of shape (n_cells,)
        Whether abstentions are on the left side.
    criterion : array of shape (n_cells,)
    """

    slot: Ints
    place: Ints
    above: Bools
    missing: Bools
    criterion: Floats


@dataclass(frozen=True)
class NodeRows:
    """Rows to grow trees on.

    Attributes
    ----------
    instances : Instances
    rows : int array
        Rows of the instances, in the order of ``bins``.
    weight : array like ``rows``
    bins : Bins
    threads : int
    learned : bool
        Whether abstentions go to the side that is better; else they are below every threshold.
    """

    instances: Instances
    rows: Ints
    weight: Floats
    bins: Bins
    threads: int = 1
    learned: bool = True

    @cached_property
    def _sums(self) -> SplitSums:
        return SplitSums(self.bins.codes, self.bins.n_bins, self.threads, self.learned)

    @classmethod
    def build(
        cls,
        instances: Instances,
        rows: Ints,
        weight: Floats | None,
        max_bins: int | None = 255,
        threads: int = 1,
    ) -> NodeRows:
        """Cut the features of some rows into bins."""
        if weight is not None and weight.sum() > _MOST_ROWS:
            raise DataError(
                # (no sum: huge weights were scaled before)
                f"sample_weight adds up to more than {_MOST_ROWS:g} rows, and trees count them. "
                "Divide all weights by the same number.",
                parameter="sample_weight",
            )
        bins = Bins.build(instances, rows, weight, max_bins, threads)
        known = np.ones(len(rows)) if weight is None else weight
        return cls(instances, rows, known, bins, threads)

    @property
    def n_slots(self) -> int:
        """Number of features that can split."""
        return len(self.bins.features)

    def everything(self) -> NDArray[np.uint32]:
        """Return the places of all rows."""
        return np.arange(len(self.rows), dtype=np.uint32)

    def best(
        self, sides: Sides, slots: Ints, scale: Floats | None = None, gini: bool = False
    ) -> CellSplits:
        """Return the best split of every cell, by the one tie rule.

        Features come in their order, then thresholds; of one threshold, the values above it come
        first as the left side, and abstentions on the right side before the left.

        Parameters
        ----------
        sides : Sides
        slots : int array of shape (n_cells, n_tried)
            The features to try in each cell, ascending.
        scale : array of shape (n_cells, 2), optional
            Factors on the weights of both classes of every cell; default: both weigh 1.
        gini : bool
            Whether the criterion is the decrease of the Gini impurity, with both classes of a
            node weighing the same, instead of TPR - FPR of the left side.
        """
        cells = sides.cells
        scale = sides.scale if scale is None else scale
        inputs = (cells.rows, cells.starts, sides.good, sides.weight, scale)
        peak = self._sums.peaks(inputs, slots, gini)
        top = peak.max(axis=1, initial=0.0)
        least = worst_tied(top)
        chosen = np.full(len(cells), -1, np.int64)
        useful = np.flatnonzero(top > NOISE)
        if len(useful):
            first = np.argmax(peak >= least[:, None], axis=1)
            chosen[useful] = slots[useful, first[useful]]
        place, above, missing = self._sums.places(inputs, chosen, least, gini)
        return CellSplits(chosen, place, above, missing, top)

    def goes_left(self, cells: NodeCells, found: CellSplits) -> Bools:
        """Return which rows of the cells are on the left side; none of a cell without a split."""
        if not len(self.bins.codes):  # (no feature has two values)
            return np.zeros(len(cells.rows), bool)
        sizes = np.diff(cells.starts)
        slot = np.repeat(found.slot, sizes)
        code = self.bins.codes[slot, cells.rows].astype(np.int64)
        above = (code >= np.repeat(found.place, sizes)) == np.repeat(found.above, sizes)
        absent = code == self.bins.n_bins[slot]
        return np.where(absent, np.repeat(found.missing, sizes), above) & (slot >= 0)

    def test(self, found: CellSplits, cell: int, left: int, right: int, gain: float) -> NodeTest:
        """Return the split of a cell as a test that leads to ``left`` or ``right``."""
        above, missing = bool(found.above[cell]), bool(found.missing[cell])
        test = self.cut_test(int(found.slot[cell]), int(found.place[cell]), missing == above, gain)
        yes, no = (left, right) if above else (right, left)
        return replace(test, yes=yes, no=no)

    def centred(
        self, test: NodeTest, found: CellSplits, cell: int, places: NDArray[np.uint32]
    ) -> NodeTest:
        """Return the test of a cell with a threshold half way between its own values.

        Bins are those of all rows; between two neighbouring values of a cell there may be several
        of their borders, which all part the cell alike.
        """
        slot, place = int(found.slot[cell]), int(found.place[cell])
        if not place:
            return test
        # Only the values in the two bins next to the border are read.
        codes = self.bins.codes[slot, places]
        below, above = codes < place, (codes >= place) & (codes < self.bins.n_bins[slot])
        if not below.any() or not above.any():
            return test
        last = places[below & (codes == codes[below].max())]
        first = places[above & (codes == codes[above].min())]
        low = float(self._values(test.feature, last).max())
        high = float(self._values(test.feature, first).min())
        middle = low + (high - low) / 2.0
        # (not between them by rounding, or beyond the largest number)
        return replace(test, threshold=middle if low <= middle < high else test.threshold)

    def _values(self, feature: int, places: NDArray[np.uint32]) -> NDArray[Any]:
        """Return the values of a feature in some rows."""
        rows, table = self.rows[places], self.instances.table
        if self.instances.is_sparse:
            return self.instances.column(feature, rows)
        return np.asarray(table[rows, feature])  # (`column` would copy all rows first)

    def cut_test(self, slot: int, place: int, missing: bool, gain: float) -> NodeTest:
        """Return the test whether the code of a feature is at least ``place``."""
        threshold = float(self.bins.thresholds[slot][place - 1]) if place else -np.inf
        return NodeTest(int(self.bins.features[slot]), threshold, missing, 0, 0, gain)


# --- The best tree of two levels, by trying every pair of splits
#
# A box is split by a first test, and both halves by one test each, so that the sum of the positive
# surpluses of the four parts is largest; the surplus of a part is TPR - FPR of its rows. Greedy
# trees can miss it: the best first test alone need not be the first of the best two levels.


@dataclass(frozen=True)
class Cut:
    """A test on the bins of one feature.

    Attributes
    ----------
    slot : int
        The feature among those of the bins.
    place : int
        Codes from this one on are above.
    missing : bool
        Whether abstentions are above.
    """

    slot: int
    place: int
    missing: bool

    def above(self, rows: NodeRows, places: NDArray[np.uint32]) -> Bools:
        """Return which rows are above."""
        codes = rows.bins.codes[self.slot, places]
        absent = codes == rows.bins.n_bins[self.slot]
        return np.where(absent, self.missing, codes >= self.place)


#: The best tests of a box, of the rows above its first and of those below; None where a half is
#: better left whole.
TwoLevels: TypeAlias = tuple[Cut, Cut | None, Cut | None]


@dataclass
class _Half:
    """The best test of one half, for every first test of one feature.

    Attributes
    ----------
    gain : array of shape (2, n_bins)
        By the side of abstentions (below, above) and the place of the first test.
    whole : array like gain
        The gain of the half without a test.
    cut : int array of shape (2, n_bins, 3)
        Slot, place and side of abstentions; slot -1 where there is no test.
    """

    gain: Floats
    whole: Floats
    cut: Ints

    @classmethod
    def of(cls, surplus: Floats) -> _Half:
        whole = np.maximum(surplus, 0.0)
        return cls(whole.copy(), whole, np.full((*surplus.shape, 3), -1, np.int64))

    def try_feature(self, table: Floats, slot: int, bins: int, learned: bool) -> None:
        """Look at all tests of a feature; ``table`` has the surplus per code in the last axis."""
        absent = table[..., bins]
        up = np.cumsum(table[..., :bins][..., ::-1], axis=-1)[..., ::-1]
        total = up[..., :1] + absent[..., None]
        # In the order of thresholds, and abstentions below before above.
        other = up + absent[..., None] if learned else up  # (the same again never wins)
        both = np.stack([up, other], axis=-1).reshape(*up.shape[:-1], -1)
        gain = np.maximum(both, 0.0) + np.maximum(total - both, 0.0)
        best = gain.max(axis=-1)
        at = np.argmax(gain >= best[..., None] * (1 - TIE), axis=-1)
        better = best > self.gain + TIE * np.maximum(self.gain, 1e-4)
        self.gain[better] = best[better]
        self.cut[better] = np.stack([np.full_like(at, slot), at // 2, at % 2], axis=-1)[better]

    def found(self, missing: int, place: int) -> Cut | None:
        """Return the test for one first test."""
        slot, at, side = self.cut[missing, place].tolist()
        return None if slot < 0 else Cut(slot, at, bool(side))


def best_two_levels(
    rows: NodeRows, places: NDArray[np.uint32], surplus: Floats, slots: Ints
) -> TwoLevels | None:
    """Return the best tests of a box, the first of equal ones; None if no test gains anything.

    Parameters
    ----------
    rows : NodeRows
    places : uint32 array
        The rows of the box.
    surplus : array like ``places``
        What each row adds to TPR - FPR of its part: positive for good rows.
    slots : int array
        The features to try, ascending.
    """
    codes = rows.bins.codes[:, places].astype(np.int64)
    n_bins = rows.bins.n_bins
    found: TwoLevels | None = None
    best = max(float(surplus.sum()), 0.0) + NOISE
    for slot in slots.tolist():
        bins = int(n_bins[slot])
        single = np.bincount(codes[slot], surplus, bins + 1)
        up = np.cumsum(single[:bins][::-1])[::-1]
        above = np.stack([up, up + single[bins]])
        halves = (_Half.of(above), _Half.of(float(surplus.sum()) - above))
        for other in slots.tolist():
            width = int(n_bins[other]) + 1
            at = codes[slot] * width + codes[other]
            table = np.bincount(at, surplus, (bins + 1) * width).reshape(bins + 1, width)
            rising = np.cumsum(table[:bins][::-1], axis=0)[::-1]
            sides = np.stack([rising, rising + table[bins]])
            halves[0].try_feature(sides, other, width - 1, rows.learned)
            halves[1].try_feature(table.sum(axis=0) - sides, other, width - 1, rows.learned)
        # In the order of thresholds, and abstentions below before above.
        total = halves[0].gain + halves[1].gain
        if not rows.learned:
            total[1] = total[0]
        gain = total.T.ravel()
        if gain.max() > best + TIE * max(best, 1e-4):
            best = float(gain.max())
            place, missing = divmod(int(np.argmax(gain >= best * (1 - TIE))), 2)
            first = Cut(slot, place, bool(missing))
            found = first, halves[0].found(missing, place), halves[1].found(missing, place)
    return found


# --- Splitters: which rows of a node go to its left child
#
# A splitter sees all nodes of a level at once, with the rows that should go to the left. It
# maximises TPR - FPR of the left side, the share of good rows less the share of the others: an
# error count with both classes of the node weighing the same.


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
    rows : NodeRows
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
    good: Bytes
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
    rows : NodeRows
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
        found = self._rows.best(sides, slots, scale[owners], gini=True)
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
            first, *halves = found
            for (one, cut), half in zip(self._cut(box, first, surplus), halves, strict=True):
                if half is not None:
                    self._cut(one, half, surplus[cut])

    def _cut(self, box: _Box, cut: Cut, surplus: Floats) -> list[tuple[_Box, Bools]]:
        """Split a box by a test, and return both parts and where their rows are."""
        up = cut.above(self._rows, box.rows)
        box.above, box.below = box.part(up), box.part(~up)
        sums = (float(surplus[up].sum()), float(surplus[~up].sum()))
        gain = math.fsum(max(one, 0.0) for one in sums) - max(math.fsum(sums), 0.0)
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
        weight = math.fsum(test.gain for test in tests)
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
        answer = self.classifier.predict(rows_of(instances, rows, self.columns))
        return np.asarray(np.asarray(answer) == 1)


class ClassifierSplitter:
    """Splits by a classifier of scikit-learn, fitted in every node with balanced weights.

    Parameters
    ----------
    rows : NodeRows
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
        self, places: NDArray[np.uint32], good: Bytes, weight: Floats, scale: Floats, columns: Ints
    ) -> NodeSplit | None:
        from sklearn.base import clone

        counts = weight > 0.0
        balanced = weight * scale[good]
        rows = self._rows.rows[places]
        router = FittedClassifier(clone(self._classifier), None if self._all else columns)
        # (weights of mean 1: regularisation of some classifiers depends on their sum)
        mean = balanced[counts].mean()
        table = rows_of(self._rows.instances, rows[counts], router.columns)
        router.classifier.fit(
            table, good[counts].astype(np.int64), sample_weight=balanced[counts] / mean
        )
        left = router.goes_left(self._rows.instances, rows)
        gain = dot(balanced, np.where(left, 2.0 * good - 1.0, 0.0))
        return NodeSplit(left, (NodeTest.outside(router),), gain) if gain > NOISE else None


def rows_of(instances: Instances, rows: Ints, columns: Ints | None = None) -> Any:
    """Return some rows and columns, as classifiers take them."""
    table = instances.table.tocsr()[rows] if instances.is_sparse else instances.table[rows]
    return table if columns is None else table[:, columns]


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


class TreeTask:
    """Base of the tasks: what the nodes of a tree should tell apart.

    A task of two sides per node names them (`sides`) and what a split gains (`gain`); any other
    chooses by itself.
    """

    def start(self, root: Node) -> None:
        """Prepare for a root, which has all rows of the tree; nothing by default."""

    def may_split(self, node: Node) -> bool:
        """Return whether a node has anything to tell apart."""
        raise NotImplementedError

    def sides(self, nodes: list[Node], cells: NodeCells) -> Sides:
        """Return which rows of the nodes of a level should go to the left."""
        raise NotImplementedError

    def gain(self, node: Node, split: NodeSplit) -> float:
        """Return the gain of a split: its addition to the measure of the tree."""
        raise NotImplementedError

    def choose(
        self, nodes: list[Node], cells: NodeCells, splitter: Splitter
    ) -> list[tuple[NodeSplit, float] | None]:
        """Return the split and its gain per node of a level; None where it stays a leaf."""
        splits = splitter.split(self.sides(nodes, cells))
        return [
            None if split is None else (split, self.gain(node, split))
            for node, split in zip(nodes, splits, strict=True)
        ]

    def divided(self, node: Node) -> None:
        """Note what the task keeps of the children of a node; nothing by default."""


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


class TwoClassTask(TreeTask):
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

    def sides(self, nodes: list[Node], cells: NodeCells) -> Sides:
        """Return which rows are high."""
        return Sides(cells, self._good[cells.rows], self._weight[cells.rows])

    def gain(self, node: Node, split: NodeSplit) -> float:
        """Return the gain of a split: its addition to the area under the ROC curve."""
        return 0.5 * node.alpha * node.beta * split.gain

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


class MedianTask(TreeTask):
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

    def may_split(self, node: Node) -> bool:
        """Return whether a node has different labels."""
        return bool(self._label[node.rows[0]] != self._label[node.rows[-1]])

    def sides(self, nodes: list[Node], cells: NodeCells) -> Sides:
        """Return which rows are above the median of their node."""
        good = np.concatenate(
            [above_median(self._label[node.rows], self._weight[node.rows]) for node in nodes]
        )
        return Sides(cells, good.astype(np.uint8), self._weight[cells.rows])

    def gain(self, node: Node, split: NodeSplit) -> float:
        """Return the gain of a split: its addition to the measure."""
        return self._gains.between(node.rows, split.left)


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


class TournamentTask(TreeTask):
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
        mass = [self._mass[id(node)] for node in nodes]
        for low, high in self._pairs:  # the best split of two classes, of nodes that have both
            mixed = [at for at, one in enumerate(mass) if one[low] > 0.0 and one[high] > 0.0]
            if not mixed:
                continue
            own = NodeCells.of([nodes[at].rows for at in mixed])
            classes = self._classes[own.rows]
            good = classes == high
            weight = np.where(good | (classes == low), self._weight[own.rows], 0.0)
            found = splitter.split(Sides(own, good.astype(np.uint8), weight))
            for at, split in zip(mixed, found, strict=True):
                if split is not None:
                    candidates[at].append(split)
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

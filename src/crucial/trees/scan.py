"""The binned rows that trees are grown on, and the best splits of their cells."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import NOISE, worst_tied
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.trees import SplitSums
from crucial.model.tree_table import OUTSIDE, Router
from crucial.types import Bools, Bytes, Floats, Ints

__all__ = ["CellSplits", "NodeCells", "NodeRows", "NodeTest", "Sides"]

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
        out: Floats = np.add.reduceat(values, self.starts[:-1])
        return out

    def parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array like ``rows`` into one array per cell."""
        return [values[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]


@dataclass(frozen=True)
class Sides:
    """Which rows of some cells a split should send to the left.

    Attributes
    ----------
    cells : Cells
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
    _sums: SplitSums = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bins = self.bins
        sums = SplitSums(bins.codes, bins.n_bins, self.threads, self.learned)
        object.__setattr__(self, "_sums", sums)

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

    def best(self, sides: Sides, slots: Ints, gini: bool = False) -> CellSplits:
        """Return the best split of every cell, by the one tie rule.

        Features come in their order, then thresholds; of one threshold, the values above it come
        first as the left side, and abstentions on the right side before the left.

        Parameters
        ----------
        sides : Sides
        slots : int array of shape (n_cells, n_tried)
            The features to try in each cell, ascending.
        gini : bool
            Whether the criterion is the decrease of the Gini impurity, with both classes of a
            node weighing the same, instead of TPR - FPR of the left side.
        """
        return self.best_scaled(sides, sides.scale, slots, gini)

    def best_scaled(self, sides: Sides, scale: Floats, slots: Ints, gini: bool) -> CellSplits:
        """Return `best`, with factors on the weights of both classes of every cell."""
        cells = sides.cells
        inputs = (cells.rows, cells.starts, sides.good, sides.weight, scale)
        peak = self._sums.peaks(*inputs, slots, gini)
        top = peak.max(axis=1, initial=0.0)
        least = worst_tied(top)
        chosen = np.full(len(cells), -1, np.int64)
        useful = np.flatnonzero(top > NOISE)
        if len(useful):
            first = np.argmax(peak >= least[:, None], axis=1)
            chosen[useful] = slots[useful, first[useful]]
        place, above, missing = self._sums.places(*inputs, chosen, least, gini)
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
        left: Bools = np.where(absent, np.repeat(found.missing, sizes), above) & (slot >= 0)
        return left

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
        values: NDArray[Any] = table[rows, feature]  # (`column` would copy all rows first)
        return values

    def cut_test(self, slot: int, place: int, missing: bool, gain: float) -> NodeTest:
        """Return the test whether the code of a feature is at least ``place``."""
        threshold = float(self.bins.thresholds[slot][place - 1]) if place else -np.inf
        return NodeTest(int(self.bins.features[slot]), threshold, missing, 0, 0, gain)

"""Trees over rows in parts: the local growth, on sums that the parts have added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.parts import Candidate
from crucial.boosting.tree_growth import GrownTree
from crucial.boosting.trees import TreeLearner, UnitTreeLearner
from crucial.data.bins import Bins
from crucial.distributed.part_tree import DrawnRows, LeafSums, RowDraw, SplitOrder
from crucial.distributed.parts import Parts
from crucial.distributed.state import PartedState, RankerOutput, as_output
from crucial.feedback.base import Output, Potentials
from crucial.kernels.runtime import Counts, part_of
from crucial.kernels.sums import exact_dot
from crucial.kernels.trees import FeatureBlocks, LeafPlan, SplitSearch
from crucial.model.weak import Tree
from crucial.types import Bools, Floats, Ints

__all__ = ["PartedTrees", "PartedUnitTrees"]

_LOW = 0xFFFFFFFF


class _Asked(NamedTuple):
    """A split of a leaf, by the places where its rows would begin and end."""

    begin: int
    end: int
    feature: int
    place: int


class PartedSearch(SplitSearch):
    """Finds the splits of a tree whose rows are in parts.

    One call splits several leaves: beside the one that is next, those that are likely to follow. A
    tree that is grown best leaf first takes about one call per level that way, and is the same.

    Parameters
    ----------
    bins : Bins
        Without rows.
    signs : int array over the features
    parts : Parts
    counts : Counts
        Of all parts.
    threads : int
    """

    looks_ahead = True
    state: PartedState
    #: Which rows to draw for the next tree; None for all.
    draw: RowDraw | None = None

    def __init__(self, bins: Bins, signs: Ints, parts: Parts, counts: Counts, threads: int) -> None:
        nothing = np.zeros(0)
        facts = (bins.n_bins, bins.has_missing, signs)
        with part_of(counts):
            super().__init__(bins.codes, 0, *facts, nothing, threads)
        self._remote = parts
        self.rows = np.zeros(0, np.int32)
        self._whole = True
        self._foreseen: Sequence[LeafPlan] = ()
        self._known: dict[_Asked, tuple[SplitOrder, LeafSums]] = {}

    def start(
        self, gradient: Floats, curvature: Floats, rows: NDArray[np.int32] | None
    ) -> tuple[float, float]:
        """Begin a tree; return the sums of absolute gradient and curvature."""
        if self.draw is None:
            self.sizes = self.state.sizes()
            return self.sizes
        found: DrawnRows = self._remote.total("tree_sample", self.draw, changes=True)
        if not found.count:
            draw = replace(self.draw, least=found.least)
            found = self._remote.total("tree_sample", draw, changes=True)
        gradients, curvatures = found.sizes.values
        self.sizes = gradients, curvatures
        return self.sizes

    def quantise(self, units: tuple[float, float], allowed: Bools) -> None:
        """Let the parts round gradient and curvature, and add up all rows."""
        sampled = self.draw is not None
        sums = self._remote.total("tree_root", units, allowed, sampled, changes=True)
        everything = (0, sums.count)
        self.n_rows, self._hists = sums.count, {everything: sums.hist}
        # Leaves are numbered here, as only here it is known where they begin.
        self._number = {everything: 0}
        self._total = {everything: sums.total}
        self._weights = {everything: sums.weights[0]}
        self._free = 1
        self._known.clear()

    def total(self, begin: int, end: int) -> int:
        """Return the sum of the words of a leaf."""
        return int(self._total[begin, end])

    def weight(self, begin: int, end: int) -> float:
        """Return the summed weight of a leaf."""
        return float(self._weights[begin, end])

    def partition(
        self,
        begin: int,
        end: int,
        feature: int,
        place: int,
        allowed: Bools | None = None,
        hist: NDArray[np.int64] | None = None,
    ) -> int:
        """Split a leaf; return the number of rows that go left."""
        asked = _Asked(begin, end, feature, place)
        if asked not in self._known:
            assert hist is not None
            self._ask([(asked, self._order(asked, hist, allowed)), *self._ahead(asked)])
        order, sums = self._known.pop(asked)
        self._small = order.adds_up
        both = ((begin, begin + sums.count), (begin + sums.count, end))
        self._hists[both[self._small]] = sums.hist
        totals = (sums.total, self._total[begin, end] - sums.total)
        self._number.update(zip(both, order.children, strict=True))
        self._total.update(zip(both, totals, strict=True))
        self._weights.update(zip(both, sums.weights, strict=True))
        return sums.count

    def foresee(self, leaves: Sequence[LeafPlan]) -> None:
        """Take notice of leaves that may be split after the next one, the likeliest first."""
        self._foreseen = leaves

    def _ask(self, splits: list[tuple[_Asked, SplitOrder]]) -> None:
        """Let the parts split leaves, and keep what they return."""
        found = self._remote.total("tree_split", [order for _, order in splits], changes=True)
        for (asked, order), sums in zip(splits, found.leaves, strict=True):
            self._known[asked] = order, sums

    def _ahead(self, first: _Asked) -> Iterator[tuple[_Asked, SplitOrder]]:
        """Yield the splits that are likely to follow the first and not known yet."""
        known = {(one.begin, one.end) for one in (first, *self._known)}
        for one in self._foreseen:
            if (one.begin, one.end) not in known:
                place = one.place
                if place is None:
                    place = self.place(one.hist, one.limits, one.split)
                asked = _Asked(one.begin, one.end, one.split.feature, place)
                yield asked, self._order(asked, one.hist, one.allowed)

    def _order(self, asked: _Asked, parent: NDArray[np.int64], allowed: Bools | None) -> SplitOrder:
        """Return what the parts have to do to split a leaf."""
        begin, end, feature, place = asked
        left, whole = self.left_total(parent, feature, place), self._total[begin, end]
        # The child of less curvature is mostly the one of fewer rows, which are not known yet.
        small = 0 if 2 * (left & _LOW) <= whole & _LOW else 1
        children, self._free = (self._free, self._free + 1), self._free + 2
        return SplitOrder(self._number[begin, end], feature, place, children, small, allowed)

    def smaller(self, ranges: tuple[tuple[int, int], tuple[int, int]]) -> int:
        """Return the child that the parts have added up."""
        return self._small

    def sort(self, begin: int, end: int) -> None:
        """Do nothing: the order of rows changes no sum."""

    def _add(
        self, part: FeatureBlocks, begin: int, end: int, whole: bool, hist: NDArray[np.int64]
    ) -> None:
        """Write the histograms that the parts have added up."""
        sums = self._hists[begin, end]
        for block in part.blocks.tolist():
            features = slice(8 * block, min(8 * block + 8, self._n_features))
            hist[8 * block : 8 * block + 8] = 0
            hist[features, : sums.shape[1]] = sums[features]

    def counts(self, begin: int, end: int, feature: int) -> Floats:
        """Return the weight of the rows of a leaf per bin of a feature."""
        number = self._number[begin, end]
        counts: Floats = self._remote.total("tree_weights", number, feature).counts
        return counts

    def leaf_sums(self, starts: Ints, units: tuple[float, float]) -> NDArray[np.int64]:
        """Return gradient and curvature of every leaf, as whole numbers of units."""
        leaves = np.array([self._number[one] for one in pairwise(starts.tolist())])
        sums: NDArray[np.int64] = self._remote.total("tree_leaves", leaves, units).sums
        return sums


class _Parted(TreeLearner):
    """What the learners of trees over rows in parts share."""

    def over(self, parts: Parts, counts: Counts) -> Self:
        """Set the parts, and how much they have."""
        self._remote, self._counts = parts, counts
        return self

    def _splits(self, bins: Bins, weight: Floats, threads: int) -> PartedSearch:
        return PartedSearch(bins, self._signs, self._remote, self._counts, threads)

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, or None if no split helps."""
        state, search = potentials.pairs, self._search
        assert isinstance(state, PartedState)
        assert isinstance(search, PartedSearch)
        # (where rows are drawn, the sums are those of others)
        search.state, state.trees = state, self.sampling.rows >= 1.0
        return super().propose(potentials)

    def _drawn_rows(self, share: float) -> NDArray[np.int32]:
        """Let the parts draw rows as soon as the tree begins."""
        search = self._search
        assert isinstance(search, PartedSearch)
        search.draw = None
        if share < 1.0:
            search.draw = RowDraw(share, self.sampling.seed, self._round)
        return np.zeros(0, np.int32)

    def _outcome(
        self, tree: Tree, grown: GrownTree, potentials: Potentials
    ) -> tuple[Output, float]:
        if self._search.n_rows < self._counts.rows:
            (slope,) = self._remote.total("tree_slope", tree).values
            return self._output(tree), slope
        return self._output(tree), exact_dot(np.array(grown.values), grown.gradients)

    def _output(self, tree: Tree) -> Output:
        return as_output(RankerOutput(tree))

    def _moved(self, candidate: Candidate, folded: Tree, alpha: float) -> Output:
        return self._output(folded)


class PartedTrees(_Parted):
    """The best tree under the potentials of all parts; parameters as in `TreeLearner`."""


class PartedUnitTrees(_Parted, UnitTreeLearner):
    """The same, divided by what its values span; parameters as in `UnitTreeLearner`."""

    def _divided(self, found: Candidate, divided: Tree, unit: float) -> Output:
        return self._output(divided)

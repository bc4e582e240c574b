"""Stumps and trees over rows in parts: the local search on sums that the parts have added up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows
from crucial.boosting.stump_search import DropSearch, StumpGrid
from crucial.boosting.stumps import StumpLearner
from crucial.boosting.tree_growth import GrownTree
from crucial.boosting.trees import TreeLearner, UnitTreeLearner
from crucial.data.bins import Bins
from crucial.distributed.messages import Parts, places_of
from crucial.distributed.part import DrawnRows, LeafSums, RowDraw, SplitOrder
from crucial.distributed.state import PartedPairs, PartedState, RankerOutput, as_output
from crucial.feedback.base import Output, Potentials
from crucial.kernels.runtime import Counts, part_of
from crucial.kernels.stumps import StumpSums
from crucial.kernels.sums import exact_dot
from crucial.kernels.trees import FeatureBlocks, LeafPlan, SplitSearch
from crucial.model.weak import Tree
from crucial.types import Bools, Floats, Ints

# --- Stumps over rows in parts: the local search, on sums that the parts have added up


# How much further than expected slopes may move before a feature is missed.
_MARGIN = 1.1
# How much of what slopes may move the best slope is expected to lose: with half of it an eighth
# more is added up, with a tenth of it features are missed twice as often, in every fourth round.
_LOSS = 0.2


class _PartedGrid(StumpGrid):
    """Stumps whose scores are elsewhere."""

    def output(self, position: int, default: int) -> Output:
        """Return what stands for the scores of a stump."""
        return as_output(RankerOutput(self.ranker(position, default)))


class _Sums(StumpSums):
    """Sums over the ones of every stump that parts of the rows have added up."""

    state: PartedState
    n_rows: int

    def slope_change(self, pi: Floats, scale: float, unit: float) -> float:
        """Return how far any slope can have moved since the last round."""
        self._hist[:], self._known[:] = 0, False
        found, features = self.state.hist, self.state.features
        if found is not None:
            self._fill(self._everything if features is None else features, found)
        return self.state.drift + scale * unit * self.n_rows + 1e-15

    def begin(self) -> None:
        """Forget all features."""
        self._known = np.zeros(len(self._everything), bool)

    def _fill(self, features: Ints, sums: Ints) -> None:
        self._hist[places_of(self._first, features)] = sums
        self._known[features] = True

    def scan(self, features: Ints, fixed: Ints, factor: float, slope: Floats, peak: Floats) -> Ints:
        """Renew the slopes and peaks of the features; return those that were renewed."""
        wanted = self._everything if self.scans_all else features
        unknown = wanted[~self._known[wanted]]
        if len(unknown):
            if math.isinf(self.state.drift):  # (all will be wanted: one call for them)
                unknown = np.flatnonzero(~self._known)
            self._fill(unknown, self.state.histogram(unknown))
        return self.slopes(wanted, self._hist, factor, slope, peak)


class _Drops(DropSearch):
    """Z of stumps, from weights of pairs that the parts have added up."""

    def _scan_all(self, features: list[int], potentials: Potentials, best: float) -> float:
        """Ask the parts for all features at once, then do as for rows at hand."""
        state, slopes = potentials.pairs, self._slopes
        assert isinstance(state, PartedPairs)
        first = slopes.first
        scans = [
            (f, default)
            for f in features
            for default in (0, 1)
            if slopes.offered[default, first[f] : first[f + 1]].any()
        ]
        self._found: dict[tuple[int, int], Floats] = {}
        if scans:
            ends = np.cumsum([first[f + 1] - first[f] for f, _ in scans])
            weights = np.split(state.scanned_weights(scans), ends[:-1])
            self._found = dict(zip(scans, weights, strict=True))
        return super()._scan_all(features, potentials, best)

    def _weigh(self, feature: int, default: int, potentials: Potentials, out: Floats) -> None:
        """Write W- of the stumps of a feature under one rank of abstentions."""
        out[:] = self._found[feature, default]


class PartedStumps(StumpLearner):
    """The best stump under the potentials of all parts; parameters as in `StumpLearner`."""

    def over(self, counts: Counts) -> Self:
        """Set how much there is in all parts."""
        self._counts = counts
        if self.choice == "largest_drop":
            self.needs = ("prepare_scan", "scanned_weights")
        return self

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Take the bins that the parts share."""
        bins = super().prepare(training, constraints, step)
        self.grid = _PartedGrid(bins, self.default_rank)
        facts = (bins.first, bins.has_missing, self.grid.fixed, self.choice == "steepest_positive")
        with part_of(self._counts):
            self._sums = _Sums(bins.codes, 0, *facts, training.threads)
        self._sums.n_rows = self._counts.rows
        self._sums.begin()
        self._last_step = 0.0
        self.search.sums = self._sums
        if self.drops is not None:
            self.drops = _Drops(self.search, training.threads)
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        state = potentials.pairs
        assert isinstance(state, PartedState)
        # (the state asks for the sums of some features in advance)
        self._sums.state, state.stumps = state, self._wanted
        found = super().propose(potentials)
        if found is not None:
            state.slope = found.slope
        return found

    def _wanted(self, alpha: float) -> Ints | None:
        """Return the features that may have the best stump after a step; None for all.

        Those that it leaves out by mistake are asked for later, which costs time alone.
        """
        # (a small slope can go with a small Z)
        if self._constraints.any or self._sums.scans_all or self.drops is not None:
            return None
        search, last = self.search, self._sums.state.drift
        # A step moves slopes by about as much as the last one did, for its weight.
        step = abs(alpha)
        if math.isfinite(last) and self._last_step > 0.0:
            step = min(step, _MARGIN * last * abs(alpha) / self._last_step)
        self._last_step = abs(alpha)
        best = float(search.best_slope[search.slope_change == 0].max(initial=0.0))
        return np.flatnonzero(search.best_slope + search.slope_change + step >= best - _LOSS * step)


# --- Trees over rows in parts: the local growth, on sums that the parts have added up


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

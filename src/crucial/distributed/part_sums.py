"""What a part of the rows adds up under its scores as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from crucial.boosting.pair_losses import LabelLogistic, ScoreReach
from crucial.distributed.coded_rows import CodedRows
from crucial.distributed.messages import (
    Exact,
    Histogram,
    Setup,
    Totals,
    places_of,
)
from crucial.distributed.part_rows import PartRows
from crucial.distributed.part_setup import PartSetup
from crucial.distributed.part_tree import (
    BinWeights,
    DrawnRows,
    LeafSums,
    LeafTotals,
    PartTree,
    RowDraw,
    SplitLeafSums,
    SplitOrder,
)
from crucial.errors import DataError
from crucial.feedback.base import Output, ScoreState, padded
from crucial.feedback.labels import LabelState, Risks
from crucial.kernels.runtime import Counts, part_of, run_all
from crucial.kernels.stumps import StumpSums
from crucial.kernels.sums import to_fixed
from crucial.kernels.trees import summable
from crucial.model.weak import WeakRankerLike
from crucial.types import Bools, Floats, Ints

__all__ = ["PartState", "PartSums"]


class PartState(ScoreState, Protocol):
    """A state whose totals can be added to those of other parts."""

    @property
    def curvature(self) -> Floats:
        """Second derivatives of the loss, in the units of potentials."""

    @property
    def counting(self) -> Ints:
        """The queries that weigh anything."""

    def sums(self, pi: Floats) -> Totals:
        """Write the potentials; return what losses and weights add up to."""

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""


class PartSums(PartSetup):
    """Rows of whole queries with their scores, and the sums over them that other parts need too.

    Parameters are those of `PartSetup`.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        super().__init__(rows, eval_rows)
        self._tree: PartTree | None = None
        self._curvature: Floats | None = None

    def begin(self, setup: Setup) -> None:
        """Make the state of the objective at scores of 0."""
        self._watches, self._tree = setup.watched, None
        if self._feedback is None:
            return
        self._feedback.finish(setup.log_total)
        self._numbers = self._feedback.labelled().layout.queries
        self._counts: Counts = setup.counts
        with part_of(setup.counts):
            state = setup.objective.begin(self._feedback, self.threads)
        self._state, self._trial = cast(PartState, state), cast(PartState, state)
        bins = self._bins = replace(self._bins, has_missing=setup.has_missing)
        self._coded, self._first = CodedRows(bins), bins.first
        self._pi = np.zeros(padded(bins.n_rows))
        # (memory for every round: fresh arrays would cost more time than what is done with them)
        self._pi_before, self._fixed = np.empty_like(self._pi), np.empty(len(self._pi), np.int64)
        self._stumps: StumpSums | None = None
        self._last: tuple[WeakRankerLike, Output] | None = None
        weight = self._feedback.weight
        weight = np.ones(bins.n_rows) if weight is None else weight
        self._row_weight = summable(weight, setup.row_weight)

    # -- the scores as they are -------------------------------------------------------

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker: mostly the last one is asked for again."""
        if self._last is None or self._last[0] != ranker:
            self._last = ranker, self._coded.output(ranker)
        return self._last[1]

    def _pairs(self, trial: bool) -> LabelState:
        """Return the state of pairs, of the fit or of a trial."""
        state = self._trial if trial else self._state
        assert isinstance(state, LabelState)
        return state

    def sums_along(
        self, method: str, trial: bool, ranker: WeakRankerLike, *args: Any
    ) -> Exact | None:
        """Return what a method of the state of pairs adds up for a weak ranker."""
        if self._feedback is None:
            return None
        return Exact(getattr(self._pairs(trial), method)(self._output(ranker), *args))

    def pair_sums(self) -> Exact | None:
        """Return half of what the pairs weigh in the logistic loss."""
        return None if self._feedback is None else Exact((self._logistic().pair_sums,))

    def reach(self) -> ScoreReach | None:
        """Return how far apart scores are."""
        return None if self._feedback is None else self._logistic().score_reach(whole=True)

    def _logistic(self) -> LabelLogistic:
        assert isinstance(self._state, LabelLogistic)
        return self._state

    def risks(self) -> Risks | None:
        """Return what is in the wrong order, and tied."""
        if self._feedback is None:
            return None
        state = self._state
        if isinstance(state, LabelState):
            return state.risk_sums()
        with part_of(self._counts):
            pairs = self._feedback.pairs(self.threads)
        pairs.advance(state.scores, 1.0)
        return pairs.risk_sums()

    # -- stumps -----------------------------------------------------------------------

    def histogram(self, unit: float, features: Ints | None) -> Histogram | None:
        """Return the sums of potentials per bin of features; None if the unit is too small."""
        if self._feedback is None:
            return None
        sums = self._stump_sums()
        try:
            fixed = to_fixed(self._pi, unit, self.threads, self._fixed)
        except DataError:  # (they make too many units)
            return None
        if features is None:
            return Histogram(sums.histogram(np.arange(len(self._bins.features)), fixed))
        return Histogram(sums.histogram(features, fixed)[places_of(self._first, features)])

    def _stump_sums(self) -> StumpSums:
        """Return what adds up the potentials of stumps."""
        if self._stumps is None:
            facts = (self._first, self._bins.has_missing, -1, False, self.threads)
            with part_of(self._counts):
                self._stumps = StumpSums(self._bins.codes, self._bins.n_rows, *facts)
        return self._stumps

    def wrong_units(self, scans: Sequence[tuple[int, int]], unit: float) -> Histogram | None:
        """Return W- of all thresholds of features, one scan after the other.

        Parameters
        ----------
        scans : sequence of (feature, rank of abstentions)
        unit : float
            What the whole numbers returned are multiples of.
        """
        if self._feedback is None:
            return None
        state, bins = self._pairs(False), self._bins
        state.prepare_scan()
        work = [
            partial(state.wrong_units, bins.codes[f], int(bins.n_bins[f]), default, unit)
            for f, default in scans
        ]
        return Histogram(np.concatenate(run_all(self.threads, work)))

    # -- trees ------------------------------------------------------------------------

    def sizes(self) -> Exact | None:
        """Return the sums of absolute potentials and of curvature."""
        if self._feedback is None:
            return None
        gradient, curvature = self._derivatives()
        return Exact.of(np.abs(gradient), curvature)

    def _derivatives(self) -> tuple[Floats, Floats]:
        """Return potentials and curvature of the rows."""
        n = self._bins.n_rows
        if self._curvature is None:
            self._curvature = self._state.curvature[:n]
        return self._pi[:n], self._curvature

    def _new_tree(self) -> PartTree:
        """Return what grows trees on the rows of the run."""
        if self._tree is None:
            query = self._rows.query[: self._bins.n_rows]
            with part_of(self._counts):
                self._tree = PartTree(self._bins, self._row_weight, query, self.threads)
        return self._tree

    def tree_sample(self, draw: RowDraw) -> DrawnRows | None:
        """Draw the rows that the next tree is grown on."""
        if self._feedback is None:
            return None
        return self._new_tree().sample(*self._derivatives(), draw)

    def tree_root(
        self, units: tuple[float, float], allowed: Bools, sampled: bool = False
    ) -> LeafSums | None:
        """Begin a tree; return the sums of all rows, or of those that were drawn."""
        if self._feedback is None:
            return None
        return self._new_tree().root(*self._derivatives(), units, allowed, sampled)

    def tree_slope(self, ranker: WeakRankerLike) -> Exact | None:
        """Return the potentials times the scores of a tree that not all rows grew."""
        if self._feedback is None:
            return None
        return Exact.of(self._pi[: self._bins.n_rows] * self._output(ranker))

    def tree_split(self, orders: Sequence[SplitOrder]) -> SplitLeafSums | None:
        """Split leaves; return sums of their children."""
        tree = self._tree
        return None if tree is None else SplitLeafSums(tuple(tree.split(one) for one in orders))

    def tree_weights(self, leaf: int, feature: int) -> BinWeights | None:
        """Return the weight of the rows of a leaf per bin of a feature."""
        return None if self._tree is None else self._tree.bin_weights(leaf, feature)

    def tree_leaves(self, leaves: Ints, units: tuple[float, float]) -> LeafTotals | None:
        """Return gradient and curvature of leaves, as whole numbers of units."""
        return None if self._tree is None else self._tree.leaf_totals(leaves, units)

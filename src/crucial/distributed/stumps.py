"""Stumps over rows in parts: the local search, on sums that the parts have added up."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows
from crucial.boosting.stump_search import DropSearch, StumpGrid
from crucial.boosting.stumps import StumpLearner
from crucial.data.bins import Bins
from crucial.distributed.messages import places_of
from crucial.distributed.state import PartedPairs, PartedState, RankerOutput, as_output
from crucial.feedback.base import Output, Potentials
from crucial.kernels.runtime import Counts, part_of
from crucial.kernels.stumps import StumpSums
from crucial.types import Floats, Ints

__all__ = ["PartedStumps"]

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

    def drift(self, pi: Floats, scale: float, unit: float) -> float:
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
        wanted = self._everything if self.at_once else features
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
        if self._constraints.any or self._sums.at_once or self.drops is not None:
            return None
        search, last = self.search, self._sums.state.drift
        # A step moves slopes by about as much as the last one did, for its weight.
        step = abs(alpha)
        if math.isfinite(last) and self._last_step > 0.0:
            step = min(step, _MARGIN * last * abs(alpha) / self._last_step)
        self._last_step = abs(alpha)
        best = float(search.peak[search.drift == 0].max(initial=0.0))
        return np.flatnonzero(search.peak + search.drift + step >= best - _LOSS * step)

"""Stumps over rows in parts: the local search, on sums that the parts have added up."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from crucial.data.bins import Bins
from crucial.distributed.messages import places_of
from crucial.distributed.state import PartedState, RankerOutput, as_output
from crucial.errors import ParameterError
from crucial.feedback.potentials import Potentials
from crucial.feedback.states import Output
from crucial.kernels.features import StumpSums
from crucial.kernels.sizes import Counts, part_of
from crucial.types import Floats, Ints
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows
from crucial.weak.stump_grid import StumpGrid
from crucial.weak.stumps import StumpLearner

__all__ = ["PartedStumps"]

# How much further than expected slopes may move before a feature is missed.
_MARGIN = 1.2


class _Grid(StumpGrid):
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


class PartedStumps(StumpLearner):
    """The best stump under the potentials of all parts; parameters as in `StumpLearner`."""

    def over(self, counts: Counts) -> Self:
        """Set how much there is in all parts."""
        self._counts = counts
        return self

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Take the bins that the parts share."""
        if self.choice == "largest_drop":
            raise ParameterError(
                "choice='largest_drop' looks at pairs of rows for every stump and does not run on "
                "parts of the rows; use choice='steepest', or fit on one machine."
            )
        bins = super().prepare(training, constraints, step)
        self.grid = _Grid(bins, self.default_rank)
        facts = (bins.first, bins.has_missing, self.grid.fixed, self.choice == "steepest_positive")
        with part_of(self._counts):
            self._sums = _Sums(bins.codes, 0, *facts, training.threads)
        self._sums.n_rows = self._counts.rows
        self._sums.begin()
        self._last_step = 0.0
        self.search.sums = self._sums
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        state = potentials.pairs
        assert isinstance(state, PartedState)
        self._sums.state, state.stumps = state, self._wanted
        found = super().propose(potentials)
        if found is not None:
            state.slope = found.slope
        return found

    def _wanted(self, alpha: float) -> Ints | None:
        """Return the features that may have the best stump after a step; None for all.

        Those that it leaves out by mistake are asked for later, which costs time alone.
        """
        if self._constraints.any or self._sums.at_once:
            return None
        search, last = self.search, self._sums.state.drift
        # A step moves slopes by about as much as the last one did, for its weight.
        step = abs(alpha)
        if math.isfinite(last) and self._last_step > 0.0:
            step = min(step, _MARGIN * last * abs(alpha) / self._last_step)
        self._last_step = abs(alpha)
        best = float(search.peak[search.drift == 0].max(initial=0.0))
        return np.flatnonzero(search.peak + search.drift + step >= best - step)

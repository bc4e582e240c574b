"""Stumps over rows in parts: the local search, on sums that the parts have added up."""

from __future__ import annotations

from crucial.data.bins import Bins
from crucial.distributed.state import PartedState, RankerOutput, as_output
from crucial.errors import ParameterError
from crucial.feedback.potentials import Potentials
from crucial.feedback.states import Output
from crucial.kernels.features import StumpSums
from crucial.types import Floats, Ints
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows
from crucial.weak.stump_grid import StumpGrid
from crucial.weak.stumps import StumpLearner

__all__ = ["PartedStumps"]


class _Grid(StumpGrid):
    """Stumps whose scores are elsewhere."""

    def output(self, position: int, default: int) -> Output:
        """Return what stands for the scores of a stump."""
        return as_output(RankerOutput(self.ranker(position, default)))


class _Sums(StumpSums):
    """Sums over the ones of every stump that parts of the rows have added up."""

    state: PartedState

    def scan(self, features: Ints, fixed: Ints, factor: float, slope: Floats, peak: Floats) -> Ints:
        """Renew the slopes and peaks of all features."""
        return self.slopes(self._everything, self.state.histogram(), factor, slope, peak)


class PartedStumps(StumpLearner):
    """The best stump under the potentials of all parts; parameters as in `StumpLearner`."""

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Take the bins that the parts share."""
        if self.choice == "largest_drop":
            raise ParameterError(
                "choice='largest_drop' looks at pairs of rows for every stump and does not run on "
                "parts of the rows; use choice='steepest', or fit on one machine."
            )
        bins = super().prepare(training, constraints, step)
        self.grid = _Grid(bins, self.default_rank)
        self._sums = _Sums(
            bins.codes, 0, bins.first, bins.has_missing, self.grid.fixed,
            self.choice == "steepest_positive", 1,
        )  # fmt: skip
        self.search.sums = self._sums
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        state = potentials.pairs
        assert isinstance(state, PartedState)
        self._sums.state, state.histograms = state, True
        return super().propose(potentials)

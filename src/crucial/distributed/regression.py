"""Stumps with a value on each side, over rows in parts."""

from __future__ import annotations

from typing import Self

from crucial.data.bins import Bins
from crucial.distributed.messages import ResponseSums
from crucial.distributed.parts import Parts
from crucial.distributed.state import RankerOutput, as_output
from crucial.feedback.potentials import Potentials
from crucial.kernels.sizes import Counts, part_of
from crucial.model.weak import Affine, WeakRankerLike
from crucial.types import Floats, Ints
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows
from crucial.weak.regression_stumps import RegressionStumps

__all__ = ["PartedRegressionStumps"]


class PartedRegressionStumps(RegressionStumps):
    """The stump with the least squares in all parts; parameters as in `RegressionStumps`.

    Three calls a round: for the unit of the sums, for the sums, and for the slope.
    """

    def over(self, parts: Parts, counts: Counts) -> Self:
        """Set the parts, and how much they have."""
        self._remote, self._counts = parts, counts
        return self

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Take the bins that the parts share."""
        with part_of(self._counts):
            return super().prepare(training, constraints, step)

    def _sizes(self, potentials: Potentials) -> tuple[float, float]:
        squares, curvature = self._remote.total("response_sizes").values
        return squares, curvature

    def _added(
        self, potentials: Potentials, unit: float
    ) -> tuple[float, float, tuple[Ints, Ints, Floats, Floats]]:
        units = (potentials.unit, unit)
        found: ResponseSums = self._remote.total("response_sums", units)
        self._sums.slopes(self._features, found.potentials, units[0], self._above, self._peak)
        self._sums.slopes(self._features, found.curvature, units[1], self._mass, self._peak)
        position, side = self._at.T
        sums = (position, side, self._above[side, position], self._mass[side, position])
        return found.both[0] * units[0], found.both[1] * units[1], sums

    def _candidate(self, line: Affine, potentials: Potentials) -> Candidate:
        (slope,) = self._remote.total("tree_slope", line).values
        return Candidate(line, as_output(RankerOutput(line)), potentials.scale * slope)

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a ranker of an earlier call was."""
        return Candidate(ranker, as_output(RankerOutput(ranker)), slope)

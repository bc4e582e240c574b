"""Stumps with a value on each side, by weighted least squares."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from crucial.data.bins import Bins
from crucial.feedback.potentials import Potentials
from crucial.kernels.features import StumpSums
from crucial.model.weak import Affine, Presence, Stump, WeakRankerLike
from crucial.types import Floats
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.weak.choose import first_best
from crucial.weak.stump_grid import StumpGrid

__all__ = ["RegressionStumps"]

# A share of all weight that is treated as zero.
_LIGHT = 1e-14
# Values that agree so far are equal.
_SAME = 1e-12


class _Curved(Protocol):
    """What the learner asks a state beyond potentials."""

    @property
    def curvature(self) -> Floats: ...


class RegressionStumps(WeakLearner):
    """The stump with the least weighted squares of the working responses.

    With g the sum of ``w z`` and h that of ``w`` on a side, its value is ``g / h``, and the stump
    explains ``g^2 / h`` of the squares there. Abstentions take the better side. One scan of all
    features sums up both.

    Parameters
    ----------
    default_rank : {"learned", 0, 1}
        The side of abstentions: the better one, or always the same.
    max_bins : int or None
        Bins per feature; None for one per distinct value.
    """

    needs = ("curvature",)

    def __init__(self, default_rank: str | int = "learned", max_bins: int | None = 255) -> None:
        self._default_rank, self._max_bins = default_rank, max_bins

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = training.binned(self._max_bins)
        bins, self._grid = self.bins, StumpGrid(self.bins, self._default_rank)
        self._offered = self._grid.offered()
        # Candidates in the order of the tie rule: feature, threshold, side of abstentions.
        self._at = np.argwhere(self._offered.T)
        self._sums = StumpSums(
            bins.codes,
            bins.n_rows,
            bins.first,
            bins.has_missing,
            self._grid.fixed,
            False,
            training.threads,
        )
        self._features = np.arange(len(bins.features))
        self._above, self._mass = np.zeros((2, 2, int(bins.first[-1])))
        self._peak = np.zeros(len(bins.features))
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none explains anything."""
        if not len(self._at):
            return None
        curvature = cast(_Curved, potentials.pairs).curvature
        n = self.bins.n_rows
        for values, out in ((potentials.pi, self._above), (curvature, self._mass)):
            self._sums.scan(self._features, values, 1.0, out, self._peak)
        position, side = self._at.T
        g, h = self._above[side, position], self._mass[side, position]
        whole_g, whole_h = float(potentials.pi[:n].sum()), float(curvature[:n].sum())
        there = curvature[:n] > 0.0
        squares = float((potentials.pi[:n][there] ** 2 / curvature[:n][there]).sum())
        if not squares > 0.0:
            return None
        # (a side without weight, as rounding leaves it, has no value)
        seen = (h > _LIGHT * whole_h) & (whole_h - h > _LIGHT * whole_h)
        high = np.divide(g, h, out=np.zeros_like(g), where=seen)
        low = np.divide(whole_g - g, whole_h - h, out=np.zeros_like(g), where=seen)
        explained = np.where(seen, (g * high + (whole_g - g) * low) / squares, 0.0)
        # (which way a stump goes whose sides are equal is up to rounding)
        rise = np.where(np.abs(high - low) > _SAME * (np.abs(high) + np.abs(low)), high - low, 0.0)
        best = first_best(explained, rise)
        if best is None:
            return None
        ranker = self._grid.ranker(int(position[best]), int(side[best]))
        jump = float(high[best] - low[best])
        output = float(low[best]) + jump * self._grid.output(int(position[best]), int(side[best]))
        line = Affine(ranker, float(low[best]), jump)
        return Candidate(line, output, float(potentials.scale * (output * potentials.pi[:n]).sum()))

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a ranker of an earlier call was."""
        assert isinstance(ranker, Affine)
        assert isinstance(ranker.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(ranker.ranker))
        output = ranker.intercept + ranker.slope * ones
        return Candidate(ranker, output, slope)

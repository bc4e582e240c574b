"""Stumps with a value on each side, by weighted least squares."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.sparse_stumps import slopes_by_rows, sparse_row_sums
from crucial.boosting.stump_search import StumpGrid, first_best, worst_tied
from crucial.data.bins import Bins
from crucial.feedback.base import Potentials
from crucial.kernels.stumps import StoredSums, StumpSums
from crucial.kernels.sums import exact_dot, exact_sum, to_fixed, unit_for
from crucial.model.weak import Affine, Presence, Stump, WeakRankerLike
from crucial.types import Floats, Ints

__all__ = ["RegressionStumps"]

# A share of all weight that is treated as zero.
_LIGHT = 1e-14
# Sums over entries and over rows differ by less than this share of the best.
_ERROR_ROUNDING = 1e-12
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
        self.default_rank, self.max_bins = default_rank, max_bins

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = training.binned(self.max_bins, sparse=True)
        bins, self._grid = self.bins, StumpGrid(self.bins, self.default_rank)
        self._stored: StoredSums | None = None
        self._features = np.arange(len(bins.features))
        self._peak = np.zeros(len(bins.features))
        if bins.stored is not None:
            stumps = (bins.first, bins.has_missing, self._grid.fixed, training.threads)
            self._stored = StoredSums(bins.stored.entries, bins.stored.n_padded, *stumps)
            return bins
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
        self._above, self._mass = np.zeros((2, 2, int(bins.first[-1])))
        return bins

    def _sides(
        self, potentials: tuple[Ints, float], curvature: tuple[Ints, float], light: float
    ) -> tuple[Ints, Ints, Floats, Floats]:
        """Return position, side of abstentions, g and h of the ones of every stump.

        Of sparse features only those with a stump that ties with the best.
        """
        if self._stored is None:
            for values, out in ((potentials, self._above), (curvature, self._mass)):
                self._sums.scan(self._features, *values, out, self._peak)
            position, side = self._at.T
            return position, side, self._above[side, position], self._mass[side, position]
        self._stored.fits(self._features, potentials, curvature, light, self._peak)
        best = float(self._peak.max(initial=0.0))
        # (every sum of squares contains what one value for all rows explains)
        close = np.flatnonzero(self._peak >= worst_tied(best) * (1.0 - _ERROR_ROUNDING))
        parts = []
        for f in close.tolist():
            k, side = np.argwhere(self._grid.offered_of(f).T).T
            _, sums = sparse_row_sums(self._grid, f)
            g, h = (slopes_by_rows(sums, *values)[side, k] for values in (potentials, curvature))
            parts.append((k + self._grid.first[f], side, g, h))
        position, side, g, h = (np.concatenate(column) for column in zip(*parts, strict=True))
        return position, side, g, h

    def _sizes(self, potentials: Potentials) -> tuple[float, float]:
        """Return the sum of the weighted squares of working responses, and of the weights."""
        curvature = cast(_Curved, potentials.pairs).curvature[: self.bins.n_rows]
        there = curvature > 0.0
        pi = potentials.pi[: self.bins.n_rows]
        return exact_sum(pi[there] ** 2 / curvature[there]), exact_sum(curvature)

    def _added(
        self, potentials: Potentials, unit: float
    ) -> tuple[float, float, tuple[Ints, Ints, Floats, Floats]]:
        """Return g and h of all rows, and those of every stump; h in whole numbers of a unit."""
        bent = to_fixed(cast(_Curved, potentials.pairs).curvature, unit)
        whole_g, whole_h = int(potentials.fixed.sum()) * potentials.unit, int(bent.sum()) * unit
        response = (potentials.fixed, potentials.unit)
        return whole_g, whole_h, self._sides(response, (bent, unit), _LIGHT * whole_h)

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none explains anything."""
        if not len(self._features):
            return None
        squares, curvature = self._sizes(potentials)
        if not squares > 0.0:
            return None
        unit = unit_for(curvature)
        whole_g, whole_h, (position, side, g, h) = self._added(potentials, unit)
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
        return self._candidate(Affine(ranker, float(low[best]), jump), potentials)

    def _candidate(self, line: Affine, potentials: Potentials) -> Candidate:
        assert isinstance(line.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(line.ranker))
        output = line.intercept + line.slope * ones.astype(np.float64)
        pi = potentials.pi[: self.bins.n_rows]
        return Candidate(line, output, potentials.scale * exact_dot(output, pi))

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a ranker of an earlier call was."""
        assert isinstance(ranker, Affine)
        assert isinstance(ranker.ranker, Stump | Presence)
        ones = self._grid.output(*self._grid.find(ranker.ranker))
        output = ranker.intercept + ranker.slope * ones
        return Candidate(ranker, output, slope)

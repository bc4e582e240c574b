"""Slopes of all stumps from histograms of potentials, scanning no more than needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.feedback.base import Potentials
from crucial.kernels.stumps import StumpSums
from crucial.types import Floats, Ints
from crucial.weak.choose import TIE
from crucial.weak.stump_grid import StumpGrid

__all__ = ["SlopeSearch"]


# Bounds come from sums of n terms; this much more is scanned than rounding could hide.
_SLACK = 1e-11
# Features scanned before the bounds of the others are looked at again: first, and later.
_FIRST_LOOK, _LATER_LOOKS = 8, 32


class SlopeSearch:
    """The slope r of every stump of a grid under the current potentials.

    Since potentials sum to 0, no r can change by more than half the sum of their
    absolute changes. A feature whose best r cannot reach the best found so far is not
    scanned; the outcome is the same as if it had been.

    Parameters
    ----------
    grid : StumpGrid
    signed : bool
        Whether to look for the largest r, or for the largest magnitude.

    Attributes
    ----------
    slope : array of shape (2, first[-1])
        Row d: abstentions rank d. Position ``first[f] + k``: ones are codes of k and more.
    peak : array of shape (n_features,)
        Largest (signed or absolute) slope of the feature when it was last scanned.
    offered : bool array like slope
        Which of these stumps are not constant and have an allowed default.
    drift : array of shape (n_features,)
        How far a slope of the feature may have moved since.
    sums : StumpSums
        What computes them.
    """

    def __init__(self, grid: StumpGrid, signed: bool, threads: int) -> None:
        bins = self.bins = grid.bins
        self.first, self.offered = grid.first, grid.offered()
        n_features = len(bins.features)
        self.slope = np.zeros((2, int(self.first[-1])))
        self.peak = np.zeros(n_features)
        self.drift = np.full(n_features, np.inf)
        self.sums = StumpSums(
            bins.codes, bins.n_rows, self.first, bins.has_missing, grid.fixed, signed, threads
        )
        self._everything = np.arange(n_features)

    def renew(self, potentials: Potentials) -> None:
        """Set new potentials, without scanning anything yet."""
        self._potentials = potentials
        self.drift += self.sums.drift(potentials.pi, potentials.scale, potentials.unit)

    def scan(self, features: Ints) -> None:
        """Compute slopes and peaks of some features."""
        if not len(features):
            return
        now = self._potentials
        scanned = self.sums.scan(features, now.fixed, now.factor, self.slope, self.peak)
        self.drift[scanned] = 0.0

    def scan_all(self) -> None:
        """Scan every feature."""
        self.scan(self._everything)

    def scan_contenders(self) -> float:
        """Scan every feature that can have the best slope or tie with it; return the best."""
        if self.sums.at_once:
            self.scan_all()
            return float(self.peak.max(initial=0.0))
        return self.scan_while_promising(self.peak, self.peak + self.drift, self.scan)

    def scan_while_promising(
        self,
        peak: Floats,
        reach: Floats,
        scan: Callable[[Ints], None],
        floor: float = 0.0,
    ) -> float:
        """Scan features by falling reach while one can still have the best peak or tie with it.

        Parameters
        ----------
        peak : array over the features
            Largest criterion of every feature, which ``scan`` renews.
        reach : array over the features
            Bound on the peak of every feature that was not scanned.
        scan : function of some features
        floor : float
            The least that the best can be.

        Returns
        -------
        float
            The best peak.
        """
        left = np.argsort(-reach, kind="stable")
        left = left[self.drift[left] > 0]
        together = len(left) if self.sums.at_once else _FIRST_LOOK
        while True:
            best = max(floor, float(peak[self.drift == 0].max(initial=0.0)))
            # Those far above the best known come first: they may raise it for the others.
            left = left[reach[left] >= best * (1.0 - TIE) - _SLACK]
            if not len(left):
                return best
            scan(left[:together])
            left, together = left[together:], _LATER_LOOKS

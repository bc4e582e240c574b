"""Slopes of all stumps from histograms of potentials, scanning no more than needed."""

from __future__ import annotations

import numpy as np

from crucial.feedback.potentials import Potentials
from crucial.kernels.features import StumpSums
from crucial.types import Ints
from crucial.weak.choose import TIE
from crucial.weak.stump_grid import StumpGrid

__all__ = ["SlopeSearch"]


# Bounds come from sums of n terms; this much more is scanned than rounding could hide.
_SLACK = 1e-11
# Features scanned before the first look at the bounds of the others.
_FIRST_LOOK = 8


class SlopeSearch:
    """r of every candidate (feature, threshold, default) under given potentials.

    Since potentials sum to 0, no r can change by more than half the sum of their
    absolute changes. A feature whose best r cannot reach the best found so far is not
    scanned; the outcome is the same as if it had been.

    Parameters
    ----------
    grid : StumpGrid
    signed : bool
        Whether the largest r is wanted, or the largest magnitude.

    Attributes
    ----------
    slope : array of shape (2, first[-1])
        Row d: abstentions rank d. Position ``first[f] + k``: ones are codes of k and more.
    peak : array of shape (n_features,)
        Largest (signed or absolute) slope of the feature when it was last scanned.
    offered : bool array like slope
        Which of these stumps are not constant and have the default asked for.
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
        """Take note of new potentials; nothing is scanned yet."""
        self._potentials = potentials
        self.drift += self.sums.drift(potentials.pi, potentials.scale)

    def scan(self, features: Ints) -> None:
        """Renew slopes and peaks of the features."""
        if not len(features):
            return
        potentials = self._potentials
        scanned = self.sums.scan(features, potentials.pi, potentials.scale, self.slope, self.peak)
        self.drift[scanned] = 0.0

    def scan_all(self) -> None:
        """Renew every feature."""
        self.scan(self._everything)

    def scan_contenders(self) -> float:
        """Renew every feature that can hold the best slope or tie with it; the best one."""
        if self.sums.at_once:
            self.scan_all()
            return float(self.peak.max(initial=0.0))
        reach = self.peak + self.drift
        order = np.argsort(-reach, kind="stable")
        stale = order[self.drift[order] > 0]
        self.scan(stale[:_FIRST_LOOK])
        rest = stale[_FIRST_LOOK:]
        while len(rest):
            fresh = self.peak[self.drift == 0]
            best = float(fresh.max()) if len(fresh) else 0.0
            live = rest[reach[rest] >= best * (1.0 - TIE) - _SLACK]
            # Those far above the best known come first: they may raise it for the others.
            chunk = live[: 4 * _FIRST_LOOK]
            self.scan(chunk)
            rest = live[len(chunk) :]
        fresh = self.peak[self.drift == 0]
        return float(fresh.max()) if len(fresh) else 0.0

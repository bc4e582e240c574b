"""The best stumps of sparse features, from their stored entries.

Sums over entries find the features that can have the best stump. Their stumps are then summed up
over all rows, as those of dense features are: what is chosen, and its weight, are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.feedback.potentials import Potentials, exponential_pairs
from crucial.kernels.features import StumpSums
from crucial.kernels.stored import StoredSums
from crucial.types import Bools, Codes, Floats, Ints
from crucial.weak.choose import TIE
from crucial.weak.drops import SNAP
from crucial.weak.stored_drops import PartedPairs
from crucial.weak.stump_grid import StumpGrid

__all__ = ["StoredSearch", "row_sums", "slopes_by_rows"]

# Bounds come from sums of n terms; this much more is scanned than rounding could hide.
_SLACK = 1e-11
# What a square root makes of a weight that is treated as zero, in a bound on Z.
_ROOT = 5e-8
# Features scanned first; each time after that, so many times more.
_FIRST_LOOK, _GROWTH = 64, 4
# The same for Z: features considered, and how many of them are scanned for a first good Z.
_FIRST_DROPS, _FIRST_SCANS = 8, 2


class StoredSearch:
    """Bounds on the criterion of the stumps of every sparse feature.

    Parameters
    ----------
    grid : StumpGrid
        Over bins with stored codes.
    signed : bool
        Whether to look for the largest slope, or for the largest magnitude.
    sign : float array over the features, or None
        The sign that slopes must have, 0 for either.
    threads : int
    factor : float
        On slopes: the criterion is ``factor * r`` plus the shift of `renew`.

    Attributes
    ----------
    peak : array over the features
        Largest criterion of its stumps, when last scanned.
    drift : array over the features
        How far it may have moved since.
    lowest : array over the features
        Lowest Z of its stumps, when last scanned.
    sums : StoredSums
    parted : PartedPairs
        What earlier scans for Z found.
    """

    def __init__(
        self,
        grid: StumpGrid,
        signed: bool,
        sign: Floats | None,
        threads: int,
        factor: float = 1.0,
    ) -> None:
        bins = self._bins = grid.bins
        assert bins.stored is not None
        self._grid, self._signed, self._threads, self._factor = grid, signed, threads, factor
        n = len(bins.features)
        self._sign = np.zeros(n) if sign is None else sign
        stumps = (grid.first, bins.has_missing, grid.fixed)
        self.sums = StoredSums(bins.stored.entries, bins.stored.n_padded, *stumps, threads)
        self.peak, self.lowest = np.zeros(n), np.full(n, np.inf)
        self._guess = self.lowest  # Z when last known
        self.parted = PartedPairs(n, int(np.diff(grid.first).max(initial=1)))
        self.drift = np.full(n, np.inf)
        self._shift = 0.0

    def renew(self, potentials: Potentials, shift: float = 0.0) -> None:
        """Set new potentials, without scanning anything yet."""
        self._potentials = potentials
        self.drift += self.sums.drift(
            potentials.pi, potentials.scale, potentials.unit, self._factor
        )
        self.drift += abs(shift - self._shift)
        self._shift = shift

    def scan(self, features: Ints) -> None:
        """Renew the peaks of some features."""
        if not len(features):
            return
        now = self._potentials
        rules = (self._sign, self._signed, (self._factor, self._shift))
        self.sums.peaks(features, now.fixed, now.factor, *rules, self.peak)
        self.drift[features] = 0.0

    def scan_contenders(self, floor: float = 0.0) -> float:
        """Scan every feature that can have the best peak or tie with it; return the best.

        Parameters
        ----------
        floor : float
            The least that the best can be.
        """
        together = _FIRST_LOOK
        while True:
            fresh = self.drift == 0.0
            best = max(floor, float(self.peak[fresh].max(initial=0.0)))
            left = np.flatnonzero(~fresh & (self.peak + self.drift >= best * (1 - TIE) - _SLACK))
            if not len(left):
                return best
            if len(left) > 2 * together:
                reach = self.peak[left] + self.drift[left]
                left = left[np.argsort(-reach, kind="stable")[:together]]
            self.scan(left)
            together *= _GROWTH

    def scan_drops(self) -> float:
        """Find the lowest Z of every feature that can have the best or tie; return the best.

        ``1 - Z`` is at most the largest slope, and at most what earlier scans leave. `lowest` is
        infinite where it was not needed.
        """
        self.lowest = np.full(len(self._guess), np.inf)
        measure = self._measure_drops()
        known = np.isfinite(self._guess).any()
        if not known:
            self.scan_contenders()
        look = np.argsort(self._guess if known else -self.peak, kind="stable")[:_FIRST_DROPS]
        self.scan(look[self.drift[look] > 0.0])
        chunk = self._by_reach(look, 0.0)[:_FIRST_SCANS]
        together = _FIRST_DROPS
        while True:
            measure(chunk)
            best = float(self.lowest.min(initial=1.0))
            need = max(1.0 - best * (1.0 + TIE) - _ROOT, _SLACK)
            unknown = ~np.isfinite(self.lowest)
            left = np.flatnonzero(unknown & (self.peak + self.drift >= need))
            stale = left[self.drift[left] > 0.0]
            if len(stale):  # with r known exactly, many drop out
                self.scan(stale)
            left = self._by_reach(left[self.peak[left] >= need], need)
            if not len(left):
                # (of the others, what they had is the best guess of where to begin)
                self._guess = np.where(np.isfinite(self.lowest), self.lowest, self._guess)
                return best
            chunk = left[:together]
            together *= _GROWTH

    def _by_reach(self, features: Ints, need: float) -> Ints:
        """Return the features whose bound on 1 - Z is at least ``need``, the largest first."""
        reach = self.peak.copy()
        rules = (self._potentials, self._sign, self._signed)
        self.parted.bound(self.sums, features, *rules, reach)
        features = features[reach[features] >= need]
        return features[np.argsort(-reach[features], kind="stable")]

    def _measure_drops(self) -> Callable[[Ints], None]:
        """Return what writes the lowest Z of some features into `lowest`."""
        now = self._potentials
        state = exponential_pairs(now)
        state.prepare_scan()
        pairs = state.pair_weights()
        if pairs is None:

            def by_rows(features: Ints) -> None:
                for f in features.tolist():
                    slope, z = self.dense_drops(f)[::3]
                    allowed = self.allowed(f, slope)
                    self.lowest[f] = np.where(allowed, z, 1.0).min(initial=1.0)

            return by_rows
        sides = self.sums.sides(pairs)

        def by_entries(features: Ints) -> None:
            rules = (now.fixed, now.factor, self._sign, self._signed)
            self.parted.scanned(features)
            self.sums.drops(features, *rules, pairs, sides, SNAP, self.parted.slots, self.lowest)

        return by_entries

    # -- stumps of one feature ----------------------------------------------------

    def allowed(self, feature: int, slope: Floats) -> Bools:
        """Return which stumps of a feature have a slope of a sign that counts."""
        out = np.ones(slope.shape, bool)
        if self._signed:
            out &= slope > 0.0
        sign = self._sign[feature]
        if sign:
            out[:, 1:-1] &= sign * slope[:, 1:-1] > 0.0
        return out

    def entry_slopes(self, feature: int) -> Floats:
        """Return the slopes of the stumps of a feature by its entries, (2, n_bins + 1)."""
        now = self._potentials
        return self.sums.slopes(feature, now.fixed, now.factor)

    def dense_slopes(self, feature: int) -> Floats:
        """Return the slopes of the stumps of a feature by all rows, of shape (2, n_bins + 1)."""
        now = self._potentials
        return slopes_by_rows(row_sums(self._grid, feature)[1], now.fixed, now.factor)

    def dense_drops(self, feature: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Return slope, W+, W- and Z of the stumps of a feature by all rows.

        Z is infinite where a stump is not on offer.
        """
        codes, sums = row_sums(self._grid, feature)
        slope = slopes_by_rows(sums, self._potentials.fixed, self._potentials.factor)
        offered = self._grid.offered_of(feature)
        right, wrong = np.zeros_like(slope), np.zeros_like(slope)
        z = np.full_like(slope, np.inf)
        pairs = exponential_pairs(self._potentials)
        for default in (0, 1):
            if offered[default].any():
                pairs.wrong_weights(codes, slope.shape[1] - 1, default, wrong[default])
                inputs = (slope[default], offered[default], SNAP)
                sums.drops(*inputs, wrong[default], right[default], z[default])
        return slope, right, wrong, z


def row_sums(grid: StumpGrid, feature: int) -> tuple[Codes, StumpSums]:
    """Return the codes of all rows of a sparse feature, and the sums over its stumps."""
    bins = grid.bins
    codes = bins.column(feature)
    first = np.array([0, grid.first[feature + 1] - grid.first[feature]])
    missing = bins.has_missing[feature : feature + 1]
    return codes, StumpSums(codes[None, :], bins.n_rows, first, missing, grid.fixed, False, 1)


def slopes_by_rows(sums: StumpSums, fixed: Ints, factor: float) -> Floats:
    """Return the sums of values over the ones of the stumps of the one feature of ``sums``."""
    slope = np.zeros((2, sums.n_stumps))
    sums.scan(np.zeros(1, np.int64), fixed, factor, slope, np.zeros(1))
    return slope

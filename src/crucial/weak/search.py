"""Slopes of all stumps from histograms of potentials, scanning no more than needed."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from crucial.data.bins import Bins
from crucial.data.cutting import is_small
from crucial.feedback.potentials import Potentials
from crucial.kernels import plain
from crucial.kernels.threads import run_all
from crucial.types import Bools, Ints
from crucial.weak.choose import TIE

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
    bins : Bins
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 for both.
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
    """

    def __init__(self, bins: Bins, fixed_default: int, signed: bool, threads: int) -> None:
        self.bins, self.first = bins, bins.first
        self._fixed, self._signed, self._threads = fixed_default, signed, threads
        self._n_bins = bins.n_bins
        n_features = len(bins.features)
        size = int(self.first[-1])
        self.slope = np.zeros((2, size))
        self.peak = np.zeros(n_features)
        self.drift = np.full(n_features, np.inf)
        self._hist = np.zeros(size)
        self.small = is_small(bins.n_rows, n_features)
        self._before = np.zeros(0 if self.small else bins.codes.shape[1])
        self._words = bins.codes.view(np.uint64) if bins.codes.dtype == np.uint8 else None
        self._everything = np.arange(n_features)
        self.offered = self._offers()
        if self.small:
            self._sums = plain.FeatureSums(
                bins.codes[:, : bins.n_rows],
                self._everything,
                self.first,
                bins.has_missing,
                fixed_default,
            )

    def _offers(self) -> Bools:
        """Which stumps are not constant, and have the default asked for."""
        offered = np.zeros(self.slope.shape, bool)
        for f, missing in enumerate(self.bins.has_missing):
            a, b = self.first[f], self.first[f + 1]
            offered[0, a + (0 if missing else 1) : b - 1] = not missing or self._fixed != 1
            offered[1, a + 1 : b] = missing and self._fixed != 0
        return offered

    def renew(self, potentials: Potentials) -> None:
        """Take note of new potentials; nothing is scanned yet."""
        self._potentials = potentials
        if self.small:
            self.drift[:] = np.inf
            return
        from crucial.kernels import compiled

        n = len(self._before)
        cuts = np.linspace(0, n, 9).astype(np.int64).tolist()  # fixed blocks, fixed sums
        tasks = [
            partial(compiled.distance, potentials.pi, potentials.scale, self._before, a, b)
            for a, b in pairwise(cuts)
        ]
        self.drift += 0.5 * sum(run_all(self._threads, tasks)) + 1e-15

    def scan(self, features: Ints) -> None:
        """Renew slopes and peaks of the features."""
        if not len(features):
            return
        if self.small:  # (all features at once cost hardly more than one)
            features = self._everything
            self._sums.histogram(self._potentials.pi, self._hist)
            self._hist *= self._potentials.scale
            self._sums.slopes(self._hist, self._signed, self.slope, self.peak)
        else:
            run_all(self._threads, self._tasks(features))
        self.drift[features] = 0.0

    def _tasks(self, features: Ints) -> list[partial[None]]:
        if self._words is None:
            return [partial(self._scan_wide, int(f)) for f in features]
        pairs = [
            (int(f), int(features[min(i + 1, len(features) - 1)]))
            for i, f in list(enumerate(features))[::2]
        ]
        return [partial(self._scan_bytes, one, two) for one, two in pairs]

    def _scan_bytes(self, one: int, two: int) -> None:
        from crucial.kernels import compiled

        compiled.histogram8(self._words, one, two, self._potentials.pi, self.first, self._hist)
        self._finish(np.array([one] if one == two else [one, two]))

    def _scan_wide(self, feature: int) -> None:
        from crucial.kernels import compiled

        a, b = self.first[feature], self.first[feature + 1]
        n = self.bins.n_rows
        codes = self.bins.codes[feature, :n]
        compiled.histogram_wide(codes, self._potentials.pi, self._hist[a:b])
        self._finish(np.array([feature]))

    def _finish(self, features: Ints) -> None:
        from crucial.kernels import compiled

        for f in features:
            self._hist[self.first[f] : self.first[f + 1]] *= self._potentials.scale
        compiled.slopes(
            self._hist,
            self.first,
            self.bins.has_missing,
            features,
            self._fixed,
            self._signed,
            self.slope,
            self.peak,
        )

    def scan_all(self) -> None:
        """Renew every feature."""
        self.scan(self._everything)

    def scan_contenders(self) -> float:
        """Renew every feature that can hold the best slope or tie with it; the best one."""
        if self.small:
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

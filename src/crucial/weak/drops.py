"""Z of stumps, scanning no more features than needed.

``Z = W0 + 2 sqrt(W+ W-) = 1 - (sqrt(W+) - sqrt(W-))^2``. The slope ``r = W+ - W-`` comes
cheap from a histogram, W- takes a scan of the pairs' sums. What a step can take from any
weight is known, so weights known from an earlier round bound the Z of this one from
below: a feature whose bounds are above the best Z found is not scanned, and the outcome is
the same as with a scan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from crucial.data.bins import Bins
from crucial.feedback.base import Potentials, exponential_pairs
from crucial.kernels.elementary import exp, expm1
from crucial.kernels.runtime import run_all
from crucial.types import Bools, Floats, Ints
from crucial.weak.choose import TIE

__all__ = ["SNAP", "Z_FLOOR", "DropSearch"]


# Weights below this share of the total are treated as zero: a square root would turn a
# rounding of 1e-16 into 1e-8.
SNAP = 1e-13
# Z is a difference of numbers near 1: with this added, its rounding stays below the tie.
Z_FLOOR = 1e-5
# What a square root makes of such a 0 in a bound on Z.
_ROOT = 5e-8
# What can have become of a weight W since the feature was scanned, see `drop_bounds`: factors
# of at least and at most, a factor of all, and what is lost and won beside it.
_ANY_CHANGE = np.array([[0.0], [np.inf], [1.0], [np.inf], [np.inf]])
_NO_CHANGE = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
# Bounds older than this factor on all weights are dropped before it overflows.
_LARGEST = 1e100
# Features considered for a first good Z, and how many of them are scanned for it.
_FIRST_DROPS = 8
_FIRST_SCANS = 2
# Features scanned before the best is updated.
_TOGETHER = 16


class _Kernels(Protocol):
    at_once: bool
    drop_bounds: Callable[..., None]
    drops: Callable[..., float]


class Slopes(Protocol):
    """The slopes of all stumps, as `SlopeSearch` has them; renewed by ``scan``."""

    bins: Bins
    first: Ints
    slope: Floats
    peak: Floats
    offered: Bools
    drift: Floats

    @property
    def sums(self) -> _Kernels:
        """What computes bounds on Z, and Z."""

    def scan(self, features: Ints) -> None:
        """Compute slopes and peaks of some features."""


class DropSearch:
    """W+, W- and Z of every candidate that can be the best.

    Parameters
    ----------
    slopes : Slopes
    threads : int
    keeps_z : bool
        Whether Z of single stumps is asked for, or the lowest of every feature alone.

    Attributes
    ----------
    wrong, right : arrays of shape (2, first[-1])
        W- and W+ when the feature was last scanned, in the order of the slopes.
    z : array of shape (2, first[-1])
        Infinite where it was not needed.
    lowest : array over the features
        Lowest Z of its stumps, when last scanned.
    """

    def __init__(self, slopes: Slopes, threads: int, keeps_z: bool = True) -> None:
        self._slopes, self._threads = slopes, threads
        self.wrong = np.zeros_like(slopes.slope)
        self.right = np.zeros_like(slopes.slope)
        self.z = np.full_like(slopes.slope, np.inf) if keeps_z else np.zeros((2, 0))
        n_features = len(slopes.peak)
        self._reach = np.empty(n_features)
        self._change = np.empty((5, n_features))
        self.forget()
        self.lowest = np.full(n_features, np.inf)

    def forget(self) -> None:
        """Drop all bounds: other pairs count from now on."""
        self._change[:] = _ANY_CHANGE

    def stepped(self, weights: tuple[float, float], alpha: float) -> None:
        """Widen the bounds by what a step can have changed of any weight."""
        right, wrong = weights
        tied = max(0.0, 1.0 - right - wrong)
        up, down = exp(alpha), exp(-alpha)
        z = right * down + tied + wrong * up
        # A little more than rounding could make of it.
        least, most = min(up, down) / z * (1.0 - 1e-12), max(up, down) / z * (1.0 + 1e-12)
        lighter, heavier = (right, wrong) if alpha > 0.0 else (wrong, right)
        lost = -expm1(-abs(alpha)) * lighter
        won = expm1(abs(alpha)) * heavier
        change = self._change
        change[:, change[2] > _LARGEST] = _ANY_CHANGE
        change[0] *= least
        change[1] *= most
        change[2] /= z
        change[3] = (change[3] + lost) / z * (1.0 + 1e-12) + 1e-15
        change[4] = (change[4] + won) / z * (1.0 + 1e-12) + 1e-15

    def weights(self, position: int, default: int) -> tuple[float, float]:
        """Return W+ and W- of a stump that was scanned."""
        return float(self.right[default, position]), float(self.wrong[default, position])

    def scan_contenders(self, potentials: Potentials, everything: bool) -> Ints:
        """Find Z of every stump that can be the best or tie; return the features scanned.

        Parameters
        ----------
        everything : bool
            Scan all features: constraints may forbid the best.
        """
        slopes = self._slopes
        exponential_pairs(potentials).prepare_scan()
        self.z[:] = np.inf
        fresh = np.zeros(len(self._reach), bool)
        if slopes.sums.at_once or everything:
            slopes.scan(np.arange(len(self._reach)))
        self._renew_bounds(np.arange(len(self._reach)))
        first = [] if everything else self._promising()
        best = self._scan_all(first, potentials, np.inf)
        fresh[first] = True
        while True:
            limit = np.inf if everything else best * (1.0 + TIE) + _ROOT
            left = np.flatnonzero(~fresh & (self._reach <= limit) & (self._reach < np.inf))
            if not len(left):
                return np.flatnonzero(fresh)
            stale = left[slopes.drift[left] > 0]
            if len(stale):  # with r known exactly, many drop out
                slopes.scan(stale)
                self._renew_bounds(stale)
                continue
            # The first is mostly the best already, so that all of these must be scanned.
            chunk = left[np.argsort(self._reach[left], kind="stable")][:_TOGETHER]
            best = self._scan_all(chunk.tolist(), potentials, best)
            fresh[chunk] = True

    def _renew_bounds(self, features: Ints) -> None:
        """Bound Z of some features from below, into ``_reach``."""
        slopes = self._slopes
        stumps = (slopes.slope, slopes.offered, slopes.drift, self.wrong, self.right)
        out = (slopes.first, features, self._reach)
        slopes.sums.drop_bounds(*stumps, self._change, *out)

    def _promising(self) -> list[int]:
        """Return features that usually have the best Z: scanning them first saves other scans."""
        slopes = self._slopes
        # Features by the Z they had when last scanned; at the start none was.
        known = np.isfinite(self.lowest).any()
        look = np.argsort(self.lowest if known else self._reach, kind="stable")[:_FIRST_DROPS]
        slopes.scan(look[slopes.drift[look] > 0])
        self._renew_bounds(look)
        likely = []
        for f in look:
            a, b = int(slopes.first[f]), int(slopes.first[f + 1])
            r = slopes.slope[:, a:b]
            wrong = np.maximum(self.wrong[:, a:b], np.maximum(-r, 0.0))
            z = 1.0 - r - 2.0 * wrong + 2.0 * np.sqrt((wrong + r) * wrong)
            likely.append(np.where(slopes.offered[:, a:b], z, np.inf).min())
        best = np.argsort(likely, kind="stable")[:_FIRST_SCANS]
        return [int(look[i]) for i in best if self._reach[look[i]] < np.inf]

    def _scan_all(self, features: list[int], potentials: Potentials, best: float) -> float:
        """Scan features on all threads; return the best Z, of them or so far."""
        work = [partial(self._scan, f, potentials) for f in features]
        return min([best, *run_all(self._threads, work)]) if work else best

    def _scan(self, feature: int, potentials: Potentials) -> float:
        """Compute the weights of all stumps of a feature; return the best Z of them."""
        slopes = self._slopes
        a, b = int(slopes.first[feature]), int(slopes.first[feature + 1])
        self._change[:, feature] = _NO_CHANGE
        lowest = math.inf
        for default in range(len(slopes.slope)):
            stumps = np.s_[default, a:b]
            offered, wrong = slopes.offered[stumps], self.wrong[stumps]
            if not offered.any():
                continue
            self._weigh(feature, default, potentials, wrong)
            z = self.z[stumps] if self.z.size else np.full(b - a, np.inf)
            out = (wrong, self.right[stumps], z)
            inputs = (slopes.slope[stumps], offered, SNAP)
            lowest = min(lowest, slopes.sums.drops(*inputs, *out))
        self.lowest[feature] = lowest
        return lowest

    def _weigh(self, feature: int, default: int, potentials: Potentials, out: Floats) -> None:
        """Write W- of the stumps of a feature under one rank of abstentions."""
        codes = self._slopes.bins.column(feature)
        exponential_pairs(potentials).wrong_weights(codes, len(out) - 1, default, out)

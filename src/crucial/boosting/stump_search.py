"""Find the best stump over binned features, scanning no more than needed; one tie rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from crucial.data.bins import Bins
from crucial.feedback.base import Potentials, exponential_pairs
from crucial.kernels.elementary import exp, expm1
from crucial.kernels.runtime import run_all
from crucial.kernels.stumps import StumpSums
from crucial.model.weak import Presence, Stump
from crucial.types import Bools, Bytes, Floats, Ints

# --- One tie rule for every search, so that rounding never picks a weak ranker
#
# Criteria that agree to 1e-10 relative are equal, and so are small ones that agree to
# 1e-14. Among equals a ranker with r > 0 comes before one with r < 0, then the first in
# (feature, threshold, default) order wins.


T = TypeVar("T", float, Floats)

TIE = 1e-10
# Criteria at or below this are treated as zero.
NOISE = 1e-13
# A sum of weights rounds at 1e-16 however small it comes out: added to a criterion before
# it is compared, this makes 1e-14 of it equal.
_SMALL = 1e-4


def worst_tied(best: T) -> T:
    """Return the smallest criterion that counts as equal to the best, of one or of several.

    Examples
    --------
    >>> worst_tied(0.5) < 0.5 * (1 - 0.9e-10)
    True
    """
    return best - TIE * (best + _SMALL)


def first_best(criterion: Floats, slope: Floats, best: float | None = None) -> int | None:
    """Return the position of the best candidate by the tie rule; None if every criterion is 0.

    Parameters
    ----------
    criterion : array
        In candidate order; larger is better, at most `NOISE` is not on offer.
    slope : array of the same shape
        r of the candidates.
    best : float, optional
        The largest criterion, if known.

    Examples
    --------
    >>> first_best(np.array([0.3, 0.5, 0.5]), np.array([0.3, -0.5, 0.5]))
    2
    """
    top = float(criterion.max(initial=0.0)) if best is None else best
    if not top > NOISE:
        return None
    tied = np.flatnonzero(criterion >= worst_tied(top))
    rising = tied[slope[tied] > 0.0]
    return int(rising[0] if len(rising) else tied[0])


def first_largest(values: Floats) -> int:
    """Return the position of the largest value by the tie rule, whatever its sign.

    Examples
    --------
    >>> first_largest(np.array([-0.7, -0.5 - 1e-12, -0.5]))
    1
    """
    top = float(values.max())
    return int(np.flatnonzero(values >= top - TIE * (abs(top) + _SMALL))[0])


def first_best_of(parts: Iterable[tuple[Floats, Floats]], best: float) -> tuple[int, int] | None:
    """Return the best candidate of several features: which part, and where in it.

    Parameters
    ----------
    parts : criterion and slope of the candidates of each feature
        In order; only features with a candidate that ties with the best.
    best : float
        The largest criterion.
    """
    falling: tuple[int, int] | None = None
    for number, (criterion, slope) in enumerate(parts):
        at = first_best(criterion, slope, best)
        if at is not None and slope[at] > 0.0:
            return number, at
        if at is not None and falling is None:
            falling = number, at
    return falling


# --- All stumps over binned features, by number


class StumpGrid:
    """The stumps of every feature, threshold and rank of abstentions.

    A stump at ``position = first[f] + k`` is 1 where the code of feature f is k or more; it
    ranks abstentions at ``default``. Its number is ``2 * position + default``, so that
    numbers rise by feature, threshold and default.

    Parameters
    ----------
    bins : Bins
    default_rank : {"learned", 0, 1}
        Rank of abstentions; "learned" offers both.

    Attributes
    ----------
    first : int array of shape (n_features + 1,)
        Position of the first stump of every feature.
    fixed : int
        The one rank of abstentions, or -1 for both.
    """

    def __init__(self, bins: Bins, default_rank: str | int) -> None:
        self.bins, self.first = bins, bins.first
        self.fixed = -1 if default_rank == "learned" else int(default_rank)

    def offered(self) -> Bools:
        """Return which stumps are not constant and have the default: shape (2, first[-1])."""
        offered = np.zeros((2, int(self.first[-1])), bool)
        for f in range(len(self.bins.has_missing)):
            offered[:, self.first[f] : self.first[f + 1]] = self.offered_of(f)
        return offered

    def offered_of(self, feature: int) -> Bools:
        """Return the same for the stumps of one feature: shape (2, n_bins + 1)."""
        missing = bool(self.bins.has_missing[feature])
        offered = np.zeros((2, int(self.first[feature + 1] - self.first[feature])), bool)
        offered[0, 0 if missing else 1 : -1] = not missing or self.fixed != 1
        offered[1, 1:] = missing and self.fixed != 0
        return offered

    def where(self, position: int) -> tuple[int, int]:
        """Return the feature of a position, among those binned, and k."""
        feature = int(np.searchsorted(self.first, position, "right")) - 1
        return feature, position - int(self.first[feature])

    def output(self, position: int, default: int) -> Bytes:
        """Return the scores of a stump on the rows."""
        feature, k = self.where(position)
        codes = self.bins.column(feature)[: self.bins.n_rows]
        ones = codes >= k
        if not default and self.bins.has_missing[feature]:
            ones &= codes != len(self.bins.thresholds[feature]) + 1
        return ones.view(np.uint8)

    def shown_default(self, feature: int, default: int) -> int:
        """Return the rank of abstentions that a model states; free where there are none."""
        return default if self.bins.has_missing[feature] else max(self.fixed, 0)

    def ranker(self, position: int, default: int) -> Stump | Presence:
        """Return a stump as it goes into a model."""
        feature, k = self.where(position)
        number, thresholds = int(self.bins.features[feature]), self.bins.thresholds[feature]
        if k in (0, len(thresholds) + 1):
            return Presence(number, default)
        return Stump(number, float(thresholds[k - 1]), self.shown_default(feature, default))

    def find(self, ranker: Stump | Presence) -> tuple[int, int]:
        """Return the position and default of a stump of a model."""
        feature = int(np.searchsorted(self.bins.features, ranker.feature))
        thresholds = self.bins.thresholds[feature]
        if isinstance(ranker, Presence):
            k = 0 if ranker.default == 0 else len(thresholds) + 1
        else:
            k = int(np.searchsorted(thresholds, ranker.threshold)) + 1
        default = ranker.default if self.bins.has_missing[feature] else 0
        return int(self.first[feature]) + k, default


# --- Slopes of all stumps from histograms of potentials, scanning no more than needed


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
    best_slope : array of shape (n_features,)
        Largest (signed or absolute) slope of the feature when it was last scanned.
    offered : bool array like slope
        Which of these stumps are not constant and have an allowed default.
    slope_change : array of shape (n_features,)
        How far a slope of the feature may have moved since.
    sums : StumpSums
        What computes them.
    """

    def __init__(self, grid: StumpGrid, signed: bool, threads: int) -> None:
        bins = self.bins = grid.bins
        self.first, self.offered = grid.first, grid.offered()
        n_features = len(bins.features)
        self.slope = np.zeros((2, int(self.first[-1])))
        self.best_slope = np.zeros(n_features)
        self.slope_change = np.full(n_features, np.inf)
        self.sums = StumpSums(
            bins.codes, bins.n_rows, self.first, bins.has_missing, grid.fixed, signed, threads
        )
        self._everything = np.arange(n_features)

    def renew(self, potentials: Potentials) -> None:
        """Set new potentials, without scanning anything yet."""
        self._potentials = potentials
        self.slope_change += self.sums.slope_change(
            potentials.pi, potentials.scale, potentials.unit
        )

    def scan(self, features: Ints) -> None:
        """Compute slopes and peaks of some features."""
        if not len(features):
            return
        now = self._potentials
        scanned = self.sums.scan(features, now.fixed, now.factor, self.slope, self.best_slope)
        self.slope_change[scanned] = 0.0

    def scan_all(self) -> None:
        """Scan every feature."""
        self.scan(self._everything)

    def scan_contenders(self) -> float:
        """Scan every feature that can have the best slope or tie with it; return the best."""
        if self.sums.scans_all:
            self.scan_all()
            return float(self.best_slope.max(initial=0.0))
        return self.scan_while_promising(
            self.best_slope, self.best_slope + self.slope_change, self.scan
        )

    def scan_while_promising(
        self,
        criterion: Floats,
        upper_bound: Floats,
        scan: Callable[[Ints], None],
        floor: float = 0.0,
    ) -> float:
        """Scan features by falling upper bound while one can be the best or tie with it.

        Parameters
        ----------
        criterion : array over the features
            Largest criterion of every feature, which ``scan`` renews.
        upper_bound : array over the features
            Bound on the criterion of every feature that was not scanned.
        scan : function of some features
        floor : float
            The least that the best can be.

        Returns
        -------
        float
            The best criterion.
        """
        left = np.argsort(-upper_bound, kind="stable")
        left = left[self.slope_change[left] > 0]
        together = len(left) if self.sums.scans_all else _FIRST_LOOK
        while True:
            best = max(floor, float(criterion[self.slope_change == 0].max(initial=0.0)))
            # Those far above the best known come first: they may raise it for the others.
            left = left[upper_bound[left] >= best * (1.0 - TIE) - _SLACK]
            if not len(left):
                return best
            scan(left[:together])
            left, together = left[together:], _LATER_LOOKS


# --- Z of stumps, scanning no more features than needed
#
# ``Z = W0 + 2 sqrt(W+ W-) = 1 - (sqrt(W+) - sqrt(W-))^2``. The slope ``r = W+ - W-`` comes
# cheap from a histogram, W- takes a scan of the pairs' sums. What a step can take from any
# weight is known, so weights known from an earlier round bound the Z of this one from
# below: a feature whose bounds are above the best Z found is not scanned, and the outcome is
# the same as with a scan.


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
    scans_all: bool
    drop_bounds: Callable[..., None]
    drops: Callable[..., float]


class Slopes(Protocol):
    """The slopes of all stumps, as `SlopeSearch` has them; renewed by ``scan``."""

    bins: Bins
    first: Ints
    slope: Floats
    best_slope: Floats
    offered: Bools
    slope_change: Floats

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
        n_features = len(slopes.best_slope)
        self._reach = np.empty(n_features)
        self._change = np.empty((5, n_features))
        self.reset_bounds()
        self.lowest = np.full(n_features, np.inf)

    def reset_bounds(self) -> None:
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
        if slopes.sums.scans_all or everything:
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
            stale = left[slopes.slope_change[left] > 0]
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
        stumps = (slopes.slope, slopes.offered, slopes.slope_change, self.wrong, self.right)
        out = (slopes.first, features, self._reach)
        slopes.sums.drop_bounds(*stumps, self._change, *out)

    def _promising(self) -> list[int]:
        """Return features that usually have the best Z: scanning them first saves other scans."""
        slopes = self._slopes
        # Features by the Z they had when last scanned; at the start none was.
        known = np.isfinite(self.lowest).any()
        look = np.argsort(self.lowest if known else self._reach, kind="stable")[:_FIRST_DROPS]
        slopes.scan(look[slopes.slope_change[look] > 0])
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

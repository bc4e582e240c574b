"""Stumps ``[f_j(x) > theta]`` as weak learners: the tie rule, the search, votes for AdaBoost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np

from crucial.boosting.loop import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.data.bins import Bins
from crucial.feedback.base import Potentials, exponential_pairs
from crucial.feedback.classes import BipartiteState
from crucial.kernels.elementary import exp, expm1
from crucial.kernels.runtime import run_all
from crucial.kernels.stumps import SparseSums, StumpSums
from crucial.model.weak import Constant, Presence, Stump, Vote, WeakRankerLike
from crucial.types import Bools, Bytes, Codes, Floats, Ints

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

    @property
    def stumps(self) -> tuple[Ints, Bools, int]:
        """First place and abstentions of every feature, and the rank of abstentions or -1."""
        return self.first, self.bins.has_missing, self.fixed

    def offered(self) -> Bools:
        """Return which stumps are not constant and have the default: shape (2, first[-1])."""
        offered = np.zeros((2, int(self.first[-1])), bool)
        for f in range(len(self.bins.has_missing)):
            offered[:, self.first[f] : self.first[f + 1]] = self.offered_of(f)
        return offered

    def offered_of(self, feature: int) -> Bools:
        """Return which stumps of one feature `offered` has: shape (2, n_bins + 1)."""
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
        self.sums = StumpSums(bins.codes, bins.n_rows, grid.stumps, signed, threads)
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


def of_z(z: Floats) -> Floats:
    """Return a criterion that is larger for a smaller Z, and 0 from 1 up.

    What is equal in Z by the tie rule is equal in it.
    """
    return np.where(z < 1.0 - SNAP, 1.0 / (z + Z_FLOOR), 0.0)


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

    def __init__(
        self, slopes: SlopeSearch | SparseSearch, threads: int, keeps_z: bool = True
    ) -> None:
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


# --- The best stumps of sparse features, from their stored entries
#
# Sums over entries find the features that can have the best stump. Their stumps are then summed up
# over all rows, as those of dense features are: what is chosen, and its weight, are the same.


# Features scanned first; each time after that, so many times more.
_FIRST_SPARSE, _GROWTH = 64, 4


class SparseSearch:
    """Bounds on the criterion of the stumps of every sparse feature.

    Parameters
    ----------
    grid : StumpGrid
        Over bins with sparse codes.
    signed : bool
        Whether to look for the largest slope, or for the largest magnitude.
    sign : float array over the features, or None
        The sign that slopes must have, 0 for either.
    threads : int
    factor : float
        On slopes: the criterion is ``factor * r`` plus the shift of `renew`.
    drops : bool
        Whether Z is asked for.

    Attributes
    ----------
    best_slope : array over the features
        Largest criterion of its stumps, when last scanned.
    slope_change : array over the features
        How far it may have moved since.
    sums : SparseSums
    slope, offered : arrays of shape (1 or 2, first[-1])
        Where Z is asked for: slopes when last scanned, and which stumps count; one row where no
        feature abstains.
    drops : DropSearch or None
        Makes one column dense at a time per thread, and finds Z as for dense features.
    """

    def __init__(
        self,
        grid: StumpGrid,
        signed: bool,
        sign: Floats | None,
        threads: int,
        factor: float = 1.0,
        drops: bool = False,
    ) -> None:
        bins = self.bins = grid.bins
        assert bins.sparse is not None
        self._grid, self._signed, self._factor, self.first = grid, signed, factor, grid.first
        n = len(bins.features)
        self._sign = np.zeros(n) if sign is None else sign
        entries = (bins.sparse.entries, bins.sparse.n_padded)
        self.sums = SparseSums(*entries, grid.stumps, threads)
        self.best_slope, self.slope_change = np.zeros(n), np.full(n, np.inf)
        self._shift = 0.0
        rows = 2 if bins.has_missing.any() else 1
        self._all_offered = grid.offered()[:rows].copy() if drops else np.zeros((1, 0), bool)
        self.slope, self.offered = np.zeros(self._all_offered.shape), self._all_offered
        self._constrained = drops and (signed or bool(self._sign.any()))
        self.drops = DropSearch(self, threads, keeps_z=False) if drops else None

    def renew(self, potentials: Potentials, shift: float = 0.0) -> None:
        """Set new potentials, without scanning anything yet."""
        self._potentials = potentials
        self.slope_change += self.sums.slope_change(
            potentials.pi, potentials.scale, potentials.unit, self._factor
        )
        self.slope_change += abs(shift - self._shift)
        self._shift = shift
        if self._constrained:
            self.offered = self._all_offered.copy()

    def scan(self, features: Ints) -> None:
        """Renew the peaks of some features."""
        if not len(features):
            return
        now = self._potentials
        rules = (self._sign, self._signed, (self._factor, self._shift))
        self.sums.peaks(features, now.fixed, now.factor, *rules, self.slope, self.best_slope)
        self.slope_change[features] = 0.0
        if self._constrained:
            for f in features.tolist():
                own = np.s_[:, self.first[f] : self.first[f + 1]]
                self.offered[own] = self._all_offered[own] & self.allowed(f, self.slope[own])

    def scan_contenders(self, floor: float = 0.0) -> float:
        """Scan every feature that can have the best peak or tie with it; return the best.

        Parameters
        ----------
        floor : float
            The least that the best can be.
        """
        together = _FIRST_SPARSE
        while True:
            fresh = self.slope_change == 0.0
            best = max(floor, float(self.best_slope[fresh].max(initial=0.0)))
            left = np.flatnonzero(
                ~fresh & (self.best_slope + self.slope_change >= best * (1 - TIE) - _SLACK)
            )
            if not len(left):
                return best
            if len(left) > 2 * together:
                reach = self.best_slope[left] + self.slope_change[left]
                left = left[np.argsort(-reach, kind="stable")[:together]]
            self.scan(left)
            together *= _GROWTH

    def lowest_z(self) -> Floats:
        """Return the lowest Z of features that can have the best or tie, infinite of others."""
        assert self.drops is not None
        scanned = self.drops.scan_contenders(self._potentials, False)
        out = np.full(len(self.best_slope), np.inf)
        out[scanned] = self.drops.lowest[scanned]
        return out

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
        return slopes_by_rows(sparse_row_sums(self._grid, feature)[1], now.fixed, now.factor)

    def dense_drops(self, feature: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Return slope, W+, W- and Z of the stumps of a feature by all rows.

        Z is infinite where a stump is not on offer.
        """
        codes, sums = sparse_row_sums(self._grid, feature)
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


def sparse_row_sums(grid: StumpGrid, feature: int) -> tuple[Codes, StumpSums]:
    """Return the codes of all rows of a sparse feature, and the sums over its stumps."""
    bins = grid.bins
    codes = bins.column(feature)
    first = np.array([0, grid.first[feature + 1] - grid.first[feature]])
    missing = bins.has_missing[feature : feature + 1]
    stumps = (first, missing, grid.fixed)
    return codes, StumpSums(codes[None, :], bins.n_rows, stumps, False, 1)


def slopes_by_rows(sums: StumpSums, fixed: Ints, factor: float) -> Floats:
    """Return the sums of values over the ones of the stumps of the one feature of ``sums``."""
    slope = np.zeros((2, sums.n_stumps))
    sums.scan(np.zeros(1, np.int64), fixed, factor, slope, np.zeros(1))
    return slope


# --- The best stump of sparse features under the current potentials


# Sums over entries and over rows differ by less than this share of the best.
_OF_SUMS = 1e-12


class FoundStump(NamedTuple):
    """A stump: where it is in the grid, its slope and, where known, W+ and W-."""

    position: int
    default: int
    slope: float
    weights: tuple[float, float] | None


class SparseStumps:
    """Chooses the stump that `StumpLearner` would choose of the same features stored densely.

    Parameters
    ----------
    grid : StumpGrid
        Over bins with sparse codes.
    choice : {"steepest", "steepest_positive", "largest_drop"}
    constraints : Constraints
    threads : int
    """

    def __init__(
        self, grid: StumpGrid, choice: str, constraints: Constraints, threads: int
    ) -> None:
        self._grid, self._choice, self._constrained = grid, choice, constraints.any
        self._positive = choice == "steepest_positive"
        sign = None
        if constraints.monotone is not None:
            sign = constraints.monotone[grid.bins.features].astype(np.float64)
        signed, drops = self._positive or constraints.cumulative, choice == "largest_drop"
        self.search = SparseSearch(grid, signed, sign, threads, drops=drops)

    def propose(
        self, potentials: Potentials, in_use: Iterable[int], may_step: Callable[[FoundStump], bool]
    ) -> FoundStump | None:
        """Return the best stump, or None if none orders anything better than chance.

        Parameters
        ----------
        in_use : numbers of stumps in the ensemble
            Under constraints, they alone can take a step against the direction they must have.
        may_step : function of a stump
            Whether the ensemble obeys the constraints after such a step.
        """
        search = self.search
        search.renew(potentials)
        if self._choice == "largest_drop":
            criterion = of_z(search.lowest_z())
        else:
            search.scan_contenders()
            criterion = np.where(search.slope_change == 0.0, search.best_slope, 0.0)
        best = float(criterion.max(initial=0.0))
        against = self._against(in_use, best, may_step) if self._constrained else {}
        for feature, (value, _) in against.items():
            criterion[feature] = max(criterion[feature], value)
            best = max(best, value)
        if not best > NOISE:
            return None
        close = np.flatnonzero(criterion >= worst_tied(best) * (1.0 - _OF_SUMS)).tolist()
        weights: dict[int, tuple[Floats, Floats]] = {}
        found = first_best_of(self._parts(close, against, weights), best)
        if found is None:
            return None
        feature = close[found[0]]
        k, default = divmod(found[1], 2)
        return self._stump(feature, k, default, *weights[feature])

    def _criterion(self, feature: int) -> tuple[Floats, Floats, Floats]:
        """Return criterion, slope and (W+, W-) of the stumps of a feature, by all rows."""
        if self._choice == "largest_drop":
            slope, right, wrong, z = self.search.dense_drops(feature)
            return of_z(z), slope, np.stack((right, wrong))
        slope = self.search.dense_slopes(feature)
        return (slope if self._positive else np.abs(slope)), slope, np.zeros(0)

    def _parts(
        self,
        features: list[int],
        against: dict[int, tuple[float, Bools]],
        weights: dict[int, tuple[Floats, Floats]],
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield criterion and slope of the stumps of each feature, by threshold and default."""
        for feature in features:
            criterion, slope, pairs = self._criterion(feature)
            weights[feature] = slope, pairs
            allowed = self.search.allowed(feature, slope)
            if feature in against:
                allowed |= against[feature][1]
            yield np.where(allowed, criterion, 0.0).T.ravel(), slope.T.ravel()

    def _stump(
        self, feature: int, k: int, default: int, slope: Floats, pairs: Floats
    ) -> FoundStump:
        known = None
        if len(pairs):
            known = float(pairs[0, default, k]), float(pairs[1, default, k])
        position = int(self._grid.first[feature]) + k
        return FoundStump(position, default, float(slope[default, k]), known)

    def _against(
        self, in_use: Iterable[int], best: float, may_step: Callable[[FoundStump], bool]
    ) -> dict[int, tuple[float, Bools]]:
        """Return stumps in use that may take a step against the direction they must have.

        By feature: the best criterion of them, and which they are. Only those that can be chosen
        are looked at.
        """
        out: dict[int, tuple[float, Bools]] = {}
        for position in sorted({number // 2 for number in in_use}):
            feature, k = self._grid.where(position)
            rough = self.search.entry_slopes(feature)
            reach = rough[:, k] if self._positive else np.abs(rough[:, k])
            if self._choice == "largest_drop":
                reach = of_z(1.0 - reach)  # (1 - Z is at most the slope)
            if not (reach >= worst_tied(best) * (1.0 - _OF_SUMS)).any():
                continue
            criterion, slope, pairs = self._criterion(feature)
            forbidden = ~self.search.allowed(feature, slope)[:, k] & (criterion[:, k] > 0.0)
            for default in np.flatnonzero(forbidden).tolist():
                if may_step(self._stump(feature, k, default, slope, pairs)):
                    value, which = out.get(feature, (0.0, np.zeros(slope.shape, bool)))
                    which[default, k] = True
                    out[feature] = max(value, float(criterion[default, k])), which
        return out


# --- Stumps ``[f_j(x) > theta]`` over all features, thresholds and abstention ranks
#
# This is WeakLearn of Freund et al. (2003, section 4 and figure 3) by histograms:
# WeakLearn.3 looks at the slope r of each stump (``steepest``), WeakLearn.2 at the Z it
# reaches (``largest_drop``), their ``.cum`` forms obey `Constraints`.


class StumpLearner(WeakLearner):
    """The best stump under the current potentials.

    Parameters
    ----------
    choice : {"steepest", "steepest_positive", "largest_drop"}
        Largest ``|r|``, largest ``r``, or smallest ``Z = W0 + 2 sqrt(W+ W-)``.
    default_rank : {"learned", 0, 1}
        Score of abstentions: the better of 0 and 1, or always the same.
    max_bins : int or None
        Bins per feature; None for one per distinct value.
    drawn_by : int or None
        Seed to draw thresholds at random; None for quantiles.
    """

    parted = "stumps"

    def __init__(
        self,
        choice: str = "steepest",
        default_rank: str | int = "learned",
        max_bins: int | None = 255,
        drawn_by: int | None = None,
    ) -> None:
        self.choice, self.default_rank = choice, default_rank
        self.max_bins, self.drawn_by = max_bins, drawn_by
        if choice == "largest_drop":
            self.needs = ("prepare_scan", "wrong_weights")

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = training.binned(self.max_bins, self.drawn_by, sparse=True)
        self._step, self._constraints = step, constraints
        self.grid = StumpGrid(self.bins, self.default_rank)
        self._weight: dict[int, float] = {}  # so far, of every stump in use
        self._jump: dict[int, float] = {}  # the same, both abstention ranks together
        self._direction: Floats | None = None
        if constraints.monotone is not None:
            self._direction = constraints.monotone[self.bins.features].astype(np.float64)
        self.drops: DropSearch | None = None  # (as large as all slopes, several times)
        self._sparse: SparseStumps | None = None
        if self.bins.sparse is not None:
            parts = (self.grid, self.choice, constraints)
            self._sparse = SparseStumps(*parts, training.threads)
            self.drops = self._sparse.search.drops
            return self.bins
        signed = self.choice == "steepest_positive"
        self.search = SlopeSearch(self.grid, signed, training.threads)
        if self.choice == "largest_drop":
            self.drops = DropSearch(self.search, training.threads)
        return self.bins

    # -- candidates ---------------------------------------------------------------

    def candidate(
        self, position: int, default: int, slope: float, weights: tuple[float, float] | None = None
    ) -> Candidate:
        """Return the stump at a position of the grid, with what is known of it."""
        stump = (position, default)
        ranker, output = self.grid.ranker(*stump), self.grid.output(*stump)
        return Candidate(ranker, output, slope, weights, 2 * position + default)

    def _offer(self, position: int, default: int) -> Candidate:
        """Return the stump at a position, with its slope (and weights, if scanned)."""
        slope = float(self.search.slope[default, position])
        weights = None if self.drops is None else self.drops.weights(position, default)
        return self.candidate(position, default, slope, weights)

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a stump of an earlier call was."""
        assert isinstance(ranker, Stump | Presence)
        return self.candidate(*self.grid.find(ranker), slope)

    def _best(self, features: Sequence[int], criterion: Floats | None = None) -> Candidate | None:
        """Return the best stump of some features by the tie rule.

        Parameters
        ----------
        criterion : array like the slopes
            By default the slope or its magnitude, according to ``choice``.
        """
        first, slope = self.search.first, self.search.slope
        cells = [np.s_[:, first[f] : first[f + 1]] for f in features]
        if criterion is not None:
            values = [criterion[cell] for cell in cells]
        elif self.choice == "steepest":
            values = [np.abs(slope[cell]) for cell in cells]
        else:
            values = [slope[cell] for cell in cells]
        peaks = [float(part.max()) for part in values]
        best = max(peaks, default=0.0)
        if not best > NOISE:
            return None
        close = [at for at, peak in enumerate(peaks) if peak >= worst_tied(best)]
        # (threshold, default) order inside the feature
        flat = ((values[at].T.ravel(), slope[cells[at]].T.ravel()) for at in close)
        found = first_best_of(flat, best)
        if found is None:
            return None
        number = 2 * int(first[features[close[found[0]]]]) + found[1]
        return self._offer(*divmod(number, 2))

    # -- the loop's questions -----------------------------------------------------

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best stump, or None if none orders anything better than chance."""
        if not len(self.bins.features):
            return None
        if self._sparse is not None:
            return self._of_entries(self._sparse, potentials)
        self.search.renew(potentials)
        if self.drops is not None:
            return self._largest_drop(potentials, self.drops)
        if self._constraints.any:
            self.search.scan_all()
            slope = self.search.slope
            criterion = np.abs(slope) if self.choice == "steepest" else np.maximum(slope, 0.0)
            self._forbid(criterion, potentials)
            return self._best(range(len(self.bins.features)), criterion)
        best = self.search.scan_contenders()
        close = np.flatnonzero(
            (self.search.slope_change == 0) & (self.search.best_slope >= worst_tied(best))
        )
        return self._best(close.tolist())

    def _of_entries(self, sparse: SparseStumps, potentials: Potentials) -> Candidate | None:
        """Return the best stump of sparse features."""

        def may_step(stump: FoundStump) -> bool:
            alpha = self._step(self.candidate(*stump), potentials)
            return alpha is not None and self._allowed(stump.position, stump.default, alpha)

        found = sparse.propose(potentials, self._weight, may_step)
        return None if found is None else self.candidate(*found)

    def _largest_drop(self, potentials: Potentials, drops: DropSearch) -> Candidate | None:
        """Return the stump with the smallest Z below 1."""
        scanned = drops.scan_contenders(potentials, self._constraints.any)
        first = self.search.first
        criterion = np.zeros_like(self.search.slope)
        for f in scanned:
            cells = np.s_[:, first[f] : first[f + 1]]
            criterion[cells] = of_z(drops.z[cells])
        if self._constraints.any:
            self._forbid(criterion, potentials)
        return self._best(scanned.tolist(), criterion)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the stump and, under its threshold, to the jump."""
        self._weight[candidate.slot] = self._weight.get(candidate.slot, 0.0) + alpha
        position = candidate.slot // 2
        self._jump[position] = self._jump.get(position, 0.0) + alpha
        if self.drops is not None and candidate.weights is not None:
            self.drops.stepped(candidate.weights, alpha)

    def reset_bounds(self) -> None:
        """Drop the bounds on W+ and W-: the pairs in use have changed."""
        if self.drops is not None:
            self.drops.reset_bounds()

    # -- constraints --------------------------------------------------------------

    def _allowed(self, position: int, default: int, alpha: float) -> bool:
        """Return whether the weights still obey the constraints after a step against them."""
        after = self._constraints.rate * alpha
        number = 2 * position + default
        if self._constraints.cumulative and not self._weight.get(number, 0.0) + after > 0.0:
            return False
        sign = self._sign(position)
        return sign == 0.0 or sign * (self._jump.get(position, 0.0) + after) >= 0.0

    def _sign(self, position: int) -> float:
        """Return the direction in which the jump at this threshold must go; 0 for any."""
        if self._direction is None:
            return 0.0
        feature, k = self.grid.where(position)
        inside = 0 < k <= len(self.bins.thresholds[feature])
        return float(self._direction[feature]) if inside else 0.0

    def _forbid(self, criterion: Floats, potentials: Potentials) -> None:
        """Set the criterion of stumps to 0 whose step would break a constraint.

        Steps in the right direction always obey; only stumps in use can take a step against
        it, so that no others are checked.
        """
        slope = self.search.slope
        before = criterion.copy()
        if self._constraints.cumulative:
            criterion[slope <= 0.0] = 0.0
        if self._direction is not None:
            signs = np.repeat(self._direction, np.diff(self.search.first))
            free = np.concatenate((self.search.first[:-1], self.search.first[1:] - 1))
            signs[free] = 0.0
            criterion[:, signs != 0.0] *= (slope * signs)[:, signs != 0.0] > 0.0
        for number in self._weight:
            position = number // 2
            for default in (0, 1):
                if criterion[default, position] == 0.0 and before[default, position] > 0.0:
                    alpha = self._step(self._offer(position, default), potentials)
                    if alpha is not None and self._allowed(position, default, alpha):
                        criterion[default, position] = before[default, position]


# --- Votes: stumps as classifiers, and the constant beside them, for AdaBoost


class VoteLearner(WeakLearner):
    """The best vote ``2 h - 1`` of a stump h, or the constant 1 if that is better.

    A vote gives every row 1 or -1, so that the largest ``|r|``, ``r = sum (2 h - 1) pi``, has
    the smallest ``Z = sqrt(1 - r^2)`` as well (Rudin & Schapire 2009, footnote 2). From the
    slope of its stump, ``r = 2 sum h pi - sum pi``. The constant takes part like any other;
    among equals it comes first, as a feature before all others would.

    Parameters
    ----------
    stumps : StumpLearner
        Bins the features and makes the stumps.
    """

    needs = ("net",)

    def __init__(self, stumps: StumpLearner) -> None:
        self.stumps = stumps

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self._ones = np.ones(len(training.rows), np.uint8)
        bins = self.stumps.prepare(training, constraints, step)
        self._peak = np.zeros(len(bins.features))  # largest |r| when last scanned
        self._sparse: SparseSearch | None = None
        if bins.sparse is not None:
            self._sparse = SparseSearch(self.stumps.grid, False, None, training.threads, 2.0)
        return bins

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the vote or constant with the largest ``|r|``; None if none beats chance."""
        net, grid = cast(BipartiteState, potentials.pairs).net, self.stumps.grid
        slopes, places = [np.array([net])], [np.full((1, 2), -1)]
        for f, slope in self._close(potentials, net):
            at = np.argwhere(grid.offered_of(f).T)  # (threshold, default) order
            slopes.append(2.0 * slope[at[:, 1], at[:, 0]] - net)
            places.append(at + np.array([int(grid.first[f]), 0]))
        r = np.concatenate(slopes)
        found = first_best(np.abs(r), r)
        if found is None:
            return None
        position, default = np.concatenate(places)[found].tolist()
        return self._candidate(position, default, float(r[found]))

    def _close(self, potentials: Potentials, net: float) -> list[tuple[int, Floats]]:
        """Return the features whose largest ``|r|`` ties with the best, and their slopes."""
        if self._sparse is not None:
            sparse = self._sparse
            sparse.renew(potentials, -net)
            best = sparse.scan_contenders(abs(net))
            tied = sparse.best_slope >= worst_tied(best) * (1.0 - 1e-12)
            close = (sparse.slope_change == 0.0) & tied
            return [(f, sparse.dense_slopes(f)) for f in np.flatnonzero(close).tolist()]
        search = self.stumps.search
        search.renew(potentials)
        best = self._scan_contenders(net)
        close = (search.slope_change == 0) & (self._peak >= worst_tied(best))
        return [
            (f, search.slope[:, search.first[f] : search.first[f + 1]])
            for f in np.flatnonzero(close).tolist()
        ]

    def _scan_contenders(self, net: float) -> float:
        """Scan every feature that can have the largest ``|r|`` or tie with it; return that.

        No r of a vote can change by more than the sum of the absolute changes of potentials,
        which is twice the change of the slopes of stumps.
        """
        search = self.stumps.search

        def scan(features: Ints) -> None:
            search.scan(features)
            for f in features.tolist():
                part = np.s_[:, search.first[f] : search.first[f + 1]]
                r = np.abs(2.0 * search.slope[part] - net)
                self._peak[f] = r[search.offered[part]].max(initial=0.0)

        upper_bound = self._peak + 2.0 * search.slope_change
        return search.scan_while_promising(self._peak, upper_bound, scan, abs(net))

    def _candidate(self, position: int, default: int, slope: float) -> Candidate:
        """Return a vote, or the constant for a position of -1."""
        weights = ((1.0 + slope) / 2.0, (1.0 - slope) / 2.0)  # it leaves out no row
        if position < 0:
            return Candidate(Constant(), self._ones, slope, weights)
        stump = self.stumps.candidate(position, default, slope)
        assert isinstance(stump.ranker, Stump | Presence)
        return Candidate(Vote(stump.ranker), stump.output, slope, weights, stump.slot)

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate for a ranker that an earlier call chose."""
        if isinstance(ranker, Constant):
            return self._candidate(-1, 0, slope)
        assert isinstance(ranker, Vote)
        stump = self.stumps.restore(ranker.ranker, slope)
        return self._candidate(stump.slot // 2, stump.slot % 2, slope)

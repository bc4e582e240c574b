"""The best stumps of sparse features, found from their stored entries alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from crucial.boosting.parts import Constraints
from crucial.boosting.stump_search import (
    NOISE,
    SNAP,
    TIE,
    Z_FLOOR,
    DropSearch,
    StumpGrid,
    first_best_of,
    worst_tied,
)
from crucial.feedback.base import Potentials, exponential_pairs
from crucial.kernels.stumps import SparseSums, StumpSums
from crucial.types import Bools, Codes, Floats, Ints

# --- The best stumps of sparse features, from their stored entries
#
# Sums over entries find the features that can have the best stump. Their stumps are then summed up
# over all rows, as those of dense features are: what is chosen, and its weight, are the same.


# Bounds come from sums of n terms; this much more is scanned than rounding could hide.
_SLACK = 1e-11
# Features scanned first; each time after that, so many times more.
_FIRST_LOOK, _GROWTH = 64, 4


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
        stumps = (grid.first, bins.has_missing, grid.fixed)
        self.sums = SparseSums(bins.sparse.entries, bins.sparse.n_padded, *stumps, threads)
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
        together = _FIRST_LOOK
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
    return codes, StumpSums(codes[None, :], bins.n_rows, first, missing, grid.fixed, False, 1)


def slopes_by_rows(sums: StumpSums, fixed: Ints, factor: float) -> Floats:
    """Return the sums of values over the ones of the stumps of the one feature of ``sums``."""
    slope = np.zeros((2, sums.n_stumps))
    sums.scan(np.zeros(1, np.int64), fixed, factor, slope, np.zeros(1))
    return slope


# --- The best stump of sparse features under the current potentials


# Sums over entries and over rows differ by less than this share of the best.
_ROUNDING = 1e-12


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
            criterion = self._of_z(search.lowest_z())
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
        close = np.flatnonzero(criterion >= worst_tied(best) * (1.0 - _ROUNDING)).tolist()
        weights: dict[int, tuple[Floats, Floats]] = {}
        found = first_best_of(self._parts(close, against, weights), best)
        if found is None:
            return None
        feature = close[found[0]]
        k, default = divmod(found[1], 2)
        return self._stump(feature, k, default, *weights[feature])

    @staticmethod
    def _of_z(z: Floats) -> Floats:
        """Return a criterion that is larger for a smaller Z, and 0 from 1 up."""
        # What is equal in Z by the tie rule is equal here.
        out: Floats = np.where(z < 1.0 - SNAP, 1.0 / (z + Z_FLOOR), 0.0)
        return out

    def _criterion(self, feature: int) -> tuple[Floats, Floats, Floats]:
        """Return criterion, slope and (W+, W-) of the stumps of a feature, by all rows."""
        if self._choice == "largest_drop":
            slope, right, wrong, z = self.search.dense_drops(feature)
            return self._of_z(z), slope, np.stack((right, wrong))
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
                reach = self._of_z(1.0 - reach)  # (1 - Z is at most the slope)
            if not (reach >= worst_tied(best) * (1.0 - _ROUNDING)).any():
                continue
            criterion, slope, pairs = self._criterion(feature)
            forbidden = ~self.search.allowed(feature, slope)[:, k] & (criterion[:, k] > 0.0)
            for default in np.flatnonzero(forbidden).tolist():
                if may_step(self._stump(feature, k, default, slope, pairs)):
                    value, which = out.get(feature, (0.0, np.zeros(slope.shape, bool)))
                    which[default, k] = True
                    out[feature] = max(value, float(criterion[default, k])), which
        return out

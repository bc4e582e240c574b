"""The best stump of sparse features under the current potentials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from crucial.feedback.base import Potentials
from crucial.types import Bools, Floats
from crucial.weak.base import Constraints
from crucial.weak.choose import NOISE, first_best_of, worst_tied
from crucial.weak.drops import SNAP, Z_FLOOR
from crucial.weak.stored_search import StoredSearch
from crucial.weak.stump_grid import StumpGrid

__all__ = ["FoundStump", "StoredStumps"]

# Sums over entries and over rows differ by less than this share of the best.
_ROUNDING = 1e-12


class FoundStump(NamedTuple):
    """A stump: where it is in the grid, its slope and, where known, W+ and W-."""

    position: int
    default: int
    slope: float
    weights: tuple[float, float] | None


class StoredStumps:
    """Chooses the stump that `StumpLearner` would choose of the same features stored densely.

    Parameters
    ----------
    grid : StumpGrid
        Over bins with stored codes.
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
        self.search = StoredSearch(grid, signed, sign, threads, drops=drops)

    def propose(
        self,
        potentials: Potentials,
        in_use: Iterable[int],
        may_step: Callable[[FoundStump], bool],
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
            criterion = np.where(search.drift == 0.0, search.peak, 0.0)
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

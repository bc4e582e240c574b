"""Stumps ``[f_j(x) > theta]`` over all features, thresholds and abstention ranks.

This is WeakLearn of Freund et al. (2003, section 3.4 and figure 3) by histograms:
WeakLearn.3 looks at the slope r of each stump (``steepest``), WeakLearn.2 at the Z it
reaches (``largest_drop``), their ``.cum`` forms obey `Constraints`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.bins import Bins
from crucial.feedback.potentials import Potentials
from crucial.kernels import plain
from crucial.kernels.threads import run_all
from crucial.model.weak import Presence, Stump
from crucial.weak.base import Candidate, Constraints, Material, StepRule
from crucial.weak.choose import NOISE, TIE, first_best
from crucial.weak.search import SlopeSearch

__all__ = ["SNAP", "StumpLearner"]

Floats = NDArray[np.float64]

# Weights below this share of the total are 0 that rounding did not leave alone: a square
# root would turn 1e-16 into 1e-8.
SNAP = 1e-13
# What a square root makes of such a 0 in a bound on Z.
_ROOT = 5e-8
# Z is a difference of numbers near 1: with this added, its rounding stays below the tie.
_FLOOR = 1e-5


class StumpLearner:
    """The best stump under the current potentials.

    Parameters
    ----------
    choice : {"steepest", "steepest_positive", "largest_drop"}
        Largest ``|r|``, largest ``r``, or smallest ``Z = W0 + 2 sqrt(W+ W-)``.
    default_rank : {"learned", 0, 1}
        What abstentions score: the better of 0 and 1, or always the same.
    max_bins : int or None
        Bins a feature; None for one per distinct value.
    """

    def __init__(
        self,
        choice: str = "steepest",
        default_rank: str | int = "learned",
        max_bins: int | None = 255,
    ) -> None:
        self.choice, self.default_rank, self.max_bins = choice, default_rank, max_bins

    def prepare(self, material: Material, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = Bins.build(
            material.instances, material.rows, material.weight, self.max_bins, material.threads
        )
        self._step, self._constraints, self._threads = step, constraints, material.threads
        fixed = -1 if self.default_rank == "learned" else int(self.default_rank)
        self._fixed = fixed
        signed = self.choice == "steepest_positive"
        self.search = SlopeSearch(self.bins, fixed, signed, material.threads)
        self._given: dict[int, float] = {}  # weight so far of every stump in use
        self._jump: dict[int, float] = {}  # the same, both abstention ranks together
        self._direction: Floats | None = None
        if constraints.monotone is not None:
            self._direction = constraints.monotone[self.bins.features].astype(np.float64)
        # What the exact search knows of W- and W+ since it last scanned a feature: their
        # values then, what share of them is left at least, and how far they can have fallen.
        self._wrong = np.zeros_like(self.search.slope)
        self._right = np.zeros_like(self.search.slope)
        self._shrink = np.zeros(len(self.bins.features))
        self._fall = np.full(len(self.bins.features), np.inf)
        self._draws = 0
        return self.bins

    # -- candidates ---------------------------------------------------------------

    def _slot(self, position: int, default: int) -> int:
        return 2 * position + default

    def _candidate(
        self, position: int, default: int, slope: float, weights: tuple[float, float] | None = None
    ) -> Candidate:
        feature = int(np.searchsorted(self.search.first, position, "right")) - 1
        k = position - int(self.search.first[feature])
        thresholds = self.bins.thresholds[feature]
        number = int(self.bins.features[feature])
        missing = bool(self.bins.has_missing[feature])
        shown = default if missing else max(self._fixed, 0)
        ranker: Stump | Presence
        if k == 0 or k == len(thresholds) + 1:
            ranker = Presence(number, default)
        else:
            ranker = Stump(number, float(thresholds[k - 1]), shown)
        codes = self.bins.codes[feature, : self.bins.n_rows]
        output = codes >= k
        if missing and default == 0:
            output &= codes != len(thresholds) + 1
        return Candidate(
            ranker, output.view(np.uint8), slope, weights, self._slot(position, default)
        )

    def replay(self, ranker: Stump | Presence, slope: float) -> Candidate:
        """The candidate that a stump of an earlier call was."""
        feature = int(np.searchsorted(self.bins.features, ranker.feature))
        thresholds = self.bins.thresholds[feature]
        if isinstance(ranker, Presence):
            k = 0 if ranker.default == 0 else len(thresholds) + 1
        else:
            k = int(np.searchsorted(thresholds, ranker.threshold)) + 1
        default = ranker.default if self.bins.has_missing[feature] else 0
        return self._candidate(int(self.search.first[feature]) + k, default, slope)

    def _pick(self, criterion: Floats, features: Iterable[int]) -> tuple[int, int] | None:
        """Best candidate of the features by the tie rule: its position and default."""
        first = self.search.first
        best = max(
            (float(criterion[:, first[f] : first[f + 1]].max()) for f in features), default=0
        )
        if not best > NOISE:
            return None
        falling: tuple[int, int] | None = None
        for f in features:
            a, b = int(first[f]), int(first[f + 1])
            # (threshold, default) order inside the feature.
            flat = np.ascontiguousarray(criterion[:, a:b].T).ravel()
            if flat.max() < best * (1.0 - TIE):
                continue
            slopes = np.ascontiguousarray(self.search.slope[:, a:b].T).ravel()
            at = first_best(flat, slopes, best)
            if at is None:
                continue
            found = (a + at // 2, at % 2)
            if slopes[at] > 0.0:
                return found
            falling = falling or found
        return falling

    # -- the loop's questions -----------------------------------------------------

    def propose(self, potentials: Potentials) -> Candidate | None:
        """The best stump, or None if none orders anything better than chance."""
        if not len(self.bins.features):
            return None
        if potentials.draws != self._draws:  # other pairs count now
            self._draws = potentials.draws
            self._shrink[:], self._fall[:] = 0.0, np.inf
        self.search.renew(potentials)
        if self.choice == "largest_drop":
            return self._largest_drop(potentials)
        if self._constraints.any:
            self.search.scan_all()
            return self._constrained(potentials)
        best = self.search.scan_contenders()
        close = np.flatnonzero((self.search.drift == 0) & (self.search.peak >= best * (1.0 - TIE)))
        slope = self.search.slope
        criterion = slope if self.choice == "steepest_positive" else _Magnitude(slope)
        at = self._pick(criterion, close.tolist())  # type: ignore[arg-type]
        return None if at is None else self._candidate(*at, float(slope[at[1], at[0]]))

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the stump and, under its threshold, to the jump."""
        self._given[candidate.slot] = self._given.get(candidate.slot, 0.0) + alpha
        position = candidate.slot // 2
        self._jump[position] = self._jump.get(position, 0.0) + alpha
        if candidate.weights is not None:
            least, variation = _change(candidate.weights, alpha)
            self._shrink *= least
            self._fall += variation

    # -- constraints --------------------------------------------------------------

    def _allowed(self, position: int, default: int, slope: float, alpha: float) -> bool:
        """Whether the weights still obey the constraints after a step against them."""
        after = self._constraints.rate * alpha
        if self._constraints.cumulative and not (
            self._given.get(self._slot(position, default), 0.0) + after > 0.0
        ):
            return False
        sign = self._sign(position)
        return sign == 0.0 or sign * (self._jump.get(position, 0.0) + after) >= 0.0

    def _sign(self, position: int) -> float:
        """Direction in which the jump at this threshold must go; 0 for none."""
        if self._direction is None:
            return 0.0
        feature = int(np.searchsorted(self.search.first, position, "right")) - 1
        k = position - int(self.search.first[feature])
        return (
            float(self._direction[feature]) if 0 < k <= len(self.bins.thresholds[feature]) else 0.0
        )

    def _forbid(self, criterion: Floats, alpha_of: Any) -> None:
        """Take candidates off the offer whose step would break a constraint.

        Steps in the direction asked for always obey; only stumps in use can take a step
        against it, so the others need no look.
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
        for slot in self._given:
            position = slot // 2
            for default in (0, 1):
                if criterion[default, position] == 0.0 and before[default, position] > 0.0:
                    alpha = alpha_of(position, default)
                    if alpha is not None and self._allowed(
                        position, default, slope[default, position], alpha
                    ):
                        criterion[default, position] = before[default, position]

    def _constrained(self, potentials: Potentials) -> Candidate | None:
        slope = self.search.slope
        criterion = np.abs(slope) if self.choice == "steepest" else np.maximum(slope, 0.0)

        def alpha_of(position: int, default: int) -> float | None:
            r = float(slope[default, position])
            return self._step(self._candidate(position, default, r), potentials)

        self._forbid(criterion, alpha_of)
        at = self._pick(criterion, range(len(self.bins.features)))
        return None if at is None else self._candidate(*at, float(slope[at[1], at[0]]))

    # -- exact Z ------------------------------------------------------------------

    def _largest_drop(self, potentials: Potentials) -> Candidate | None:
        """Smallest ``Z = 1 - s + sqrt(s^2 - r^2)``, ``s = W+ + W-``.

        r is cheap for all stumps; s needs a scan. Z rises with s, and what a step can
        take from s is known: a feature whose Z is too large even so is not scanned.
        """
        potentials.pairs.prepare_scan()
        search = self.search
        if search.small or self._constraints.any:  # (the best Z may not be admissible)
            search.scan_all()
        best = np.inf
        fresh = np.zeros(len(search.peak), bool)
        first_look = True
        while True:
            reach = self._reach()
            open_ones = np.flatnonzero(~fresh & np.isfinite(search.peak) & (reach < np.inf))
            if not self._constraints.any:
                open_ones = open_ones[reach[open_ones] <= best * (1.0 + TIE) + _ROOT]
            if not len(open_ones):
                break
            order = open_ones[np.argsort(reach[open_ones], kind="stable")]
            if first_look or not search.drift[order].any():
                order = order[: max(2, self._threads)]
                self._scan_all(order, potentials)
                fresh[order] = True
                best = min(best, min(float(self._z_of(int(f)).min()) for f in order))
                first_look = False
            else:  # with r known exactly, many drop out
                search.scan(order[search.drift[order] > 0])
        at = self._best_drop(potentials, np.flatnonzero(fresh))
        if at is None:
            return None
        weights = float(self._right[at[1], at[0]]), float(self._wrong[at[1], at[0]])
        return self._candidate(*at, float(search.slope[at[1], at[0]]), weights)

    def _reach(self) -> Floats:
        """Lower bound of the Z of every feature."""
        search = self.search
        reach = np.empty(len(self.bins.features))
        bounds = plain.drop_bounds
        if not search.small:
            from crucial.kernels import compiled

            bounds = compiled.drop_bounds
        bounds(
            search.slope,
            search.offered,
            search.drift,
            self._wrong,
            self._right,
            self._shrink,
            self._fall,
            search.first,
            reach,
        )
        return reach

    def _scan_all(self, features: NDArray[np.int64], potentials: Potentials) -> None:
        """Renew W- and W+ of all stumps of the features."""
        self.search.scan(features[self.search.drift[features] > 0])
        run_all(self._threads, [partial(self._scan, int(f), potentials) for f in features])

    def _scan(self, feature: int, potentials: Potentials) -> None:
        """Renew W- and W+ of all stumps of a feature."""
        a, b = int(self.search.first[feature]), int(self.search.first[feature + 1])
        n_bins = b - a - 1
        for default in (0, 1):
            r = self.search.slope[default, a:b]
            if not self.search.offered[default, a:b].any():
                continue
            wrong = self._wrong[default, a:b]
            potentials.pairs.wrong_weights(self.bins.codes[feature], n_bins, default, wrong)
            wrong[wrong < SNAP] = 0.0
            right = wrong + r
            nothing = right < SNAP
            right[nothing] = 0.0
            wrong[nothing] = np.maximum(-r[nothing], 0.0)
            self._right[default, a:b] = right
        self._shrink[feature] = 1.0
        self._fall[feature] = 0.0

    def _z_of(self, feature: int) -> Floats:
        """Z of the stumps of a feature, infinite for those not on offer."""
        part = slice(int(self.search.first[feature]), int(self.search.first[feature + 1]))
        right, wrong = self._right[:, part], self._wrong[:, part]
        z = np.maximum(1.0 - right - wrong + 2.0 * np.sqrt(right * wrong), 0.0)
        return np.where(self.search.offered[:, part], z, np.inf)

    def _best_drop(
        self, potentials: Potentials, features: NDArray[np.int64]
    ) -> tuple[int, int] | None:
        """Position and default of the smallest Z below 1 among the scanned features."""
        first = self.search.first
        # Larger is better for the tie rule, and what is equal in Z is equal here.
        criterion = np.zeros_like(self.search.slope)
        for f in features:
            z = self._z_of(int(f))
            criterion[:, first[f] : first[f + 1]] = np.where(
                z < 1.0 - SNAP, 1.0 / (z + _FLOOR), 0.0
            )
        if self._constraints.any:

            def alpha_of(position: int, default: int) -> float | None:
                weights = (
                    float(self._right[default, position]),
                    float(self._wrong[default, position]),
                )
                r = float(self.search.slope[default, position])
                return self._step(self._candidate(position, default, r, weights), potentials)

            self._forbid(criterion, alpha_of)
        return self._pick(criterion, features.tolist())


class _Magnitude:
    """|slope| of the few features that are looked at, not of all."""

    def __init__(self, slope: Floats) -> None:
        self._slope = slope

    def __getitem__(self, key: Any) -> Floats:
        part: Floats = self._slope[key]
        return np.abs(part)


def _change(weights: tuple[float, float], alpha: float) -> tuple[float, float]:
    """How a step changes the weight of any set of pairs.

    Returns
    -------
    least : what share of a weight is left at least
    variation : the total variation of the pair weights, which no weight's change exceeds
    """
    right, wrong = weights
    tied = max(0.0, 1.0 - right - wrong)
    factors = np.exp([-alpha, 0.0, alpha])
    shares = np.array([right, tied, wrong])
    factors /= float(shares @ factors)
    # A little more than rounding could make of it.
    return float(factors.min()) * (1.0 - 1e-12), 0.5 * float(shares @ abs(factors - 1.0)) + 1e-15

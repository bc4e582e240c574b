"""Stumps ``[f_j(x) > theta]`` over all features, thresholds and abstention ranks.

This is WeakLearn of Freund et al. (2003, section 4 and figure 3) by histograms:
WeakLearn.3 looks at the slope r of each stump (``steepest``), WeakLearn.2 at the Z it
reaches (``largest_drop``), their ``.cum`` forms obey `Constraints`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from crucial.data.bins import Bins
from crucial.feedback.potentials import Potentials
from crucial.model.weak import Presence, Stump, WeakRankerLike
from crucial.types import Floats
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.weak.choose import NOISE, first_best, worst_tied
from crucial.weak.drops import SNAP, DropSearch
from crucial.weak.search import SlopeSearch

__all__ = ["StumpLearner"]


# Z is a difference of numbers near 1: with this added, its rounding stays below the tie.
_FLOOR = 1e-5


class StumpLearner(WeakLearner):
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
        if choice == "largest_drop":
            self.needs = ("prepare_scan", "wrong_weights")

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> Bins:
        """Bin the features."""
        self.bins = Bins.build(
            training.instances, training.rows, training.weight, self.max_bins, training.threads
        )
        self._step, self._constraints, self._threads = step, constraints, training.threads
        fixed = -1 if self.default_rank == "learned" else int(self.default_rank)
        self._fixed = fixed
        signed = self.choice == "steepest_positive"
        self.search = SlopeSearch(self.bins, fixed, signed, training.threads)
        self._given: dict[int, float] = {}  # weight so far of every stump in use
        self._jump: dict[int, float] = {}  # the same, both abstention ranks together
        self._direction: Floats | None = None
        if constraints.monotone is not None:
            self._direction = constraints.monotone[self.bins.features].astype(np.float64)
        self.drops = DropSearch(self.search, training.threads)
        return self.bins

    # -- candidates ---------------------------------------------------------------

    def _slot(self, position: int, default: int) -> int:
        return 2 * position + default

    def candidate(
        self, position: int, default: int, slope: float, weights: tuple[float, float] | None = None
    ) -> Candidate:
        """The stump at a position of the search, with what is known of it."""
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

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate:
        """Return the candidate that a stump of an earlier call was."""
        assert isinstance(ranker, Stump | Presence)
        feature = int(np.searchsorted(self.bins.features, ranker.feature))
        thresholds = self.bins.thresholds[feature]
        if isinstance(ranker, Presence):
            k = 0 if ranker.default == 0 else len(thresholds) + 1
        else:
            k = int(np.searchsorted(thresholds, ranker.threshold)) + 1
        default = ranker.default if self.bins.has_missing[feature] else 0
        return self.candidate(int(self.search.first[feature]) + k, default, slope)

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
            if flat.max() < worst_tied(best):
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
        self.search.renew(potentials)
        if self.choice == "largest_drop":
            return self._largest_drop(potentials)
        if self._constraints.any:
            self.search.scan_all()
            return self._constrained(potentials)
        best = self.search.scan_contenders()
        close = np.flatnonzero((self.search.drift == 0) & (self.search.peak >= worst_tied(best)))
        slope = self.search.slope
        criterion = slope if self.choice == "steepest_positive" else _Magnitude(slope)
        at = self._pick(criterion, close.tolist())  # type: ignore[arg-type]
        return None if at is None else self.candidate(*at, float(slope[at[1], at[0]]))

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the stump and, under its threshold, to the jump."""
        self._given[candidate.slot] = self._given.get(candidate.slot, 0.0) + alpha
        position = candidate.slot // 2
        self._jump[position] = self._jump.get(position, 0.0) + alpha
        if candidate.weights is not None:
            self.drops.stepped(candidate.weights, alpha)

    def forget(self) -> None:
        """Drop the bounds on W+ and W-: other pairs count from now on."""
        self.drops.forget()

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
            return self._step(self.candidate(position, default, r), potentials)

        self._forbid(criterion, alpha_of)
        at = self._pick(criterion, range(len(self.bins.features)))
        return None if at is None else self.candidate(*at, float(slope[at[1], at[0]]))

    # -- exact Z ------------------------------------------------------------------

    def _largest_drop(self, potentials: Potentials) -> Candidate | None:
        """The stump with the smallest Z below 1."""
        scanned = self.drops.scan_contenders(potentials, self._constraints.any)
        first = self.search.first
        criterion = np.zeros_like(self.search.slope)
        for f in scanned:
            z = self.drops.z[:, first[f] : first[f + 1]]
            # Larger is better for the tie rule, and what is equal in Z is equal here.
            criterion[:, first[f] : first[f + 1]] = np.where(
                z < 1.0 - SNAP, 1.0 / (z + _FLOOR), 0.0
            )

        def offer(position: int, default: int) -> Candidate:
            r = float(self.search.slope[default, position])
            return self.candidate(position, default, r, self.drops.weights(position, default))

        if self._constraints.any:
            self._forbid(criterion, lambda p, d: self._step(offer(p, d), potentials))
        at = self._pick(criterion, scanned.tolist())
        return None if at is None else offer(*at)


class _Magnitude:
    """|slope| of the few features that are looked at, not of all."""

    def __init__(self, slope: Floats) -> None:
        self._slope = slope

    def __getitem__(self, key: Any) -> Floats:
        part: Floats = self._slope[key]
        return np.abs(part)

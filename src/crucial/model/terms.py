"""The weak rankers of an ensemble that are no step functions: scaled features, the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from crucial.errors import NotRankedError
from crucial.kernels.runtime import count_threads, run_all
from crucial.model.weak import QuasiKNN, ScaledFeature, WeakRankerLike
from crucial.types import Floats, Ints, Numbers

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = ["Terms", "checked_scores"]


_BLOCK = 1 << 18  # cells (row, round) per block


def checked_scores(ranker: WeakRankerLike, X: Numbers, groups: Groups | None) -> Floats:
    """Return the scores of a weak ranker; one of the user's must give one finite number per row."""
    scores = np.asarray(ranker.scores(X, groups), np.float64)
    if scores.shape != (len(X),):
        raise NotRankedError(
            f"the weak ranker {type(ranker).__name__} must give one score per row, shape "
            f"({len(X)},). Got shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise NotRankedError(
            f"the weak ranker {type(ranker).__name__} must give finite scores. Got "
            f"{scores[row]} for row {row}."
        )
    return scores


@dataclass(frozen=True, eq=False)
class Terms:
    """Weighted rankers that are added in the order of their rounds.

    Attributes
    ----------
    rankers : tuple of weak rankers
        Those that are not step functions, in the order of rounds.
    weights : tuple of float
        Their weights.
    """

    rankers: tuple[WeakRankerLike, ...]
    weights: tuple[float, ...]

    @cached_property
    def _scaled(self) -> tuple[list[ScaledFeature], Ints]:
        """The distinct rankers, and which of them each round uses."""
        slots: dict[ScaledFeature, int] = {}
        rounds = [slots.setdefault(r, len(slots)) for r in self.rankers]  # type: ignore[arg-type]
        return list(slots), np.array(rounds, np.int64)

    @cached_property
    def _parameters(self) -> tuple[Ints, Floats, Floats, Floats, Floats, Floats]:
        """Feature, low, high, unit and default of the distinct rankers, and all weights."""
        distinct, _ = self._scaled
        low, high, default = (
            np.array([getattr(ranker, name) for ranker in distinct])
            for name in ("low", "high", "default")
        )
        unit = np.array([ranker.unit for ranker in distinct])
        return (
            np.array([r.feature for r in distinct]),
            low,
            high,
            unit,
            default,
            np.array(self.weights),
        )

    def scores(self, X: Numbers, groups: Groups | None = None, n_jobs: int | None = 1) -> Floats:
        """Return the weighted sum of scores of every row, added in the order of rounds."""
        if all(isinstance(ranker, QuasiKNN) for ranker in self.rankers):
            return self._ranked(X, groups, count_threads(n_jobs))
        if any(not isinstance(ranker, ScaledFeature) for ranker in self.rankers):
            out = np.zeros(len(X))
            for ranker, weight in zip(self.rankers, self.weights, strict=True):
                out += weight * checked_scores(ranker, X, groups)
            return out
        step = max(1, _BLOCK // len(self.rankers))
        parts = [self._fold(X[begin : begin + step]) for begin in range(0, len(X), step)]
        return np.concatenate([np.zeros(0), *parts])

    def _ranked(self, X: Numbers, groups: Groups | None, threads: int) -> Floats:
        """Add rankings inside queries: several are sorted at a time, and added in order."""
        out = np.zeros(len(X))
        for begin in range(0, len(self.rankers), threads):
            some = self.rankers[begin : begin + threads]
            found = run_all(threads, [partial(checked_scores, one, X, groups) for one in some])
            for scores, weight in zip(found, self.weights[begin:], strict=False):
                out += weight * scores
        return out

    def _fold(self, X: Numbers) -> Floats:
        """Add all rounds of a block at once, by the same operations as `ScaledFeature.scores`."""
        features, low, high, unit, default, weights = self._parameters
        x = np.clip(X.take(features, axis=1).astype(np.float64), low, high)
        scaled = (x * unit - low * unit) / (high * unit - low * unit)
        scaled = np.where(np.isnan(scaled), default, scaled)
        return np.add.accumulate(scaled.take(self._scaled[1], axis=1) * weights, axis=1)[:, -1]

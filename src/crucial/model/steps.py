"""An ensemble of stumps as one step function per feature.

All stumps on a feature cut its values into cells, and every cell has one score. The
score of an instance is the sum of its cells' scores, feature after feature in ascending
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crucial.kernels.predict import StepTables, look_up, searchable
from crucial.model.weak import Presence, Stump, Vote
from crucial.types import Floats, Reals

__all__ = ["Ladder", "StepFunctions"]


@dataclass
class Ladder:
    """The step function of one feature while rounds are added.

    The score of a cell is the score of the cell below plus the summed weights of the
    stumps at the threshold between them. Adding in this order keeps a function whose
    summed weights are all positive exactly monotone, rounding included.
    """

    missing: float = 0.0
    lowest: float = 0.0
    jumps: dict[float, float] = field(default_factory=dict)

    def add(self, ranker: Stump | Presence | Vote, weight: float) -> None:
        """Add one round."""
        if isinstance(ranker, Vote):  # 2 h - 1
            self.missing -= weight
            self.lowest -= weight
            ranker, weight = ranker.ranker, 2.0 * weight
        if ranker.default == 1:
            self.missing += weight
        if isinstance(ranker, Stump):
            self.jumps[ranker.threshold] = self.jumps.get(ranker.threshold, 0.0) + weight
        elif ranker.default == 0:
            self.lowest += weight

    def thresholds(self) -> Floats:
        """Return -inf and the thresholds, ascending.

        Every value is greater than -inf and NaN is not, so the number of thresholds
        below a value is the number of its cell, and 0 where the feature abstains.
        """
        return np.array([-np.inf, *sorted(self.jumps)])

    def values(self) -> Floats:
        """Return the score where the feature abstains, then those of the cells, ascending."""
        steps = [self.lowest, *(self.jumps[threshold] for threshold in sorted(self.jumps))]
        return np.concatenate(([self.missing], np.add.accumulate(steps)))

    def scores(self, column: Reals) -> Floats:
        """Score the values of the feature."""
        return look_up(column, *searchable(self.thresholds(), self.values()))


class StepFunctions(StepTables):
    """The step functions of an ensemble of stumps; see `StepTables`."""

    @classmethod
    def compile(
        cls, rankers: Sequence[Stump | Presence | Vote], weights: Sequence[float]
    ) -> StepFunctions:
        """Add up an ensemble; weights of the same threshold are added in their order."""
        ladders: dict[int, Ladder] = {}
        for ranker, weight in zip(rankers, weights, strict=True):
            ladders.setdefault(ranker.feature, Ladder()).add(ranker, weight)
        used = sorted(ladders)
        thresholds = [ladders[feature].thresholds() for feature in used]
        values = [ladders[feature].values() for feature in used]
        functions = cls(
            np.array(used, np.int64),
            np.concatenate([np.zeros(0), *thresholds]),
            np.cumsum([0, *map(len, thresholds)], dtype=np.int64),
            np.concatenate([np.zeros(0), *values]),
        )
        for array in (functions.features, functions.thresholds, functions.starts, functions.values):
            array.flags.writeable = False
        return functions

"""What is known of the rows of two classes in all parts."""

from __future__ import annotations

import numpy as np

from crucial.distributed.feedback import PartedFeedback
from crucial.distributed.part_classes import ClassFacts
from crucial.distributed.parts import Parts
from crucial.errors import DataError
from crucial.estimators.targets import not_two
from crucial.feedback.base import RowMass, TwoClasses
from crucial.feedback.class_sums import ClassLogs
from crucial.feedback.label_state import Peaks
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats

__all__ = ["PartedClassFeedback"]


class PartedClassFeedback(PartedFeedback):
    """What is known of the rows of two classes in all parts.

    Parameters
    ----------
    whole : ClassFacts
    parts : Parts
    """

    def __init__(self, whole: ClassFacts, parts: Parts) -> None:
        self._whole, self.facts, self._parts = whole, whole.as_pairs, parts
        self.n_rows, self.n_pairs = whole.rows, self.facts.counts.pairs
        self.rows = np.broadcast_to(np.int64(0), self.facts.counts.rows)
        self.weight = None
        self.log_total, self.total = 0.0, 1.0
        self.n_queries, self.n_skipped = 1, 0

    @classmethod
    def of_classes(cls, parts: Parts, owner: str) -> PartedClassFeedback:
        """Let the parts sort their rows; refuse labels of other than two values."""
        whole: ClassFacts | None = parts.total("look_at_classes", changes=True)
        if whole is None or not whole.sizes:
            raise DataError("there is no row of positive weight in any part.")
        if len(whole.sizes) != 2:
            raise DataError(not_two(owner, len(whole.sizes)))
        parts.call("join_classes", whole, changes=True)
        return cls(whole, parts)

    def two_classes(self) -> TwoClasses:
        """Return both classes."""
        (low, bad, _), (high, _, _) = self._whole.sizes
        return TwoClasses(low, high, bad)

    def class_weights(self) -> tuple[float, float]:
        """Return what the rows of either class weigh."""
        (_, _, bad), (_, _, good) = self._whole.sizes
        return bad.value, good.value

    def row_mass(self) -> RowMass:
        """Return what the rows of all parts weigh."""
        return self._whole.mass

    def least_row_margin(self, scores: Floats) -> float:
        """Return the smallest ``y_i H(x_i)`` at the scores that the parts have."""
        return self.scored.margin_range()[0]

    def log_sums_of_model(self, model: AdditiveRanker, current: bool) -> tuple[float, float]:
        """Return the logarithms of F- and F+ of a model.

        Parameters
        ----------
        current : bool
            Whether its scores are those that the parts have.
        """
        wanted = None if current else model
        peaks: Peaks = self._parts.total("class_peaks", wanted)
        found: ClassLogs = self._parts.total("class_logs", wanted, peaks)
        return found.logs

"""Features themselves as weak rankers: scaled to [0, 1], or {0, 1} columns as they are."""

from __future__ import annotations

import numpy as np

from crucial.data.bins import Bins
from crucial.errors import DataError
from crucial.feedback.base import Output, Potentials
from crucial.kernels.runtime import run_all
from crucial.model.weak import ScaledFeature, WeakRankerLike
from crucial.types import Floats
from crucial.weak.along import largest_drop
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner, as_output
from crucial.weak.choose import NOISE, first_best

__all__ = ["ColumnLearner", "FeatureLearner"]


class FeatureLearner(WeakLearner):
    """A feature scaled to [0, 1] by its smallest and largest training value.

    Real-valued, so its weight comes from method 1 or 3 of Freund et al. (2003). Where the
    feature abstains, the better of 0 and 1 is learned, or a fixed number is taken.

    Parameters
    ----------
    choice : {"steepest", "steepest_positive", "largest_drop"}
        The feature with the largest ``|r|``, the largest ``r``, or the smallest Z at its best
        weight, which costs several passes over the pairs per feature.
    default_rank : "learned" or a number
        Any finite number for method 1; method 3 needs one in [0, 1].
    """

    def __init__(self, choice: str = "steepest", default_rank: str | float = "learned") -> None:
        self.choice, self.default_rank = choice, default_rank
        if choice == "largest_drop":
            self.needs = ("binary_weights", "moments", "fork")

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Find the range of every feature; the columns are kept as float64."""
        self._step, self._constraints = step, constraints
        self._weight: dict[int, float] = {}
        instances, rows = training.instances, training.rows
        self._rankers: list[ScaledFeature] = []
        self._outputs: list[Output] = []
        learned = self.default_rank == "learned"
        defaults = (0.0, 1.0) if learned else (float(self.default_rank),)
        tasks = [lambda j=j: instances.column(j, rows) for j in range(instances.n_features)]
        for j, raw in enumerate(run_all(training.threads, tasks)):
            values = raw.astype(np.float64)
            ranked = values[~np.isnan(values)]
            if not len(ranked):
                continue
            low, high = self._range(j, ranked)
            if not low < high:
                continue
            for default in defaults if len(ranked) < len(values) else defaults[:1]:
                self._rankers.append(ScaledFeature(j, low, high, default))
                alone = ScaledFeature(0, low, high, default)
                self._outputs.append(alone.scores(values[:, None]))
        return None

    def _range(self, feature: int, ranked: Floats) -> tuple[float, float]:
        return float(ranked.min()), float(ranked.max())

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the feature with the largest slope, or the smallest Z."""
        if not self._rankers:
            return None
        n = len(self._outputs[0])
        pi = potentials.pi[:n] * potentials.scale
        # (not np.dot: BLAS adds in an order that depends on its threads, and waits for them)
        slope = np.array([(pi * output).sum() for output in self._outputs])
        positive = self.choice == "steepest_positive"
        criterion = np.maximum(slope, 0.0) if positive else np.abs(slope)
        for at in np.flatnonzero(criterion > 0.0).tolist():
            if not self._admissible(at, float(slope[at]), potentials):
                criterion[at] = 0.0
            elif self.choice == "largest_drop":
                worth = criterion[at] > NOISE
                candidate = self._candidate(at, float(slope[at]))
                criterion[at] = largest_drop(candidate, potentials) if worth else 0.0
        best = first_best(criterion, slope)
        return None if best is None else self._candidate(best, float(slope[best]))

    def _candidate(self, at: int, slope: float) -> Candidate:
        return Candidate(self._rankers[at], self._outputs[at], slope, slot=at)

    def _admissible(self, at: int, slope: float, potentials: Potentials) -> bool:
        """Return whether the summed weight keeps the sign that the constraints ask for."""
        signs = [1.0] if self._constraints.cumulative else []
        if self._constraints.monotone is not None:
            signs.append(float(self._constraints.monotone[self._rankers[at].feature]))
        if all(sign == 0.0 or sign * slope > 0.0 for sign in signs):
            return True
        if at not in self._weight:
            return False
        alpha = self._step(self._candidate(at, slope), potentials)
        if alpha is None:
            return False
        after = self._weight[at] + self._constraints.rate * alpha
        return all(sign == 0.0 or sign * after > 0.0 for sign in signs)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the feature."""
        self._weight[candidate.slot] = self._weight.get(candidate.slot, 0.0) + alpha

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate | None:
        """Return the candidate that a ranker of an earlier call was.

        None for a feature that was scaled on other rows, as in a bag of them.
        """
        assert isinstance(ranker, ScaledFeature)
        if ranker not in self._rankers:
            return None
        return self._candidate(self._rankers.index(ranker), slope)


class ColumnLearner(FeatureLearner):
    """Columns that are weak rankers already, with scores in [0, 1].

    A matrix of weak rankers, as in Rudin & Schapire (2009, theorem 6), can be boosted as it
    is. Columns of only 0 and 1 may also take the exact step.
    """

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Check the columns."""
        super().prepare(training, constraints, step)
        self._outputs = [as_output(output) for output in self._outputs]
        return None

    def _range(self, feature: int, ranked: Floats) -> tuple[float, float]:
        if ranked.min() < 0.0 or ranked.max() > 1.0:
            raise DataError(
                f"precomputed weak rankers must score in [0, 1]. Column {feature} goes from "
                f"{ranked.min():g} to {ranked.max():g}; use weak='feature' to have it scaled."
            )
        return (0.0, 1.0) if ranked.min() < ranked.max() else (0.0, 0.0)

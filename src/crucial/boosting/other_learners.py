"""Features themselves as weak rankers, and checks of the user's own weak learners."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from crucial.boosting.loop import (
    Candidate,
    Constraints,
    StepRule,
    TrainingRows,
    WeakLearner,
    as_output,
)
from crucial.boosting.steps import STEPS, largest_drop
from crucial.boosting.stumps import NOISE, first_best
from crucial.data.bins import Bins
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Output, Potentials
from crucial.kernels.elementary import dot
from crucial.kernels.runtime import run_all
from crucial.model.weak import ScaledFeature, WeakRankerLike
from crucial.types import Floats

# --- Features themselves as weak rankers: scaled to [0, 1], or {0, 1} columns as they are


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
            self.needs = ("binary_weights", "moments", "copy")

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> None:
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
            abstains = len(ranked) < len(values)
            for default in defaults if abstains else defaults[:1]:
                low, high = self._range(j, ranked, default)
                if low < high and (abstains or ranked.min() < ranked.max()):
                    self._rankers.append(ScaledFeature(j, low, high, default))
                    alone = ScaledFeature(0, low, high, default)
                    self._outputs.append(alone.scores(values[:, None]))

    def _range(self, feature: int, ranked: Floats, default: float) -> tuple[float, float]:
        """Return the values that score 0 and 1.

        A constant tells the rows that it ranks from those on which it abstains: 1 beside a
        default of 0, and 0 beside 1.
        """
        low, high = float(ranked.min()), float(ranked.max())
        if low == high:
            return (low, low + 1.0) if default == 1.0 else (low - 1.0, low)
        return low, high

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

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate | None:
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

    def prepare(self, training: TrainingRows, constraints: Constraints, step: StepRule) -> None:
        """Check the columns."""
        super().prepare(training, constraints, step)
        self._outputs = [as_output(output) for output in self._outputs]

    def _range(self, feature: int, ranked: Floats, default: float) -> tuple[float, float]:
        if ranked.min() < 0.0 or ranked.max() > 1.0:
            raise DataError(
                f"precomputed weak rankers must score in [0, 1]. Column {feature} goes from "
                f"{ranked.min():g} to {ranked.max():g}; use weak='feature' to have it scaled."
            )
        return 0.0, 1.0


# --- Checks of users' weak learners: what they propose is tested in every round


_SAMPLE = 64  # rows on which the scores of a ranker must be the output of its candidate
_CLOSE = 1e-6


class CheckedLearner(WeakLearner):
    """A weak learner around a user's, which refuses candidates that break the contract.

    A wrong output would not fail: it would be learned from, and predict would then do
    something else.

    Parameters
    ----------
    learner : WeakLearner
        The user's.
    """

    def __init__(self, learner: WeakLearner) -> None:
        self._learner = learner
        self.needs = getattr(learner, "needs", ())

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Let the learner look at the data."""
        self._training, self._step = training, step
        rows, table = training.rows[:_SAMPLE], training.instances.table
        sparse = training.instances.is_sparse
        self._sample = table.tocsr()[rows].toarray() if sparse else table[rows]
        return self._learner.prepare(training, constraints, step)

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the learner's candidate, checked; its output as uint8 if binary, else float64."""
        found = self._learner.propose(potentials)
        if found is None:
            return None
        if not isinstance(found, Candidate):
            self._refuse(f"propose must return a Candidate or None. Got {type(found).__name__}.")
        output = self._checked_output(found.output)
        self._check_ranker(found.ranker, output)
        slope = dot(potentials.pi[: len(output)], output) * potentials.scale
        if not math.isclose(found.slope, slope, rel_tol=_CLOSE, abs_tol=_CLOSE):
            self._refuse(
                "the slope of a candidate must be the sum of potentials.scale * potentials.pi * "
                f"output, {slope:.9g}. Got {found.slope!r}."
            )
        return replace(found, output=output)

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Forward the weight to the learner."""
        self._learner.accept(candidate, alpha)

    def reset_bounds(self) -> None:
        """Forward to the learner, if it has the method."""
        if hasattr(self._learner, "reset_bounds"):
            self._learner.reset_bounds()

    def restore(self, ranker: WeakRankerLike, slope: float) -> Candidate | None:
        """Return the learner's candidate for a ranker of an earlier call, if it makes one."""
        found = self._learner.restore(ranker, slope) if hasattr(self._learner, "restore") else None
        return found and replace(found, output=self._checked_output(found.output))

    def _refuse(self, what: str) -> NoReturn:
        raise ParameterError(f"the weak learner {type(self._learner).__name__}: {what}")

    def _checked_output(self, values: ArrayLike) -> Output:
        """Return the output of a candidate, if it suits the step rule."""
        output, n = np.asarray(values), len(self._training.rows)
        if output.shape != (n,) or output.dtype.kind not in "biuf":
            self._refuse(
                f"the output of a candidate must be one number for each of the {n} training rows "
                f"(training.rows). Got {output.dtype} values of shape {output.shape}."
            )
        output = as_output(output)
        if output.dtype == np.uint8:
            return output
        if not np.isfinite(output).all():
            self._refuse(
                "the output of a candidate must be finite; choose a score for rows on which it has "
                f"no opinion. Got {output[~np.isfinite(output)][0]}."
            )
        name, scores = self._step.name, self._step.scores
        wider = [
            f"step={one.name!r}" for one in STEPS.values() if one.scores not in (scores, "binary")
        ]
        if scores == "binary":
            self._refuse(
                f"step={name!r} needs weak rankers of 0 and 1. Got an output with other scores; "
                f"use {' or '.join(wider)}."
            )
        if scores == "unit" and (output.min() < 0.0 or output.max() > 1.0):
            other = f", or use {' or '.join(wider)}" if STEPS.get(name) is type(self._step) else ""
            self._refuse(
                f"step={name!r} needs weak rankers with scores in [0, 1]. Got an output from "
                f"{output.min():g} to {output.max():g}; scale it{other}."
            )
        return output

    def _check_ranker(self, ranker: WeakRankerLike, output: Output) -> None:
        """Check that the ranker scores some rows as its candidate does."""
        if not isinstance(ranker, WeakRankerLike):
            self._refuse(
                "the ranker of a candidate must have a method scores(X, groups). Got "
                f"{type(ranker).__name__}."
            )
        if getattr(ranker, "needs_query", False):
            return  # (a sample of rows is no query)
        scores, expected = np.asarray(ranker.scores(self._sample, None)), output[:_SAMPLE]
        if scores.shape != expected.shape or not np.allclose(scores, expected, atol=_CLOSE):
            self._refuse(
                f"the scores of {type(ranker).__name__} are not the output of its candidate on "
                "the training rows; predict would not do what was learned."
            )

"""Checks of users' weak learners: what they propose is tested in every round."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.bins import Bins
from crucial.errors import ParameterError
from crucial.feedback.base import Output, Potentials
from crucial.kernels.elementary import dot
from crucial.model.weak import WeakRankerLike
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner, as_output

__all__ = ["CheckedLearner"]

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
    step : {"bound", "exact", "numeric", "smooth", "line_search"}
        The step rule's name: "exact" needs scores of 0 and 1, "bound" and the steps on the
        smooth margin scores in [0, 1]; "numeric" takes any finite numbers.
    """

    def __init__(self, learner: WeakLearner, step: str = "bound") -> None:
        self._learner, self._step = learner, step
        self.needs = getattr(learner, "needs", ())

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Let the learner look at the data."""
        self._training = training
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

    def forget(self) -> None:
        """Forward to the learner, if it has the method."""
        if hasattr(self._learner, "forget"):
            self._learner.forget()

    def replay(self, ranker: WeakRankerLike, slope: float) -> Candidate | None:
        """Return the learner's candidate for a ranker of an earlier call, if it makes one."""
        found = self._learner.replay(ranker, slope) if hasattr(self._learner, "replay") else None
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
        if self._step == "exact":
            self._refuse(
                "step='exact' needs weak rankers of 0 and 1. Got an output with other scores; use "
                "step='bound' or 'numeric'."
            )
        if self._step != "numeric" and (output.min() < 0.0 or output.max() > 1.0):
            other = ", or use step='numeric'" if self._step == "bound" else ""
            self._refuse(
                f"step={self._step!r} needs weak rankers with scores in [0, 1]. Got an output from "
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

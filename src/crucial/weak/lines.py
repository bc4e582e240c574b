"""Least squares by one feature: the weak learner of component-wise boosting."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

import numpy as np

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.stump_search import first_best
from crucial.data.bins import Bins
from crucial.feedback.base import Potentials
from crucial.feedback.query_means import QueryMeans
from crucial.kernels.runtime import is_small, run_all
from crucial.model.weak import Affine, ScaledFeature
from crucial.types import Floats
from crucial.weak.columns import UnitColumns

__all__ = ["LineLearner", "fitted_line"]

# Losses are compared by their quotient; with this added, one of 0 is no exception.
_FLOOR = 1e-5


class _FittedPairs(Protocol):
    """What the learner asks a state beyond potentials; see `crucial.objectives.regression`."""

    @property
    def means(self) -> QueryMeans: ...

    @property
    def scores(self) -> Floats: ...

    @property
    def offset(self) -> float: ...

    def risk_of(self, scores: Floats) -> float: ...


def fitted_line(columns: UnitColumns, at: int, slope: float, mean: float) -> Affine:
    """Return the line over a feature with this slope and this mean over the training rows."""
    return Affine(columns.rankers[at], mean - slope * float(columns.mean[at]), slope)


class LineLearner(WeakLearner):
    """The feature whose line ``a + b x`` fits the potentials best, by least squares.

    Parameters
    ----------
    means : QueryMeans
        Over the training rows; every query has an intercept.
    select : {"squares", "updated", "simple"}
        Which feature: the one with the least squares; or the one with the least loss over pairs,
        either of the scores after the round or of its own fit alone.
    l2 : float
        Ridge ``(l2 / 2) |w|^2`` on the summed weights of the features.
    standardise : bool
        Whether these weights belong to features of standard deviation 1, or of range 1.

    Attributes
    ----------
    columns : Columns
    """

    def __init__(
        self,
        means: QueryMeans,
        select: str = "squares",
        *,
        l2: float = 0.0,
        standardise: bool = True,
    ) -> None:
        self._means, self._select, self._l2, self._standardise = means, select, l2, standardise
        self.needs = ("means", "offset") if select == "squares" else ("means", "offset", "risk_of")

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Measure the features."""
        self.columns = UnitColumns(training, self._means)
        self._rate = constraints.rate
        # (threads cost more than they save where a loss takes microseconds)
        small = is_small(len(training.rows), len(self.columns))
        self._threads = 1 if small else training.threads
        self._weight = np.zeros(len(self.columns))
        unit = self.columns.norm / self._means.whole if self._standardise else 1.0
        self._ridge: Floats = self._l2 * self._means.whole * unit * np.ones(len(self.columns))
        self._begun = False
        self._slot = {ranker: at for at, ranker in enumerate(self.columns.rankers)}
        return None

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the line of the best feature; None if all are flat."""
        if not len(self.columns):
            return None
        state = cast(_FittedPairs, potentials.pairs)
        sums = potentials.pi[: len(self._means.mass)]
        pull = self.columns.dots(self._means.balanced(sums)) - self._ridge * self._weight
        norm = self.columns.norm + self._ridge
        slope = pull / norm
        mass = self._means.mass
        squares = float(np.divide(sums**2, mass, out=np.zeros(len(mass)), where=mass > 0.0).sum())
        if not squares > 0.0:
            return None
        criterion = np.abs(pull) / np.sqrt(norm * squares)
        if self._select != "squares":
            criterion = self._by_loss(state, slope, criterion)
        at = first_best(criterion, slope)
        if at is None:
            return None
        mean = float(sums.sum()) / self._means.whole
        if not self._begun:  # (the offset goes into the first round, whatever its weight)
            mean += state.offset / self._rate
        line = fitted_line(self.columns, at, float(slope[at]), mean)
        output = line.intercept + line.slope * self.columns.column(at)
        return Candidate(line, output, float(slope[at]), slot=at)

    def _by_loss(self, state: _FittedPairs, slope: Floats, criterion: Floats) -> Floats:
        """Return the least loss over that of each line that is not flat."""
        tried = np.flatnonzero(criterion > 1e-13).tolist()

        def risk(at: int) -> float:
            fit = slope[at] * self.columns.column(at)
            after = state.scores + self._rate * fit if self._select == "updated" else fit
            return state.risk_of(after)

        out = np.zeros(len(slope))
        losses = np.array(run_all(self._threads, [partial(risk, at) for at in tried])) + _FLOOR
        least = float(losses.min(initial=np.inf))
        # (where all are infinite, none is better than another)
        out[tried] = least / losses if np.isfinite(least) else 1.0
        return out

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add to the weight of the feature."""
        assert isinstance(candidate.ranker, Affine)
        assert isinstance(candidate.ranker.ranker, ScaledFeature)
        self._begun = True
        at = self._slot[candidate.ranker.ranker]
        self._weight[at] += alpha * candidate.ranker.slope

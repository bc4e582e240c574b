"""The eval set of a fit: measures after every round, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.feedback.base import Output
from crucial.kernels.sums import ExactSum
from crucial.measures.base import Prepared
from crucial.model.weak import (
    Affine,
    Constant,
    Presence,
    ScaledFeature,
    Stump,
    Vote,
    WeakRankerLike,
)
from crucial.types import Floats

__all__ = ["Differences", "Watch", "worse_by"]

# A share of the squares that is treated as zero.
_ROUNDING = 1e-13


class Watch:
    """The scores of an eval set after every round, and the measures on it.

    Parameters
    ----------
    instances, groups : the eval set
    measures : sequence of (name, function of scores, whether more is better)
        The first one decides when to stop.
    patience : int or None
        Rounds without a new best value before stopping.
    tolerance : float
        Standard errors, over the queries, by which a round may be worse than the best so far and
        still takes its place as ``best_round``. With few queries the first best round is a
        matter of luck, and mostly too early.
    """

    def __init__(
        self,
        instances: Instances,
        groups: Groups,
        measures: Sequence[tuple[str, Callable[[Floats], float], bool]],
        patience: int | None,
        tolerance: float = 0.0,
    ) -> None:
        self.instances, self._groups, self._measures = instances, groups, measures
        self._patience, self._tolerance = patience, tolerance
        self._best_queries: Floats | None = None  # the measure on each, in the best round
        self.scores = np.zeros(instances.n_rows)
        self.best_round = 0
        self._best = -np.inf
        self._seen = 0
        self._bins: Bins | None = None

    def prepare(self, bins: Bins | None, threads: int) -> None:
        """Code the eval set as the training set was, so that stumps cost one comparison.

        Where the codes of the training set are those of stored entries, nothing is coded: stumps
        are computed from the column of their feature.
        """
        self._bins = None if bins is None or bins.sparse is not None else bins
        if bins is not None and self._bins is not None:
            rows = np.arange(self.instances.n_rows)
            self._codes = bins.recode(self.instances, rows, threads)
            self._place = {int(j): f for f, j in enumerate(bins.features)}

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Add a weak ranker to the scores and measure them."""
        self.scores += alpha * self._output(ranker)
        return self.look()

    def _output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker, by the codes of its feature where there are some."""
        if isinstance(ranker, Constant):
            return np.ones(self.instances.n_rows)
        if isinstance(ranker, Vote):
            return 2.0 * self._output(ranker.ranker) - 1.0
        if isinstance(ranker, Affine):
            return ranker.intercept + ranker.slope * self._output(ranker.ranker)
        if self._bins is not None and isinstance(ranker, Stump | Presence):
            f = self._place[ranker.feature]
            codes = self._codes[f, : self.instances.n_rows]
            absent = codes == len(self._bins.thresholds[f]) + 1
            if isinstance(ranker, Presence):
                return np.where(absent, ranker.default, 1 - ranker.default)
            k = np.searchsorted(self._bins.thresholds[f], ranker.threshold) + 1
            return np.where(absent, ranker.default, codes >= k)
        if isinstance(ranker, ScaledFeature | Stump | Presence):
            column = self.instances.column(ranker.feature)[:, None]
            return replace(ranker, feature=0).scores(column)
        return ranker.scores(self.instances.dense_table(), self._groups)

    def look(self) -> dict[str, float]:
        """Measure the current scores; record the round if it is the best so far."""
        self._seen += 1
        values = self._measured()
        name, more = self.deciding
        if self._may_be_best():
            value = values[name] if more else -values[name]
            if value > self._best:  # the first of equal rounds stays
                self._best, self.best_round = value, self._seen
                self._keep()
            elif self._tolerance > 0.0 and self._worse() < self._tolerance:
                self.best_round = self._seen
        return values

    def _measured(self) -> dict[str, float]:
        """Return the measures of the current scores, by name."""
        scores = self.scores
        name, first, _ = self._measures[0]
        self._queries: Floats | None = None  # the deciding measure on each
        values: dict[str, float] = {}
        if self._tolerance > 0.0 and isinstance(first, Prepared):
            self._queries = first.per_query(scores)
            values[name] = first.summary(self._queries)[0]
        for other, function, _ in self._measures:
            if other not in values:
                values[other] = function(scores)
        return values

    def _keep(self) -> None:
        """Remember the queries of the best round."""
        self._best_queries = self._queries

    def _worse(self) -> float:
        """Return by how many standard errors a round is worse than the best."""
        _, measure, more = self._measures[0]
        queries = self._queries
        if queries is None or self._best_queries is None:
            return math.inf
        assert isinstance(measure, Prepared)
        worse = self._best_queries - queries if more else queries - self._best_queries
        weights = None if measure.measure.aggregate == "mean" else measure.bound.weights
        return worse_by(worse, weights)

    def _may_be_best(self) -> bool:
        """Return whether the ensemble may end with the current round."""
        return True

    @property
    def deciding(self) -> tuple[str, bool]:
        """The measure that decides which round is best, and whether more of it is better."""
        name, _, more = self._measures[0]
        return name, more

    @property
    def done(self) -> bool:
        """Whether patience has run out."""
        return self._patience is not None and self._seen - self.best_round >= self._patience


@dataclass(frozen=True)
class Differences:
    """Sums of differences, query by query, without rounding; those of parts merge.

    Attributes
    ----------
    n : int
        Queries with a difference.
    sums : ExactSums of w, w d, w^2, w^2 d and w^2 d^2
        Over the weights w and the differences d of the queries.
    """

    n: int
    sums: tuple[ExactSum, ...]

    @classmethod
    def of(cls, differences: Floats, weights: Floats | None = None) -> Differences:
        """Add up the differences of some queries; parameters as in `worse_by`."""
        known = ~np.isnan(differences)
        d = differences[known]
        w = np.ones(len(d)) if weights is None else weights[known]
        terms = (w, w * d, w**2, w**2 * d, (w * d) ** 2)
        return cls(len(d), tuple(ExactSum.of(term) for term in terms))

    def merge(self, other: Differences) -> Differences:
        """Return the sums over the queries of both."""
        sums = (one + two for one, two in zip(self.sums, other.sums, strict=True))
        return Differences(self.n + other.n, tuple(sums))

    def worse_by(self) -> float:
        """Return the weighted mean difference in standard errors of it; see `worse_by`."""
        total, first, weight, cross, squares = (one.value for one in self.sums)
        if self.n < 2 or not total > 0.0:
            return math.inf
        mean = first / total
        spread = squares - mean * (2.0 * cross - mean * weight)
        if not spread > _ROUNDING * squares:
            return math.inf
        return mean * total / math.sqrt(spread * self.n / (self.n - 1))


def worse_by(differences: Floats, weights: Floats | None = None) -> float:
    """Return the mean of differences, query by query, in standard errors of it.

    Parameters
    ----------
    differences : array over the queries
        NaN where the measure has no value.
    weights : array over the queries, optional
        Numbers of pairs. (Squares of weights below 1e-150 would lose digits.)

    Returns
    -------
    float
        Infinite where there is no error to compare with: all differences are the same, or
        there is one query.

    Examples
    --------
    >>> round(worse_by(np.array([0.1, 0.0, np.nan, 0.2])), 12), worse_by(np.zeros(5))
    (1.732050807569, inf)
    """
    return Differences.of(differences, weights).worse_by()

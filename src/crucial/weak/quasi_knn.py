"""Quasi-KNN rankings of features, which DiffRank boosts and FeatureRank adds up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.boosting.parts import Candidate, Constraints, StepRule, TrainingRows, WeakLearner
from crucial.boosting.stump_search import NOISE
from crucial.data.bins import Bins, Cutter, over_features
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Potentials
from crucial.kernels.elementary import dot
from crucial.model.weak import QuasiKNN, Regions, middle_positions
from crucial.types import Floats, Ints
from crucial.weak.intervals import centres_of, interval_codes
from crucial.weak.whole_weights import whole_weights

__all__ = ["FeatureRankings", "QuasiKNNLearner", "RankedQueries", "best_first"]


# Features ranked ahead of their turn, for each thread: neighbours are fetched together.
_AHEAD = 4


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """The training rows, query after query, with the labels that make the intervals.

    Attributes
    ----------
    labels : array over the rows
    starts : int array of shape (n_queries + 1,)
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    weight : array over the rows, or None
        How many units every row weighs, as whole numbers.
    unit : float
        A row of 2 / unit units counts as two.
    """

    labels: Floats
    starts: Ints
    weight: Floats | None = None
    unit: float = 1.0

    @classmethod
    def of(cls, feedback: Feedback) -> RankedQueries:
        """Return the rows of a feedback from labels."""
        rows = feedback.labelled()
        if rows is None:
            raise DataError(f"intervals of relevance need labels, not {type(feedback).__name__}.")
        if feedback.weight is None:
            return cls(rows.labels, rows.layout.row_start)
        return cls(rows.labels, rows.layout.row_start, *whole_weights(feedback.weight))

    @property
    def spread(self) -> tuple[Floats, Floats]:
        """Position of the lowest row and distance to the highest, for every row.

        In a query of n rows 1/2 and ``n - 1``, U_q in Wang et al.: ranks differ by no
        more. Rows that weigh less than 1 lie closer together.
        """
        first, sizes = self.starts[:-1], np.diff(self.starts)
        if self.weight is None:
            lightest, whole = np.ones(len(sizes)), sizes.astype(np.float64)
        else:
            lightest = np.minimum(np.minimum.reduceat(self.weight, first), 1.0 / self.unit)
            whole = np.add.reduceat(self.weight, first)
        distance = whole - lightest
        distance[distance <= 0.0] = 1.0  # (a row that is alone)
        return np.repeat(lightest / 2.0, sizes), np.repeat(distance, sizes)


class FeatureRankings:
    """The quasi-KNN ranking of every feature, computed on demand.

    Parameters
    ----------
    training : TrainingRows
        Its rows are those of the queries, in their order.
    queries : RankedQueries
    n_intervals : int
    kind : {"mean", "prior", "middle", "posterior"}
        See `crucial.weak.intervals.interval_codes`.
    owner : str
        Name for messages.
    """

    def __init__(
        self,
        training: TrainingRows,
        queries: RankedQueries,
        n_intervals: int,
        kind: str = "mean",
        owner: str = "QuasiKNN",
    ) -> None:
        self._training, self._queries, self._n_intervals = training, queries, n_intervals
        self._codes = interval_codes(
            queries.labels, queries.starts, n_intervals, queries.weight, kind, owner, queries.unit
        )
        self._known: dict[int, QuasiKNN | None] = {}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._training.instances.n_features

    @property
    def useless(self) -> list[int]:
        """Features so far that rank nothing: constant, or without any value."""
        return sorted(j for j, ranker in self._known.items() if ranker is None)

    def ranked(self, features: Sequence[int]) -> list[tuple[QuasiKNN, Floats] | None]:
        """Return ranker and middle positions of some features; None for one that ranks nothing."""
        chosen = np.array(features, np.int64)

        def work(place: int, cutter: Cutter) -> tuple[QuasiKNN, Floats] | None:
            return self._ranked(int(chosen[place]), cutter)

        training = self._training
        return over_features(training.instances, chosen, training.rows, training.threads, work)

    def _ranked(self, feature: int, cutter: Cutter) -> tuple[QuasiKNN, Floats] | None:
        """Return ranker and middle positions of one feature."""
        raw = cutter.fetch(feature)
        self._training.instances.checked(raw, feature, self._training.rows)
        values = raw.astype(np.float64)
        weight = self._queries.weight
        if feature not in self._known:
            centres = centres_of(values, self._codes, self._n_intervals, weight)
            self._known[feature] = _ranker(feature, centres)
        ranker = self._known[feature]
        if ranker is None:
            return None
        return ranker, middle_positions(values, self._queries.starts, ranker.regions, weight)

    def stream(self, features: Sequence[int]) -> Iterator[tuple[QuasiKNN, Floats] | None]:
        """Yield the same one after the other, a few features ahead in parallel."""
        step = _AHEAD * self._training.threads
        for begin in range(0, len(features), step):
            yield from self.ranked(features[begin : begin + step])


def _ranker(feature: int, centres: tuple[float | None, ...]) -> QuasiKNN | None:
    if all(one is None for one in centres):
        return None
    if not Regions.around(centres).direction.any():
        return None  # all centres are equal: no interval is better than another
    return QuasiKNN(feature, centres)


class QuasiKNNLearner(WeakLearner):
    """Proposes the quasi-KNN ranking of one feature after the other (Wang et al., figure 4).

    Features whose ranking does not help at all are skipped.

    Parameters
    ----------
    queries : RankedQueries
    n_intervals : int
    kind : {"mean", "prior", "middle", "posterior"}
    potentials : array over the rows, optional
        Those before the first round: features are then taken by falling ``|r|`` under
        them, instead of in the order of the columns.
    cycles : int
        How often to go through the features.
    owner : str
        Name for messages.
    """

    def __init__(
        self,
        queries: RankedQueries,
        n_intervals: int = 8,
        kind: str = "mean",
        potentials: Floats | None = None,
        cycles: int = 1,
        owner: str = "QuasiKNN",
    ) -> None:
        self._queries, self._how = queries, (n_intervals, kind, owner)
        self._first, self._cycles = potentials, cycles

    def prepare(
        self, training: TrainingRows, constraints: Constraints, step: StepRule
    ) -> Bins | None:
        """Cut the queries into intervals and put the features in order."""
        self.rankings = FeatureRankings(training, self._queries, *self._how)
        self._low, self._span = self._queries.spread
        order = self._order()
        turns = (self.rankings.stream(order) for _ in range(self._cycles))
        self._ahead = itertools.chain.from_iterable(turns)
        return None

    def _order(self) -> list[int]:
        """Return the features in the order in which a cycle takes them."""
        features = list(range(self.rankings.n_features))
        if self._first is None:
            return features
        slopes = [
            0.0 if found is None else abs(dot(self._first, self._output(found[1])))
            for found in self.rankings.stream(features)
        ]
        return best_first(slopes)

    def _output(self, positions: Floats) -> Floats:
        return (positions - self._low) / self._span

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the next feature that helps."""
        pi = potentials.pi[: len(self._low)]
        for found in self._ahead:
            if found is None:
                continue
            output = self._output(found[1])
            slope = dot(pi, output) * potentials.scale
            if abs(slope) > NOISE:
                return Candidate(found[0], output, slope)
        return None


def best_first(values: Sequence[float]) -> list[int]:
    """Return positions by falling value; rounding errors do not order equal values.

    Examples
    --------
    >>> best_first([0.1, 0.3, 0.3 + 1e-15])
    [1, 2, 0]
    """
    top = max((abs(one) for one in values), default=0.0) or 1.0
    return sorted(range(len(values)), key=lambda j: -round(values[j] / top, 10))

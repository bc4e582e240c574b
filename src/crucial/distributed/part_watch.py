"""The eval rows of a part: their scores, and what the measures of their queries add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.boosting.watch import Differences
from crucial.data.groups import Groups
from crucial.distributed.coded_rows import CodedRows
from crucial.distributed.part_rows import PartRows
from crucial.measures.base import Measure, Tally
from crucial.model.weak import WeakRankerLike
from crucial.types import Floats

__all__ = ["EvalFacts", "PartWatch", "Tallies"]


@dataclass(frozen=True)
class EvalFacts:
    """What is known of eval rows.

    Attributes
    ----------
    lowest, highest : float
        Labels.
    """

    lowest: float
    highest: float

    @classmethod
    def of(cls, rows: PartRows) -> EvalFacts:
        """Look at some rows."""
        labels = rows.labels
        return cls(float(labels.min()), float(labels.max()))

    def merge(self, other: EvalFacts) -> EvalFacts:
        """Return the facts of both parts."""
        lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        return EvalFacts(lowest, highest)


@dataclass(frozen=True)
class Tallies:
    """Measures of the eval set after a round.

    Attributes
    ----------
    measures : tuple of Tally
        One per measure.
    worse : Differences or None
        How much worse queries are than in the best round, by the first measure.
    """

    measures: tuple[Tally, ...]
    worse: Differences | None

    def merge(self, other: Tallies) -> Tallies:
        """Return the measures of both parts."""
        both = zip(self.measures, other.measures, strict=True)
        worse = None
        if self.worse is not None and other.worse is not None:
            worse = self.worse.merge(other.worse)
        return Tallies(tuple(one.merge(two) for one, two in both), worse)


class PartWatch:
    """Eval rows with their scores.

    Parameters
    ----------
    rows : PartRows
    measures : sequence of Measure
        The first one decides which round is best.
    """

    def __init__(self, rows: PartRows, measures: Sequence[Measure]) -> None:
        # (values may be missing here where none is in training)
        bins = replace(rows.bins, has_missing=np.ones(len(rows.bins.features), bool))
        self._coded, self._scores = CodedRows(bins), np.zeros(rows.n_rows)
        groups = Groups.from_qid(rows.query, rows.n_rows)
        self._measures = [one.prepare(rows.labels, groups) for one in measures]
        self._values: Floats | None = None  # of every query, by the first measure
        self._best: Floats | None = None  # the same in the best round

    def keep_best(self) -> None:
        """Remember the scores as those of the best round."""
        if self._values is None:
            self.tallies()
        self._best = self._values

    def move(self, ranker: WeakRankerLike, alpha: float) -> None:
        """Add a weak ranker to the scores."""
        self._scores += alpha * self._coded.output(ranker)
        self._values = None

    def tallies(self) -> Tallies:
        """Measure the scores."""
        values = [one.per_query(self._scores) for one in self._measures]
        first, self._values = self._measures[0], values[0]
        worse = None
        if self._best is not None:
            better = first.measure.higher_is_better
            worse = self._best - values[0] if better else values[0] - self._best
        weights = None if first.measure.aggregate == "mean" else first.bound.weights
        return Tallies(
            tuple(one.tally(own) for one, own in zip(self._measures, values, strict=True)),
            None if worse is None else Differences.of(worse, weights),
        )

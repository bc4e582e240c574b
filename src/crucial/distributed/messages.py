"""What goes to the parts and comes back from them in a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from crucial.boosting.pair_losses import LogisticTotals, ScoreReach
from crucial.boosting.parts import Objective
from crucial.boosting.row_losses import LossTotals
from crucial.distributed.part_watch import EvalFacts, Tallies
from crucial.feedback.labels import Peaks, QueryTotals
from crucial.kernels.runtime import Counts
from crucial.kernels.sums import ExactSum
from crucial.model.weak import WeakRankerLike
from crucial.types import Bools, Floats, Ints

__all__ = [
    "Exact",
    "Histogram",
    "Move",
    "Numbers",
    "PartSurvey",
    "Question",
    "RoundAnswer",
    "Setup",
    "Totals",
    "places_of",
]


#: What the losses of queries, or of their pairs, add up to.
Totals: TypeAlias = QueryTotals | LossTotals | LogisticTotals


@dataclass(frozen=True)
class PartSurvey:
    """What there is in parts.

    Attributes
    ----------
    lowest : float
        Label of the training rows that weigh anything; infinite without any.
    eval_facts : EvalFacts or None
        None without eval rows.
    """

    lowest: float
    eval_facts: EvalFacts | None

    def merge(self, other: PartSurvey) -> PartSurvey:
        """Return what there is in both parts."""
        facts = _both(self.eval_facts, other.eval_facts)
        return PartSurvey(min(self.lowest, other.lowest), facts)


@dataclass(frozen=True)
class Setup:
    """What a part needs to know of the whole in order to begin.

    Attributes
    ----------
    objective : Objective
    log_total : float
        Logarithm of the weight of the pairs of all parts.
    counts : Counts
        Of all parts: their size decides which kernels run.
    row_weight : float
        Weight of all rows.
    has_missing : bool array over the features
        Whether any row of any part abstains.
    watched : bool
        Whether eval rows, if there are some, are measured after every round.
    """

    objective: Objective
    log_total: float
    counts: Counts
    row_weight: float
    has_missing: Bools
    watched: bool


@dataclass(frozen=True)
class Move:
    """A weak ranker with its weight, which moves the scores.

    Attributes
    ----------
    span : (float, float) or None
        Smallest and largest step of any row of any part, for a ranker of other scores than 0
        and 1.
    best : bool
        Whether the scores before it are the best so far on the eval set.
    """

    ranker: WeakRankerLike
    alpha: float
    span: tuple[float, float] | None = None
    best: bool = False


@dataclass(frozen=True)
class Question:
    """What the parts should return of the scores that they have.

    Attributes
    ----------
    unit : float or None
        Unit of the potentials in histograms; None: no histograms.
    features : int array or None
        Features of the histograms; None: all.
    scales : (float, float) or None
        The scale of the potentials before the move, and a guess of that after it: how far
        potentials are apart tells which features can have the best stump.
    peaks : Peaks or None
        Largest losses of all parts, where weights are computed from logarithms.
    reach : ScoreReach or None
        How far apart the scores of all parts are, where the logistic loss depends on it.
    sizes : bool
        Whether absolute potentials and curvature are added up, for a tree.
    trial : bool
        Whether it is about the scores of a trial, which move beside those of the fit.
    """

    unit: float | None = None
    features: Ints | None = None
    scales: tuple[float, float] | None = None
    peaks: Peaks | None = None
    reach: ScoreReach | None = None
    sizes: bool = False
    trial: bool = False


@dataclass(frozen=True)
class Histogram:
    """Sums of potentials, or of weights of pairs, per bin, as whole numbers of a unit."""

    sums: Ints

    def merge(self, other: Histogram) -> Histogram:
        """Return the sums of both parts."""
        return Histogram(self.sums + other.sums)


@dataclass(frozen=True)
class Numbers:
    """Numbers of queries."""

    numbers: Ints

    def merge(self, other: Numbers) -> Numbers:
        """Return the numbers of both parts, in rising order."""
        return Numbers(np.sort(np.concatenate((self.numbers, other.numbers))))


@dataclass(frozen=True)
class RoundAnswer:
    """What a part returns of a round.

    Attributes
    ----------
    totals : of the kind that the objective has, or None
        None where the peaks of all parts have to be known first.
    peaks : Peaks or None
    hist : int64 array or None
        Histograms, one feature after the other; None where the unit was too small, or they were
        not asked for.
    distance : float
        Summed distance of potentials from those before, under the scales that were asked for.
    reach : ScoreReach or None
        How far apart scores are, for the logistic loss.
    sizes : Exact or None
        Absolute potentials and curvature.
    tallies : Tallies or None
        Of the eval set.
    """

    totals: Totals | None
    peaks: Peaks | None = None
    hist: Ints | None = None
    sizes: Exact | None = None
    tallies: Tallies | None = None
    distance: float = 0.0
    reach: ScoreReach | None = None

    @property
    def _has_rows(self) -> bool:
        return self.totals is not None or self.peaks is not None

    def merge(self, other: RoundAnswer) -> RoundAnswer:
        """Return the answer of both parts."""
        hist = None
        if not (self._has_rows and other._has_rows):
            hist = self.hist if self._has_rows else other.hist
        elif self.hist is not None and other.hist is not None:
            hist = self.hist + other.hist
        return RoundAnswer(
            _both(self.totals, other.totals),
            _both(self.peaks, other.peaks),
            hist,
            _both(self.sizes, other.sizes),
            _both(self.tallies, other.tallies),
            self.distance + other.distance,
            _both(self.reach, other.reach),
        )


@dataclass(frozen=True)
class Exact:
    """Several sums of floats, none of them rounded."""

    sums: tuple[ExactSum, ...]

    @classmethod
    def of(cls, *arrays: Floats) -> Exact:
        """Return the sum of every array."""
        return cls(tuple(ExactSum.of(one) for one in arrays))

    def merge(self, other: Exact) -> Exact:
        """Return the sums of both parts."""
        return Exact(tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))

    @property
    def values(self) -> tuple[float, ...]:
        """The sums, each rounded once."""
        return tuple(one.value for one in self.sums)


def _both(one: Any, other: Any) -> Any:
    """Merge two results, of which either may be missing."""
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)


def places_of(first: Ints, features: Ints) -> Ints:
    """Return where the bins of features are, one feature after the other.

    Parameters
    ----------
    first : int array of shape (n_features + 1,)
        Where the bins of each feature begin.

    Examples
    --------
    >>> places_of(np.array([0, 2, 5, 9]), np.array([2, 0])).tolist()
    [5, 6, 7, 8, 0, 1]
    """
    sizes = (first[1:] - first[:-1])[features]
    begins = np.repeat(first[features] - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(begins + np.arange(int(sizes.sum())))

"""Feedback: a weighted set of crucial pairs.

A *crucial pair* (lo, hi) says that hi must rank above lo. A feedback never changes; a
`PairState` follows the scores of its rows while they are learned.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from crucial.errors import DataError
from crucial.feedback.gather import GatheredState
from crucial.feedback.layout import LabelledRows
from crucial.feedback.listed import ListedPairs
from crucial.feedback.margins import MarginCounts
from crucial.feedback.states import PairState
from crucial.kernels.elementary import exp
from crucial.kernels.sums import exact_sum
from crucial.types import Floats, Ints, VectorLike

__all__ = [
    "Feedback",
    "RowMass",
    "TwoClasses",
    "finite_total",
    "power_of_two_scale",
    "smoothing_of",
]


class TwoClasses(NamedTuple):
    """A classification into two: labels of two values, and no queries.

    Attributes
    ----------
    low, high : float
        The two labels.
    n_low : int
        How many of the rows, the first of ``Feedback.rows``, have the lower label.
    """

    low: float
    high: float
    n_low: int


class RowMass(NamedTuple):
    """What the rows of a feedback weigh: the lightest, the heaviest, and all together.

    Attributes
    ----------
    weighted : bool
        Whether one of them weighs other than 1.
    """

    lightest: float
    heaviest: float
    total: float
    weighted: bool


class Feedback:
    """Base of all feedbacks.

    Attributes
    ----------
    n_rows : int
        Rows of the instances.
    rows : int array
        Rows that occur in a pair, in the order in which a state works on them.
    weight : array like ``rows``, or None
        Instance weights of those rows, if any; bins follow them.
    n_pairs : int
        Number of pairs.
    total : float
        Weight of all pairs, before any balancing; positive, and clipped to the range of
        floats.
    n_queries, n_skipped : int
        Queries with at least one pair, and those without.
    """

    n_rows: int
    rows: Ints
    weight: Floats | None
    n_pairs: int
    total: float
    n_queries: int
    n_skipped: int

    # -- the pairs --------------------------------------------------------------------

    def state(self, rows: Ints | None = None, threads: int = 1) -> PairState:
        """Return the state at scores of 0, for rows in this order (default: ``self.rows``)."""
        own = self._state(threads)
        if rows is None or rows is self.rows:
            return own
        return GatheredState(own, self.rows, rows)

    def _state(self, threads: int) -> PairState:
        raise NotImplementedError

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers, ``0 <= number < n_pairs``.

        Pairs of labels, and explicit ones, come by rising winner. Weights are shares of the
        weight of all pairs.
        """
        raise DataError(f"the pairs of a {type(self).__name__} cannot be listed.")

    def labelled(self) -> LabelledRows | None:
        """Return the rows by query and label, with their weights; None without labels."""
        return None

    def listed(self) -> ListedPairs | None:
        """Return the pairs of a feedback that consists of explicit ones; else None."""
        return None

    def two_classes(self) -> TwoClasses | None:
        """Return the classes of a classification into two; None for any other feedback."""
        return None

    def row_mass(self) -> RowMass:
        """Return what the rows weigh."""
        if self.weight is None:
            return RowMass(1.0, 1.0, float(len(self.rows)), False)
        lightest, heaviest = float(self.weight.min()), float(self.weight.max())
        return RowMass(lightest, heaviest, exact_sum(self.weight), True)

    def class_weights(self) -> tuple[float, float]:
        """Return what the rows of either class weigh, of two."""
        classes = self.two_classes()
        assert classes is not None
        weight = np.ones(len(self.rows)) if self.weight is None else self.weight
        return exact_sum(weight[: classes.n_low]), exact_sum(weight[classes.n_low :])

    def least_row_margin(self, scores: Floats) -> float:
        """Return the smallest ``y_i H(x_i)`` of two classes y in {-1, 1}.

        Parameters
        ----------
        scores : array like ``rows``
        """
        classes = self.two_classes()
        assert classes is not None
        bad, good = scores[: classes.n_low], scores[classes.n_low :]
        return float(min(good.min(initial=math.inf), -bad.max(initial=-math.inf)))

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight.

        A row of weight 2 counts as two rows, so its pairs are as light as theirs. With both
        gains and weights below 1, this is a lower bound.
        """
        raise NotImplementedError

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin ``H(hi) - H(lo)``.

        Parameters
        ----------
        scores : array like ``rows``
        """
        raise NotImplementedError

    def margin_counts(self, scores: Floats, threads: int = 1) -> MarginCounts:
        """Return the distribution of the margins of all pairs.

        Parameters
        ----------
        scores : array like ``rows``
        """
        raise NotImplementedError

    def summary(self) -> dict[str, float]:
        """Return counts for reports."""
        return {
            "pairs": self.n_pairs,
            "pair_weight": self.total,
            "queries": self.n_queries,
            "skipped_queries": self.n_skipped,
        }

    def class_summary(self) -> dict[str, float]:
        """Return the same counts; without rounding where rows are in two classes."""
        if self.two_classes() is None:
            return self.summary()
        bad, good = self.class_weights()
        return self.summary() | {"pair_weight": finite_total(bad * good)}

    # -- at given scores, one per row of the instances --------------------------------

    def _at(self, scores: VectorLike) -> PairState:
        """Return the state at checked scores."""
        values = np.asarray(scores, np.float64)
        if values.shape != (self.n_rows,):
            raise DataError(
                f"scores must have one number for each of the {self.n_rows} rows. "
                f"Got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DataError(f"scores must be finite. Row {row} is {values[row]}.")
        with np.errstate(over="ignore"):
            if not np.isfinite(np.ptp(values)):
                raise DataError("scores are so far apart that their difference overflows.")
        state = self.state()
        state.advance(values[self.rows], 1.0)
        return state

    def potentials(self, scores: VectorLike) -> Floats:
        """Return the weight of the pairs a row should win minus that of those it should lose."""
        pi = np.zeros(len(self.rows))
        scale, _ = self._at(scores).potentials(pi)
        out = np.zeros(self.n_rows)
        out[self.rows] = scale * pi
        return out

    def log_loss(self, scores: VectorLike) -> float:
        """Return the logarithm of `loss`, which does not underflow."""
        return self._at(scores).potentials(np.zeros(len(self.rows)))[1]

    def loss(self, scores: VectorLike) -> float:
        """Return E1, the weighted mean over pairs of ``exp(H(lo) - H(hi))``."""
        return exp(self.log_loss(scores))

    def r1(self, scores: VectorLike) -> float:
        """Return the weighted share of pairs not ordered right (ties count in full)."""
        return self._at(scores).risks()[0]

    def r2(self, scores: VectorLike) -> float:
        """Return the weighted share of pairs ordered wrong, plus half of the ties."""
        return self._at(scores).risks()[1]

    def z(self, scores: VectorLike, output: VectorLike, alpha: float) -> float:
        """Return Z(alpha), the factor on the loss of adding ``alpha * output`` to the scores."""
        after = np.asarray(scores, np.float64) + alpha * np.asarray(output, np.float64)
        return exp(self.log_loss(after) - self.log_loss(scores))


def power_of_two_scale(largest: float) -> float:
    """Return a power of two that brings the largest weight near 1: scaling stays exact."""
    return math.ldexp(1.0, min(1023, max(-1022, -math.frexp(largest)[1])))


def finite_total(total: float) -> float:
    """Clip a weight to the positive finite floats, for reports and divisions."""
    return min(max(total, sys.float_info.min), sys.float_info.max)


def smoothing_of(total: float) -> float:
    """Return the share of the weight that a perfect round adds to both sides.

    Half a pair, so that weights and repeated rows are smoothed alike; within
    [1e-12, 1e-2] whatever the weights are.

    Examples
    --------
    >>> smoothing_of(1000.0)
    0.0005
    """
    return min(max(0.5 / total if total > 0 else 1.0, 1e-12), 1e-2)

"""What every kind of feedback answers.

A *crucial pair* (lo, hi) says that hi must rank above lo. A feedback is a weighted set
of them. It is asked through a `PairState`, which follows the scores of the rows while
they are learned; the feedback itself never changes.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError
from crucial.feedback.layout import LabelledRows
from crucial.types import Floats, Ints

__all__ = [
    "Codes",
    "Feedback",
    "ListedPairs",
    "Output",
    "PairState",
    "ScoreState",
    "TwoClasses",
    "exp_or_inf",
    "finite_total",
    "padded",
    "power_of_two_scale",
    "smoothing_of",
]


#: Scores of a weak ranker on the rows: uint8 for a {0, 1} ranker, else float64.
Output: TypeAlias = NDArray[Any]
#: Bin numbers of the rows of one feature.
Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]


class ScoreState(Protocol):
    """An objective at the current scores H.

    This is all that the boosting loop needs. A step rule or a weak learner that needs more,
    such as the curvature of the loss, names it in ``needs``.
    """

    @property
    def scores(self) -> Floats:
        """H of every row of ``Feedback.rows``, in that order."""

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials: minus the gradient of the loss by the score of each row.

        Returns
        -------
        scale : float
            ``scale * pi`` belongs to pair weights that sum to 1.
        log_loss : float
            Logarithm of the loss, over its value at scores of 0.
        """

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to H; an output of uint8 is 0 or 1."""

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""


class PairState(ScoreState, Protocol):
    """The pairs of a feedback, weighted by the exponential loss.

    Weights of pairs are ``D = w exp(H(lo) - H(hi))``, normalised to sum 1 wherever they are
    returned, so that the potentials are ``pi(x) = sum_{hi=x} D - sum_{lo=x} D`` and the loss
    is E1, the weighted mean of ``exp(H(lo) - H(hi))``.
    """

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of ``output(hi) - output(lo)`` under D."""

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of a binned feature; ``out[k]``: ones are codes >= k."""

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""

    def fork(self) -> PairState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""


class ListedPairs(NamedTuple):
    """Distinct pairs.

    Attributes
    ----------
    high, low : int arrays
        Winner and loser, as places in ``Feedback.rows``.
    weight : array
        Weight of every pair, up to a common factor.
    """

    high: Ints
    low: Ints
    weight: Floats


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


class Feedback:
    """Base of all feedbacks: the stateless questions, asked for a given score vector.

    Attributes
    ----------
    n_rows : int
        Rows of the instances it speaks about.
    rows : int array
        Rows that occur in a pair, in the order in which a state works on them.
    weight : array like ``rows``, or None
        Instance weights of those rows, where there are any (bins follow them).
    n_pairs : int
        Number of pairs.
    total : float
        Weight of all pairs, before any balancing (positive and finite: an end of the range
        of floats where it would leave that).
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

    def state(self, rows: Ints | None = None, threads: int = 1) -> PairState:
        """Begin at scores of 0, for rows in the given order (default: ``self.rows``)."""
        raise NotImplementedError

    def _at(self, scores: Any) -> PairState:
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

    def potentials(self, scores: Any) -> Floats:
        """Potential of every row: weight of pairs it should win minus those it should lose."""
        state = self._at(scores)
        pi = np.zeros(len(self.rows))
        scale, _ = state.potentials(pi)
        out = np.zeros(self.n_rows)
        out[self.rows] = scale * pi
        return out

    def log_loss(self, scores: Any) -> float:
        """Logarithm of `loss`; does not underflow."""
        return self._at(scores).potentials(np.zeros(len(self.rows)))[1]

    def loss(self, scores: Any) -> float:
        """E1: weighted mean over pairs of ``exp(H(lo) - H(hi))``."""
        return exp_or_inf(self.log_loss(scores))

    def r1(self, scores: Any) -> float:
        """Weighted share of pairs that are not ordered right (ties count in full)."""
        return self._at(scores).risks()[0]

    def r2(self, scores: Any) -> float:
        """Weighted share of pairs ordered wrong, plus half of the ties."""
        return self._at(scores).risks()[1]

    def z(self, scores: Any, output: Any, alpha: float) -> float:
        """Z(alpha): factor on the loss of adding ``alpha * output`` to the scores."""
        after = np.asarray(scores, np.float64) + alpha * np.asarray(output, np.float64)
        return exp_or_inf(self.log_loss(after) - self.log_loss(scores))

    def laid_out(self) -> LabelledRows | None:
        """Return the rows by query and label, with what they weigh; None without labels."""
        return None

    def listed(self) -> ListedPairs | None:
        """Return the pairs, for feedback that consists of explicit pairs; else None."""
        return None

    def two_classes(self) -> TwoClasses | None:
        """Return the classes of a classification into two; None for any other feedback."""
        return None

    def log_lightest(self) -> float:
        """Logarithm of the weight of the lightest pair, as a share of all weight.

        A row of weight 2 counts as two rows, so its pairs are as light as theirs. Where
        both gains and weights below 1 are there, it is a lower bound of it.
        """
        raise NotImplementedError

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Smallest and largest ``H(hi) - H(lo)``, for scores in the order of ``self.rows``."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Counts for reports."""
        return {
            "pairs": self.n_pairs,
            "pair_weight": self.total,
            "queries": self.n_queries,
            "skipped_queries": self.n_skipped,
        }


def padded(n_rows: int) -> int:
    """Round a number of rows up to a multiple of 8, which kernels read at a time."""
    return -(-n_rows // 8) * 8


def power_of_two_scale(largest: float) -> float:
    """A power of two that brings the largest weight near 1: scaling stays exact."""
    return math.ldexp(1.0, min(1023, max(-1022, -math.frexp(largest)[1])))


def finite_total(total: float) -> float:
    """A weight that a report and a division can take: within the range of floats."""
    return min(max(total, sys.float_info.min), sys.float_info.max)


def exp_or_inf(value: float) -> float:
    """Infinite where it overflows."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def smoothing_of(total: float) -> float:
    """Share of the weight that a perfect round adds to both sides.

    Half a pair, so that weights and repeated rows are smoothed alike; within
    [1e-12, 1e-2] whatever the weights are.

    Examples
    --------
    >>> smoothing_of(1000.0)
    0.0005
    """
    return min(max(0.5 / total if total > 0 else 1.0, 1e-12), 1e-2)

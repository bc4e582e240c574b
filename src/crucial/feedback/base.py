"""Feedback: a weighted set of crucial pairs, its states under scores, and its potentials by row."""

from __future__ import annotations

import copy
import math
import sys
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError
from crucial.feedback.layout import LabelledRows, ListedPairs, MarginCounts
from crucial.kernels.elementary import exp
from crucial.kernels.sums import exact_sum, round_unit, to_fixed
from crucial.types import Codes, Floats, Ints, VectorLike

# --- States: a feedback under changing scores, as objectives, weak learners and steps ask it


#: Scores of a weak ranker on the rows: uint8 for a {0, 1} ranker, else float64.
Output: TypeAlias = NDArray[Any]


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

    @property
    def curvature(self) -> Floats:
        """Second derivative of the loss by the score of each row, in the units of ``pi``.

        It is the weight of all pairs that the row is in; of the scores that potentials were
        last asked for.
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


def padded(n_rows: int) -> int:
    """Round a number of rows up to a multiple of 8, which kernels read at a time."""
    return -(-n_rows // 8) * 8


def draw_share(items: Ints, fraction: float, random: np.random.Generator) -> Ints:
    """Draw a share of some numbers, at least one."""
    return random.permutation(items)[: max(1, round(fraction * len(items)))]


def risks_of(wrong: float, tied: float) -> tuple[float, float]:
    """Return R1 and R2 of the shares of wrong and tied pairs, which may round to above 1."""
    return min(1.0, wrong + tied), min(1.0, wrong + tied / 2)


# --- A state that works on its own order of rows, seen from another order


class GatheredState:
    """See `crucial.feedback.base.PairState`.

    Parameters
    ----------
    inner : PairState
        The state, on rows ``own``.
    own, rows : int arrays
        Row numbers of the state, and of the outside; ``rows`` contains ``own``.
    """

    def __init__(self, inner: PairState, own: Ints, rows: Ints) -> None:
        size = int(max(own.max(initial=-1), rows.max(initial=-1))) + 1
        where = np.full(size, -1, np.int64)
        where[rows] = np.arange(len(rows))
        self._inner, self._at = inner, where[own]
        self.scores = np.zeros(len(rows))
        self._buffer = np.zeros(padded(len(own)))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials, in the outside order."""
        scale, log_loss = self._inner.potentials(self._buffer)
        pi[:] = 0.0
        pi[self._at] = self._buffer[: len(self._at)]
        return scale, log_loss

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        self._inner.advance(output[self._at], alpha)

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in."""
        out = np.zeros(len(self.scores))
        out[self._at] = self._inner.curvature
        return out

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        return self._inner.binary_weights(output[self._at])

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        return self._inner.moments(output[self._at])

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature."""
        self._inner.wrong_weights(codes[self._at], n_bins, missing_rank, out)

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features."""
        self._inner.prepare_scan()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self._inner.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs)."""
        self._inner.draw(fraction, random)

    def fork(self) -> GatheredState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores, other._inner = self.scores.copy(), self._inner.fork()
        other._buffer = np.zeros_like(self._buffer)
        return other


# --- Feedback: a weighted set of crucial pairs
#
# A *crucial pair* (lo, hi) says that hi must rank above lo. A feedback never changes; a
# `PairState` follows the scores of its rows while they are learned.


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


# --- Potentials: feedback seen from the rows, which is all that most weak learners need of it


class Potentials:
    """The potentials of an objective at the current scores, which renew themselves.

    Parameters
    ----------
    pairs : ScoreState
        The state of the objective.
    threads : int

    Attributes
    ----------
    pi : float64 array, padded to a multiple of 8
        ``scale * pi[x]`` is the weight of the pairs that x should win minus the weight of
        those it should lose; pair weights sum to 1.
    scale : float
    unit : float
        A power of two. Sums of potentials as whole numbers of units are exact, so that they do not
        depend on the order of the rows, nor on who adds up which of them.
    log_loss : float
        Logarithm of the objective, relative to its value at scores of 0.
    pairs : ScoreState
        For what does not follow from the potentials alone.
    """

    pi: Floats
    scale: float
    unit: float
    log_loss: float

    def __init__(self, pairs: ScoreState, threads: int = 1) -> None:
        self.pairs, self._threads = pairs, threads
        self.pi = np.zeros(padded(len(pairs.scores)))
        self._before: float | None = None  # scale before the scores moved last
        self.renew()

    def renew(self) -> None:
        """Follow the scores of the state."""
        self.scale, self.log_loss = self.pairs.potentials(self.pi)
        before = None if self._before is None else whole_of(self._before)
        self.unit = round_unit(before, whole_of(self.scale))
        self._fixed: Ints | None = None

    @property
    def fixed(self) -> Ints:
        """The potentials as whole numbers of units."""
        if self._fixed is None:
            self._fixed = to_fixed(self.pi, self.unit, self._threads)
        return self._fixed

    @property
    def factor(self) -> float:
        """What a unit is worth where pair weights sum to 1."""
        return self.scale * self.unit

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._before = self.scale
        self.pairs.advance(output, alpha)
        self.renew()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        self.pairs.draw(fraction, random)
        self.renew()


def whole_of(scale: float) -> float:
    """Return what the magnitudes of potentials of this scale add up to at most."""
    # (pair weights sum to 1, and each counts for two rows)
    return 2.0 / scale if scale > 0.0 else math.inf


def exponential_pairs(potentials: Potentials) -> PairState:
    """Return the state behind the potentials, for a part that names what it uses in ``needs``."""
    return cast(PairState, potentials.pairs)

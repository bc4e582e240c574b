"""Classification into two, with the interface of pairs.

A good row should score above 0 and a bad one below. With 0 as the score of an anchor, these
are crucial pairs (anchor, good) and (bad, anchor), one per row, so that rows take the place
of pairs.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.class_sums import ClassTotals, unit_of_weights
from crucial.feedback.label_state import Peaks
from crucial.feedback.states import Output, draw_share
from crucial.kernels.elementary import exp, log
from crucial.kernels.exact_sums import ExactSum, exact_dot, exact_sum
from crucial.kernels.pairs import advance_binary, class_sums
from crucial.types import Bools, Codes, Floats

__all__ = ["BipartiteState"]

# Weights are multiplied round by round until scores could have moved this far; then they
# are computed anew, the heaviest of a class near 1, so that no end of the floats is reached.
_RANGE = 200.0


class BipartiteState:
    """See `crucial.feedback.states.PairState`; the pairs are the rows.

    An output of uint8 is a vote: 1 for good, and 0, which stands for -1, for bad. A vote
    then moves every row: those with 0 by an offset that all rows share, so that only those
    with 1 are touched.

    Parameters
    ----------
    feedback : Feedback
        Of two labels and one query.
    threads : int

    Attributes
    ----------
    n_bad : int
        The first rows of ``feedback.rows``.
    net : float
        Weight of the good rows minus that of the bad ones, as a share of both.
    """

    def __init__(self, feedback: Feedback, threads: int = 1) -> None:
        classes = feedback.two_classes()
        if classes is None:
            raise DataError("classification needs labels of two values, and no queries.")
        self._feedback, self._threads, self.n_bad = feedback, threads, classes.n_low
        n = len(feedback.rows)
        self._unit, total = unit_of_weights(feedback)
        self._weight: Floats = np.ones(n)
        if feedback.weight is not None:
            self._weight = feedback.weight * self._unit
        # A row scores base + offset; it weighs mass * exp(shift of its class), bad first.
        self._base, self._offset = np.zeros(n), 0.0
        self._mass, self._shift = self._weight.copy(), np.zeros(2)
        self._moved = 0.0
        self._drawn: Bools | None = None
        self._start = log(total)
        self._factor = np.ones(2)  # on the masses of the classes, in the units of potentials
        self._totals: ClassTotals
        self.net = 0.0

    @property
    def scores(self) -> Floats:
        """H of every row."""
        return self._base + self._offset

    # -- weights ------------------------------------------------------------------

    @property
    def _counted(self) -> Floats:
        """Mass of the rows that count in this round, 0 for the others."""
        return self._mass if self._drawn is None else self._mass * self._drawn

    def _sums(self, mass: Floats) -> tuple[ExactSum, ExactSum]:
        """Return the masses of bad and good rows, added up."""
        bad, good = mass[: self.n_bad], mass[self.n_bad :]
        return ExactSum.of(bad, among=len(mass)), ExactSum.of(good, among=len(mass))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials ``y_i D(i)``: O(n)."""
        if self.strained:
            self.weigh_anew(self.peaks())
        return self.finish(self.sums(pi))

    @property
    def strained(self) -> bool:
        """Whether masses have to be computed anew, so that none overflows."""
        return self._moved > _RANGE

    def sums(self, pi: Floats) -> ClassTotals:
        """Write the potentials, and add up the weights of all rows."""
        mass, bad, n = self._counted, self.n_bad, len(self._mass)
        factors = (float(self._shift[0]) + self._offset, float(self._shift[1]) - self._offset)
        drawn = self._sums(mass)
        every = drawn if self._drawn is None else self._sums(self._mass)
        totals = ClassTotals(drawn, every, factors)
        self._factor = np.array([exp(one - totals.log_unit) for one in factors])
        np.multiply(mass[:bad], -self._factor[0], out=pi[:bad])
        np.multiply(mass[bad:], self._factor[1], out=pi[bad:n])
        return totals

    def finish(self, totals: ClassTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        self._totals, self.net = totals, totals.net
        return totals.finish(self._start)

    def _exponents(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the weights of bad and good rows, but for the offset."""
        with np.errstate(divide="ignore"):
            logs = log(self._weight)
        bad = self.n_bad
        return logs[:bad] + self._base[:bad], logs[bad:] - self._base[bad:]

    def peaks(self) -> Peaks:
        """Return the logarithm of the heaviest bad and good row, but for the offset."""
        bad, good = (float(one.max(initial=-math.inf)) for one in self._exponents())
        return Peaks(bad, good)

    def weigh_anew(self, peaks: Peaks) -> None:
        """Compute all masses from the scores, the heaviest of a class at 1.

        Parameters
        ----------
        peaks : Peaks
            Of all rows, where these are some of many.
        """
        self._shift[:] = peaks.drawn, peaks.every
        logs = np.concatenate([a - b for a, b in zip(self._exponents(), self._shift, strict=True)])
        self._mass, self._moved = exp(logs), 0.0

    def f_skew(self) -> float:
        """Return F+ - F- over all rows, in the unit of their weights; infinite if it overflows."""
        return self._totals.skew(-log(self._unit))

    @property
    def curvature(self) -> Floats:
        """Weight of every row: the second derivative of the loss, in the units of potentials."""
        out = self._counted.copy()
        out[: self.n_bad] *= self._factor[0]
        out[self.n_bad :] *= self._factor[1]
        return out

    # -- the loop's questions -----------------------------------------------------

    def advance(
        self, output: Output, alpha: float, span: tuple[float, float] | None = None
    ) -> None:
        """Add ``alpha * output`` to the scores, or ``alpha * (2 output - 1)`` for votes.

        Parameters
        ----------
        span : (float, float), optional
            Smallest and largest step, where these rows are some of many.
        """
        n, bad = len(self._base), self.n_bad
        if output.dtype == np.uint8:
            self._offset -= alpha
            self._moved += 2.0 * abs(alpha)
            within = self._moved <= _RANGE
            grow = exp(2.0 * alpha) if within else 1.0
            shrink = exp(-2.0 * alpha) if within else 1.0
            rows = (self._base, self._mass, self._mass, self._threads)
            advance_binary(output[:n], 2.0 * alpha, (grow, 1.0), *rows, (0, bad))
            advance_binary(output[:n], 2.0 * alpha, (1.0, shrink), *rows, (bad, n))
            return
        step = alpha * output[:n]
        self._base += step
        ends = (step.min(), step.max()) if span is None else span
        self._moved += float(max(abs(ends[0]), abs(ends[1])))
        if self._moved <= _RANGE:
            factor = exp(step)
            self._mass[:bad] *= factor[:bad]
            self._mass[bad:] /= factor[bad:]

    @property
    def _total(self) -> float:
        """What the rows that count weigh, in the units of potentials."""
        return sum(self._totals.both(self._totals.drawn))

    def _sum_by(self, codes: Codes | Output, size: int) -> Floats:
        """Return the weight of the rows of every code, bad ones and good ones."""
        factor = self._factor[:, None] / self._total
        return class_sums(codes, self._counted, self.n_bad, size) * factor

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the rows on which a vote is right, and wrong."""
        right, wrong = self.weight_sums(output)
        return right.value / self._total, wrong.value / self._total

    def weight_sums(self, output: Output) -> tuple[ExactSum, ...]:
        """Return the same in the units of the potentials."""
        weight, good = self.curvature, output[: len(self._mass)] > 0
        good[: self.n_bad] ^= True
        n = len(weight)
        return ExactSum.of(weight[good], among=n), ExactSum.of(weight[~good], among=n)

    def weights_by_value(self, output: Output, values: Floats) -> Floats:
        """Return the weight of bad and good rows for each of the values that a ranker has.

        Together they weigh 1. Z along the ranker follows from them.

        Parameters
        ----------
        values : array of shape (n_values,)
            All that occur, in rising order.

        Returns
        -------
        array of shape (2, n_values)
        """
        sums = self.value_sums(output, values)
        return np.array([one.value for one in sums]).reshape(2, -1) / self._total

    def value_sums(self, output: Output, values: Floats) -> tuple[ExactSum, ...]:
        """Return the same in the units of the potentials: all of bad rows, then all of good ones.

        One sort of the rows, then as much as potentials.
        """
        n, size = len(self._mass), len(values)
        place = np.searchsorted(values, output[:n])
        place[self.n_bad :] += size
        order = np.argsort(place.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=2 * size))
        pieces = np.split(self.curvature[order], ends[:-1])
        return tuple(ExactSum.of(one, among=n) for one in pieces)

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of ``y_i output(i)`` under the weights."""
        n, bad = len(self._mass), self.n_bad
        signed = np.concatenate((-output[:bad], output[bad:n]))
        gained = self.curvature * signed
        slope, square = exact_sum(gained), exact_dot(gained, signed)
        return slope / self._total, square / self._total

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature: bad rows above it and good ones up to it."""
        bad, good = self._sum_by(codes, n_bins + 1)
        absent = float(bad[n_bins] if missing_rank else good[n_bins])
        bad[n_bins] = 0.0
        out[:] = np.cumsum(bad[::-1])[::-1] + absent
        out[1:] += np.cumsum(good[:n_bins])

    def prepare_scan(self) -> None:
        """Do nothing: features share nothing."""

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the ranking: over the pairs of a good and a bad row."""
        state = self._feedback.state()
        state.advance(self._base, 1.0)
        return state.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the rows of each class, at least one."""
        drawn = np.zeros(len(self._mass), np.bool_)
        for first, last in ((0, self.n_bad), (self.n_bad, len(drawn))):
            drawn[draw_share(np.arange(first, last), fraction, random)] = True
        self._drawn = drawn

    def fork(self) -> BipartiteState:
        """Return a copy of the drawn rows that can be moved without moving this state."""
        other = copy.copy(self)
        other._base, other._shift = self._base.copy(), self._shift.copy()
        other._mass, other._drawn = self._counted.copy(), None
        if self._drawn is not None:
            other._weight = self._weight * self._drawn
        return other

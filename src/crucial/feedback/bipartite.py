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
from crucial.feedback.states import Output, draw_share
from crucial.kernels.elementary import exp, log
from crucial.kernels.pairs import advance_binary, class_sums
from crucial.kernels.sums import ExactSum, exact_dot, exact_sum
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
        if self._moved > _RANGE:
            self._weigh_anew()
        mass, bad, n = self._counted, self.n_bad, len(self._mass)
        factors = (float(self._shift[0]) + self._offset, float(self._shift[1]) - self._offset)
        drawn = self._sums(mass)
        every = drawn if self._drawn is None else self._sums(self._mass)
        totals = self._totals = ClassTotals(drawn, every, factors)
        self._factor = np.array([exp(one - totals.log_unit) for one in factors])
        np.multiply(mass[:bad], -self._factor[0], out=pi[:bad])
        np.multiply(mass[bad:], self._factor[1], out=pi[bad:n])
        self.net = totals.net
        return totals.finish(self._start)

    def _weigh_anew(self) -> None:
        """Compute all masses from the scores, the heaviest of a class at 1."""
        with np.errstate(divide="ignore"):
            logs = log(self._weight)
        bad = self.n_bad
        both = logs[:bad] + self._base[:bad], logs[bad:] - self._base[bad:]
        self._shift[:] = [float(one.max(initial=-math.inf)) for one in both]
        logs = np.concatenate([a - b for a, b in zip(both, self._shift, strict=True)])
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

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores, or ``alpha * (2 output - 1)`` for votes."""
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
        self._moved += float(max(abs(step.min()), abs(step.max())))
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
        weight, good = self.curvature, output[: len(self._mass)] > 0
        good[: self.n_bad] ^= True
        right, wrong = (ExactSum.of(weight[one], among=len(weight)) for one in (good, ~good))
        return right.value / self._total, wrong.value / self._total

    def weights_by_value(self, output: Output, values: Floats) -> Floats:
        """Return the weight of bad and good rows for each of the values that a ranker has.

        Together they weigh 1. Z along the ranker follows from them. One sort of the rows, then as
        much as potentials.

        Parameters
        ----------
        values : array of shape (n_values,)
            All that occur, in rising order.

        Returns
        -------
        array of shape (2, n_values)
        """
        n, size = len(self._mass), len(values)
        place = np.searchsorted(values, output[:n])
        place[self.n_bad :] += size
        order = np.argsort(place.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=2 * size))
        pieces = np.split(self.curvature[order], ends[:-1])
        sums = [ExactSum.of(one, among=n).value for one in pieces]
        return np.array(sums).reshape(2, -1) / self._total

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

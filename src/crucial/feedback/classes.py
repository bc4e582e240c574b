"""Classification into two, with the interface of pairs, and its exact sums."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, draw_share, power_of_two_scale
from crucial.kernels.elementary import ExactSum, exact_dot, exact_sum, exp, log
from crucial.kernels.pairs import advance_binary, class_sums
from crucial.types import Bools, Codes, Floats

# --- Sums over the rows of two classes, without rounding


@dataclass(frozen=True)
class ClassTotals:
    """Weights of the bad and of the good rows, added up without rounding.

    Attributes
    ----------
    drawn, every : (ExactSum, ExactSum)
        Masses of the rows that count, and of all.
    log_factor : (float, float)
        Logarithms of what a mass of each class is worth.
    """

    drawn: tuple[ExactSum, ExactSum]
    every: tuple[ExactSum, ExactSum]
    log_factor: tuple[float, float]

    @property
    def log_unit(self) -> float:
        """Logarithm of what potentials and the sums of `both` are multiples of."""
        return max(self.log_factor)

    def both(self, sums: tuple[ExactSum, ExactSum]) -> tuple[float, float]:
        """Return F- and F+, for ``drawn`` or ``every``."""
        bad, good = (exp(one - self.log_unit) for one in self.log_factor)
        return sums[0].value * bad, sums[1].value * good

    def finish(self, log_start: float) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss.

        Parameters
        ----------
        log_start : float
            Logarithm of the weight of all rows at scores of 0.
        """
        whole = log(math.fsum(self.both(self.every)))
        return 1.0 / math.fsum(self.both(self.drawn)), self.log_unit + whole - log_start

    @property
    def net(self) -> float:
        """Weight of the good rows minus that of the bad ones, as a share of both."""
        bad, good = self.both(self.drawn)
        return (good - bad) / (good + bad)

    def skew(self, log_unit: float) -> float:
        """Return F+ - F- over all rows, times a unit; infinite if it overflows."""
        bad, good = (
            log(one.value) + factor + log_unit
            for one, factor in zip(self.every, self.log_factor, strict=True)
        )
        if max(bad, good) > 709.0:
            return math.inf if good > bad else -math.inf
        return exp(good) - exp(bad)


def log_class_sums(feedback: Feedback, scores: Floats) -> tuple[float, float]:
    """Return the logarithms of F- and F+.

    ``F- = sum u exp(H)`` over bad rows, ``F+ = sum u exp(-H)`` over good ones.

    Parameters
    ----------
    feedback : Feedback
        Of two labels and one query.
    scores : array over ``feedback.rows``
    """
    bad, good = (log_sum(one) for one in _exponents(feedback, scores))
    return bad, good


def log_sum(logs: Floats) -> float:
    """Return the logarithm of a sum of exponentials, which is added up without rounding.

    >>> log_sum(np.array([1000.0, 1000.0]))  # 1000 + ln 2
    1000.6931471805599
    >>> log_sum(np.zeros(0))
    -inf
    """
    peak = float(logs.max(initial=-math.inf))
    return peak if peak == -math.inf else peak + log(exact_sum(exp(logs - peak)))


def _exponents(feedback: Feedback, scores: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the terms of F- and of F+."""
    classes = feedback.two_classes()
    assert classes is not None
    n = classes.n_low
    logs = np.zeros(len(scores)) if feedback.weight is None else log(feedback.weight)
    return logs[:n] + scores[:n], logs[n:] - scores[n:]


def unit_of_weights(feedback: Feedback) -> tuple[float, float]:
    """Return a power of two that brings the weights of rows near 1, and what they add up to then.

    >>> from crucial.feedback import LabelFeedback
    >>> unit_of_weights(LabelFeedback([0, 1, 1], weight=[4.0, 4.0, 8.0]))
    (0.0625, 1.0)
    """
    mass = feedback.row_mass()
    unit = power_of_two_scale(mass.heaviest) if mass.weighted else 1.0
    return unit, mass.total * unit


# --- Classification into two, with the interface of pairs
#
# A good row should score above 0 and a bad one below. With 0 as the score of an anchor, these
# are crucial pairs (anchor, good) and (bad, anchor), one per row, so that rows take the place
# of pairs.


# Weights are multiplied round by round until scores could have moved this far; then they
# are computed anew, the heaviest of a class near 1, so that no end of the floats is reached.
_RANGE = 200.0


class BipartiteState:
    """See `crucial.feedback.base.PairState`; the pairs are the rows.

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
        return math.fsum(self._totals.both(self._totals.drawn))

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
        """Prepare nothing: scans of different features have no sums in common."""

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the ranking: over the pairs of a good and a bad row."""
        return self._feedback.risks_at(self._base)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the rows of each class, at least one."""
        drawn = np.zeros(len(self._mass), np.bool_)
        for first, last in ((0, self.n_bad), (self.n_bad, len(drawn))):
            drawn[draw_share(np.arange(first, last), fraction, random)] = True
        self._drawn = drawn

    def copy(self) -> BipartiteState:
        """Return a copy of the drawn rows that can be moved without moving this state."""
        other = copy.copy(self)
        other._base, other._shift = self._base.copy(), self._shift.copy()
        other._mass, other._drawn = self._counted.copy(), None
        if self._drawn is not None:
            other._weight = self._weight * self._drawn
        return other

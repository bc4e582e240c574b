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
from crucial.feedback.base import Feedback, power_of_two_scale
from crucial.feedback.states import Output, draw_share
from crucial.kernels.pairs import advance_binary, class_sums
from crucial.types import Bools, Codes, Floats

__all__ = ["BipartiteState", "log_class_sums"]

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
        self._log_unit = 0.0
        self._weight: Floats = np.ones(n)
        if feedback.weight is not None:
            unit = power_of_two_scale(float(feedback.weight.max()))
            self._weight, self._log_unit = feedback.weight * unit, -math.log(unit)
        # A row scores base + offset; it weighs mass * exp(shift of its class), bad first.
        self._base, self._offset = np.zeros(n), 0.0
        self._mass, self._shift = self._weight.copy(), np.zeros(2)
        self._moved = 0.0
        self._drawn: Bools | None = None
        self._start = math.log(float(self._mass.sum()))
        self._factor = np.ones(2)  # on the masses of the classes that count, to sum to 1
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

    def _log_sums(self, mass: Floats) -> Floats:
        """Return the logarithms of F- and F+, in the unit of the scaled weights."""
        sums = np.array([mass[: self.n_bad].sum(), mass[self.n_bad :].sum()])
        logs: Floats = np.log(sums) + self._log_factor
        return logs

    @property
    def _log_factor(self) -> Floats:
        """Logarithms of the factors on the masses of bad and good rows."""
        return np.array([self._shift[0] + self._offset, self._shift[1] - self._offset])

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials ``y_i D(i)``: O(n)."""
        if self._moved > _RANGE:
            self._weigh_anew()
        mass, bad, n = self._counted, self.n_bad, len(self._mass)
        logs = self._log_sums(mass)
        total = float(np.logaddexp(*logs))
        self._factor = np.exp(self._log_factor - total)
        share = np.exp(logs - total)
        self.net = float(share[1] - share[0])
        np.multiply(mass[:bad], -self._factor[0], out=pi[:bad])
        np.multiply(mass[bad:], self._factor[1], out=pi[bad:n])
        if self._drawn is not None:
            total = float(np.logaddexp(*self._log_sums(self._mass)))
        return 1.0, total - self._start

    def _weigh_anew(self) -> None:
        """Compute all masses from the scores, the heaviest of a class at 1."""
        with np.errstate(divide="ignore"):
            exponent = np.log(self._weight)
        exponent[: self.n_bad] += self._base[: self.n_bad]
        exponent[self.n_bad :] -= self._base[self.n_bad :]
        for c, rows in enumerate((np.s_[: self.n_bad], np.s_[self.n_bad :])):
            self._shift[c] = exponent[rows].max()
            exponent[rows] -= self._shift[c]
        self._mass, self._moved = np.exp(exponent), 0.0

    def f_skew(self) -> float:
        """Return F+ - F- over all rows, in the unit of their weights; infinite if it overflows."""
        bad, good = (self._log_sums(self._mass) + self._log_unit).tolist()
        top = max(bad, good)
        if top > 709.0:
            return math.inf if good > bad else -math.inf
        return math.exp(good) - math.exp(bad)

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
            grow = math.exp(2.0 * alpha) if within else 1.0
            shrink = math.exp(-2.0 * alpha) if within else 1.0
            rows = (self._base, self._mass, self._mass, self._threads)
            advance_binary(output[:n], 2.0 * alpha, (grow, 1.0), *rows, (0, bad))
            advance_binary(output[:n], 2.0 * alpha, (1.0, shrink), *rows, (bad, n))
            return
        step = alpha * output[:n]
        self._base += step
        self._moved += float(np.abs(step).max(initial=0.0))
        if self._moved <= _RANGE:
            factor = np.exp(step)
            self._mass[:bad] *= factor[:bad]
            self._mass[bad:] /= factor[bad:]

    def _sum_by(self, codes: Codes | Output, size: int) -> Floats:
        """Return the weight of the rows of every code, bad ones and good ones."""
        return class_sums(codes, self._counted, self.n_bad, size) * self._factor[:, None]

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the rows on which a vote is right, and wrong."""
        bad, good = self._sum_by(output, 2)
        return float(bad[0] + good[1]), float(bad[1] + good[0])

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of ``y_i output(i)`` under the weights."""
        n, bad = len(self._mass), self.n_bad
        gained = self._counted * output[:n]
        gained[:bad] *= -self._factor[0]
        gained[bad:] *= self._factor[1]
        signed = np.concatenate((-output[:bad], output[bad:n]))
        return float(gained.sum()), float((gained * signed).sum())

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature: bad rows above it and good ones up to it."""
        bad, good = self._sum_by(codes, n_bins + 1)
        absent = float(bad[n_bins] if missing_rank else good[n_bins])
        bad[n_bins] = 0.0
        out[:] = np.cumsum(bad[::-1])[::-1] + absent
        out[1:] += np.cumsum(good[:n_bins])

    def prepare_scan(self) -> None:
        """Do nothing: features share nothing."""

    def pair_weights(self) -> None:
        """Return None: sums over few rows have no short form."""

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


def log_class_sums(feedback: Feedback, scores: Floats) -> tuple[float, float]:
    """Return the logarithms of F- and F+.

    ``F- = sum u exp(H)`` over bad rows, ``F+ = sum u exp(-H)`` over good ones.

    Parameters
    ----------
    feedback : Feedback
        Of two labels and one query.
    scores : array over ``feedback.rows``
    """
    classes = feedback.two_classes()
    assert classes is not None
    logs = []
    for sign, rows in ((1.0, np.s_[: classes.n_low]), (-1.0, np.s_[classes.n_low :])):
        exponent = sign * scores[rows]
        if feedback.weight is not None:
            exponent += np.log(feedback.weight[rows])
        top = float(exponent.max())
        logs.append(top + math.log(float(np.exp(exponent - top).sum())))
    return logs[0], logs[1]

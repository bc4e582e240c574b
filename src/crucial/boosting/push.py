"""The p-norm push as an objective: the higher a negative ranks, the more it costs (Rudin 2009)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crucial.boosting.pair_losses import PairLoss, PairLossState, log_sum
from crucial.feedback.base import (
    LabelledRows,
    ListedPairs,
    Output,
    PairState,
    draw_share,
    margin_range,
)
from crucial.feedback.labels import Peaks
from crucial.kernels.elementary import exp, log, logaddexp
from crucial.kernels.pairs import PushSums
from crucial.kernels.sums import ExactSum, exact_dot, exact_sum
from crucial.types import Floats

# --- The p-norm push along a weak ranker of 0 and 1


# Sums in this range have lost no digit: what underflowed beside them is far below their last one.
_RANGE = (1e-90, 1e90)


def in_range(total: ExactSum) -> bool:
    """Return whether a sum of exponentials has all its digits.

    >>> in_range(ExactSum.of(np.array([0.5]))), in_range(ExactSum.of(np.array([1e-300])))
    (True, False)
    """
    return _RANGE[0] <= total.value <= _RANGE[1]


@dataclass(frozen=True)
class LineTotals:
    """Sums over the terms of F after a step along a ranker, times ``e^-top``, without rounding.

    Attributes
    ----------
    sums : tuple of ExactSum
        F; the share of it that the pairs have that the ranker orders right, and wrong; and, of
        what a loser gains on those above it, the square and the derivative.
    peak : float
        Logarithm of the largest term.
    """

    sums: tuple[ExactSum, ...]
    peak: float

    @property
    def far(self) -> bool:
        """Whether F is so far from ``e^top`` that digits can be lost."""
        return not in_range(self.sums[0])

    @property
    def shares(self) -> tuple[float, ...]:
        """All sums but F, over F."""
        total = self.sums[0].value
        return tuple(one.value / total for one in self.sums[1:])


class PushTerms:
    """The terms of F along a ranker of 0 and 1, one for all rows of a level.

    ``F(alpha) = sum_s (C_s0 + C_s1 e^(p alpha)) (A_s0 + A_s1 e^(-alpha))^p``; the rows of a level
    have the same inner sum.

    Parameters
    ----------
    log_inside, log_above : arrays of shape (n_terms, 2)
        Logarithms of C, coefficients included, and of A.
    p : float
    """

    def __init__(self, log_inside: Floats, log_above: Floats, p: float) -> None:
        counts = (log_inside.max(axis=1) > -np.inf) & (log_above.max(axis=1) > -np.inf)
        self._c, self._a, self._p = log_inside[counts].T, log_above[counts].T, p

    def sums(self, alpha: float, top: float) -> LineTotals:
        """Return the sums after a step of alpha, times ``e^-top``."""
        a = np.stack((self._a[0], self._a[1] - alpha))
        whole = logaddexp(*a)
        logs = self._c + self._p * (whole + np.array([[0.0], [alpha]]))
        inner = exp(a - whole)
        with np.errstate(over="ignore"):  # (then another top is asked for)
            term = exp(logs - top)
        right, wrong = term[0] * inner[1], term[1] * inner[0]
        # How far the loser moves more than the mean of what should win against it.
        square = np.stack((right * inner[1], wrong * inner[0]))
        parts = (term, right, wrong, square, term * (inner[0] * inner[1]))
        return LineTotals(
            tuple(ExactSum.of(one) for one in parts), float(logs.max(initial=-np.inf))
        )

    def best(self) -> float | None:
        """Return ``ln(A1 C0 / (A0 C1)) / (p + 1)``, the best step, for one term; else None."""
        if self._a.shape[1] != 1:
            return None
        (a0, a1), (c0, c1) = self._a[:, 0].tolist(), self._c[:, 0].tolist()
        return float(a1 + c0 - a0 - c1) / (self._p + 1.0)


class PushLine:
    """See `crucial.boosting.pair_losses.Line`; ``(1/p) ln F`` along a ranker of 0 and 1.

    Parameters
    ----------
    terms : PushTerms
    p : float
    top : float
        Logarithm of F, or of about as much, before the step.
    """

    def __init__(self, terms: PushTerms, p: float, top: float) -> None:
        self._terms, self._p, self._top = terms, p, top
        self.reach = 2.0 / (p + 1.0)
        self._start = self._at(0.0)

    def _at(self, alpha: float) -> LineTotals:
        found = self._terms.sums(alpha, self._top)
        return self._terms.sums(alpha, found.peak) if found.far else found

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative after a step of alpha."""
        found = self._start if alpha == 0.0 else self._at(alpha)
        right, wrong, square, bend = found.shares
        slope = wrong - right
        return slope, bend + self._p * max(square - slope * slope, 0.0)

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right and wrong, before the step."""
        right, wrong, _, _ = self._start.shares
        return right, wrong

    def closed_form(self) -> float | None:
        """Return ``ln(A1 C0 / (A0 C1)) / (p + 1)`` for one term: one query of two labels."""
        return self._terms.best()


# --- The p-norm push: the higher a negative ranks, the more it costs (Rudin 2009)
#
# With ``S_lo = sum_hi u_hi e^(H(lo) - H(hi))`` over the rows that should rank above row lo, the
# loss is ``F = sum_q c_q sum_lo u_lo S_lo^p``. The code minimises the logarithm of its p-norm form
# ``F^(1/p)``, which has the same minimum and is RankBoost's for p = 1. Instance weights of losers
# are outside the power and those of winners inside, so that a row of weight 2 counts as two rows
# on both sides.


class PNormLoss(PairLoss):
    """``(sum_lo (sum_hi e^(H(lo) - H(hi)))^p)^(1/p)``, relative to its value at equal scores.

    O(n) per round for labels, by prefix sums over the levels of each query, in logarithms;
    O(pairs) for explicit pairs.

    Parameters
    ----------
    p : float
        At least 1.
    """

    noun = "the p-norm push"

    def __init__(self, p: float) -> None:
        self.p = float(p)

    def over_labels(self, rows: LabelledRows, inner: PairState, threads: int) -> PairLossState:
        """Return the state of the loss over labels."""
        return LabelPush(rows, inner, self.p, threads)

    def over_pairs(self, pairs: ListedPairs, inner: PairState) -> PairLossState:
        """Return the state of the loss over explicit pairs."""
        return PairPush(pairs, inner, self.p)


@dataclass(frozen=True)
class PushTotals:
    """What the push of queries adds up to, without rounding.

    Attributes
    ----------
    drawn, every : ExactSum
        F of the queries drawn and of all, each times ``e^-top`` of ``tops``.
    tops : Peaks
        Logarithms of about as much as these sums are.
    """

    drawn: ExactSum
    every: ExactSum
    tops: Peaks

    @classmethod
    def of(cls, drawn: Floats, every: Floats, tops: Peaks) -> PushTotals:
        """Add up queries by the logarithms of their F."""
        with np.errstate(over="ignore"):  # (then others are tried)
            sums = [ExactSum.of(exp(drawn - tops.drawn)), ExactSum.of(exp(every - tops.every))]
        return cls(sums[0], sums[1], tops)

    @property
    def far(self) -> bool:
        """Whether F is so far from ``e^top`` that digits can be lost."""
        return not (in_range(self.drawn) and in_range(self.every))

    @property
    def logs(self) -> Peaks:
        """Logarithms of F."""
        drawn = self.tops.drawn + log(self.drawn.value)
        return Peaks(drawn, self.tops.every + log(self.every.value))


class PushState(PairLossState):
    """What both forms of the push share.

    Attributes
    ----------
    curvature : array over the rows
        ``p`` times the weight of all pairs that the row is in. The second derivative of F by the
        score of the row, in the units of the potentials, is never above it, and equal for p = 1
        and for rows that are never the better one.
    """

    _won: Floats
    _lost: Floats

    def __init__(self, inner: PairState, p: float) -> None:
        super().__init__(inner)
        self._p, self.reach = p, 1.0 / p

    @property
    def curvature(self) -> Floats:
        """A bound on the second derivative, of the scores that potentials were last asked for."""
        return self._p * (self._won + self._lost)

    def _write(self, pi: Floats) -> None:
        n = len(self.scores)
        np.subtract(self._won, self._lost, out=pi[:n])
        pi[n:] = 0.0


class LabelPush(PushState):
    """The push over labels: every row against those of its query with a higher label."""

    def __init__(self, rows: LabelledRows, inner: PairState, p: float, threads: int) -> None:
        super().__init__(inner, p)
        self._layout = rows.layout
        self._sums = PushSums(rows.layout, rows.weight, rows.gap, threads)
        self._query = rows.layout.query_of_row()
        self._all = self._drawn = self._coefficients(rows)
        self._tops = Peaks(0.0, 0.0)
        self._start: float | None = None

    def _coefficients(self, rows: LabelledRows) -> Floats:
        """Return the logarithm of the factor on every query.

        Balanced queries weigh the same at equal scores, as in RankBoost; there they would not
        if their weights were made for p = 1.
        """
        with np.errstate(divide="ignore"):
            logs = log(rows.coefficient)
        if rows.balanced:
            logs = logs + self._sums.logs(self.scores, 1.0)[2]
            logs -= self._sums.logs(self.scores, self._p)[2]
        return np.where(rows.coefficient > 0, logs, -np.inf)

    def _weights(self, scores: Floats, tops: Peaks) -> tuple[Floats, Floats, PushTotals]:
        """Return the weight of the pairs that every row should win and lose, and their totals.

        Parameters
        ----------
        tops : Peaks
            What all are divided by; others, if the totals are so far from these that digits are
            lost.
        """
        positive, negative, log_loss = self._sums.logs(scores, self._p)
        drawn, every = self._drawn + log_loss, self._all + log_loss
        totals = PushTotals.of(drawn, every, tops)
        if totals.far:
            tops = Peaks(*(float(one.max(initial=-np.inf)) for one in (drawn, every)))
            totals = PushTotals.of(drawn, every, tops)
        shift = (self._drawn - tops.drawn)[self._query]
        return exp(positive + shift), exp(negative + shift), totals

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of ``(1/p) ln F``: O(n)."""
        self._won, self._lost, totals = self._weights(self.scores, self._tops)
        self._write(pi)
        self._tops = totals.logs
        if self._start is None:
            start = self._weights(np.zeros_like(self.scores), Peaks(0.0, 0.0))[2]
            self._start = start.logs.every
        return 1.0 / totals.drawn.value, (self._tops.every - self._start) / self._p

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a weak ranker of any scores; costs what potentials cost."""
        won, lost, totals = self._weights(self.scores + alpha * output, self._tops)
        return -exact_sum((won - lost) * output) / totals.drawn.value

    def _margins(self, output: Output) -> tuple[float, float]:
        counts = self._drawn[self._query] > -np.inf
        return margin_range(self._layout, np.where(counts, output, 0.0))

    def line(self, output: Output) -> PushLine:
        """Return the loss along a weak ranker: one O(n) pass, then O(levels) per evaluation."""
        above, inside = self._sums.split(self.scores, self._p, output)
        inside += np.repeat(self._drawn, np.diff(self._layout.query_first))[:, None]
        return PushLine(PushTerms(inside, above, self._p), self._p, self._tops.drawn)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries, at least one."""
        chosen = draw_share(np.flatnonzero(self._all > -np.inf), fraction, random)
        self._drawn = np.full_like(self._all, -np.inf)
        self._drawn[chosen] = self._all[chosen]


class PairPush(PushState):
    """The push over explicit pairs: every loser against its winners."""

    def __init__(self, pairs: ListedPairs, inner: PairState, p: float) -> None:
        super().__init__(inner, p)
        order = np.argsort(pairs.low, kind="stable")
        pairs = self._pairs = pairs.take(order)
        with np.errstate(divide="ignore"):
            self._all = self._log_weight = log(pairs.weight)
        self._losers, first = np.unique(pairs.low, return_index=True)
        self._starts = np.append(first, len(order))
        self._term = np.repeat(np.arange(len(first)), np.diff(self._starts))
        self._start = self._log_total(self.scores, self._all)[1]

    def _sums(self, logs: Floats) -> Floats:
        """Return the logarithm of the sum over the pairs of every loser."""
        top = np.maximum.reduceat(logs, self._starts[:-1])
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            inner = np.add.reduceat(exp(logs - safe[self._term]), self._starts[:-1])
            return safe + log(inner)

    def _log_total(self, scores: Floats, log_weight: Floats) -> tuple[Floats, float]:
        """Return ``ln S`` of every loser, and ln F."""
        inner = self._sums(self._logs(scores, log_weight))
        return inner, log_sum(self._p * inner)

    def _logs(self, scores: Floats, log_weight: Floats) -> Floats:
        """Return ``ln(w e^(H(lo) - H(hi)))`` of every pair."""
        return log_weight + scores[self._pairs.low] - scores[self._pairs.high]

    def _weights(self, scores: Floats) -> tuple[Floats, Floats, float]:
        """Return the weight of the pairs that every row should win and lose, and ln F of all."""
        inner, total = self._log_total(scores, self._log_weight)
        known = np.where(np.isfinite(inner), inner, 0.0)[self._term]
        d = exp(self._logs(scores, self._log_weight) + (self._p - 1.0) * known - total)
        high, low, _ = self._pairs
        won, lost = (np.asarray(np.bincount(x, d, len(scores)), np.float64) for x in (high, low))
        whole = total if self._log_weight is self._all else self._log_total(scores, self._all)[1]
        return won, lost, whole

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of ``(1/p) ln F``: O(pairs)."""
        self._won, self._lost, log_loss = self._weights(self.scores)
        self._write(pi)
        return 1.0, (log_loss - self._start) / self._p

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a weak ranker of any scores; costs what potentials cost."""
        won, lost, _ = self._weights(self.scores + alpha * output)
        return -exact_dot(won - lost, output)

    def _margins(self, output: Output) -> tuple[float, float]:
        margins = self._pairs.margins(output)[self._log_weight > -np.inf]
        return float(margins.min()), float(margins.max())

    def line(self, output: Output) -> PushLine:
        """Return the loss along a weak ranker: one O(pairs) pass, then O(losers) per evaluation."""
        logs = self._log_weight - self.scores[self._pairs.high]
        winner = output[self._pairs.high]
        above = np.stack([self._sums(np.where(winner == b, logs, -math.inf)) for b in (0, 1)], 1)
        own = self._p * self.scores[self._losers]
        inside = np.where(output[self._losers, None] == [0, 1], own[:, None], -math.inf)
        top = self._log_total(self.scores, self._log_weight)[1]
        return PushLine(PushTerms(inside, above, self._p), self._p, top)

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the pairs, at least one."""
        chosen = draw_share(np.arange(len(self._all)), fraction, random)
        self._log_weight = np.full_like(self._all, -math.inf)
        self._log_weight[chosen] = self._all[chosen]

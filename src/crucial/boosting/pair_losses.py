"""Losses over pairs as objectives: exponential for AdaBoost, logistic, and pushes of the top."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import NamedTuple, Protocol, cast

import numpy as np

from crucial.boosting.loop import Objective
from crucial.errors import DataError
from crucial.feedback.base import (
    DrawnShare,
    Feedback,
    LabelledRows,
    Least,
    ListedPairs,
    Most,
    Output,
    PairState,
    Potentials,
    margin_range,
)
from crucial.feedback.classes import BipartiteState, log_sum
from crucial.kernels.elementary import ExactSum, exact_dot, exact_sum, exp, log, log1p, logaddexp
from crucial.kernels.losses import NARROW, LogisticSums
from crucial.kernels.pairs import PushSums
from crucial.types import Floats

# --- The exponential loss over instances, which AdaBoost minimises


class ClassificationLoss(Objective):
    """F(H) = F+ + F-, the sum over instances of ``exp(-y_i H(x_i))``, over its value at 0.

    ``F+`` is the part of the good rows, ``F-`` that of the bad ones; RankBoost minimises
    their product (Rudin & Schapire 2009, equation 14), and where ``F+ = F-`` at the minimum
    both have the same minimisers (theorem 10). The difference, their F-skew (equation 15),
    goes into the trace as ``f_skew``, in the unit of the instance weights.
    """

    def begin(self, feedback: Feedback, threads: int) -> BipartiteState:
        """Return the state at scores of 0, for feedback of two labels and one query."""
        return BipartiteState(feedback, threads)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the F-skew for the trace."""
        return {"f_skew": cast(BipartiteState, potentials.pairs).f_skew()}


# --- Losses over pairs other than the exponential one, and what they have in common


class Line(Protocol):
    """A convex loss along one weak ranker of 0 and 1.

    Attributes
    ----------
    reach : float
        Factor on ``.5 ln(right / wrong)`` that gives the minimum of the simplest loss of this
        kind. A perfect round, whose own minimum is at infinity, uses it.
    """

    reach: float

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative of the loss after a step of alpha."""

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right, and wrong; all pairs weigh 1."""

    def closed_form(self) -> float | None:
        """Return the step of the least loss by a formula; None if there is none."""
        return None


class PairLossState(DrawnShare):
    """`ScoreState` whose weights of pairs are those of a loss that is not exponential.

    Parameters
    ----------
    inner : PairState
        Follows the scores and counts what is misordered.

    Attributes
    ----------
    reach : float
        Factor on the weight of RankBoost's method 3 that makes it one of this loss.
    """

    reach = 1.0

    def __init__(self, inner: PairState) -> None:
        self._inner = inner
        self.scores = inner.scores  # (the same array: it moves with the inner state)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials; return their scale and the logarithm of the loss."""
        raise NotImplementedError

    def line(self, output: Output) -> Line:
        """Return the loss along a weak ranker of 0 and 1."""
        raise NotImplementedError

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative of the loss along a weak ranker of any scores, after a step.

        Up to a positive factor that is the same for all alpha. The scores must not span more
        than 1.
        """
        raise NotImplementedError

    def turns(self, output: Output, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair that counts, however light."""
        smallest, largest = self._margins(output)
        return smallest < 0.0 if sign > 0.0 else largest > 0.0

    def _margins(self, output: Output) -> tuple[float, float]:
        """Return the smallest and the largest margin of the pairs that count."""
        raise NotImplementedError

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._inner.advance(output, alpha)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        return self.line(output).weights()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self._inner.risks()


class PairLoss(Objective):
    """A loss with one form over labels and one over explicit pairs."""

    #: What messages call it.
    noun: str

    @abstractmethod
    def over_labels(self, rows: LabelledRows, inner: PairState, threads: int) -> PairLossState:
        """Return the state of the loss over labels."""

    @abstractmethod
    def over_pairs(self, pairs: ListedPairs, inner: PairState) -> PairLossState:
        """Return the state of the loss over explicit pairs."""

    def begin(self, feedback: Feedback, threads: int) -> PairLossState:
        """Return the state of the loss at scores of 0."""
        rows, pairs = feedback.labelled(), feedback.listed()
        if rows is not None:
            return self.over_labels(rows, feedback.state(threads=threads), threads)
        if pairs is not None:
            return self.over_pairs(pairs, feedback.state())
        raise DataError(
            f"{self.noun} learns from labels or from pairs, not from "
            f"{type(feedback).__name__}: use fit(X, y, qid=...), or fit_pairs(X, pairs) without y. "
            "RankBoost takes both together."
        )


# --- The logistic loss over pairs, RankNet's (Burges et al. 2005): ``ln(1 + e^-(H(hi) - H(lo)))``
#
# It grows like the margin where a pair is wrong, not like its exponential, so that a few rows
# that cannot be helped weigh less. A round looks at each pair of a query, made on the fly and never
# kept; beyond 2^24 pairs in a query it interpolates, in O(n) times the range of the scores and with
# an error below 1e-11 (`crucial.kernels.losses`).


class LogisticLoss(PairLoss):
    """Weighted mean over pairs of ``log2(1 + e^-(H(hi) - H(lo)))``; 1 at equal scores.

    Like the exponential loss it is never less than the share of misordered pairs, R1.
    """

    name, about = "logistic", "all pairs, as in `LogisticRanker`; also from explicit pairs"
    cost = 3.0
    parted = "logistic"
    noun = "the logistic loss"

    def over_labels(self, rows: LabelledRows, inner: PairState, threads: int) -> LogisticState:
        """Return the state of the loss over labels."""
        return LabelLogistic(rows, inner, threads)

    def over_pairs(self, pairs: ListedPairs, inner: PairState) -> LogisticState:
        """Return the state of the loss over explicit pairs."""
        return PairLogistic(pairs, inner)


class LogisticState(PairLossState):
    """Pairs that weigh ``w / (1 + e^(H(hi) - H(lo)))``.

    Attributes
    ----------
    curvature : array over the rows
        Second derivative of the loss by the score of each row alone, in the units of the
        potentials (before their scale); of the scores that potentials were last asked for.
    """

    curvature: Floats
    _total: float
    _shift: float

    def along(self, output: Floats, alpha: float) -> tuple[float, float, float]:
        """Return the weight of right and wrong pairs and their curvature, after a step of alpha.

        Up to a common factor that depends on alpha alone.
        """
        raise NotImplementedError

    def line(self, output: Output) -> LogisticLine:
        """Return the loss along a weak ranker; an evaluation costs what potentials cost."""
        return LogisticLine(self, output.astype(np.float64), self._total)

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a weak ranker of any scores; costs what potentials cost."""
        # (the sums are multiplied by e^(shift - |alpha|), but never by less than 1)
        gained = self._gained(output, alpha)
        return -gained * exp(min(self._shift, abs(alpha))) / self._total

    def _gained(self, output: Floats, alpha: float) -> float:
        """Return the weight of all pairs after a step, times what a ranker adds to them.

        Also times ``e^shift``, with the shift of the scores less the step.
        """
        raise NotImplementedError

    def _after(self, output: Output, alpha: float) -> tuple[Floats, float]:
        """Return the scores after a step, and the shift of their sums."""
        return self.scores + alpha * output, max(0.0, self._shift - abs(alpha))


class LogisticLine(Line):
    """The logistic loss along a weak ranker of 0 and 1."""

    reach = 1.0

    def __init__(self, state: LogisticState, output: Floats, total: float) -> None:
        self._state, self._output, self._total = state, output, total
        self._start = state.along(output, 0.0)

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative after a step of alpha."""
        known = alpha == 0.0
        right, wrong, bend = self._start if known else self._state.along(self._output, alpha)
        return (wrong - right) / self._total, bend / self._total

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right and wrong, before the step."""
        return self._start[0] / self._total, self._start[1] / self._total


def _mean_log(loss: float, shift: float, weight: float) -> float:
    """Return the logarithm of the mean loss in units of ln 2, for a sum times e^shift."""
    return log(loss) - shift - log(weight * log(2.0))


class ScoreReach(NamedTuple):
    """How far apart scores are, in some queries.

    Attributes
    ----------
    widest : Most
        Largest distance of two scores of a query.
    least : Least
        Smallest margin; minus infinity where nothing depends on it.
    """

    widest: Most
    least: Least

    @property
    def narrow(self) -> bool:
        """Whether nothing underflows."""
        return self.widest <= NARROW

    @property
    def shift(self) -> float:
        """A number that no margin is below, or 0."""
        return 0.0 if self.narrow else max(0.0, self.least)


class LogisticTotals(NamedTuple):
    """Sums over pairs, times ``e^shift``, without rounding.

    Attributes
    ----------
    drawn : ExactSum
        Weight of the pairs drawn.
    every : ExactSum
        Loss of all pairs.
    shift : Most
    """

    drawn: ExactSum
    every: ExactSum
    shift: Most

    def finish(self, pair_weight: float) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss.

        Parameters
        ----------
        pair_weight : float
            Weight of all pairs.
        """
        total = self.drawn.value
        scale = 1.0 / total if total > 0 else 1.0
        return scale, _mean_log(self.every.value, self.shift, pair_weight)


class LabelLogistic(LogisticState):
    """The logistic loss over labels; rows are spread over threads, each summed up for itself."""

    def __init__(self, rows: LabelledRows, inner: PairState, threads: int) -> None:
        super().__init__(inner)
        layout = self._layout = rows.layout
        self._sums = LogisticSums(layout, rows.weight, rows.gains, threads)
        self._query = layout.query_of_row()
        self._all = self._drawn = rows.coefficient
        self._total, self._shift = 0.0, 0.0
        # (at equal scores every pair counts half)
        half = self._sums.sums(self.scores, 0.0)[0]
        self.pair_sums = ExactSum.of(self._all[self._query] * half)

    @property
    def _pair_weight(self) -> float:
        """Weight of all pairs."""
        return 2.0 * self.pair_sums.value

    def score_reach(self, whole: bool = False) -> ScoreReach:
        """Return how far apart scores are.

        Parameters
        ----------
        whole : bool
            Look at the smallest margin even if the queries here do not depend on it.
        """
        widest = self._sums.widest(self.scores)
        if widest <= NARROW and not whole:
            return ScoreReach(Most(widest), Least(-math.inf))
        return ScoreReach(Most(widest), Least(margin_range(self._layout, self.scores)[0]))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of the loss: O(pairs), or O(n) in large queries."""
        return self.finish(self.sums(pi))

    def sums(self, pi: Floats, reach: ScoreReach | None = None) -> LogisticTotals:
        """Write minus the gradient of the loss; add up the weights and losses of all pairs.

        Parameters
        ----------
        reach : ScoreReach, optional
            Of all queries, where these are some of many.
        """
        n = len(self.scores)
        reach = self.score_reach() if reach is None else reach
        self._shift = reach.shift
        positive, negative, bend, loss = self._sums.sums(self.scores, reach.shift, reach.narrow)
        drawn = self._drawn[self._query]
        self.curvature = drawn * bend
        pi[:n] = drawn * (positive - negative)
        pi[n:] = 0.0
        every = ExactSum.of(self._all[self._query] * loss)
        return LogisticTotals(ExactSum.of(drawn * positive), every, Most(reach.shift))

    def finish(self, totals: LogisticTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        self._total, self._shift = totals.drawn.value, totals.shift
        return totals.finish(self._pair_weight)

    def along(self, output: Floats, alpha: float) -> tuple[float, float, float]:
        """Return the weight of right and wrong pairs and their curvature, after a step of alpha."""
        scores, shift = self._after(output, alpha)
        out = self._sums.along(scores, shift, output)
        drawn = self._drawn[self._query]
        right, wrong, bend = (exact_sum(drawn * column) for column in out.T)
        return right, wrong, bend

    def _gained(self, output: Floats, alpha: float) -> float:
        scores, shift = self._after(output, alpha)
        positive, negative, _, _ = self._sums.sums(scores, shift)
        return exact_sum(self._drawn[self._query] * (positive - negative) * output)

    def _margins(self, output: Output) -> tuple[float, float]:
        return margin_range(self._layout, np.where(self._drawn[self._query] > 0, output, 0.0))


class PairLogistic(LogisticState):
    """The logistic loss over explicit pairs."""

    def __init__(self, pairs: ListedPairs, inner: PairState) -> None:
        super().__init__(inner)
        self._pairs = pairs
        self._all = self._drawn = pairs.weight
        self._pair_weight = exact_sum(pairs.weight)
        self._total, self._shift = 0.0, 0.0

    def _shares(self, margin: Floats, shift: float) -> tuple[Floats, Floats]:
        """Return ``s e^shift`` and ``1 - s`` of every pair."""
        tail = exp(-np.abs(margin))
        share = exp(np.minimum(0.0, -margin) + shift) / (1.0 + tail)
        return share, np.where(margin > 0, 1.0, tail) / (1.0 + tail)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of the loss: O(pairs)."""
        n = len(self.scores)
        margin = self._pairs.margins(self.scores)
        shift = self._shift = max(0.0, float(margin.min()))
        share, against = self._shares(margin, shift)
        d = self._drawn * share
        bend = d * against
        high, low, _ = self._pairs
        self._pairs.write_potentials(d, n, pi)
        self.curvature = np.add(np.bincount(high, bend, n), np.bincount(low, bend, n))
        self._total = exact_sum(d)
        # ln(1 + e^-m) e^shift, also where e^-m underflows
        tail = exp(-np.abs(margin))
        small = tail < 1e-8
        ratio = np.where(small, 1.0 - tail / 2, log1p(tail) / np.where(small, 1.0, tail))
        cost = exp(shift - np.abs(margin)) * ratio + np.maximum(0.0, -margin)
        whole = exact_dot(self._all, cost)
        scale = 1.0 / self._total if self._total > 0 else 1.0
        return scale, _mean_log(whole, shift, self._pair_weight)

    def along(self, output: Floats, alpha: float) -> tuple[float, float, float]:
        """Return the weight of right and wrong pairs and their curvature, after a step of alpha."""
        scores, shift = self._after(output, alpha)
        share, against = self._shares(self._pairs.margins(scores), shift)
        d = self._drawn * share
        gained = self._pairs.margins(output)
        bend = exact_sum((d * against)[gained != 0])
        return exact_sum(d[gained > 0]), exact_sum(d[gained < 0]), bend

    def _gained(self, output: Floats, alpha: float) -> float:
        scores, shift = self._after(output, alpha)
        share, _ = self._shares(self._pairs.margins(scores), shift)
        return exact_sum(self._drawn * share * self._pairs.margins(output))

    def _margins(self, output: Output) -> tuple[float, float]:
        margins = self._pairs.margins(output)[self._drawn > 0]
        return float(margins.min()), float(margins.max())


# --- The p-norm push along a weak ranker of 0 and 1


# Sums in this range have lost no digit: what underflowed beside them is far below their last one.
_RANGE = (1e-90, 1e90)


def in_range(total: float) -> bool:
    """Return whether a sum of exponentials has all its digits.

    >>> in_range(0.5), in_range(1e-300)
    (True, False)
    """
    return _RANGE[0] <= total <= _RANGE[1]


class PushLine(Line):
    """The push ``(1/p) ln F`` along a weak ranker of 0 and 1.

    ``F(alpha) = sum_s (C_s0 + C_s1 e^(p alpha)) (A_s0 + A_s1 e^(-alpha))^p``; the rows of a level
    have the same inner sum, and one term.

    Parameters
    ----------
    log_inside, log_above : arrays of shape (n_terms, 2)
        Logarithms of C, coefficients included, and of A.
    p : float
    top : float
        Logarithm of F, or of about as much, before the step.
    """

    def __init__(self, log_inside: Floats, log_above: Floats, p: float, top: float) -> None:
        counts = (log_inside.max(axis=1) > -np.inf) & (log_above.max(axis=1) > -np.inf)
        self._c, self._a, self._p = log_inside[counts].T, log_above[counts].T, p
        self.reach, self._top = 2.0 / (p + 1.0), top
        self._start = self._shares(0.0)

    def _shares(self, alpha: float) -> list[float]:
        """Return sums after a step of alpha as shares of F.

        Of the pairs that the ranker orders right, and wrong; and, of what a loser gains on those
        above it, the square and the derivative.
        """
        a = np.stack((self._a[0], self._a[1] - alpha))
        whole = logaddexp(*a)
        logs = self._c + self._p * (whole + np.array([[0.0], [alpha]]))
        inner = exp(a - whole)
        with np.errstate(over="ignore"):
            term = exp(logs - self._top)
        if not in_range(exact_sum(term)):
            term = exp(logs - float(logs.max(initial=-np.inf)))
        right, wrong = term[0] * inner[1], term[1] * inner[0]
        # How far the loser moves more than the mean of what should win against it.
        square = np.stack((right * inner[1], wrong * inner[0]))
        parts = (right, wrong, square, term * (inner[0] * inner[1]))
        total = exact_sum(term)
        return [exact_sum(one) / total for one in parts]

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative after a step of alpha."""
        right, wrong, square, bend = self._start if alpha == 0.0 else self._shares(alpha)
        slope = wrong - right
        return slope, bend + self._p * max(square - slope * slope, 0.0)

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right and wrong, before the step."""
        return self._start[0], self._start[1]

    def closed_form(self) -> float | None:
        """Return ``ln(A1 C0 / (A0 C1)) / (p + 1)`` for one term: one query of two labels."""
        if self._a.shape[1] != 1:
            return None
        (a0, a1), (c0, c1) = self._a[:, 0].tolist(), self._c[:, 0].tolist()
        return float(a1 + c0 - a0 - c1) / (self._p + 1.0)


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

    nothing = -math.inf

    def __init__(self, rows: LabelledRows, inner: PairState, p: float, threads: int) -> None:
        super().__init__(inner, p)
        self._layout = rows.layout
        self._sums = PushSums(rows.layout, rows.weight, rows.gap, threads)
        self._query = rows.layout.query_of_row()
        self._all = self._drawn = self._coefficients(rows)
        self._tops = [0.0, 0.0]
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

    def _weights(
        self, scores: Floats, tops: list[float]
    ) -> tuple[Floats, Floats, float, list[float]]:
        """Return the weight of the pairs that every row should win and lose, and their sum.

        Also the logarithms of F, over the queries drawn and over all.

        Parameters
        ----------
        tops : list of float
            What both F are divided by, as logarithms; others, if they are so far from these that
            digits are lost.
        """
        positive, negative, log_loss = self._sums.logs(scores, self._p)
        both = (self._drawn + log_loss, self._all + log_loss)
        with np.errstate(over="ignore"):
            totals = [exact_sum(exp(one - top)) for one, top in zip(both, tops)]
        if not all(map(in_range, totals)):
            tops = [float(one.max(initial=-np.inf)) for one in both]
            totals = [exact_sum(exp(one - top)) for one, top in zip(both, tops)]
        shift = (self._drawn - tops[0])[self._query]
        logs = [top + log(total) for top, total in zip(tops, totals)]
        return exp(positive + shift), exp(negative + shift), totals[0], logs

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of ``(1/p) ln F``: O(n)."""
        self._won, self._lost, total, self._tops = self._weights(self.scores, self._tops)
        self._write(pi)
        if self._start is None:
            self._start = self._weights(np.zeros_like(self.scores), [0.0, 0.0])[3][1]
        return 1.0 / total, (self._tops[1] - self._start) / self._p

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative along a weak ranker of any scores; costs what potentials cost."""
        won, lost, total, _ = self._weights(self.scores + alpha * output, self._tops)
        return -exact_sum((won - lost) * output) / total

    def _margins(self, output: Output) -> tuple[float, float]:
        counts = self._drawn[self._query] > -np.inf
        return margin_range(self._layout, np.where(counts, output, 0.0))

    def line(self, output: Output) -> PushLine:
        """Return the loss along a weak ranker: one O(n) pass, then O(levels) per evaluation."""
        above, inside = self._sums.split(self.scores, self._p, output)
        inside += np.repeat(self._drawn, np.diff(self._layout.query_first))[:, None]
        return PushLine(inside, above, self._p, self._tops[0])


class PairPush(PushState):
    """The push over explicit pairs: every loser against its winners."""

    def __init__(self, pairs: ListedPairs, inner: PairState, p: float) -> None:
        super().__init__(inner, p)
        order = np.argsort(pairs.low, kind="stable")
        pairs = self._pairs = pairs.take(order)
        with np.errstate(divide="ignore"):
            self._all = self._drawn = log(pairs.weight)
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
        inner, total = self._log_total(scores, self._drawn)
        known = np.where(np.isfinite(inner), inner, 0.0)[self._term]
        d = exp(self._logs(scores, self._drawn) + (self._p - 1.0) * known - total)
        high, low, _ = self._pairs
        won, lost = (np.asarray(np.bincount(x, d, len(scores)), np.float64) for x in (high, low))
        whole = total if self._drawn is self._all else self._log_total(scores, self._all)[1]
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
        margins = self._pairs.margins(output)[self._drawn > -np.inf]
        return float(margins.min()), float(margins.max())

    def line(self, output: Output) -> PushLine:
        """Return the loss along a weak ranker: one O(pairs) pass, then O(losers) per evaluation."""
        logs = self._drawn - self.scores[self._pairs.high]
        winner = output[self._pairs.high]
        above = np.stack([self._sums(np.where(winner == b, logs, -math.inf)) for b in (0, 1)], 1)
        own = self._p * self.scores[self._losers]
        inside = np.where(output[self._losers, None] == [0, 1], own[:, None], -math.inf)
        top = self._log_total(self.scores, self._drawn)[1]
        return PushLine(inside, above, self._p, top)

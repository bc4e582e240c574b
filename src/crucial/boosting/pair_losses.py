"""Losses over pairs as objectives: exponential (RankBoost, AdaBoost) and logistic."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from crucial.boosting.parts import Objective
from crucial.errors import DataError
from crucial.feedback.base import (
    Feedback,
    LabelledRows,
    ListedPairs,
    Output,
    PairState,
    Potentials,
    draw_share,
    margin_range,
)
from crucial.feedback.classes import BipartiteState
from crucial.kernels.elementary import exp, log, log1p
from crucial.kernels.losses import NARROW, LogisticSums
from crucial.kernels.sums import ExactSum, exact_dot, exact_sum
from crucial.types import Floats, Ints

# --- The exponential loss over pairs, which all of RankBoost minimises


class ExponentialLoss(Objective):
    """E1(H): weighted mean over pairs of ``exp(H(lo) - H(hi))``.

    Connamacher et al. (2019, equation 5). After each round it is the product of the
    normalisers Z_t so far, which bounds the weighted share of misordered pairs (Freund et
    al. 2003, theorem 1).
    """

    name, about = "exponential", "all pairs, as in `RankBoost`; also from explicit pairs"
    parted = "pairs"

    def begin(self, feedback: Feedback, threads: int) -> PairState:
        """Return the state of the loss at scores of 0."""
        return feedback.state(threads=threads)


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
        """Return where the minimum is, if there is a formula for it."""


class PairLossState:
    """See `crucial.feedback.base.ScoreState`; weights of pairs are those of another loss.

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

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
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


def log_sum(logs: Floats, top: float | None = None) -> float:
    """Return the logarithm of the sum of exponentials, which is rounded once.

    Parameters
    ----------
    top : float, optional
        The largest of the logarithms.

    Examples
    --------
    >>> log_sum(np.array([1000.0, 1000.0])) - 1000.0
    0.69314718...
    """
    top = float(logs.max(initial=-np.inf)) if top is None else top
    if top == -np.inf:
        return top
    return top + log(exact_sum(exp(logs - top)))


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


class LogisticLine:
    """See `crucial.boosting.pair_losses.Line`."""

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

    def closed_form(self) -> float | None:
        """Return None: there is no formula."""
        return None


def _mean_log(loss: float, shift: float, weight: float) -> float:
    """Return the logarithm of the mean loss in units of ln 2, for a sum times e^shift."""
    return log(loss) - shift - log(weight * log(2.0))


@dataclass(frozen=True)
class ScoreReach:
    """How far apart scores are, in some queries.

    Attributes
    ----------
    widest : float
        Largest distance of two scores of a query.
    least : float
        Smallest margin; minus infinity where nothing depends on it.
    """

    widest: float
    least: float

    def merge(self, other: ScoreReach) -> ScoreReach:
        """Return the reach of the queries of both."""
        return ScoreReach(max(self.widest, other.widest), min(self.least, other.least))

    @property
    def narrow(self) -> bool:
        """Whether nothing underflows."""
        return self.widest <= NARROW

    @property
    def shift(self) -> float:
        """A number that no margin is below, or 0."""
        return 0.0 if self.narrow else max(0.0, self.least)


@dataclass(frozen=True)
class LogisticTotals:
    """Sums over pairs, times ``e^shift``, without rounding.

    Attributes
    ----------
    drawn : ExactSum
        Weight of the pairs drawn.
    every : ExactSum
        Loss of all pairs.
    shift : float
    """

    drawn: ExactSum
    every: ExactSum
    shift: float

    def merge(self, other: LogisticTotals) -> LogisticTotals:
        """Return the sums over the pairs of both."""
        return LogisticTotals(self.drawn + other.drawn, self.every + other.every, self.shift)

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
            return ScoreReach(widest, -math.inf)
        return ScoreReach(widest, margin_range(self._layout, self.scores)[0])

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
        return LogisticTotals(ExactSum.of(drawn * positive), every, reach.shift)

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

    def _after(self, output: Output, alpha: float) -> tuple[Floats, float]:
        """Return the scores after a step, and the shift of their sums."""
        return self.scores + alpha * output, max(0.0, self._shift - abs(alpha))

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries, at least one."""
        self.count_only(draw_share(self.counting, fraction, random))

    @property
    def counting(self) -> Ints:
        """The queries whose pairs weigh anything."""
        return np.flatnonzero(self._all > 0)

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""
        self._drawn = np.zeros_like(self._all)
        self._drawn[chosen] = self._all[chosen]


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
        scores = self.scores + alpha * output
        shift = max(0.0, self._shift - abs(alpha))
        share, against = self._shares(self._pairs.margins(scores), shift)
        d = self._drawn * share
        gained = self._pairs.margins(output)
        bend = exact_sum((d * against)[gained != 0])
        return exact_sum(d[gained > 0]), exact_sum(d[gained < 0]), bend

    def _gained(self, output: Floats, alpha: float) -> float:
        scores, shift = self.scores + alpha * output, max(0.0, self._shift - abs(alpha))
        share, _ = self._shares(self._pairs.margins(scores), shift)
        return exact_sum(self._drawn * share * self._pairs.margins(output))

    def _margins(self, output: Output) -> tuple[float, float]:
        margins = self._pairs.margins(output)[self._drawn > 0]
        return float(margins.min()), float(margins.max())

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Use only a random share of the pairs, at least one."""
        chosen = draw_share(np.arange(len(self._all)), fraction, random)
        self._drawn = np.zeros_like(self._all)
        self._drawn[chosen] = self._all[chosen]

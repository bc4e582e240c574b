"""Label feedback under changing scores, without its pairs."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from crucial.feedback.layout import LabelledRows
from crucial.feedback.states import Output, draw_share, padded, risks_of
from crucial.kernels.elementary import exp, log
from crucial.kernels.pairs import PairSums, advance_binary, log_shift
from crucial.kernels.sums import ExactSum, unit_for
from crucial.types import Codes, Floats, Ints

__all__ = ["LabelState", "Peaks", "QueryTotals", "Risks", "wrong_unit_of"]

# While sums of |alpha| stay under this, products of two exponentials stay finite.
_LINEAR_RANGE = 200.0
# Exponents of a query beyond this are cut off where only the choice of a stump is at stake.
_CLIP = 345.0
# A query whose pairs weigh less is near underflow: its weights are far apart in size.
_TINY = 1e-250


@dataclass(frozen=True)
class Peaks:
    """Logarithms of the largest loss of a query, of those drawn and of all."""

    drawn: float
    every: float

    def merge(self, other: Peaks) -> Peaks:
        """Return the largest of two parts of the queries."""
        return Peaks(max(self.drawn, other.drawn), max(self.every, other.every))


@dataclass(frozen=True)
class QueryTotals:
    """Losses of queries, added up without rounding.

    Attributes
    ----------
    drawn, every : ExactSum
        What the pairs drawn weigh, and all pairs.
    least : float
        The smallest loss of a query, before coefficients.
    log_unit : float
        Logarithm of what ``every`` is a multiple of.
    """

    drawn: ExactSum
    every: ExactSum
    least: float
    log_unit: float = 0.0

    def merge(self, other: QueryTotals) -> QueryTotals:
        """Return the totals of both parts of the queries."""
        drawn, every = self.drawn + other.drawn, self.every + other.every
        return QueryTotals(drawn, every, min(self.least, other.least), self.log_unit)

    def finish(self, log_total: float) -> tuple[float, float]:
        """Return the scale of potentials and the logarithm of the loss.

        Parameters
        ----------
        log_total : float
            Logarithm of the weight of all pairs at scores of 0.
        """
        return 1.0 / self.drawn.value, self.log_unit + log(self.every.value) - log_total

    @property
    def underflows(self) -> bool:
        """Whether the weights of some query are so far apart that logarithms are needed."""
        return self.least < _TINY


@dataclass(frozen=True)
class Risks:
    """Weight of the pairs in the wrong order and of tied ones, added up without rounding."""

    wrong: ExactSum
    tied: ExactSum

    def merge(self, other: Risks) -> Risks:
        """Return the sums of both parts of the queries."""
        return Risks(self.wrong + other.wrong, self.tied + other.tied)

    def shares(self, log_total: float) -> tuple[float, float]:
        """Return R1 and R2, for the logarithm of the weight of all pairs."""
        whole = exp(log_total)
        return risks_of(self.wrong.value / whole, self.tied.value / whole)


def wrong_unit_of(total: float) -> float:
    """Return the unit of W- where the pairs drawn weigh so much.

    Examples
    --------
    >>> wrong_unit_of(1.0) == 2.0**-58
    True
    """
    return unit_for(2.0 * total)  # (a pair may come and go again)


class LabelState:
    """See `crucial.feedback.states.PairState`.

    ``u e^{H}`` and ``u e^{-H}`` are kept per row and multiplied round by round, so no
    exponential is computed; once scores could overflow them, potentials move to the
    logarithmic domain.

    Parameters
    ----------
    rows : LabelledRows
    threads : int
    """

    def __init__(self, rows: LabelledRows, threads: int) -> None:
        n = len(rows.layout.rows)
        self._labelled = rows
        self.layout, self._start, self._threads = rows.layout, rows.log_total, threads
        self.scores = np.zeros(n)
        self.up, self.down = np.zeros(padded(n)), np.zeros(padded(n))
        self.up[:n] = self.down[:n] = 1.0 if rows.weight is None else rows.weight
        self._row_weight = rows.weight
        self._all = self._coefficient = rows.coefficient
        self._range = 0.0
        self._sums = PairSums(rows.layout, rows.gains, threads)
        self._total = 0.0  # of the weights drawn, at the current scores
        self._log_loss = np.zeros(0)  # of every query, in the logarithmic domain
        self._peaks = Peaks(0.0, 0.0)  # the largest of them
        self._linear: tuple[Floats, Floats, Floats] | None = None
        self._level_sums: Floats | None = None

    @property
    def _weight(self) -> Floats:
        return np.ones(len(self.scores)) if self._row_weight is None else self._row_weight

    @property
    def logarithmic(self) -> bool:
        """Whether weights are computed from the logarithms of exponentials."""
        return self._range > _LINEAR_RANGE

    def use_logarithms(self) -> None:
        """Compute weights from the logarithms of exponentials from now on."""
        self._range = math.inf

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials by prefix sums over the levels of each query: O(n)."""
        if not self.logarithmic:
            totals = self.sums(pi)
            if not totals.underflows:
                return self.finish(totals)
            self.use_logarithms()
        return self.finish(self.log_sums(pi))

    def sums(self, pi: Floats) -> QueryTotals:
        """Write the potentials and add up the losses of all queries."""
        self._linear = self._level_sums = None
        loss = np.zeros(self.layout.n_queries)
        self._sums.potentials(self.up, self.down, self._coefficient, pi, loss)
        drawn, every = self._totals(loss, loss)
        return QueryTotals(drawn, every, float(loss.min(initial=math.inf)))

    def _totals(self, drawn: Floats, every: Floats) -> tuple[ExactSum, ExactSum]:
        """Return the losses of the queries drawn, and of all, added up."""
        total = ExactSum.of(self._coefficient * drawn)
        if self._all is self._coefficient and drawn is every:
            return total, total
        return total, ExactSum.of(self._all * every)

    def peaks(self) -> Peaks:
        """Return the largest losses, which `log_sums` divides by."""
        log_loss = np.empty(self.layout.n_queries)
        inputs = (self.scores, self._weight, self._coefficient, np.empty_like(self.up))
        self._sums.log_potentials(*inputs, log_loss)
        return self._peaks_of(log_loss)

    def _peaks_of(self, log_loss: Floats) -> Peaks:
        drawn, every = (log_loss[c > 0] for c in (self._coefficient, self._all))
        return Peaks(float(drawn.max(initial=-math.inf)), float(every.max(initial=-math.inf)))

    def log_sums(self, pi: Floats, peaks: Peaks | None = None) -> QueryTotals:
        """Do as `sums` does, for scores whose exponentials overflow.

        Parameters
        ----------
        peaks : Peaks, optional
            Of all queries, where these are some of many.
        """
        self._linear = self._level_sums = None
        log_loss = self._log_loss = np.empty(self.layout.n_queries)
        inputs = (self.scores, self._weight, self._coefficient, pi, log_loss)
        self._sums.log_potentials(*inputs, None if peaks is None else peaks.drawn)
        self._peaks = peaks = self._peaks_of(log_loss) if peaks is None else peaks
        loss = exp(log_loss - log_shift(log_loss, self._coefficient, peaks.drawn))
        # The queries that were not drawn may be far worse, or far better, than the others.
        every = exp(np.minimum(log_loss - peaks.every, 0.0))
        return QueryTotals(*self._totals(loss, every), math.inf, peaks.every)

    def finish(self, totals: QueryTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        self._total = totals.drawn.value
        return totals.finish(self._start)

    def advance(
        self, output: Output, alpha: float, span: tuple[float, float] | None = None
    ) -> None:
        """Add ``alpha * output`` to the scores.

        Parameters
        ----------
        span : (float, float), optional
            Smallest and largest step, where these rows are some of many.
        """
        self._linear = self._level_sums = None
        n = len(self.scores)
        if output.dtype == np.uint8:
            self._range += abs(alpha)
            within = self._range <= _LINEAR_RANGE
            grow, shrink = (exp(alpha), exp(-alpha)) if within else (1.0, 1.0)
            rows = (self.scores, self.up, self.down)
            advance_binary(output, alpha, (grow, shrink), *rows, self._threads)
            return
        step = alpha * output
        self.scores += step
        if span is None:
            span = (float(step.min()), float(step.max())) if n else (0.0, 0.0)
        self._range += span[1] - span[0]
        if self._range <= _LINEAR_RANGE:
            # Only differences count: centred, neither exponential can overflow.
            step -= (span[1] + span[0]) / 2
            factor = exp(step)
            self.up[:n] *= factor
            self.down[:n] /= factor

    def _current(self) -> tuple[Floats, Floats, Floats]:
        """Return ``up``, ``down`` and coefficients under which the drawn pairs weigh ``_total``."""
        if not self.logarithmic:
            return self.up, self.down, self._coefficient
        if self._linear is None:
            # Each query around its middle, its pairs made to weigh 1; the coefficients give
            # it its share again. Beyond a range of 690 inside one query, pairs at its far
            # ends count more than they should in the choice of a stump.
            n, starts = len(self.scores), self.layout.row_start
            top = np.maximum.reduceat(self.scores, starts[:-1])
            bottom = np.minimum.reduceat(self.scores, starts[:-1])
            known = np.isfinite(self._log_loss)
            half = np.where(known, self._log_loss, 0.0) / 2
            sizes = np.diff(starts)
            centred = self.scores - np.repeat((top + bottom) / 2, sizes)
            with np.errstate(divide="ignore"):
                base = log(self._weight) - np.repeat(half, sizes)
            up, down = np.zeros_like(self.up), np.zeros_like(self.down)
            up[:n] = exp(np.clip(base + centred, -_CLIP, _CLIP)) * np.isfinite(base)
            down[:n] = exp(np.clip(base - centred, -_CLIP, _CLIP)) * np.isfinite(base)
            loss = np.zeros(self.layout.n_queries)
            self._sums.potentials(up, down, self._coefficient, np.zeros_like(up), loss)
            shift = log_shift(self._log_loss, self._coefficient, self._peaks.drawn)
            share = exp(self._log_loss - shift)
            share = np.divide(share, loss, out=np.zeros_like(loss), where=known & (loss > 0))
            self._linear = up, down, self._coefficient * share
        return self._linear

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in: O(n)."""
        if not self.logarithmic:
            return self._sums.curvature(self.up, self.down, self._coefficient)
        inputs = (self.scores, self._weight, self._coefficient)
        return self._sums.log_curvature(*inputs, self._peaks.drawn)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker: O(n)."""
        right, wrong = self.weight_sums(output)
        return right.value / self._total, wrong.value / self._total

    def weight_sums(self, output: Output) -> tuple[ExactSum, ...]:
        """Return the same in the units of the potentials."""
        return self._sums.binary_weights(*self._current(), output)

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained: O(n)."""
        value, slope, curvature = (one.value for one in self.moment_sums(output))
        return slope / value, curvature / value

    def moment_sums(
        self, output: Output, span: tuple[float, float] | None = None
    ) -> tuple[ExactSum, ...]:
        """Return the sums of weights, margins and squares; ``span`` as in `PairSums.moments`."""
        return self._sums.moments(*self._current(), output, span)

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature: O(n) for few levels, else O(n log levels)."""
        # The scan adds and takes away: what is left of nothing may be slightly negative.
        units = np.maximum(self.wrong_units(codes, n_bins, missing_rank), 0)
        np.multiply(units, self.wrong_unit / self._total, out=out)

    @property
    def wrong_unit(self) -> float:
        """What a unit of `wrong_units` is worth, where the pairs drawn weigh their total."""
        return wrong_unit_of(self._total)

    def wrong_units(
        self, codes: Codes, n_bins: int, missing_rank: int, unit: float | None = None
    ) -> Ints:
        """Return W- of every threshold of one feature, as whole numbers of a unit.

        Parameters
        ----------
        unit : float, optional
            `wrong_unit_of` the pairs of all queries, where these are some of many.
        """
        self.prepare_scan()
        assert self._level_sums is not None
        up, down, coefficient = self._current()
        inputs = (up, down, coefficient, self._level_sums, codes, n_bins, missing_rank)
        return self._sums.wrong_weights(*inputs, self.wrong_unit if unit is None else unit)

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        if self._level_sums is None:
            self._level_sums = self._sums.prepare_scan(self._current()[1])

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2, by counting inversions: O(n log n)."""
        return self.risk_sums().shares(self._start)

    def risk_sums(self) -> Risks:
        """Return what is in the wrong order and tied, added up."""
        wrong, tied = self._sums.misordered(self.scores, self._weight)
        return Risks(ExactSum.of(self._all * wrong), ExactSum.of(self._all * tied))

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries, at least one."""
        self.count_only(draw_share(self.counting, fraction, random))

    @property
    def counting(self) -> Ints:
        """The queries whose pairs weigh anything."""
        return np.flatnonzero(self._all > 0)

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""
        self._coefficient = np.zeros_like(self._all)
        self._coefficient[chosen] = self._all[chosen]
        self._linear = self._level_sums = None

    def fork(self) -> LabelState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other._all = self._coefficient
        other.scores, other.up, other.down = self.scores.copy(), self.up.copy(), self.down.copy()
        return other

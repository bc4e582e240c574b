"""Explicit pairs under changing scores."""

from __future__ import annotations

import copy
import math

import numpy as np

from crucial.feedback.label_state import Peaks, QueryTotals, Risks, wrong_unit_of
from crucial.feedback.listed import ListedPairs
from crucial.feedback.states import Output, draw_share
from crucial.kernels.elementary import exp, log
from crucial.kernels.exact_sums import ExactSum, exact_sum
from crucial.kernels.fixed_point import to_fixed
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["ExplicitState"]


class ExplicitState:
    """See `crucial.feedback.states.PairState`; every question costs O(pairs).

    Sums over pairs are exact, or sums of whole numbers, so that pairs may be in any order, and in
    parts: the methods that return sums are those of `LabelState`.

    Parameters
    ----------
    pairs : ListedPairs
    n_rows : int
    log_total : float, optional
        Logarithm of the weight of all pairs, where these are some of many.
    """

    #: Weights are computed from the logarithms of exponentials.
    logarithmic = True

    def __init__(self, pairs: ListedPairs, n_rows: int, log_total: float | None = None) -> None:
        self.scores = np.zeros(n_rows)
        self._pairs = pairs
        with np.errstate(divide="ignore"):  # (far smaller than the largest: 0)
            self._log_weight = log(pairs.weight)
        self._drawn: Bools | None = None
        self._start = log(exact_sum(pairs.weight)) if log_total is None else log_total
        self._d: Floats | None = None  # weights of the pairs drawn, the largest of all 1
        self._peaks: Peaks | None = None  # of all pairs, where these are some of many
        self._total = 0.0
        self._units: tuple[float, Ints] | None = None

    def _logs(self) -> Floats:
        """Return the logarithm of the weight of every pair."""
        pairs = self._pairs
        logs: Floats = self._log_weight + self.scores[pairs.low] - self.scores[pairs.high]
        return logs

    def peaks(self) -> Peaks:
        """Return the logarithms of the largest weights, which `log_sums` divides by."""
        return self._peaks_of(self._logs())

    def _peaks_of(self, logs: Floats) -> Peaks:
        every = float(logs.max(initial=-math.inf))
        if self._drawn is None:
            return Peaks(every, every)
        return Peaks(float(logs[self._drawn].max(initial=-math.inf)), every)

    def _weights(self, logs: Floats, peaks: Peaks) -> Floats:
        """Return the weights of the pairs drawn, over the largest of them."""
        # (where no pair drawn weighs anything, all pairs take their place)
        if self._drawn is None or peaks.drawn == -math.inf:
            return np.asarray(exp(logs - peaks.every))
        return np.asarray(exp(np.where(self._drawn, logs - peaks.drawn, -math.inf)))

    def _current(self) -> Floats:
        """Return the weights of the pairs drawn at the current scores."""
        if self._d is None:
            logs = self._logs()
            self._d = self._weights(logs, self._peaks_of(logs))
            self._total = exact_sum(self._d)
        return self._d

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials by one pass over the pairs."""
        return self.finish(self.log_sums(pi))

    def log_sums(self, pi: Floats, peaks: Peaks | None = None) -> QueryTotals:
        """Write the potentials and add up the weights of all pairs.

        Parameters
        ----------
        peaks : Peaks, optional
            Of all pairs, where these are some of many.
        """
        logs = self._logs()
        peaks = self._peaks_of(logs) if peaks is None else peaks
        d = self._d = self._weights(logs, peaks)
        self._units = None
        self._pairs.write_potentials(d, len(self.scores), pi)
        drawn = every = ExactSum.of(d)
        if self._drawn is not None:
            every = ExactSum.of(exp(logs - peaks.every))
        return QueryTotals(drawn, every, math.inf, peaks.every)

    def finish(self, totals: QueryTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        self._total = totals.drawn.value
        return totals.finish(self._start)

    def advance(
        self, output: Output, alpha: float, span: tuple[float, float] | None = None
    ) -> None:
        """Add ``alpha * output`` to the scores; ``span`` is not needed."""
        self.scores += alpha * output[: len(self.scores)]
        self._d = self._units = None

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in."""
        n, (high, low, _), d = len(self.scores), self._pairs, self._current()
        return np.add(np.bincount(high, d, n), np.bincount(low, d, n))

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        right, wrong = self.weight_sums(output)
        return right.value / self._total, wrong.value / self._total

    def weight_sums(self, output: Output) -> tuple[ExactSum, ...]:
        """Return the same in the units of the potentials."""
        d, high, low = self._current(), output[self._pairs.high], output[self._pairs.low]
        return ExactSum.of(d[high > low]), ExactSum.of(d[high < low])

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        value, slope, curvature = (one.value for one in self.moment_sums(output))
        return slope / value, curvature / value

    def moment_sums(
        self, output: Output, span: tuple[float, float] | None = None
    ) -> tuple[ExactSum, ...]:
        """Return the sums of weights, margins and squares; ``span`` is not needed."""
        d, margin = self._current(), self._pairs.margins(output)
        gained = d * margin
        return ExactSum.of(d), ExactSum.of(gained), ExactSum.of(gained * margin)

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature."""
        units = self.wrong_units(codes, n_bins, missing_rank)
        # (as in `LabelState.wrong_weights`)
        np.multiply(np.maximum(units, 0), wrong_unit_of(self._total) / self._total, out=out)

    def wrong_units(
        self, codes: Codes, n_bins: int, missing_rank: int, unit: float | None = None
    ) -> Ints:
        """Return W- of every threshold, as whole numbers of a unit; see `LabelState`.

        A pair is wrong between the codes of its winner and its loser.
        """
        place = codes[: len(self.scores)].astype(np.int64) + 1
        if not missing_rank:
            place[place == n_bins + 1] = 0
        high, low = place[self._pairs.high], place[self._pairs.low]
        wrong, (begin, end) = high < low, np.zeros((2, n_bins + 2), np.int64)
        units = self._in_units(unit)[wrong]
        np.add.at(begin, high[wrong], units)
        np.add.at(end, low[wrong], units)
        return np.cumsum(begin - end)[: n_bins + 1]

    def _in_units(self, unit: float | None) -> Ints:
        """Return the weights of the pairs as whole numbers of a unit."""
        d = self._current()
        unit = wrong_unit_of(self._total) if unit is None else unit
        if self._units is None or self._units[0] != unit:
            self._units = unit, to_fixed(d, unit, 1)
        return self._units[1]

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        self._in_units(None)

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self.risk_sums().shares(self._start)

    def risk_sums(self) -> Risks:
        """Return what is in the wrong order and tied, added up."""
        margin, weight = self._pairs.margins(self.scores), self._pairs.weight
        return Risks(ExactSum.of(weight[margin < 0]), ExactSum.of(weight[margin == 0]))

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Use only a random share of the pairs, at least one."""
        n = len(self._log_weight)
        self._drawn = np.zeros(n, bool)
        self._drawn[draw_share(np.arange(n), fraction, random)] = True
        self._d = self._units = None

    def fork(self) -> ExplicitState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores = self.scores.copy()
        if self._drawn is not None:
            other._log_weight = np.where(self._drawn, self._log_weight, -np.inf)
            other._drawn = None
        return other

    def tied(self, output: Output) -> ExplicitState | None:
        """Return the pairs that a {0, 1} ranker ties, at scores of 0; None if there is none."""
        left = np.flatnonzero(output[self._pairs.high] == output[self._pairs.low])
        if not len(left):
            return None
        return ExplicitState(self._pairs.take(left), len(self.scores), self._start)

"""Explicit pairs under changing scores."""

from __future__ import annotations

import copy
import math

import numpy as np

from crucial.feedback.label_state import Risks, wrong_unit_of
from crucial.feedback.listed import ListedPairs
from crucial.feedback.states import Output, draw_share
from crucial.kernels.elementary import exp, log
from crucial.kernels.sums import ExactSum, exact_sum, to_fixed
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["ExplicitState"]


class ExplicitState:
    """See `crucial.feedback.states.PairState`; every question costs O(pairs).

    Sums over pairs are exact, or sums of whole numbers, so that pairs may be in any order.

    Parameters
    ----------
    pairs : ListedPairs
    n_rows : int
    log_total : float, optional
        Logarithm of the weight of all pairs, where these are some of many.
    """

    def __init__(self, pairs: ListedPairs, n_rows: int, log_total: float | None = None) -> None:
        self.scores = np.zeros(n_rows)
        self._pairs = pairs
        with np.errstate(divide="ignore"):  # (far smaller than the largest: 0)
            self._log_weight = log(pairs.weight)
        self._drawn: Bools | None = None
        self._start = log(exact_sum(pairs.weight)) if log_total is None else log_total
        self._d: Floats | None = None  # weights of the pairs drawn, the largest of all 1
        self._total = 0.0
        self._units: Ints | None = None  # the same, as whole numbers

    def _logs(self) -> Floats:
        """Return the logarithm of the weight of every pair."""
        pairs = self._pairs
        logs: Floats = self._log_weight + self.scores[pairs.low] - self.scores[pairs.high]
        return logs

    def _weigh(self, logs: Floats) -> Floats:
        """Return the weights of the pairs drawn, over the largest of them."""
        peak = -math.inf
        if self._drawn is not None:
            peak = float(logs[self._drawn].max(initial=-math.inf))
        if self._drawn is None or peak == -math.inf:  # (no pair drawn weighs anything: all count)
            self._d = exp(logs - float(logs.max(initial=-math.inf)))
        else:
            self._d = exp(np.where(self._drawn, logs - peak, -math.inf))
        self._total = exact_sum(self._d)
        return self._d

    def _current(self) -> Floats:
        """Return the weights of the pairs drawn at the current scores."""
        return self._weigh(self._logs()) if self._d is None else self._d

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials by one pass over the pairs."""
        logs = self._logs()
        self._pairs.write_potentials(self._weigh(logs), len(self.scores), pi)
        self._units = None
        every, peak = self._total, float(logs.max(initial=-math.inf))
        if self._drawn is not None:
            every = exact_sum(exp(logs - peak))
        return 1.0 / self._total, peak + log(every) - self._start

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        self._d = self._units = None

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in."""
        n, (high, low, _), d = len(self.scores), self._pairs, self._current()
        return np.add(np.bincount(high, d, n), np.bincount(low, d, n))

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        d, high, low = self._current(), output[self._pairs.high], output[self._pairs.low]
        return exact_sum(d[high > low]) / self._total, exact_sum(d[high < low]) / self._total

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        d, margin = self._current(), self._pairs.margins(output)
        gained, value = d * margin, exact_sum(d)
        return exact_sum(gained) / value, exact_sum(gained * margin) / value

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold: a pair is wrong between the codes of its rows."""
        place = codes[: len(self.scores)].astype(np.int64) + 1
        if not missing_rank:
            place[place == n_bins + 1] = 0
        high, low = place[self._pairs.high], place[self._pairs.low]
        wrong, (begin, end) = high < low, np.zeros((2, n_bins + 2), np.int64)
        units = self._in_units()[wrong]
        np.add.at(begin, high[wrong], units)
        np.add.at(end, low[wrong], units)
        # (as in `LabelState.wrong_weights`)
        found = np.maximum(np.cumsum(begin - end)[: n_bins + 1], 0)
        np.multiply(found, wrong_unit_of(self._total) / self._total, out=out)

    def _in_units(self) -> Ints:
        """Return the weights of the pairs as whole numbers of a unit."""
        if self._units is None:
            d = self._current()
            self._units = to_fixed(d, wrong_unit_of(self._total), 1)
        return self._units

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""
        self._in_units()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        margin, weight = self._pairs.margins(self.scores), self._pairs.weight
        risks = Risks(ExactSum.of(weight[margin < 0]), ExactSum.of(weight[margin == 0]))
        return risks.shares(self._start)

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

"""Feedback from explicit pairs, contradictions and cycles allowed, and its state under scores."""

from __future__ import annotations

import copy
import math

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.arrays import as_array
from crucial.errors import DataError
from crucial.feedback.base import (
    Feedback,
    ListedPairs,
    Output,
    PairMargins,
    PairState,
    draw_share,
    finite_total,
    power_of_two_scale,
)
from crucial.feedback.labels import Risks, check_weights, wrong_unit_of
from crucial.kernels.elementary import ExactSum, exact_sum, exp, log, to_fixed
from crucial.parameters import check, one_of
from crucial.types import Bools, Codes, Floats, Ints, VectorLike

# --- Explicit pairs under changing scores


class ExplicitState:
    """See `crucial.feedback.base.PairState`; every question costs O(pairs).

    Sums over pairs are exact, or sums of whole numbers, so that pairs may be in any order.

    Parameters
    ----------
    pairs : ListedPairs
    n_rows : int
    log_total : float, optional
        Logarithm of the weight of all pairs, where these are some of many.
    """

    def __init__(self, pairs: ListedPairs, n_rows: int) -> None:
        self.scores = np.zeros(n_rows)
        self._pairs = pairs
        with np.errstate(divide="ignore"):  # (far smaller than the largest: 0)
            self._log_weight = log(pairs.weight)
        self._drawn: Bools | None = None
        self._start = log(exact_sum(pairs.weight))
        self._d: Floats | None = None  # weights of the pairs drawn, the largest of all 1
        self._total = 0.0
        self._units: Ints | None = None  # the same, as whole numbers

    def _logs(self) -> Floats:
        """Return the logarithm of the weight of every pair."""
        return self._log_weight + self.scores[self._pairs.low] - self.scores[self._pairs.high]

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

    def subsample(self, fraction: float, random: np.random.Generator) -> None:
        """Use only a random share of the pairs, at least one."""
        n = len(self._log_weight)
        self._drawn = np.zeros(n, bool)
        self._drawn[draw_share(np.arange(n), fraction, random)] = True
        self._d = self._units = None

    def copy(self) -> ExplicitState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores = self.scores.copy()
        if self._drawn is not None:
            other._log_weight = np.where(self._drawn, self._log_weight, -np.inf)
            other._drawn = None
        return other


# --- Feedback from explicit pairs: contradictions and cycles allowed


# Weights of opposite pairs that differ by less than this share are equal.
_ROUNDING = 1e-12


class PairFeedback(Feedback):
    """Weighted pairs (winner, loser) of row numbers.

    Parameters
    ----------
    pairs : int array of shape (n_pairs, 2)
        Row numbers, from 0: the winner, then the loser.
    n_rows : int
        Rows of the instances.
    weight : array of shape (n_pairs,), optional
        Importance of each pair; the weights of a repeated pair add up.
    contradictions : {"keep", "net"}
        If both (a, b) and (b, a) occur: keep both (Freund et al. 2003, footnote 1), or only
        the difference of their weights (the antisymmetric feedback of its text).

    Examples
    --------
    >>> feedback = PairFeedback([(0, 1), (1, 2), (0, 1)], 3)
    >>> feedback.n_pairs, feedback.total
    (2, 3.0)
    """

    def __init__(
        self,
        pairs: ArrayLike,
        n_rows: int,
        *,
        weight: VectorLike | None = None,
        contradictions: str = "keep",
    ) -> None:
        check("PairFeedback", "contradictions", contradictions, one_of("keep", "net"))
        table = _check_pairs(pairs, n_rows)
        weights = check_weights(weight, len(table), "pair_weight")
        w = np.ones(len(table)) if weights is None else weights
        high, low, w = add_up(table, w, n_rows, contradictions)
        if not len(w):
            raise DataError(
                "No comparable pair: every pair is contradicted with the same weight, or has "
                "weight 0."
            )
        self.n_rows = n_rows
        self.weight = None
        self.n_pairs = len(w)
        self.n_queries, self.n_skipped = 0, 0  # (pairs belong to none)
        self.rows = np.unique(np.concatenate((high, low)))
        scale = power_of_two_scale(float(w.max()))
        places = (np.searchsorted(self.rows, high), np.searchsorted(self.rows, low))
        self._pairs = ListedPairs(*places, w * scale)
        self.total = finite_total(exact_sum(self._pairs.weight) / scale)

    def state(self, threads: int = 1) -> PairState:
        """Return the state of ``self.rows`` at scores of 0."""
        return ExplicitState(self._pairs, len(self.rows))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers."""
        high, low, weight = self._pairs
        return ListedPairs(high[numbers], low[numbers], weight[numbers] / weight.sum())

    def listed(self) -> ListedPairs:
        """Return the distinct pairs; their weights are correct up to a common factor."""
        return self._pairs

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        weight = self._pairs.weight
        return log(float(weight[weight > 0].min())) - log(float(weight.sum()))

    def margins(self, scores: Floats) -> Floats:
        """Return the margin of every distinct pair, for scores like ``rows``."""
        return self._pairs.margins(scores)

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``."""
        margins = self.margins(scores)
        return float(margins.min()), float(margins.max())

    def margin_counts(self, scores: Floats, threads: int = 1) -> PairMargins:
        """Return the distribution of the margins."""
        return PairMargins(self._pairs, scores)


def _check_pairs(pairs: ArrayLike, n_rows: int) -> Ints:
    """Return pairs of row numbers as a table of two columns."""
    table = as_array(pairs, "pairs")
    if table.size == 0:
        raise DataError("pairs is empty: give at least one (winner, loser) pair of row numbers.")
    if table.ndim != 2 or table.shape[1] != 2:
        raise DataError(
            f"pairs must have two columns (winner, loser). Got an array of shape {table.shape}."
        )
    if table.dtype.kind not in "iu":
        try:
            if table.dtype.kind == "c":
                raise TypeError
            with np.errstate(invalid="ignore"):
                whole = table.astype(np.int64)
            same = bool((whole == table.astype(np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same:
            raise DataError(
                f"pairs must be row numbers (integers from 0). Got values of type {table.dtype}."
            )
        table = whole
    outside = (table < 0) | (table >= n_rows)
    if outside.any():
        at = int(np.flatnonzero(outside.any(axis=1))[0])
        raise DataError(
            f"pair {at} is ({table[at, 0]}, {table[at, 1]}), but rows go from 0 to {n_rows - 1}."
        )
    selfish = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(selfish):
        raise DataError(f"pair {selfish[0]} compares row {table[selfish[0], 0]} with itself.")
    return table.astype(np.int64)


def add_up(
    table: Ints, weight: Floats, n_rows: int, contradictions: str
) -> tuple[Ints, Ints, Floats]:
    """Return winner, loser and summed weight of the distinct pairs, contradictions resolved.

    Parameters
    ----------
    table : int array of shape (n_pairs, 2)
    weight : array of shape (n_pairs,)
    n_rows : int
    contradictions : {"keep", "net"}
    """
    key, inverse = np.unique(table[:, 0] * n_rows + table[:, 1], return_inverse=True)
    with np.errstate(over="ignore"):
        summed = np.bincount(inverse, weight, len(key)).astype(np.float64)
    if not np.isfinite(summed).all():
        raise DataError("pair_weight: the weights of a repeated pair add up to infinity.")
    high, low = np.divmod(key, n_rows)
    if contradictions == "net":
        reverse = low * n_rows + high
        at = np.minimum(np.searchsorted(key, reverse), len(key) - 1)
        against = np.where(key[at] == reverse, summed[at], 0.0)
        # Weights that differ by rounding are equal: .1 + .2 against .3 leaves nothing.
        summed = np.where(summed - against > _ROUNDING * against, summed - against, 0.0)
    kept = summed > 0
    return high[kept], low[kept], summed[kept]

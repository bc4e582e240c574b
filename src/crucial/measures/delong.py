"""Intervals and paired tests of shares of pairs, such as the AUC, from the rows of one list.

DeLong, DeLong & Clarke-Pearson (1988) estimate the variance of an AUC from its structural
components: the share of the rows of the other label that a row is rightly ordered with. The same
components exist for graded labels, where the other rows are those of all other labels, and for
weighted rows, where a pair weighs the product of the weights. With N_i the weight of the rows that
row i is rightly ordered with and D_i that of all rows of other labels, the share is
A = sum w_i N_i / sum w_i D_i, and row i moves it by

    u_i = w_i (N_i - A D_i) / D,    D = half the sum of w_i D_i.

The variance of A is the sum over labels of n/(n - 1) times the squares of u_i around their mean,
with n rows of the label: DeLong's equation for two labels and equal weights. The interval is
symmetric on the logit scale (Qin & Hotilovac 2008), so that it stays inside 0 and 1, and reaches as
far as Student's t with Satterthwaite's degrees of freedom, as in Brunner & Munzel (2000): few rows
of a label make it wider. Where that says nothing, in a perfect order or with a single row of a
label, the interval is the score interval of Newcombe (2006, part 2, method 5), which is as wide as
the number of rows allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from crucial.kernels.elementary import log, sigmoid
from crucial.measures.judged import JudgedLists
from crucial.measures.pairs import PairMeasure, levels_of
from crucial.types import Floats, Ints

__all__ = [
    "PairShare",
    "delong_applies",
    "pair_share",
    "row_strata",
    "t_quantile",
    "t_test",
    "variance",
]

#: Shares so near to 0 or 1 are perfect orders: sums of weights round.
_PERFECT = 1e-12


@dataclass(frozen=True, eq=False)
class PairShare:
    """The share of rightly ordered pairs, and how far each row moves it.

    Attributes
    ----------
    value : float
        The mean of the lists, or the share of the pairs of all lists; NaN without a pair.
    moves : array of shape (n_rows,)
        The influence of each row.
    strata : int array of shape (n_rows,)
        Rows that could replace each other: those of a label; -1 for rows without weight.
    sides : (int, int)
        Rows of the higher and of the lower label; of more labels, rows on both sides of the one
        that divides them most evenly.
    """

    value: float
    moves: Floats
    strata: Ints
    sides: tuple[int, int]

    @property
    def is_degenerate(self) -> bool:
        """Whether the variance says nothing: a perfect order, or a single row of a label."""
        near = min(self.value, 1.0 - self.value) <= _PERFECT
        return near or min(self.sides) < 2

    def of_rows(self, rows: Ints) -> PairShare:
        """Return the same share where several entries are one row, tested more than once."""
        _, first, of_entry = np.unique(rows, return_index=True, return_inverse=True)
        moves = np.bincount(of_entry.ravel(), self.moves)
        return replace(self, moves=np.asarray(moves, np.float64), strata=self.strata[first])

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval, which lies inside 0 and 1."""
        if self.is_degenerate:
            return _score_interval(self.value, *self.sides, level)
        spread, freedom = variance(self.moves, self.strata)
        middle = log(self.value / (1.0 - self.value))
        reach = t_quantile(level, freedom) * math.sqrt(spread)
        reach /= self.value * (1.0 - self.value)
        return sigmoid(middle - reach), sigmoid(middle + reach)


def delong_applies(measure: object) -> bool:
    """Return whether a measure is a share of the pairs of different labels."""
    return isinstance(measure, PairMeasure) and measure.among == "comparable"


def t_quantile(level: float, freedom: float) -> float:
    """Return how many standard errors an interval reaches.

    Examples
    --------
    >>> round(t_quantile(0.95, 9), 4), round(t_quantile(0.95, float("inf")), 4)
    (2.2622, 1.96)
    """
    from scipy.special import ndtri, stdtrit

    if math.isinf(freedom):
        return float(ndtri((1 + level) / 2))
    return float(stdtrit(freedom, (1 + level) / 2))


def t_test(statistic: float, freedom: float) -> float:
    """Return the two-sided p-value of a statistic.

    Examples
    --------
    >>> round(t_test(2.2622, 9), 4)
    0.05
    """
    from scipy.special import stdtr

    return float(2.0 * stdtr(freedom, -abs(statistic)))


def pair_share(measure: PairMeasure, judged: JudgedLists, scores: Floats) -> PairShare:
    """Return the share of pairs in the right order, tied ones counted as the measure does.

    Parameters
    ----------
    measure : PairMeasure
        Determines which labels make a pair, what ties count and whether lists are pooled.
    judged : Judged
        One list, or several into which rows were dealt at random, as folds.
    scores : array of shape (n_rows,)
    """
    y = judged.y if measure.relevance is None else measure.relevance.of(judged).astype(float)
    level, codes = levels_of(judged, y), judged.codes
    weight = np.ones(len(y)) if judged.weight is None else judged.weight
    tied = 0.5 if measure.kind == "balance" else 1.0 - measure.tied
    right, total = _right_weights(scores, level, codes, weight, tied)
    pairs = np.bincount(codes, weight * total, judged.n_queries) / 2
    good = np.bincount(codes, weight * right, judged.n_queries) / 2
    used = pairs > 0
    if not used.any():
        return PairShare(math.nan, np.zeros(len(y)), codes, (0, 0))
    if measure.aggregate == "pool":
        value, scale = float(good.sum() / pairs.sum()), np.full(len(pairs), 1.0 / pairs.sum())
    else:
        value = float((good[used] / pairs[used]).mean())
        scale = np.divide(1.0 / used.sum(), pairs, out=np.zeros(len(pairs)), where=used)
    moves = weight * (right - value * total) * scale[codes]
    keep = weight > 0
    label = np.unique(y, return_inverse=True)[1].ravel()
    strata = np.full(len(y), -1)
    strata[keep] = row_strata(np.zeros(int(keep.sum()), np.int64), label[keep])
    return PairShare(value, moves, strata, _sides(label[keep]))


def variance(moves: Floats, strata: Ints) -> tuple[float, float]:
    """Return the variance of a value from the moves of its rows, and its degrees of freedom.

    Rows of stratum -1 have no weight. A row that is alone in its stratum adds the square of its
    move.
    """
    inside = strata >= 0
    moves, strata = moves[inside], strata[inside]
    counts = np.bincount(strata)
    several = counts > 1
    mean = np.divide(np.bincount(strata, moves), counts, out=np.zeros(len(counts)), where=several)
    apart = moves - mean[strata]
    factor = np.divide(counts, counts - 1.0, out=np.ones(len(counts)), where=several)
    parts = np.bincount(strata, factor[strata] * apart**2)
    total = float(parts.sum())
    if total == 0.0:
        return 0.0, math.inf
    # Satterthwaite's: the variance of each stratum has one degree less than it has rows.
    shares = parts / total
    return total, 1.0 / float((shares**2 / np.maximum(counts - 1, 1)).sum())


def row_strata(codes: Ints, level: Ints) -> Ints:
    """Return which rows could replace each other: those of a list with the same label.

    Labels of a single row are one stratum together, unless a list has only two labels.

    Examples
    --------
    >>> row_strata(np.zeros(6, int), np.array([0, 0, 1, 2, 2, 3])).tolist()
    [1, 1, 0, 2, 2, 0]
    """
    n_levels = int(level.max()) + 2
    cell, of_row, count = np.unique(
        codes * n_levels + level + 1, return_inverse=True, return_counts=True
    )
    labels = np.bincount(cell // n_levels)[codes]
    alone = (count[of_row] == 1) & (labels > 2)
    key = np.where(alone, codes * (n_levels + 1), codes * (n_levels + 1) + level + 2)
    return np.asarray(np.unique(key, return_inverse=True)[1].ravel(), np.int64)


def _right_weights(
    scores: Floats, level: Ints, codes: Ints, weight: Floats, tied: float
) -> tuple[Floats, Floats]:
    """Return the weight of the rows each row is rightly ordered with, and of all it pairs with.

    Two labels differ first in one binary digit, counted from the highest: digit by digit, rows
    that agree in the higher digits are sorted by score, and sums of weights do the rest.
    """
    right, total = np.zeros(len(scores)), np.zeros(len(scores))
    rank = np.unique(scores, return_inverse=True)[1].ravel()
    for digit in range(int(level.max()).bit_length()):
        above = codes * ((int(level.max()) >> (digit + 1)) + 1) + (level >> (digit + 1))
        order = np.lexsort((rank, above))
        group, place = above[order], rank[order]
        one = (level[order] >> digit) & 1
        mass = weight[order]
        first = np.append(True, group[1:] != group[:-1])
        start = first | np.append(True, place[1:] != place[:-1])
        block, part = np.cumsum(start) - 1, np.cumsum(first) - 1
        # The weight of the rows of the other digit: before the tied rows, and among them.
        found, whole = np.empty(len(order)), np.empty(len(order))
        for mine in (0, 1):
            other = np.where(one != mine, mass, 0.0)
            in_block, in_part = np.bincount(block, other), np.bincount(part, other)
            ends = np.cumsum(in_block)
            begins = ends - in_block
            base = begins[block[first]][part]
            before = begins[block] - base
            equal = in_block[block]
            rest = in_part[part] - before - equal
            rows = one == mine
            found[rows] = ((before if mine else rest) + tied * equal)[rows]
            whole[rows] = in_part[part][rows]
        right[order] += found
        total[order] += whole
    return right, total


def _sides(level: Ints) -> tuple[int, int]:
    """Return the rows above and below the label that divides the rows most evenly."""
    below = np.cumsum(np.bincount(level))
    most = int(below[np.argmax(np.minimum(below, len(level) - below))])
    return len(level) - most, most


def _score_interval(value: float, m: int, n: int, level: float) -> tuple[float, float]:
    """Return the shares that are not rejected (Newcombe 2006, method 5)."""
    z = t_quantile(level, math.inf)
    star = (m + n) / 2 - 1

    def too_far(share: float) -> bool:
        spread = 1 + star * (1 - share) / (2 - share) + star * share / (1 + share)
        return (value - share) ** 2 > z * z * share * (1 - share) * spread / (m * n)

    ends = []
    for outer in (0.0, 1.0):
        inner = value
        for _ in range(60):
            middle = (inner + outer) / 2
            if too_far(middle):
                outer = middle
            else:
                inner = middle
        # (a perfect order reaches its end)
        ends.append(outer if abs(outer - value) > 1e-9 else value)
    return ends[0], ends[1]

"""Bootstrap intervals of means over queries, paired tests, and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.kernels.elementary import exp, log, row_sums, sigmoid
from crucial.measures.base import Aggregate, Measure, logs, summarise
from crucial.measures.lists import JudgedLists, Ranking
from crucial.measures.pairs import PairMeasure, levels_of
from crucial.parameters import at_least, check, one_of, refuse
from crucial.types import Floats, Ints, VectorLike
from crucial.wording import interval_text

# --- Bootstrap intervals, with as many draws as their digits need


#: What NumPy makes a generator of.
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

#: Numbers drawn at a time.
_AT_ONCE = 2_000_000

#: The first draws, from which the number of all draws is estimated; and the most draws.
_PILOT, _MOST = 1000, 2_000_000

#: Numbers drawn in all, at most.
_MOST_NUMBERS = 24_000_000

#: Standard error of an end at which its third digit stands (see `digits_that_stand`).
_STANDS = 2.5e-4


@dataclass(frozen=True)
class Interval:
    """An interval and how it was found.

    Attributes
    ----------
    low, high : float
    method : str
        The method in words.
    draws : int or None
        Number of resamples; None if nothing was drawn.
    error : float or None
        Standard error of the ends that is due to the draws: another seed moves them by about
        as much. None if nothing was drawn.
    """

    low: float
    high: float
    method: str
    draws: int | None = None
    error: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.low, self.high

    @property
    def text(self) -> str:
        """Both ends, with the digits that stand."""
        return interval_text(self.ends, self.error)


def drawn_interval(
    draw: Callable[[int], Floats],
    level: float,
    resamples: int | None,
    method: str,
    *,
    pilot: int = _PILOT,
    most: int = _MOST,
) -> Interval:
    """Return the percentile interval of a bootstrap, of as many draws as its digits need.

    Parameters
    ----------
    draw : callable
        ``draw(count)`` returns so many more draws, or fewer if some have no value.
    level : float
        Share of the draws inside.
    resamples : int or None
        Number of draws; None draws until the third digit of both ends stands: until their
        standard error, from the spread of neighbouring draws, is a quarter of its unit.
    method : str
        The method in words.
    pilot, most : int
        Without ``resamples``: the first draws, and the most.
    """
    count = min(pilot, most) if resamples is None else resamples
    values = draw(count)
    error, before = _error(values, level), math.inf
    # (an end that jumps between two values of a count does not settle by drawing more)
    while resamples is None and count < most and error <= 0.7 * before:
        needed = _needed(values, error, count)
        if needed <= count:
            break
        more = min(needed, most, 8 * count) - count
        values = np.concatenate([values, draw(more)])
        count, before = count + more, error if count + more >= 4 * count else math.inf
        error = _error(values, level)
    low, high = percentile_interval(values, level)
    return Interval(float(low), float(high), method, count, error)


def _needed(values: Floats, error: float, count: int) -> int:
    """Return the number of draws after which the third digit should stand, in thousands."""
    largest = float(np.abs(values).max(initial=0.0))
    unit = 10.0 ** max(0, math.ceil(math.log10(largest) - 1e-9)) if largest > 0 else 1.0
    ratio = error / (_STANDS * unit)
    # (a tenth more, since the error of the pilot is an estimate)
    return count if ratio <= 1.0 else max(count + 1, 1000 * math.ceil(1.1 * ratio**2 * count / 1e3))


def _error(values: Floats, level: float) -> float:
    """Return the larger standard error of both ends, from the order statistics around them."""
    worst, n = 0.0, len(values)
    for share in ((1 - level) / 2, (1 + level) / 2):
        step = math.sqrt(share * (1 - share) / n)
        around = np.quantile(values, [max(0.0, share - step), min(1.0, share + step)])
        worst = max(worst, float(around[1] - around[0]) / 2)
    return worst


def generator(owner: str, random_state: RandomState) -> np.random.Generator:
    """Return NumPy's generator for a seed, a generator or None.

    Examples
    --------
    >>> generator("evaluate", -1)
    Traceback (most recent call last):
    ...
    crucial.errors.ParameterError: The 'random_state' parameter of evaluate must be an int of at ...
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        rule = "an int of at least 0, a numpy Generator or None"
        raise refuse(owner, "random_state", rule, random_state) from None


def bootstrap_interval(
    values: Floats,
    weights: Floats | None = None,
    how: Aggregate = "mean",
    *,
    level: float = 0.95,
    resamples: int | None = None,
    random_state: RandomState = 0,
    unit: str = "queries",
) -> Interval | None:
    """Return the percentile interval of the value over queries, drawn with replacement.

    Parameters
    ----------
    values : array of shape (n_queries,)
        One value per query; NaN where it has none. Such a query can be drawn and then adds
        nothing, so that the number of queries that count varies as it would.
    weights : array of shape (n_queries,), optional
        Weight of each query in a pooled value.
    how : {"mean", "pool", "sum", "geometric"}
        How queries are aggregated.
    level : float
        Share of the resampled values inside.
    resamples : int, optional
        Number of draws of all queries; by default as many as the third digit needs, at most
        2,000,000.
    random_state : int, SeedSequence or Generator
        Seed of the draws.
    unit : str
        What is drawn, in the plural.

    Returns
    -------
    Interval, or None where fewer than two queries have a value.

    Examples
    --------
    >>> found = bootstrap_interval(np.array([0.0, 1.0, 1.0, 1.0]), level=0.5)
    >>> found.ends, found.method
    ((0.5, 1.0), 'bootstrap over queries')
    """
    if how == "geometric":
        values = logs(values)
    n, there = len(values), ~np.isnan(values)
    if there.sum() < 2:
        return None
    mass = there.astype(float) if how != "pool" or weights is None else there * weights
    amounts = np.where(there, values, 0.0) * mass
    alike = bool((mass == mass[0]).all())
    drawing = generator("evaluate", random_state)
    rows = max(1, _AT_ONCE // n)

    def draw(count: int) -> Floats:
        drawn = []
        for begin in range(0, count, rows):
            picks = drawing.integers(0, n, (min(rows, count - begin), n), np.int32)
            top = amounts[picks].sum(axis=1)
            if how == "sum":
                drawn.append(top)
            elif alike:
                drawn.append(top / (n * mass[0]))
            else:
                # (a draw of queries without a value has none itself)
                bottom = mass[picks].sum(axis=1)
                drawn.append(top[bottom > 0] / bottom[bottom > 0])
        found = np.concatenate(drawn)
        return np.asarray(exp(found)) if how == "geometric" else found

    most = max(_PILOT, min(_MOST, _MOST_NUMBERS // n))
    return drawn_interval(draw, level, resamples, f"bootstrap over {unit}", most=most)


def percentile_interval(draws: Floats, level: float) -> tuple[Floats, Floats]:
    """Return both ends of the interval that has a share ``level`` of the draws, per column."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


# --- Paired tests of two rankings on the same queries, and Holm's correction of many tests


TESTS = ("permutation", "t")

#: Values that differ by no more are equal: sums in another order differ by as much.
SAME = 1e-12

#: Up to this many queries with a difference, all signs are tried instead of drawn.
_ALL_SIGNS = 14

#: Signs drawn at a time.
_PAIRS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class PairedTest:
    """Difference of two rankings over the same queries.

    Attributes
    ----------
    difference : float
        The second's value minus the first's, aggregated as the measure aggregates queries.
    low, high : float
        Bootstrap interval of the difference over queries; NaN with fewer than two queries.
    p : float
        Two-sided: how often chance alone gives a difference at least as large.
    method : {"permutation", "t"}
    exact : bool
        Whether all permutations were tried.
    n : int
        Queries that have both values.
    interval : Interval or None
        The interval with its method and draws.
    draws : int or None
        Permutations that were drawn; None if all were tried, or none.
    """

    difference: float
    low: float
    high: float
    p: float
    method: str
    exact: bool
    n: int
    interval: Interval | None = None
    draws: int | None = None


def paired_test(
    first: VectorLike,
    second: VectorLike,
    *,
    weights: Floats | None = None,
    how: Aggregate = "mean",
    method: str = "permutation",
    resamples: int = 10_000,
    level: float = 0.95,
    random_state: int = 0,
) -> PairedTest:
    """Compare two rankings query by query.

    Parameters
    ----------
    first, second : arrays of shape (n_queries,)
        One value per query; a query where either is NaN is left out.
    weights : array of shape (n_queries,), optional
        Weight of each query in a pooled value.
    how : {"mean", "pool", "sum", "geometric"}
        How queries are aggregated; "geometric" tests the ratios of the values.
    method : {"permutation", "t"}
        "permutation": sign flips, since the difference of each query has either sign equally
        often if the rankings are equally good; all signs are tried for up to 14 queries
        with a difference, else drawn. "t": Student's t on the differences.
    resamples : int
        Number of draws of all signs; p is then at least 1 / (resamples + 1).
    level : float
        Level of the interval.
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> found = paired_test([0.5, 0.4, 0.7, 0.2], [0.6, 0.6, 0.8, 0.4])
    >>> round(found.difference, 3), found.p, found.exact
    (0.15, 0.125, True)
    """
    check("paired_test", "method", method, one_of(*TESTS))
    check("paired_test", "resamples", resamples, at_least(1))
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise DataError(
            "first and second must be values of the same queries, of the same length. Got "
            f"shapes {a.shape} and {b.shape}."
        )
    there = ~(np.isnan(a) | np.isnan(b))
    if how == "geometric":  # (the difference of means of logarithms is the logarithm of a ratio)
        mean, a, b = summarise(a[there], None, how, "skip")[0], logs(a), logs(b)
    change = np.where(there, b - a, np.nan)
    pooled = weights if how == "pool" else None
    by = "mean" if how == "geometric" else how
    value = summarise(change, pooled, by, "skip")[0]
    interval = bootstrap_interval(change, pooled, by, level=level, random_state=random_state)
    low, high = (math.nan, math.nan) if interval is None else interval.ends
    if how == "geometric":
        value, low, high = (mean * (float(exp(ratio)) - 1.0) for ratio in (value, low, high))
        interval = None if interval is None else replace(interval, low=low, high=high)
    amounts = change[there] if pooled is None else (change * pooled)[there]
    amounts = np.where(np.abs(change[there]) <= SAME, 0.0, amounts)
    exact = False
    if method == "t":
        p = _student(amounts)
    else:
        p, exact = _flip_signs(amounts, resamples, random_state)
    drawn = None if exact or method == "t" else resamples
    return PairedTest(value, low, high, p, method, exact, int(there.sum()), interval, drawn)


def _student(amounts: Floats) -> float:
    """Return the two-sided p of Student's t; 1 where nothing differs, NaN where undefined."""
    if len(amounts) < 2:
        return math.nan
    if not amounts.any():
        return 1.0
    spread = float(amounts.std(ddof=1))
    if spread == 0.0:
        return 0.0
    return t_test(float(amounts.mean()) / (spread / math.sqrt(len(amounts))), len(amounts) - 1)


def _flip_signs(amounts: Floats, resamples: int, seed: int) -> tuple[float, bool]:
    """Return the two-sided p of the sign-flip permutation test, and whether it is exact."""
    moving = amounts[amounts != 0.0]
    if not len(amounts):
        return math.nan, True
    if not len(moving):
        return 1.0, True
    # A sum in another order must not fall below the observed one by rounding.
    bar = abs(float(moving.sum())) - 1e-12 * float(np.abs(moving).sum())
    if len(moving) <= _ALL_SIGNS:
        bits = np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving)) & 1
        sums = row_sums(1.0 - 2.0 * bits, moving)
        return float(np.mean(np.abs(sums) >= bar)), True
    random = generator("compare", seed)
    hits, left, rows = 0, resamples, max(1, _PAIRS_AT_ONCE // len(moving))
    while left:
        count = min(rows, left)
        signs = random.integers(0, 2, (count, len(moving)), np.int8)
        sums = 2.0 * row_sums(signs, moving) - moving.sum()
        hits += int((np.abs(sums) >= bar).sum())
        left -= count
    return (1 + hits) / (1 + resamples), False


def holm(p: VectorLike) -> Floats:
    """Correct p-values for their number (Holm 1979); NaN stays NaN and does not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, np.float64)
    out = np.full(values.shape, np.nan)
    order = [int(i) for i in np.argsort(values, kind="stable") if not np.isnan(values[i])]
    highest = 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * float(values[i])))
        out[i] = highest
    return out


def win_tie_loss(
    first: VectorLike, second: VectorLike, higher_is_better: bool = True
) -> tuple[int, int, int]:
    """Return on how many queries the second is better, equal and worse.

    Examples
    --------
    >>> win_tie_loss([0.5, 0.5, 0.5, float("nan")], [0.6, 0.5, 0.7, 0.8])
    (2, 1, 0)
    """
    change = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    change = change[~np.isnan(change)] * (1.0 if higher_is_better else -1.0)
    wins, losses = int((change > SAME).sum()), int((change < -SAME).sum())
    return wins, len(change) - wins - losses, losses


# --- Intervals and paired tests of shares of pairs, such as the AUC, from the rows of one list
#
# DeLong, DeLong & Clarke-Pearson (1988) estimate the variance of an AUC from its structural
# components: the share of the rows of the other label that a row is rightly ordered with. The same
# components exist for graded labels, where the other rows are those of all other labels, and for
# weighted rows, where a pair weighs the product of the weights. With N_i the weight of the rows
# that
# row i is rightly ordered with and D_i that of all rows of other labels, the share is
# A = sum w_i N_i / sum w_i D_i, and row i moves it by
#
#     u_i = w_i (N_i - A D_i) / D,    D = half the sum of w_i D_i.
#
# The variance of A is the sum over labels of n/(n - 1) times the squares of u_i around their mean,
# with n rows of the label: DeLong's equation for two labels and equal weights. The interval is
# symmetric on the logit scale (Qin & Hotilovac 2008), so that it stays inside 0 and 1, and reaches
# as
# far as Student's t with Satterthwaite's degrees of freedom, as in Brunner & Munzel (2000): few
# rows
# of a label make it wider. Where that says nothing, in a perfect order or with a single row of a
# label, the interval is the score interval of Newcombe (2006, part 2, method 5), which is as wide
# as
# the number of rows allows.


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
        """Return the share where several entries are one row, tested more than once."""
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
    judged : JudgedLists
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


# --- Intervals and paired tests without queries: from the rows of one list, or of folds
#
# Shares of pairs, such as the AUC, get DeLong's interval and test
# (`crucial.measures.intervals`). Where
# the variance of a difference is 0 although the shares differ, its interval has the differences of
# all values inside the intervals of both. Other measures are computed again on rows drawn with
# replacement, those of each label separately, so that every draw has as many rows of a label as the
# data; the interval has the percentiles of the draws, and the test asks how often the difference of
# two rankings changes its sign.


_DELONG = "DeLong from rows, symmetric on the logit scale"
_SCORE = "Newcombe's score interval from rows"
_JOINT = "differences of both intervals from rows"
_BOOTSTRAP = "bootstrap over rows, label by label"

#: Tests of a difference, as they are named in a result.
ROW_TESTS = {"DeLong": "DeLong's test, from rows", "bootstrap": "bootstrap over rows"}

#: Rows drawn at a time, and in all at most.
_ROWS_AT_ONCE, _MOST_ROWS = 1_000_000, 12_000_000

_FEWEST = 100


@dataclass(frozen=True)
class RowSampling:
    """How intervals from rows are found.

    Attributes
    ----------
    level : float
        Confidence level.
    resamples : int or None
        Number of draws, where rows are drawn; None draws as many as the third digit needs, up
        to 12 million rows in all.
    random_state : int, SeedSequence or Generator
        Seed of the draws.
    ties, empty
        As in `crucial.evaluate`.
    """

    level: float = 0.95
    resamples: int | None = None
    random_state: RandomState = 0
    ties: str = "expected"
    empty: str | int = "skip"


_DEFAULTS = RowSampling()


def within_folds(method: str) -> str:
    """Return the name of a method whose rows come from several folds.

    Examples
    --------
    >>> within_folds("DeLong from rows")
    'DeLong from rows within folds'
    """
    return method.replace("rows", "rows within folds", 1)


def _of_measure(measure: PairMeasure, ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval of the share of right pairs as one of the measure."""
    low, high = ends
    if measure.kind == "wrong":
        return 1.0 - high, 1.0 - low
    return (2.0 * low - 1.0, 2.0 * high - 1.0) if measure.kind == "balance" else ends


def row_interval(
    measure: Measure,
    judged: JudgedLists,
    scores: Floats,
    sampling: RowSampling = _DEFAULTS,
    rows: Ints | None = None,
) -> Interval | None:
    """Return the interval of a measure from the rows of one list, or of folds.

    Parameters
    ----------
    measure : Measure
    judged : JudgedLists
        Labels and weights. A weight says how much a row counts, and not how often it was
        observed: a row of weight 2 moves the value twice as far, and is one row.
    scores : array of shape (n_rows,)
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.

    Returns
    -------
    Interval, or None where the measure has no value, or where rows would have to be drawn that
    are tested more than once.

    Examples
    --------
    >>> from crucial.measures.names import get_measure
    >>> judged = JudgedLists.from_labels([1, 1, 1, 0, 0, 0])
    >>> row_interval(get_measure("auc"), judged, np.array([6.0, 5, 3, 4, 2, 1])).text
    '0.0880 to 0.9985'
    """
    if delong_applies(measure) and isinstance(measure, PairMeasure):
        share = pair_share(measure, judged, scores)
        if math.isnan(share.value):
            return None
        share = share if rows is None else share.of_rows(rows)
        ends = _of_measure(measure, share.interval(sampling.level))
        return Interval(*ends, _SCORE if share.is_degenerate else _DELONG)
    if rows is not None and len(np.unique(rows)) < len(rows):
        return None
    draw = _drawer(measure, judged, [scores], sampling)
    if np.isnan(draw(0)).any():
        return None
    pilot, most = _draws(len(scores))
    how = (sampling.level, sampling.resamples, _BOOTSTRAP)
    return drawn_interval(lambda count: draw(count)[0], *how, pilot=pilot, most=most)


def row_difference(
    measure: Measure,
    judged: JudgedLists,
    first: Floats,
    second: Floats,
    sampling: RowSampling = _DEFAULTS,
    rows: Ints | None = None,
) -> tuple[float, Interval | None, float, str]:
    """Compare two rankings of the same rows.

    Parameters
    ----------
    first, second : arrays of shape (n_rows,)
        The scores of both.
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.

    Returns
    -------
    (difference, interval, p, test)
        The second's value minus the first's, its interval, the two-sided p-value, and the key
        of the test in `ROW_TESTS`.

    Examples
    --------
    >>> from crucial.measures.names import get_measure
    >>> judged = JudgedLists.from_labels([1, 1, 1, 0, 0, 0])
    >>> better, worse = np.array([6.0, 5, 3, 4, 2, 1]), np.array([1.0, 5, 3, 4, 2, 6])
    >>> found = row_difference(get_measure("auc"), judged, worse, better)
    >>> round(found[0], 4), round(found[2], 4), found[3]
    (0.5556, 0.1518, 'DeLong')
    """
    if delong_applies(measure) and isinstance(measure, PairMeasure):
        shares = [pair_share(measure, judged, one) for one in (first, second)]
        shares = shares if rows is None else [one.of_rows(rows) for one in shares]
        return _delong_difference(measure, shares[0], shares[1], sampling.level)
    draw = _drawer(measure, judged, [first, second], sampling)
    whole = draw(0)[:, 0]
    if np.isnan(whole).any() or (rows is not None and len(np.unique(rows)) < len(rows)):
        return float(whole[1] - whole[0]), None, math.nan, "bootstrap"
    kept: list[Floats] = []

    def change(count: int) -> Floats:
        drawn = draw(count)
        kept.append(drawn[1] - drawn[0])
        return kept[-1]

    pilot, most = _draws(2 * len(first))
    how = (sampling.level, sampling.resamples, _BOOTSTRAP)
    found = drawn_interval(change, *how, pilot=pilot, most=most)
    draws = np.concatenate(kept)
    sides = [int((sign * draws <= 1e-12).sum()) for sign in (1.0, -1.0)]
    p = min(1.0, 2.0 * (1 + min(sides)) / (1 + len(draws)))
    return float(whole[1] - whole[0]), found, p, "bootstrap"


def _delong_difference(
    measure: PairMeasure, first: PairShare, second: PairShare, level: float
) -> tuple[float, Interval | None, float, str]:
    """Return difference, interval, p and test of two shares (DeLong et al. 1988, section 3)."""
    sign = -1.0 if measure.kind == "wrong" else 2.0 if measure.kind == "balance" else 1.0
    value = sign * (second.value - first.value)
    if math.isnan(value):
        return math.nan, None, math.nan, "DeLong"
    spread, freedom = variance(second.moves - first.moves, second.strata)
    error = abs(sign) * math.sqrt(spread)
    reach = t_quantile(level, freedom) * error
    most = abs(sign)
    ends = max(-most, value - reach), min(most, value + reach)
    found = Interval(*ends, "DeLong from rows")
    if error > 1e-12:
        return value, found, t_test(value / error, freedom), "DeLong"
    if abs(value) <= 1e-12:
        return value, found, 1.0, "DeLong"
    # No row differs from the others, as in a perfect order against a constant one: the chance
    # that labels given out at random are ordered perfectly, in one direction or the other.
    m, n = second.sides
    p = min(1.0, 2.0 / math.comb(m + n, m))
    return value, _joint_interval(measure, first, second, level, p), p, "DeLong"


def _joint_interval(
    measure: PairMeasure, first: PairShare, second: PairShare, level: float, p: float
) -> Interval:
    """Return the differences of all values inside the intervals of both shares.

    The variance of the difference says nothing, so the worst case is assumed: that one share is
    too low where the other is too high, as for two opposite orders.
    """
    mine, theirs = (_of_measure(measure, one.interval(level)) for one in (second, first))
    low, high = mine[0] - theirs[1], mine[1] - theirs[0]
    if p > 1.0 - level:  # (an interval without 0 would contradict the test)
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high, _JOINT)


def _draws(n_rows: int) -> tuple[int, int]:
    """Return the first and the most draws of so many rows."""
    most = max(_FEWEST, _MOST_ROWS // n_rows)
    return min(_PILOT, most), most


def _drawer(
    measure: Measure, judged: JudgedLists, rankings: Sequence[Floats], sampling: RowSampling
) -> Callable[[int], Floats]:
    """Return a function that returns the values of each ranking on so many draws of rows.

    Every draw is a set of lists of its own, so that many are measured at once. ``draw(0)``
    returns the values on the rows themselves.
    """
    codes, n_lists = judged.codes, judged.n_queries
    strata = row_strata(codes, np.unique(judged.y, return_inverse=True)[1].ravel())
    # Strata are numbered list by list, so that the rows of a list stay together; inside, the order
    # of the rows must not matter.
    weight = () if judged.weight is None else (judged.weight,)
    order = np.lexsort((*weight, *rankings, strata))
    sizes = np.bincount(strata)
    begin = (np.cumsum(sizes) - sizes)[strata[order]]
    length = sizes[strata[order]].astype(np.float64)
    drawing = generator("evaluate", sampling.random_state)
    lists = judged.groups.starts

    def measured(picks: Ints) -> Floats:
        times = len(picks) // len(order)
        starts = np.concatenate(
            ([0], (np.arange(times)[:, None] * lists[-1] + lists[1:]).ravel())
        ).astype(np.int64)
        drawn = replace(
            judged,
            y=judged.y[picks],
            groups=Groups(np.arange(len(starts) - 1), starts),
            weight=None if judged.weight is None else judged.weight[picks],
            ids=None if judged.ids is None else judged.ids[picks],
        )
        bound = measure.bind(drawn)
        weights = None if bound.weights is None else bound.weights.reshape(times, n_lists)
        found = []
        for scores in rankings:
            values = bound.values(Ranking(drawn, scores[picks], sampling.ties)).reshape(
                times, n_lists
            )
            found.append(_aggregated(measure, values, weights, sampling.empty))
        return np.array(found)

    def draw(count: int) -> Floats:
        if count == 0:
            return measured(order)
        at_once = max(1, _ROWS_AT_ONCE // len(order))
        parts = []
        for start in range(0, count, at_once):
            times = min(at_once, count - start)
            inside = (drawing.random((times, len(order))) * length).astype(np.int64)
            parts.append(measured(order[begin + inside].ravel()))
        return np.concatenate(parts, axis=1)

    return draw


def _aggregated(
    measure: Measure, values: Floats, weights: Floats | None, empty: str | int
) -> Floats:
    """Return one number per draw over its lists, as `summarise` does."""
    there = ~np.isnan(values)
    if empty != "skip":
        values, there = np.where(there, values, float(empty)), np.ones_like(there)
    geometric = measure.aggregate == "geometric"
    values = logs(values) if geometric else values
    mass = there.astype(np.float64)
    if measure.aggregate == "pool" and weights is not None:
        mass = np.where(there, weights, 0.0)
    top = (np.where(there, values, 0.0) * mass).sum(axis=1)
    if measure.aggregate == "sum":
        return np.where(there.any(axis=1), top, np.nan)
    bottom = mass.sum(axis=1)
    out = np.full(len(top), np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return np.asarray(exp(out)) if geometric else out

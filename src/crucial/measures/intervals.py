"""Bootstrap intervals of means over queries, paired tests, and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import row_sums
from crucial.measures.base import Aggregate, summarise
from crucial.parameters import at_least, check, one_of, refuse
from crucial.types import Floats, VectorLike
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
        """Both ends."""
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
    how : {"mean", "pool", "sum"}
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
        return np.concatenate(drawn)

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
    how : {"mean", "pool", "sum"}
        How queries are aggregated.
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
    change = np.where(there, b - a, np.nan)
    pooled = weights if how == "pool" else None
    value = summarise(change, pooled, how, "skip")[0]
    interval = bootstrap_interval(change, pooled, how, level=level, random_state=random_state)
    low, high = (math.nan, math.nan) if interval is None else interval.ends
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
    from scipy.stats import t

    if len(amounts) < 2:
        return math.nan
    if not amounts.any():
        return 1.0
    spread = float(amounts.std(ddof=1))
    if spread == 0.0:
        return 0.0
    statistic = float(amounts.mean()) / (spread / math.sqrt(len(amounts)))
    return float(2 * t.sf(abs(statistic), len(amounts) - 1))


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

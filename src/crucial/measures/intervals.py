"""Bootstrap intervals, with as many draws as their digits need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.measures.base import Aggregate
from crucial.parameters import refuse
from crucial.types import Floats
from crucial.wording import interval_text

__all__ = [
    "Interval",
    "RandomState",
    "bootstrap_interval",
    "drawn_interval",
    "generator",
    "percentile_interval",
]

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

"""Paired tests of two rankings on the same queries, and Holm's correction of many tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import row_sums
from crucial.measures.base import Aggregate, summarise
from crucial.measures.intervals import Interval, bootstrap_interval, generator
from crucial.parameters import at_least, check, one_of
from crucial.types import Floats, VectorLike

__all__ = ["SAME", "TESTS", "PairedTest", "holm", "paired_test", "win_tie_loss"]


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

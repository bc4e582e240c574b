"""Bootstrap intervals over queries."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from crucial.measures.base import Aggregate
from crucial.types import Floats

__all__ = ["RandomState", "bootstrap_interval", "percentile_interval"]

#: What NumPy makes a generator of.
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

#: Numbers drawn at a time.
_AT_ONCE = 2_000_000


def bootstrap_interval(
    values: Floats,
    weights: Floats | None = None,
    how: Aggregate = "mean",
    *,
    level: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = 0,
) -> tuple[float, float] | None:
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
    resamples : int
        Number of draws of all queries.
    random_state : int, SeedSequence or Generator
        Seed of the draws: the same seed draws the same queries for every measure.

    Returns
    -------
    (low, high), or None where fewer than two queries have a value.

    Examples
    --------
    >>> bootstrap_interval(np.array([0.0, 1.0, 1.0, 1.0]), level=0.5)
    (0.5, 1.0)
    """
    n, there = len(values), ~np.isnan(values)
    if there.sum() < 2:
        return None
    mass = there.astype(float) if how != "pool" or weights is None else there * weights
    amounts = np.where(there, values, 0.0) * mass
    generator = np.random.default_rng(random_state)
    rows = max(1, _AT_ONCE // n)
    drawn = []
    for begin in range(0, resamples, rows):
        picks = generator.integers(0, n, (min(rows, resamples - begin), n))
        top, bottom = amounts[picks].sum(axis=1), mass[picks].sum(axis=1)
        # (a draw of queries without a value has none itself)
        drawn.append(top if how == "sum" else top[bottom > 0] / bottom[bottom > 0])
    low, high = percentile_interval(np.concatenate(drawn), level)
    return float(low), float(high)


def percentile_interval(draws: Floats, level: float) -> tuple[Floats, Floats]:
    """Return both ends of the interval that has a share ``level`` of the draws, per column."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high

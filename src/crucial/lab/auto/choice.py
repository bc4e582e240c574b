"""Which of the tried rankers to keep: the simplest within noise of the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import dot
from crucial.types import Floats

__all__ = ["Entrant", "Gap", "choose", "gap_of", "mean_of"]


@dataclass(frozen=True, eq=False)
class Entrant:
    """A ranker to choose or not.

    Attributes
    ----------
    level : int
        How complicated it is; 0 is the simplest.
    values : array of shape (n_units,)
        One value per held-out query, or per fold where there are no queries; higher is better,
        NaN where there is none.
    weights : array of shape (n_units,) or None
        Weight of every value; None where all weigh the same.
    """

    level: int
    values: Floats
    weights: Floats | None = None


@dataclass(frozen=True)
class Gap:
    """Mean of paired differences, and its standard error."""

    mean: float
    error: float


def mean_of(values: Floats, weights: Floats | None = None) -> float:
    """Return the weighted mean, without NaN."""
    there = ~np.isnan(values)
    if weights is None:
        return float(values[there].mean()) if there.any() else math.nan
    total = float(weights[there].sum())
    return float((weights * values)[there].sum()) / total if total > 0 else math.nan


def gap_of(
    first: Floats, second: Floats, weights: Floats | None = None, overlap: float = 0.0
) -> Gap:
    """Compare two rankers on the same held-out units.

    Parameters
    ----------
    first, second : arrays of shape (n_units,)
    weights : array of shape (n_units,), optional
    overlap : float
        Test rows per training row, where units are folds: training parts overlap, which makes the
        values of folds alike, and their spread too small (Nadeau & Bengio 2003, equation 9).

    Returns
    -------
    Gap
        Mean of ``first - second`` and its standard error; infinite for a single unit.

    Examples
    --------
    >>> gap_of(np.array([0.5, 0.7, 0.6]), np.array([0.4, 0.7, 0.5]))
    Gap(mean=0.066..., error=0.033...)
    """
    change = first - second
    there = ~np.isnan(change)
    change = change[there]
    n = len(change)
    if n < 2:
        return Gap(float(change.mean()) if n else math.nan, math.inf)
    w = np.full(n, 1.0 / n) if weights is None else weights[there] / weights[there].sum()
    mean = dot(w, change)
    # (n / (n - 1) makes the plain standard error of it where all weigh the same)
    variance = dot(w * w, (change - mean) ** 2) * n / (n - 1)
    return Gap(mean, math.sqrt(variance * (1.0 + n * overlap)))


def choose(entrants: Sequence[Entrant], noise: float, overlap: float = 0.0) -> tuple[int, int]:
    """Return the numbers of the best entrant and of the one to keep.

    The best has the highest mean. Of every level below its own, the one with the highest mean is
    compared with it, the simplest level first: the first that is behind by at most ``noise``
    standard errors of the paired difference is kept.

    Parameters
    ----------
    entrants : sequence of Entrant
        With values of the same units.
    noise : float
        Standard errors that a simpler ranker may be behind.
    overlap : float
        As in `gap_of`.

    Examples
    --------
    >>> base = np.array([0.50, 0.60, 0.70, 0.40])
    >>> stumps, trees = Entrant(1, base), Entrant(3, base + [0.02, -0.01, 0.01, 0.00])
    >>> choose([stumps, trees], 1.0), choose([stumps, trees], 0.5)
    ((1, 0), (1, 1))
    """
    means = [mean_of(one.values, one.weights) for one in entrants]
    ranked = sorted(range(len(means)), key=lambda i: (-means[i], entrants[i].level, i))
    best = ranked[0]
    for level in sorted({one.level for one in entrants if one.level < entrants[best].level}):
        own = next(i for i in ranked if entrants[i].level == level)
        gap = gap_of(entrants[best].values, entrants[own].values, entrants[own].weights, overlap)
        if gap.mean <= noise * gap.error and not math.isinf(gap.error):
            return best, own
    return best, best

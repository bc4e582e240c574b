"""The uncertainty of strengths: profile, Wald and sandwich intervals, and sure differences.

Strengths are relative to the mean of their part, so that what is uncertain is a contrast.

How many of the true strengths intervals of level 95% contain
(`tests/unit/preferences/test_coverage.py`):

- comparisons made by the model, 200 of 20 items: profile intervals 94-96%, Wald's slightly more;
- comparisons by 8 or 30 judges, each with strengths of their own: sandwich intervals 95-96%. (The
  profile, which takes them for independent, contains 80-89%; percentile and BCa intervals of
  resampled judges contain 90-94%.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crucial.measures.intervals import t_quantile, t_test
from crucial.preferences.likelihood import Likelihood, PairedLikelihood, held, maximise_at
from crucial.types import Bools, Floats, Ints

_CLOSE = 2e-3  # how near the ends of a profile interval are found, in standard errors
_MOST_PAIRS = 3000  # pairs whose likelihood ratio is computed, at most
_FEW = 3.0  # wins or losses below which a standard error says little


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Intervals and covariance of strengths.

    Attributes
    ----------
    method : str
    low, high : float64 arrays of shape (n_items,)
        Ends of the intervals of the strengths.
    covariance : float64 array of shape (n_items, n_items)
        Of the strengths relative to the mean of their part.
    freedom : float
        Degrees of freedom of the errors; infinite for the normal distribution.
    """

    method: str
    low: Floats
    high: Floats
    covariance: Floats
    freedom: float = math.inf


def centred_covariance(covariance: Floats, part: Ints) -> Floats:
    """Return the covariance of strengths relative to the mean of their part."""
    found = covariance.copy()
    for number in range(int(part.max()) + 1):
        inside = np.flatnonzero(part == number)
        found[inside] -= found[inside].mean(axis=0)
    for number in range(int(part.max()) + 1):
        inside = np.flatnonzero(part == number)
        found[:, inside] -= found[:, inside].mean(axis=1)[:, None]
    return found


def p_of(slope: float, error: float, freedom: float = math.inf) -> float:
    """Return the two-sided p-value of a slope with such an error; nan where that is unknown.

    Examples
    --------
    >>> round(p_of(1.96, 1.0), 4), round(p_of(2.571, 1.0, 5.0), 4)
    (0.05, 0.05)
    """
    return float(slope == 0.0) if error == 0.0 else t_test(slope / error, freedom)


def inverse_curvature(model: Likelihood, p: Floats) -> Floats:
    """Return the inverse of the negative curvature at the parameters."""
    from scipy.linalg import cho_factor
    from scipy.linalg.lapack import dpotri

    matrix = held(model, model.derivatives(p)[1])
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    factor, _ = cho_factor(dense, lower=True, overwrite_a=True)
    half, _ = dpotri(factor, lower=1, overwrite_c=1)  # (the lower half; less work than solving)
    lower = np.tril(half)
    return np.asarray(lower + np.tril(lower, -1).T)


def _around(
    method: str, strengths: Floats, covariance: Floats, level: float, freedom: float = math.inf
) -> Uncertainty:
    half = t_quantile(level, freedom) * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Uncertainty(method, strengths - half, strengths + half, covariance, freedom)


def wald(model: Likelihood, p: Floats, strengths: Floats, level: float) -> Uncertainty:
    """Return intervals of normal errors, from the curvature of the likelihood."""
    covariance = inverse_curvature(model, p)[: model.n, : model.n]
    return _around("wald", strengths, centred_covariance(covariance, model.part), level)


def sandwich(
    model: PairedLikelihood, p: Floats, strengths: Floats, level: float, groups: Ints
) -> Uncertainty:
    """Return intervals that hold if comparisons of a group depend on each other.

    The covariance is H^-1 (sum of g g') H^-1 with the slopes g of all groups (Huber 1967; Liang &
    Zeger 1986), with the errors of Student's t.
    """
    every, freedom = sandwich_covariance(model, p, groups)
    covariance = centred_covariance(every[: model.n, : model.n], model.part)
    return _around("sandwich", strengths, covariance, level, freedom)


def sandwich_covariance(model: PairedLikelihood, p: Floats, groups: Ints) -> tuple[Floats, float]:
    """Return the covariance of all parameters by `sandwich`, and its degrees of freedom.

    One group says nothing about others: what it leaves unknown is nan.
    """
    slopes = model.group_slopes(p, groups)
    n_groups = slopes.shape[0]
    if n_groups < 2:
        return np.full((model.size, model.size), np.nan), 1.0
    inverse = inverse_curvature(model, p)
    meat = (slopes.T @ slopes).toarray()
    return inverse @ meat @ inverse.T * (n_groups / (n_groups - 1.0)), n_groups - 1.0


def profile_intervals(model: Likelihood, p: Floats, strengths: Floats, level: float) -> Uncertainty:
    """Return the strengths that the likelihood ratio does not exclude.

    An end of an interval is where twice the log of the ratio to the best value, with all else
    at its best, is the quantile of chi-square with one degree of freedom (Venzon & Moolgavkar
    1988).
    """
    near = wald(model, p, strengths, level)
    z, best = t_quantile(level, math.inf), model.value(p)
    inverse = inverse_curvature(model, p)
    low, high = near.low.copy(), near.high.copy()
    for item in range(model.n):
        inside = model.part == model.part[item]
        if inside.sum() < 2:
            continue
        direction = np.zeros(model.size)
        direction[: model.n][inside] = -1.0 / inside.sum()
        direction[item] += 1.0
        path = inverse @ direction
        path /= direction @ path
        error = (near.high[item] - near.low[item]) / 2
        for sign, ends in ((-1.0, low), (1.0, high)):
            ends[item] = strengths[item] + sign * _reach(
                model, p, direction * sign, path * sign, error, z, best
            )
    return Uncertainty("profile", low, high, near.covariance)


def _reach(
    model: Likelihood,
    p: Floats,
    direction: Floats,
    path: Floats,
    reach: float,
    z: float,
    best: float,
) -> float:
    """Return how far the contrast goes until the root of the likelihood ratio is z."""
    middle = float(direction @ p)
    before, root_before = 0.0, 0.0
    at = p + reach * path
    for _ in range(20):
        at, value = maximise_at(model, at, direction, middle + reach)
        root = math.sqrt(max(0.0, 2.0 * (best - value)))
        if abs(root - z) < _CLOSE:
            break
        rise = (root - root_before) / (reach - before)
        further = reach + (z - root) / rise if rise > 1e-9 else 2 * reach
        before, root_before = reach, root
        reach = min(max(further, 0.4 * reach), 1.7 * reach)
    return reach


def sure_differences(
    model: Likelihood, p: Floats, known: Uncertainty, tallies: Floats, level: float
) -> Bools:
    """Return which item is surely above which, all differences of an item at once.

    The differences of an item to the n - 1 others of its part all lie in their intervals with
    probability ``level`` (Sidak 1967). So the rank of an item is between 1 + the number of items
    surely above it and n - the number surely below it, with that probability, and the truly
    first item is among those "tied for first" (Mogstad, Romano, Shaikh & Wilhelm 2024).

    Standard errors grow without limit for items that hardly ever lost or won; for those the
    likelihood ratio decides. An item that was compared once is sure of nothing.

    Parameters
    ----------
    model, p : the likelihood and its best parameters
    known : Uncertainty
    tallies : array of shape (2, n_items)
        Weight won and lost, a tie half of each.
    level : float
    """
    n = model.n
    s, own = p[:n], np.diag(known.covariance)
    d = s[:, None] - s[None, :]
    variance = np.maximum(own[:, None] + own[None, :] - 2 * known.covariance, 1e-300)
    same = model.part[:, None] == model.part[None, :]
    sizes = np.bincount(model.part)[model.part]
    each = level ** (1.0 / np.maximum(sizes - 1, 1))
    limits = {one: t_quantile(one, known.freedom) for one in set(each.tolist())}
    limit = np.array([limits[one] for one in each.tolist()])
    above = same & (d > limit[:, None] * np.sqrt(variance))
    once = tallies.sum(axis=0) <= 1.0
    if known.method in ("wald", "profile") and n <= 400:
        _by_ratio(model, p, above, limit, tallies)
    above[once, :] = above[:, once] = False
    return np.asarray(above)


def _by_ratio(model: Likelihood, p: Floats, above: Bools, limit: Floats, tallies: Floats) -> None:
    """Add differences that the likelihood ratio makes sure, of items that hardly lost or won."""
    s = p[: model.n]
    extreme = tallies.min(axis=0) < _FEW
    open_ = (s[:, None] > s[None, :] + 0.5) & ~above & (extreme[:, None] | extreme[None, :])
    open_ &= model.part[:, None] == model.part[None, :]
    # (weight w of comparisons can add no more than 2 w log 2 to a ratio)
    weight = tallies.sum(axis=0)
    most = 2 * math.log(2) * np.minimum(weight[:, None], weight[None, :]) + 2 * model.prior
    pairs = np.argwhere(open_ & (most > limit[:, None] ** 2))
    if not 0 < len(pairs) <= _MOST_PAIRS:
        return
    best, inverse = model.value(p), inverse_curvature(model, p)
    for i, j in pairs.tolist():
        direction = np.zeros(model.size)
        direction[i], direction[j] = 1.0, -1.0
        path = inverse @ direction
        start = p - (s[i] - s[j]) * path / float(direction @ path)
        enough = limit[i] ** 2 / 2
        if best - model.value(start) < enough:
            continue  # (an upper bound of the ratio)
        above[i, j] = best - maximise_at(model, start, direction, 0.0)[1] >= enough

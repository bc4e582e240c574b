"""The posterior distribution of strengths after a few answers.

Strengths have a normal prior; a comparison has Bradley and Terry's likelihood. The posterior is
approximated by a normal distribution at its mode (Laplace's method). With features, similar items
have similar strengths before anything is asked: part of the prior is linear in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["Posterior", "learn_posterior", "prior_precision", "spread_of"]


#: Standard deviation of strengths before anything is asked.
SPREAD = 1.5
#: Share of that variance that features explain, if there are any.
EXPLAINED = 0.8
_DRAWS = 300


def prior_precision(n_items: int, features: Floats | None = None) -> Floats:
    """Return the inverse covariance of strengths before anything is asked.

    Parameters
    ----------
    n_items : int
    features : array of shape (n_items, n_features), optional
        NaN where one is missing; columns are scaled to mean 0 and deviation 1.
    """
    own = np.eye(n_items)
    covariance = own
    if features is not None and features.shape[1]:
        known = np.isfinite(features)
        counts = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, features, 0.0).sum(axis=0) / counts
        away = np.where(known, features - mean, 0.0)
        spread = np.sqrt((away**2).sum(axis=0) / counts)
        Z = away / np.where(spread > 0, spread, 1.0)
        Z = Z[:, spread > 0]
        if Z.shape[1]:
            covariance = (1 - EXPLAINED) * own + EXPLAINED * (Z @ Z.T) / Z.shape[1]
    return np.asarray(np.linalg.inv(covariance)) / SPREAD**2


@dataclass(frozen=True, eq=False)
class Posterior:
    """Strengths relative to their mean, as a normal distribution.

    Attributes
    ----------
    mean : float64 array of shape (n_items,)
    root : float64 array of shape (n_items, n_items)
        The covariance is the product of this matrix and its transpose.
    covariance : float64 array of shape (n_items, n_items)
    """

    mean: Floats
    root: Floats
    covariance: Floats

    @cached_property
    def differences(self) -> tuple[Floats, Floats]:
        """Mean and variance of each strength less each other."""
        own = np.diag(self.covariance)
        variance = own[:, None] + own[None, :] - 2 * self.covariance
        return self.mean[:, None] - self.mean[None, :], np.maximum(variance, 0.0)

    def settled(self) -> float:
        """Return the expected share of pairs in their right order; 0.5 if nothing is known."""
        from scipy.special import ndtr

        n = len(self.mean)
        if n < 2:
            return 1.0
        mean, variance = self.differences
        chances = ndtr(np.abs(mean) / np.sqrt(np.maximum(variance, 1e-12)))
        # (both halves of the matrix are equal, and its diagonal is 1/2)
        return float((chances.sum() - n / 2) / (n * (n - 1)))

    def places(self, items: Ints) -> Ints:
        """Return the rank of each of some items among them, per draw of the strengths."""
        draws = self.mean[items] + _noise(len(self.mean)) @ self.root[items].T
        places = np.empty(draws.shape, np.int64)
        order = np.argsort(-draws, axis=1)
        np.put_along_axis(places, order, np.arange(1, len(items) + 1)[None, :], axis=1)
        return places


@lru_cache(maxsize=4)
def _noise(n: int) -> Floats:
    """Return the same draws for the same number of items: ranks change only with the answers."""
    return np.random.default_rng(0).normal(size=(_DRAWS, n))


def spread_of(places: Ints, level: float = 0.9) -> tuple[Ints, Ints]:
    """Return the best and the worst rank of each item that the draws of `places` leave open."""
    tail = (1 - level) / 2
    low, high = np.quantile(places, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.int64), high.astype(np.int64)


def learn_posterior(high: Ints, low: Ints, weight: Floats, precision: Floats) -> Posterior:
    """Fit the strengths to wins of ``high`` over ``low``, by Newton's method."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    n = len(precision)
    # (the log-odds of wins, shrunk, are near the mode, and save a step or two)
    won, lost = (np.bincount(one, weight, minlength=n) for one in (high, low))
    s = 0.8 * np.log((won + 1) / (lost + 1))

    def value(x: Floats) -> float:
        return float(-weight @ np.logaddexp(0.0, x[low] - x[high]) - 0.5 * x @ precision @ x)

    now = value(s)
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(s[high] - s[low]))  # (the chance of a loss, for each win)
        slope = (
            np.bincount(high, weight * p, minlength=n)
            - np.bincount(low, weight * p, minlength=n)
            - precision @ s
        )
        curve = _curve(high, low, weight, p, precision)
        factor = cho_factor(curve, overwrite_a=True, check_finite=False)
        step = cho_solve(factor, slope, check_finite=False)
        scale = 1.0
        while (moved := value(s + scale * step)) < now - 1e-12 * (1 + abs(now)) and scale > 1e-12:
            scale /= 2
        s, now = s + scale * step, moved
        # (steps square near the mode: what is left is below 1e-8)
        if np.abs(step).max() < 1e-4:
            break
    p = 1.0 / (1.0 + np.exp(s[high] - s[low]))
    lower = np.linalg.cholesky(_curve(high, low, weight, p, precision))
    root = solve_triangular(lower, np.eye(n), lower=True, check_finite=False).T
    # Only differences count: subtract the mean strength.
    root = root - root.mean(axis=0)
    return Posterior(s - s.mean(), root, root @ root.T)


def _curve(high: Ints, low: Ints, weight: Floats, p: Floats, precision: Floats) -> Floats:
    curve = precision.copy()
    w = weight * p * (1 - p)
    np.add.at(curve, (high, high), w)
    np.add.at(curve, (low, low), w)
    np.add.at(curve, (high, low), -w)
    np.add.at(curve, (low, high), -w)
    return curve

"""Penalties that make linear rankers sparse, and the minimum of a loss with one of them.

    min over w of  L(A w) + weight sum_j g(|w_j|)

g is concave and rises from 0, so that its tangent at the current weights lies above it: with it
in place of g the problem is a weighted l1 norm, whose solution cannot have a larger objective
(majorise and minimise; Laporte et al. 2014). The first tangent has slope 1 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import log1p, power
from crucial.linear.design import Matrix
from crucial.linear.l1 import BoundedLoss, SparseMinimum, minimise_l1, violation
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats

__all__ = ["LogPenalty", "MinimaxConcave", "Penalty", "PowerPenalty", "minimise_concave"]


class Penalty(Protocol):
    """A concave function of the absolute weight, 0 at 0."""

    def value(self, size: Floats) -> Floats:
        """Return g of absolute weights."""

    def slope(self, size: Floats) -> Floats:
        """Return the derivative of g."""


@dataclass(frozen=True)
class LogPenalty:
    """``ln(1 + |w| / epsilon)``.

    Examples
    --------
    >>> LogPenalty(0.5).slope(np.array([0.0, 0.5])).tolist()
    [2.0, 1.0]
    """

    epsilon: float

    def value(self, size: Floats) -> Floats:
        """Return g of absolute weights."""
        return log1p(size / self.epsilon)

    def slope(self, size: Floats) -> Floats:
        """Return the derivative of g."""
        return 1.0 / (self.epsilon + size)


@dataclass(frozen=True)
class PowerPenalty:
    """``(|w| + epsilon)^q - epsilon^q`` for q in (0, 1): the l_q norm with a finite slope at 0."""

    q: float
    epsilon: float

    def value(self, size: Floats) -> Floats:
        """Return g of absolute weights."""
        return power(size + self.epsilon, self.q) - power(self.epsilon, self.q)

    def slope(self, size: Floats) -> Floats:
        """Return the derivative of g."""
        return self.q * power(size + self.epsilon, self.q - 1.0)


@dataclass(frozen=True)
class MinimaxConcave:
    """``|w| - w^2 / (2 end)`` up to ``end``, constant from there on (Zhang 2010, MCP)."""

    end: float

    def value(self, size: Floats) -> Floats:
        """Return g of absolute weights."""
        within = np.minimum(size, self.end)
        return np.asarray(within - within * within / (2.0 * self.end))

    def slope(self, size: Floats) -> Floats:
        """Return the derivative of g."""
        return np.maximum(0.0, 1.0 - size / self.end)


def minimise_concave(
    loss: BoundedLoss,
    matrix: Matrix,
    weight: float,
    penalty: Penalty,
    tol: float,
    max_iter: int,
) -> SparseMinimum:
    """Lower a loss and a concave penalty until a step gains at most ``tol``.

    Parameters
    ----------
    loss : BoundedLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    weight : float
        Weight of the penalty.
    penalty : Penalty
    tol : float
    max_iter : int
        Steps of all weighted l1 problems together, at most.

    Returns
    -------
    SparseMinimum
        Its path has the objective after every weighted l1 problem, and never rises. The weights
        are a stationary point; there may be lower ones elsewhere.
    """
    space = FeatureSpace(matrix)

    def objective(w: Floats) -> float:
        return loss(space.scores(w))[0] + weight * float(penalty.value(np.abs(w)).sum())

    shrink = np.full(matrix.shape[1], weight)
    found = minimise_l1(loss, matrix, shrink, 0.1 * tol, max_iter)
    w, steps = found.weights, found.n_iter
    path = [objective(w)]
    while True:
        shrink = weight * penalty.slope(np.abs(w))
        found = minimise_l1(loss, matrix, shrink, 0.1 * tol, max(0, max_iter - steps), w)
        steps += max(1, found.n_iter)
        value = objective(found.weights)
        if value > path[-1]:  # (by rounding alone: the tangent lies above the penalty)
            break
        w = found.weights
        path.append(value)
        if path[-2] - value <= tol or steps >= max_iter:
            break
    slope = space.back(loss(space.scores(w))[1])
    off = violation(w, slope, weight * penalty.slope(np.abs(w)))
    return SparseMinimum(w, path[-1], np.nan, off, steps, tuple(path))

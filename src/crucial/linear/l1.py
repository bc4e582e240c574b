"""Minimise smooth convex losses and a weighted l1 norm.

    min over w of  L(A w) + sum_j shrink_j |w_j|

FISTA (Beck & Teboulle 2009) with restarts finds out which weights are not 0; Newton's method on
those, signs kept, finds their digits. A dual bound proves how far the minimum may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot
from crucial.linear.design import Matrix
from crucial.linear.newton_steps import conjugate_gradients, lowest_along
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats, Ints

__all__ = [
    "BoundedLoss",
    "SparseMinimum",
    "minimise_l1",
    "soft",
    "violation",
]

# Steps of FISTA between two attempts of Newton's method.
_BLOCK = 10
# Newton's steps in one attempt, and the iterations of conjugate gradients in one of them.
_NEWTON_STEPS, _INNER = 8, 250
# Newton's steps for the last digits, at most.
_POLISH = 50
# How far to go along a step of Newton's method, at most.
_LONGEST = 4.0
# A change of the objective below this share of it is rounding.
_ROUNDING = 1e-14


class BoundedLoss(Protocol):
    """A convex loss, never below 0, with a gradient and planes that bound it from below."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a and b, given value and gradient at these scores.

        At any scores s the loss is at least ``share (a + by_score . s) - share^2 b``, for any
        share in [0, 1].
        """


@dataclass(frozen=True)
class SparseMinimum:
    """How far a solver got.

    Attributes
    ----------
    weights : array of shape (n_columns,)
        Exactly 0 for columns that are not used.
    value : float
        Loss and penalty.
    gap : float
        The value is proven to be at most this far above the minimum; NaN where no bound is known.
    violation : float
        By how much the conditions of a minimum are violated, at most.
    n_iter : int
    path : tuple of floats
        Value after each step that has one to report.
    """

    weights: Floats
    value: float
    gap: float
    violation: float
    n_iter: int
    path: tuple[float, ...] = ()


def soft(w: Floats, by: Floats) -> Floats:
    """Return weights moved towards 0, and no further than 0.

    Examples
    --------
    >>> soft(np.array([3.0, -0.5, -2.0]), np.array([1.0, 1.0, 0.5])).tolist()
    [2.0, 0.0, -1.5]
    """
    size = np.abs(w) - by
    return np.where(size > 0.0, np.copysign(size, w), 0.0)


def violation(w: Floats, slope: Floats, shrink: Floats) -> float:
    """Return by how much 0 is missed by the derivatives of loss and penalty, at most.

    Parameters
    ----------
    w : array of shape (n_columns,)
    slope : array like w
        Gradient of the loss.
    shrink : array like w
        Slope of the penalty at every weight.
    """
    used = np.abs(slope + np.copysign(shrink, w))
    unused = np.abs(slope) - shrink
    return float(np.maximum(np.where(w != 0.0, used, unused), 0.0).max(initial=0.0))


def minimise_l1(
    loss: BoundedLoss,
    matrix: Matrix,
    shrink: Floats,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> SparseMinimum:
    """Minimise a loss and a weighted l1 norm up to ``tol``.

    The value is never above that of the start.

    Parameters
    ----------
    loss : BoundedLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    shrink : array of shape (n_columns,)
        Weight of every |w_j|, not negative.
    tol : float
        Ends where the proven gap is at most this; where a weight of the norm is 0, so that no gap
        can be proven, where the conditions of a minimum are violated by no more.
    max_iter : int
        Steps of FISTA at most.
    start : array of shape (n_columns,), optional
        Weights to begin with; 0 by default.
    """
    problem = _Problem(loss, matrix, shrink)
    best = problem.at(np.zeros(len(shrink)) if start is None else start)
    steps, rate = 0, 1.0
    while len(shrink):
        best = _newton_in_block(problem, best, tol)
        if problem.left(best) <= tol:
            # All digits, so that the order of the rows changes none; this may uncover a column.
            best = _newton_in_block(problem, best, 0.0)
            if problem.left(best) <= tol:
                break
        if steps >= max_iter:
            break
        before, block = best, min(_BLOCK, max_iter - steps)
        best, rate = _fista(problem, best, 2.0 * rate, block)
        steps += block
        if best is before:  # (nothing falls any more but rounding)
            break
    return problem.minimum(best, steps)


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights, and all that is known of the objective there."""

    w: Floats
    scores: Floats
    loss: float
    value: float
    by_score: Floats
    slope: Floats


class _Problem:
    """The objective, at any weights."""

    def __init__(self, loss: BoundedLoss, matrix: Matrix, shrink: Floats) -> None:
        self.loss, self.space, self.shrink = loss, FeatureSpace(matrix), shrink
        self.scores, self.back = self.space.scores, self.space.back

    def norm(self, w: Floats) -> float:
        return dot(self.shrink, np.abs(w))

    def at(self, w: Floats) -> _Point:
        scores = self.scores(w)
        loss, by_score = self.loss(scores)
        return _Point(w, scores, loss, loss + self.norm(w), by_score, self.back(by_score))

    def gap(self, point: _Point) -> float:
        """Return how far the objective may be above its minimum.

        The plane below the loss with a share that makes its slope at most ``shrink``, column by
        column, is never below its constant once the norm is added.
        """
        a, b = self.loss.plane(point.scores, point.loss, point.by_score)
        steep = np.abs(point.slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(steep > 0.0, self.shrink / steep, np.inf)
        share = min(1.0, float(shares.min(initial=1.0)))
        if b > 0.0:
            share = min(share, max(0.0, 0.5 * a / b))
        return max(0.0, point.value - max(0.0, share * a - share * share * b))

    def minimum(self, point: _Point, n_iter: int) -> SparseMinimum:
        """Return a point as a result."""
        off = violation(point.w, point.slope, self.shrink)
        return SparseMinimum(point.w, point.value, self.gap(point), off, n_iter)

    def left(self, point: _Point) -> float:
        """Return what must fall to ``tol``."""
        if np.any(self.shrink == 0.0):
            return violation(point.w, point.slope, self.shrink)
        return self.gap(point)


def _fista(problem: _Problem, best: _Point, rate: float, steps: int) -> tuple[_Point, float]:
    """Take steps of FISTA; return the best point, and one over the curvature it met."""
    w = before = best.w
    scores = scores_before = best.scores
    momentum, found, lowest = 1.0, None, best.value
    for _ in range(steps):
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = (momentum - 1.0) / after
        y, at = w + ahead * (w - before), scores + ahead * (scores - scores_before)
        loss, by_score = problem.loss(at)
        slope = problem.back(by_score)
        while True:
            new = soft(y - rate * slope, rate * problem.shrink)
            move = new - y
            new_scores = problem.scores(new)
            value, new_by_score = problem.loss(new_scores)
            length = 0.5 / rate * dot(move, move)
            # (two ways to see that the step is short enough; the second has digits for small ones)
            lower = value <= loss + dot(slope, move) + length
            bend = dot(new_by_score - by_score, new_scores - at)
            if lower or bend <= length or rate < 1e-300:
                break
            rate *= 0.5
        if dot(y - new, new - w) > 0.0:  # (the momentum points uphill: restart)
            after = 1.0
        before, scores_before, momentum = w, scores, after
        w, scores = new, new_scores
        whole = value + problem.norm(new)
        if whole < lowest:
            found, lowest = new, whole
    return (best if found is None else problem.at(found)), rate


def _newton_in_block(problem: _Problem, point: _Point, tol: float) -> _Point:
    """Take Newton's steps in the weights that are not 0, as long as the objective falls.

    With a ``tol`` above 0 they end early: where that is reached, or where other weights are
    further from their place than these.
    """
    for _ in range(_NEWTON_STEPS if tol > 0.0 else _POLISH):
        used = np.flatnonzero(point.w)
        slope = point.slope[used] + np.copysign(problem.shrink[used], point.w[used])
        steep = float(np.abs(slope).max(initial=0.0))
        if not steep > 0.0:
            return point
        if tol > 0.0:
            unused = np.where(point.w == 0.0, np.abs(point.slope) - problem.shrink, 0.0)
            if problem.left(point) <= tol or steep < 0.1 * float(unused.max()):
                return point
        step = _direction(problem, point, used, slope, 1e-2 if tol > 0.0 else 1e-12)
        new = _lowest(problem, point, used, step, slope)
        if new is None:
            return point
        point = new
    return point


def _direction(
    problem: _Problem, point: _Point, used: Ints, slope: Floats, accuracy: float
) -> Floats:
    """Return Newton's step in some of the weights."""
    columns, curvature = problem.space.some(used), problem.loss.curvature(point.scores)

    def product(direction: Floats) -> Floats:
        return columns.back(curvature(columns.scores(direction)))

    return conjugate_gradients(product, -slope, accuracy, min(_INNER, 3 * len(used) + 10))


def _lowest(
    problem: _Problem, point: _Point, used: Ints, step: Floats, slope: Floats
) -> _Point | None:
    """Return the lowest point along a step, up to where a weight is 0; None if none is lower."""
    falls = dot(slope, step)
    if not np.isfinite(step).all() or not falls < 0.0:
        return None
    w = point.w[used]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(step * w < 0.0, -w / step, np.inf)
    longest = min(_LONGEST, float(ends.min()))
    move = np.zeros_like(point.w)
    move[used] = step
    linear = dot(problem.shrink[used], np.copysign(step, step * w))
    rate = lowest_along(problem.loss, point.scores, problem.scores(move), falls, linear, longest)
    new = point.w + rate * move
    new[used[ends <= rate]] = 0.0
    found = problem.at(new)
    if found.value < point.value or _flatter(problem, point, found):
        return found
    return None


def _flatter(problem: _Problem, point: _Point, found: _Point) -> bool:
    """Return whether a step leaves the value as it is but for rounding, and halves the slope.

    Then only the digits of the weights improve.
    """
    if found.value > point.value + _ROUNDING * abs(point.value):
        return False
    old, new = (violation(one.w, one.slope, problem.shrink) for one in (point, found))
    return new < 0.5 * old

"""Minimise convex losses with penalties that make linear rankers sparse, and the infinite push."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from crucial.boosting.stump_search import first_largest
from crucial.errors import CrucialError
from crucial.feedback.base import Layout
from crucial.kernels.elementary import column_sums, dot, exp, log, log1p, logaddexp, power
from crucial.rankers.linear.columns import FeatureSpace, Matrix
from crucial.rankers.linear.newton import conjugate_gradients, lowest_along, sigmoid
from crucial.rankers.linear.planes import PlaneLoss
from crucial.types import Floats, Ints

# --- Minimise smooth convex losses and a weighted l1 norm
#
#     min over w of  L(A w) + sum_j shrink_j |w_j|
#
# FISTA (Beck & Teboulle 2009) with restarts finds out which weights are not 0; Newton's method on
# those, signs kept, finds their digits. A dual bound proves how far the minimum may be.


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


# --- Penalties that make linear rankers sparse, and the minimum of a loss with one of them
#
#     min over w of  L(A w) + weight sum_j g(|w_j|)
#
# g is concave and rises from 0, so that its tangent at the current weights lies above it: with it
# in place of g the problem is a weighted l1 norm, whose solution cannot have a larger objective
# (majorise and minimise; Laporte et al. 2014). The first tangent has slope 1 everywhere.


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
    loss: BoundedLoss, matrix: Matrix, weight: float, penalty: Penalty, tol: float, max_iter: int
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


# --- Minimise smooth convex losses over weights of a bounded l1 norm (Lai et al. 2013, FenchelRank)
#
#     min over w of  L(A w)  subject to  |w|_1 <= radius
#
# Every step moves towards the corner of the l1 ball that the gradient favours, one column up or
# down, so that after t steps at most t weights are not 0. The gap ``w.g + radius max|g|`` bounds
# the distance from the minimum. Such steps alone need about 1/gap of them: close to the minimum
# they
# go to and fro between the same corners. Now and then Newton's method therefore finds the lowest
# point of the current face of the ball (Jaggi 2013 calls such methods corrective).


#: How far to go towards a corner; see `frank_wolfe`.
Steps: TypeAlias = Literal["corrective", "exact", "decay"]

# Steps between two corrections, and Newton's steps in one.
_EVERY, _NEWTON = 10, 20


def frank_wolfe(
    loss: BoundedLoss,
    matrix: Matrix,
    radius: float,
    tol: float,
    max_iter: int,
    how: Steps = "corrective",
) -> SparseMinimum:
    """Minimise a loss over an l1 ball up to ``tol``, in at most ``max_iter`` steps.

    Parameters
    ----------
    loss : BoundedLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    radius : float
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int
    how : {"corrective", "exact", "decay"}
        Go the exact distance to the lowest point on the way to a corner, with corrections after
        every tenth step or without; or go ``2 / (t + 2)`` of the way in step t from 0.

    Returns
    -------
    SparseMinimum
        Its path has the value after every step.
    """
    columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
    space = FeatureSpace(matrix)
    w, scores = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
    value, by_score = loss(scores)
    path: list[float] = []
    gap, steps = 0.0, 0
    while len(w):
        slope = space.back(by_score)
        steep = np.abs(slope)
        best = first_largest(steep)
        gap = max(0.0, dot(w, slope) + radius * float(steep.max()))
        if gap <= tol or steps >= max_iter:
            break
        corner = -np.copysign(radius, slope[best])
        move = corner * _column(columns, best) - scores
        rate = 2.0 / (steps + 2.0)
        if how != "decay":
            rate = lowest_along(loss, scores, move, dot(by_score, move))
        w = (1.0 - rate) * w
        w[best] += rate * corner
        scores = scores + rate * move
        steps += 1
        if steps % _EVERY == 0:
            w = _corrected(loss, FeatureSpace(columns), w, radius) if how == "corrective" else w
            scores = space.scores(w)  # (so that rounding does not add up)
        value, by_score = loss(scores)
        path.append(value)
    return SparseMinimum(w, value, gap, gap, steps, tuple(path))


def _column(columns: Matrix, j: int) -> Floats:
    one = columns[:, [j]]
    return np.asarray(one.toarray() if isinstance(one, sp.csc_array) else one)[:, 0]


def _corrected(loss: BoundedLoss, space: FeatureSpace, w: Floats, radius: float) -> Floats:
    """Return the weights of the lowest point with the same signs, or some lower one.

    It lies inside the ball, or on its face: where it does not, the weights are scaled to the face
    and moved along it.
    """
    inside = _newton(loss, space, w, radius, on_face=False)
    if np.abs(inside).sum() < radius:
        return inside
    face = _newton(loss, space, w * (radius / np.abs(w).sum()), radius, on_face=True)
    options = [w, inside, face]
    values = [loss(space.scores(one))[0] for one in options]
    return options[int(np.argmin(values))]


def _newton(
    loss: BoundedLoss, space: FeatureSpace, w: Floats, radius: float, *, on_face: bool
) -> Floats:
    """Take Newton's steps in the weights that are not 0; one that reaches 0 stays there.

    On the face the sum of the absolute weights is kept; elsewhere it ends at the face.
    """
    scores = space.scores(w)
    value, by_score = loss(scores)
    for _ in range(_NEWTON):
        used = np.flatnonzero(w)
        if len(used) < 1 + on_face:
            break
        part, sign = space.some(used), np.sign(w[used])
        slope = part.back(by_score)
        slope = _along(slope, sign) if on_face else slope
        step = _step(loss, part, scores, slope, sign if on_face else None)
        falls = dot(slope, step)
        if not falls < 0.0:
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(step * sign < 0.0, -w[used] / step, np.inf)
        longest, outwards = min(_LONGEST, float(ends.min())), dot(sign, step)
        if not on_face and outwards > 0.0:
            longest = min(longest, (radius - float(np.abs(w).sum())) / outwards)
        rate = lowest_along(loss, scores, part.scores(step), falls, 0.0, longest)
        new = w.copy()
        new[used] += rate * step
        new[used[ends <= rate]] = 0.0
        new_scores = space.scores(new)
        new_value, new_by_score = loss(new_scores)
        if not new_value < value:
            break
        w, scores, value, by_score = new, new_scores, new_value, new_by_score
    return w


def _along(slope: Floats, sign: Floats) -> Floats:
    """Return the part of a direction that keeps the sum of the absolute weights."""
    return np.asarray(slope - sign * (dot(sign, slope) / len(sign)))


def _step(
    loss: BoundedLoss, part: FeatureSpace, scores: Floats, slope: Floats, sign: Floats | None
) -> Floats:
    """Return Newton's step in some columns, along the face if signs are given."""
    curvature = loss.curvature(scores)

    def product(direction: Floats) -> Floats:
        if sign is not None:
            direction = _along(direction, sign)
        image = part.back(curvature(part.scores(direction)))
        return image if sign is None else _along(image, sign)

    step = conjugate_gradients(product, -slope, 1e-12, 3 * len(slope) + 10)
    return step if sign is None else _along(step, sign)


# --- The sparse infinite push (Rakotomamonjy 2012): hinges against the highest loser, an l1 norm
#
#     min over w of  sum_q c_q sum_hi u_hi [1 - (s_hi - max_lo s_lo)]_+  +  weight |w|_1
#
# The loss is a maximum of planes, and with the l1 norm the problem is a linear program. At every w
# a
# plane touches the loss from below; the planes so far and the l1 norm are a small linear program,
# whose solution is the next w and whose dual is a lower bound on the minimum.


# Share of the best weights in the point between them and those of the program.
_INSIDE = 0.5
# A plane without a share in so many solutions is dropped.
_PATIENCE = 30


class HingePush:
    """The loss of the infinite push with hinges; a `PlaneLoss`.

    Parameters
    ----------
    layout : Layout
        Every query has two levels.
    weight : array of shape (n_rows,)
        Weights of the rows that should win, query factors included.
    """

    def __init__(self, layout: Layout, weight: Floats) -> None:
        sizes = np.diff(layout.level_start)
        low = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self._low, self._high = np.flatnonzero(low), np.flatnonzero(~low)
        self._low_start = np.concatenate(([0], np.cumsum(sizes[::2])[:-1]))
        self._of_low = np.repeat(np.arange(layout.n_queries), sizes[::2])
        self._of_high = np.repeat(np.arange(layout.n_queries), sizes[1::2])
        self._v = weight[self._high]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return height and slope of the plane that touches at these scores."""
        lowered = scores[self._low]
        top = np.maximum.reduceat(lowered, self._low_start)
        at_top = np.flatnonzero(lowered == top[self._of_low])
        first = at_top[np.unique(self._of_low[at_top], return_index=True)[1]]
        short = 1.0 - scores[self._high] + top[self._of_high]
        pull = np.where(short > 0.0, self._v, 0.0)
        slope = np.zeros(len(scores))
        slope[self._high] = pull
        slope[self._low[first]] = -np.bincount(self._of_high, pull, len(top))
        return float(pull.sum()), slope


def l1_planes(
    loss: PlaneLoss, matrix: Matrix, weight: float, tol: float, max_iter: int
) -> SparseMinimum:
    """Minimise a maximum of planes and an l1 norm up to ``tol``, in at most ``max_iter`` programs.

    Every program adds two planes: where its own solution is, and half way from there to the best
    weights so far, which keeps the search from jumping between far corners. Only solutions of
    programs are returned: they are corners, and so have more weights of 0 than points between.
    """
    space = FeatureSpace(matrix)
    w = np.zeros(matrix.shape[1])
    found, found_value = w, np.inf
    centre, centre_value = w, np.inf
    bound, steps = 0.0, 0
    planes = _PushPlanes(len(w))
    while True:
        for at in (w, _INSIDE * centre + (1.0 - _INSIDE) * w)[: 2 if steps else 1]:
            height, by_score = loss(space.scores(at))
            slope = space.back(by_score)
            value = height - dot(slope, at) + weight * float(np.abs(at).sum())
            planes.add(height, slope)
            if value < centre_value:
                centre, centre_value = at, value
            if at is w and value < found_value:
                found, found_value = at, value
        if found_value - bound <= tol or steps >= max_iter or not len(w):
            break
        w, shares = _program(planes.slopes, planes.heights, weight)
        steps += 1
        bound = max(bound, _bound(shares, planes.slopes, planes.heights, weight))
        planes.forget(shares)
    gap = max(0.0, found_value - bound)
    return SparseMinimum(found, found_value, gap, gap, steps)


class _PushPlanes:
    """Planes below the loss, ``heights - slopes w``."""

    def __init__(self, n_columns: int) -> None:
        self.slopes, self.heights = np.zeros((0, n_columns)), np.zeros(0)
        self._unused = np.zeros(0, np.int64)

    def add(self, height: float, slope: Floats) -> None:
        """Add a plane."""
        self.slopes, self.heights = np.vstack([self.slopes, slope]), np.append(self.heights, height)
        self._unused = np.append(self._unused, 0)

    def forget(self, shares: Floats) -> None:
        """Drop the planes that have had no share in a solution for long."""
        self._unused = np.where(shares > 1e-12, 0, self._unused + 1)
        keep = self._unused < _PATIENCE
        self.slopes, self.heights = self.slopes[keep], self.heights[keep]
        self._unused = self._unused[keep]


def _program(slopes: Floats, heights: Floats, weight: float) -> tuple[Floats, Floats]:
    """Minimise ``max(0, heights - slopes w) + weight |w|_1``; return w and the planes' shares."""
    n, d = slopes.shape
    rows = np.column_stack([-slopes, slopes, -np.ones(n)])
    cost = np.append(np.full(2 * d, weight), 1.0)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, rows, -heights, method="highs", options=options)
    if found.x is None:
        raise CrucialError(
            f"the linear program of {n} planes was not solved ({found.message}); raise l1, which "
            f"is {weight:g}."
        )
    return np.asarray(found.x[:d] - found.x[d : 2 * d]), np.maximum(-found.ineqlin.marginals, 0.0)


def _bound(shares: Floats, slopes: Floats, heights: Floats, weight: float) -> float:
    """Return a lower bound on the minimum from shares of the planes, however exact they are.

    Shares of at most 1 together mix the planes to one below the loss. Where no entry of its slope
    is larger than the weight of the l1 norm, norm and plane are together at least its height.
    """
    total = float(shares.sum())
    if not total > 0.0:
        return 0.0
    mixed = shares / max(1.0, total)
    steep = float(np.abs(column_sums(slopes, mixed)).max(initial=0.0))
    return dot(mixed, heights) * min(1.0, weight / steep if steep > 0.0 else 1.0)


# --- The loss of the infinite push, and smooth forms of it
#
# The limit of the p-norm push is the maximum over the rows lo that should lose of a sum over the
# rows hi that should win (Agarwal 2011; Rudin 2009, section 6). With a loss that falls with the
# margin, the largest of these sums belongs to the highest lo of all, so that the loss of a query
# is ``sum_hi u_hi l(s_hi - max_lo s_lo)``: O(n), not O(pairs). With the logistic loss::
#
#     L(s) = sum_q c_q sum_hi u_hi ln(1 + e^(max_lo s_lo - s_hi))
#
# which is convex in the scores s. The maximum is replaced by ``(1/b) ln sum_lo m_lo e^(b s_lo)``
# with the rows' shares m of the weight, which is smooth and at most ``ln(1/m) / b`` less than the
# maximum; the solver increases b until a dual bound proves that the minimum is close.


class InfinitePushLoss:
    """The loss of the infinite push; a `SharpLoss`.

    Parameters
    ----------
    layout : Layout
        Every query has two levels.
    weight : array of shape (n_rows,)
        Of the rows that should win: their weight, query factors included; all sum to 1. Of the
        others: their share of the weight in their query, which smooths the maximum.
    """

    def __init__(self, layout: Layout, weight: Floats) -> None:
        sizes = np.diff(layout.level_start)
        low = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self._low, self._high = np.flatnonzero(low), np.flatnonzero(~low)
        self._low_start = np.concatenate(([0], np.cumsum(sizes[::2])))
        self._high_start = np.concatenate(([0], np.cumsum(sizes[1::2])))
        self._of_low = np.repeat(np.arange(layout.n_queries), sizes[::2])
        self._of_high = np.repeat(np.arange(layout.n_queries), sizes[1::2])
        self._v = weight[self._high]
        # (a share can be too small for a float, where weights are far apart)
        self._log_m = log(np.maximum(weight[self._low], np.finfo(np.float64).tiny))

    def value(self, scores: Floats) -> float:
        """Return the loss itself."""
        top = np.maximum.reduceat(scores[self._low], self._low_start[:-1])
        return self._loss(scores[self._high] - top[self._of_high])

    def _loss(self, margin: Floats) -> float:
        return dot(self._v, logaddexp(0.0, -margin))

    def smooth(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return the smooth form of the loss, and its gradient."""
        margin, share = self._margins(scores, sharp)
        return self._loss(margin), self._gradient(self._pull(margin), share)

    def _margins(self, scores: Floats, sharp: float) -> tuple[Floats, Floats]:
        """Return the winners' margins over the smooth maximum, and the losers' shares in it."""
        logs = self._log_m + sharp * scores[self._low]
        highest = np.maximum.reduceat(logs, self._low_start[:-1])
        grown = exp(logs - highest[self._of_low])
        total = np.add.reduceat(grown, self._low_start[:-1])
        top = (highest + log(total)) / sharp
        return scores[self._high] - top[self._of_high], grown / total[self._of_low]

    def _pull(self, margin: Floats) -> Floats:
        """Return minus the derivative of the loss by every winner's margin."""
        return self._v * sigmoid(-margin)

    def _by_loser(self, values: Floats) -> Floats:
        """Return the sum over the winners of its query for every loser."""
        return np.add.reduceat(values, self._high_start[:-1])[self._of_low]

    def _gradient(self, pull: Floats, share: Floats) -> Floats:
        gradient = np.zeros(len(self._low) + len(self._high))
        gradient[self._high] = -pull
        gradient[self._low] = share * self._by_loser(pull)
        return gradient

    def curvature(self, scores: Floats, sharp: float, moved: Floats) -> Floats:
        """Return the product of the smooth form's second derivative with a move of the scores."""
        margin, share = self._margins(scores, sharp)
        pull = self._pull(margin)
        mean = np.add.reduceat(share * moved[self._low], self._low_start[:-1])
        bend = pull * sigmoid(margin) * (moved[self._high] - mean[self._of_high])
        out = np.zeros(len(scores))
        out[self._high] = bend
        spread = sharp * self._by_loser(pull) * (moved[self._low] - mean[self._of_low])
        out[self._low] = share * (spread - self._by_loser(bend))
        return out

    def dual(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return d and g: ``d - |A^T g|^2 / (2 l2)`` is a lower bound on the minimum.

        For winners' pulls a in [0, v] and shares p of the losers, loss and ridge are never below
        ``sum v H(a/v) - |A^T g|^2 / (2 l2)``, with the entropy H and g the derivative by the
        scores.
        """
        margin, share = self._margins(scores, sharp)
        pull = self._pull(margin)
        # v H(s) = v (s ln(1/s) + (1-s) ln(1/(1-s))), s = 1 / (1 + e^margin)
        entropy = pull * logaddexp(0.0, margin)
        entropy += (self._v - pull) * logaddexp(0.0, -margin)
        return float(entropy.sum()), self._gradient(pull, share)

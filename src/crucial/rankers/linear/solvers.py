"""Minimise a convex loss of scores and a penalty: L-BFGS, Newton, cutting planes, FISTA.

    min over w of  L(scores(w)) + (l2 / 2) <w, w>

The ridge makes the objective strongly convex, so that ``|gradient|^2 / (2 l2)`` is a proven bound
on the distance from the minimum; a plane below the loss, and the ridge, have a known minimum, which
is a lower bound for losses without a gradient. An l1 norm in its place makes the weights sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import linprog

from crucial.boosting.stumps import first_largest
from crucial.errors import CrucialError
from crucial.kernels.elementary import column_sums, dot, log1p, power, row_sums
from crucial.kernels.minimise import quasi_newton
from crucial.rankers.linear.columns import Space
from crucial.rankers.linear.losses import BoundedLoss, CurvedLoss, Loss
from crucial.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Minimum:
    """The weights of the lowest objective that a solver reached.

    Attributes
    ----------
    weights : array
    value : float
        Loss and penalty.
    gap : float
        The value is proven to be at most this far above the minimum; NaN where no bound is known.
    n_iter : int
        Number of steps.
    violation : float
        By how much the conditions of a minimum are violated, at most, where a solver knows that.
    path : tuple of floats
        Value after every step, where a solver reports it.
    """

    weights: Floats
    value: float
    gap: float
    n_iter: int
    violation: float = np.nan
    path: tuple[float, ...] = ()


def lbfgs(loss: Loss, space: Space, l2: float, tol: float, max_iter: int) -> Minimum:
    """Minimise a differentiable loss and a ridge, until no entry of the gradient is above ``tol``.

    Parameters
    ----------
    loss : Loss
    space : Space
    l2 : float
        Above 0.
    tol : float
    max_iter : int
    """

    def objective(w: Floats) -> tuple[float, Floats]:
        value, by_score = loss(space.scores(w))
        return value + 0.5 * l2 * dot(w, w), space.back(by_score) + l2 * w

    w, steps = quasi_newton(objective, np.zeros(space.n_weights), tol, max_iter)
    value, gradient = objective(w)
    steep = float(np.abs(gradient).max(initial=0.0))
    return Minimum(w, value, dot(gradient, gradient) / (2.0 * l2), steps, steep)


# --- Newton's method, steps by conjugate gradients (Chapelle & Keerthi 2010)
#
# Every step solves ``(H + l2) step = -gradient`` up to a share of the gradient, by conjugate
# gradients in the inner product of the space: one product with the columns and one back, or one
# with the kernel, per iteration.


# Conjugate gradient iterations in one step, at most.
_INNER = 250
# Lengths of a step that are tried, at most.
_TRIALS = 30
# Share of the predicted decrease that a step must reach.
_ENOUGH = 1e-4
# A decrease of the objective below this share of it is rounding.
_ROUNDING = 1e-14


def conjugate_gradients(
    image_of: Callable[[Floats, Floats], Floats],
    space: Space,
    right: Floats,
    pull: Floats,
    accuracy: float,
    max_iter: int,
) -> tuple[Floats, Floats]:
    """Return the solution of a symmetric system, up to a share of its right side, and its scores.

    It stops where a direction has no curvature, which the systems of equal columns have.

    Parameters
    ----------
    image_of : callable
        Returns the product of the matrix with a direction, given the direction and its scores.
    space : Space
    right, pull : arrays
        The right side, and its scores.
    accuracy : float
        Share of the length of ``right`` that may be left.
    max_iter : int
    """
    residual = right
    step, moved = np.zeros_like(right), np.zeros_like(pull)
    along, ahead = right.copy(), pull.copy()
    square = max(0.0, space.dot(right, right, pull))
    enough = accuracy * accuracy * square
    for _ in range(max_iter):
        if square <= enough:
            break
        image = image_of(along, ahead)
        # (image first: the scores of `along` are known, those of the image are not)
        curve = space.dot(image, along, ahead)
        if not curve > 1e-15 * space.dot(along, along, ahead):
            break
        rate = square / curve
        step += rate * along
        moved += rate * ahead
        residual = residual - rate * image
        pull = space.scores(residual)
        before, square = square, max(0.0, space.dot(residual, residual, pull))
        along = residual + (square / before) * along
        ahead = pull + (square / before) * ahead
    return step, moved


def truncated_newton(
    loss: CurvedLoss,
    space: Space,
    l2: float,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> Minimum:
    """Minimise a curved loss and a ridge up to ``tol``, or as far as rounding lets it.

    Parameters
    ----------
    loss : CurvedLoss
    space : Space
    l2 : float
        Above 0.
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int
        Newton's steps at most.
    start : array, optional
        Weights to begin with; 0 by default.
    """
    w = np.zeros(space.n_weights) if start is None else start
    f = space.scores(w)
    loss_value, by_score = loss(f)
    norm = space.dot(w, w, f)
    value = loss_value + 0.5 * l2 * norm
    steps, best = 0, np.inf
    while True:
        residual = -(space.back(by_score) + l2 * w)
        pull = space.scores(residual)
        square = max(0.0, space.dot(residual, residual, pull))
        gap = square / (2.0 * l2)
        done = gap <= tol or steps >= max_iter or gap >= best
        if done or not len(w):
            f = space.scores(w)  # (steps added up leave rounding in the scores)
            return Minimum(w, loss(f)[0] + 0.5 * l2 * space.dot(w, w, f), gap, steps)
        product = loss.curvature(f)
        step, moved = conjugate_gradients(
            lambda along, ahead: space.back(product(ahead)) + l2 * along,  # noqa: B023
            space,
            residual,
            pull,
            np.sqrt(min(0.01, max(1e-12, square))),
            _INNER,
        )
        slope = -space.dot(residual, step, moved)
        length = space.dot(step, step, moved)
        along = space.dot(w, step, moved)
        rate = 1.0
        for _ in range(_TRIALS):
            loss_value, by_score = loss(f + rate * moved)
            after = loss_value + 0.5 * l2 * (norm + 2.0 * rate * along + rate * rate * length)
            if after <= value + _ENOUGH * rate * slope or -slope <= _ROUNDING * abs(value):
                break
            bend = l2 * (along + rate * length) + dot(by_score, moved)
            if bend <= 0.0:
                break  # (still falling here, so it fell all the way: the values are rounded)
            # (a secant of the derivative along the step, kept away from both ends)
            rate *= min(0.8, max(0.1, slope / (slope - bend)))
        else:
            best = 0.0  # (not even the derivative tells a way down: the next look is the last)
        if -slope <= _ROUNDING * abs(value):
            best = gap  # (only the digits of the weights improve from here on)
        w, f, value = w + rate * step, f + rate * moved, after
        norm += rate * (2.0 * along + rate * length)
        steps += 1


# --- Find the best mixture of planes: a small quadratic problem over shares that sum to 1


# Curvature that every plane gets, as a share of the largest.
_FIRM = 1e-15
# Differences below this share of the largest number are rounding.
_DIGITS = 1e-14


def best_mixture(gram: Floats, heights: Floats, start: Floats) -> Floats:
    """Maximise ``heights . z - z'Gz / 2`` over z >= 0 that sum to 1, to the last digits.

    An active set method (after Wolfe 1976): on the planes in use the problem is a linear system;
    a plane whose share would become negative leaves, and the most violated one enters.

    Parameters
    ----------
    gram : array of shape (n, n)
        G, positive semidefinite.
    heights : array of shape (n,)
    start : array of shape (n,)
        Shares to begin with; not negative, and they sum to 1.

    Examples
    --------
    >>> best_mixture(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0])).round(9)
    array([0.25, 0.75])
    """
    scale = _scale(gram, heights)
    z, used = start.copy(), start > 0.0
    best, best_value, seen = z, -np.inf, set[bytes]()
    for _ in range(5 * len(z) + 20):
        z, used = _on_active(gram, heights, z, used)
        slack = heights - row_sums(gram, z)
        level = dot(slack, z)
        value = 0.5 * (level + dot(heights, z))
        # (a plane may have much to say and yet add less to the value than its last digit)
        if value < best_value - _DIGITS * scale or used.tobytes() in seen:
            break
        best, best_value = z, max(value, best_value)
        seen.add(used.tobytes())
        slack[used] = -np.inf
        enters = int(np.argmax(slack))
        if not slack[enters] > level + _DIGITS * scale:
            break
        used[enters] = True
    return np.asarray(best / best.sum())


def _on_active(gram: Floats, heights: Floats, z: Floats, used: Bools) -> tuple[Floats, Bools]:
    """Return the best shares of the planes in use, and which of them stay in use."""
    z, used = z.copy(), used.copy()
    while True:
        at = np.flatnonzero(used)
        n = len(at)
        target = where_planes_meet(gram[np.ix_(at, at)], heights[at])
        if (target > 0.0).all():
            z[at] = target / target.sum()
            return z, used
        falls = target <= 0.0
        # (where a share falls, z - target is not below 0; 0 only if both are)
        ratio = np.full(n, np.inf)
        ratio[falls] = z[at][falls] / np.maximum(z[at][falls] - target[falls], 1e-300)
        leaves = int(np.argmin(ratio))
        z[at] = np.maximum(0.0, z[at] + min(1.0, float(ratio[leaves])) * (target - z[at]))
        z[at[leaves]] = 0.0
        used[at[leaves]] = False


def where_planes_meet(gram: Floats, heights: Floats) -> Floats:
    """Return shares that sum to 1, some maybe below 0, with which all planes have one height."""
    n = len(heights)
    system = np.ones((n + 1, n + 1))
    # (planes that depend on each other: a little more curvature makes their shares unique)
    system[:n, :n] = gram + _FIRM * _scale(gram, heights) * np.eye(n)
    system[n, n] = 0.0
    return _solved(system, np.append(heights, 1.0))[:n]


def _scale(gram: Floats, heights: Floats) -> float:
    return float(np.abs(heights).max()) + float(np.abs(gram).max())


def _solved(system: Floats, right: Floats) -> Floats:
    """Solve a small linear system by elimination, with the largest pivot of each column.

    LAPACK's digits depend on the CPU, and so would the planes in use.
    """
    n = len(right)
    table = np.column_stack([system, right])
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(table[k:, k])))
        if table[pivot, k] == 0.0:
            raise np.linalg.LinAlgError("singular system")
        table[[k, pivot]] = table[[pivot, k]]
        share = table[k + 1 :, k] / table[k, k]
        table[k + 1 :, k + 1 :] -= share[:, None] * table[k, k + 1 :]
    out = np.zeros(n)
    for k in reversed(range(n)):
        out[k] = (table[k, n] - dot(table[k, k + 1 : n], out[k + 1 :])) / table[k, k]
    return out


# --- Planes below a loss, which bound the minimum from below (Joachims 2006)
#
# At any weights a plane touches the loss from below. Newton's method minimises smooth forms of the
# loss, each four times sharper than the one before; their gradients are planes below the loss, too.
# Where more digits are asked for than smooth forms give, cutting planes go on from there: the best
# mixture of all planes so far gives the next bound and the direction of the next step, whose length
# is found by a line search (Franc & Sonnenburg 2008).


# A plane without a share in so many mixtures is dropped.
_PATIENCE = 60
# By how much a smooth form is sharper than the one before.
_SHARPER = 4.0
# So many cuts in a row that lift no bound and lower no value are the end of all digits.
_IN_VAIN = 3
# How far from the best weights towards the mixture the next plane touches.
_AHEAD = 0.1


class Planes:
    """Planes ``height + slope . w`` below a loss, and the best weights so far.

    Parameters
    ----------
    loss : Loss
    space : Space
    penalty : callable
        Returns the penalty of weights, given them and their scores.
    """

    def __init__(
        self, loss: Loss, space: Space, penalty: Callable[[Floats, Floats], float]
    ) -> None:
        self.loss, self.space, self._penalty = loss, space, penalty
        self.weights = np.zeros(space.n_weights)
        self.scores = space.scores(self.weights)
        self.slopes: list[Floats] = []
        self.heights = np.zeros(0)
        self._unused = np.zeros(0, np.int64)
        self.value, self.bound = np.inf, 0.0  # (no loss is below 0)
        self.touch(self.weights, self.scores)

    @property
    def gap(self) -> float:
        """How far the best value may be above the minimum."""
        return max(0.0, self.value - self.bound)

    def offer(self, w: Floats, scores: Floats, loss: float) -> None:
        """Keep weights if they are the best so far."""
        value = loss + self._penalty(w, scores)
        if value < self.value:
            self.weights, self.scores, self.value = w, scores, value

    def touch(self, w: Floats | None, scores: Floats) -> None:
        """Add the plane that touches the loss at some scores; offer their weights, if given."""
        loss, by_score = self.loss(scores)
        if w is not None:
            self.offer(w, scores, loss)
        self.add(loss - dot(by_score, scores), by_score)

    def add(self, height: float, by_score: Floats) -> None:
        """Add the plane ``height + by_score . s``."""
        self.slopes.append(self.space.back(by_score))
        self.heights, self._unused = np.append(self.heights, height), np.append(self._unused, 0)

    def drop(self, shares: Floats) -> Bools:
        """Drop the planes without a share in the last mixtures; return which ones are kept."""
        self._unused = np.where(shares > 0.0, 0, self._unused + 1)
        keep = self._unused < _PATIENCE
        self.slopes = [self.slopes[i] for i in np.flatnonzero(keep)]
        self.heights, self._unused = self.heights[keep], self._unused[keep]
        return keep


class RidgePlanes(Planes):
    """Planes below a loss, and their best mixture beside a ridge."""

    def __init__(self, loss: Loss, space: Space, l2: float) -> None:
        self._l2 = l2
        self._pulls: list[Floats] = []
        self._gram, self._shares = np.zeros((0, 0)), np.zeros(0)
        self.stuck = False
        super().__init__(loss, space, lambda w, scores: 0.5 * l2 * space.dot(w, w, scores))

    def add(self, height: float, by_score: Floats) -> None:
        """Add the plane ``height + by_score . s``, and mix the planes again."""
        super().add(height, by_score)
        slope = self.slopes[-1]
        pull = self.space.scores(slope)
        self._pulls.append(pull)
        n = len(self.slopes) - 1
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n] = self._gram
        gram[n] = gram[:, n] = [self.space.dot(one, slope, pull) for one in self.slopes]
        first = np.append(self._shares, 0.0) if n else np.ones(1)
        shares = best_mixture(gram / self._l2, self.heights, first)
        force = dot(shares, row_sums(gram, shares))
        dual = dot(shares, self.heights) - force / (2.0 * self._l2)
        self.stuck = dual <= self.bound
        self.bound = max(self.bound, dual)
        keep = self.drop(shares)
        self._pulls = [self._pulls[i] for i in np.flatnonzero(keep)]
        self._gram, self._shares = gram[np.ix_(keep, keep)], shares[keep]

    def cut(self) -> None:
        """Step towards the mixture, and add the plane that touches a little further on."""
        target, scores = np.zeros_like(self.weights), np.zeros_like(self.scores)
        for share, slope, pull in zip(self._shares.tolist(), self.slopes, self._pulls):
            if share > 0.0:
                target -= (share / self._l2) * slope
                scores -= (share / self._l2) * pull
        w = self.weights + self._line_search(target, scores) * (target - self.weights)
        at = self.space.scores(w)
        self.offer(w, at, self.loss(at)[0])
        self.touch(None, self.scores + _AHEAD * (scores - self.scores))
        self.touch(target, scores)

    def _line_search(self, target: Floats, scores: Floats) -> float:
        """Return how far towards a target the objective falls, by bisecting its derivative."""
        step, moved = target - self.weights, scores - self.scores
        along = self.space.dot(self.weights, step, moved)
        length = self.space.dot(step, step, moved)
        low, high = 0.0, 1.0
        for _ in range(8):
            rate = 0.5 * (low + high)
            by_score = self.loss(self.scores + rate * moved)[1]
            rises = dot(by_score, moved) + self._l2 * (along + rate * length)
            low, high = (low, rate) if rises > 0 else (rate, high)
        return low


def minimise_by_planes(
    loss: Loss,
    space: Space,
    l2: float,
    tol: float,
    max_iter: int,
    smooth: Callable[[float], BoundedLoss] | None = None,
    sharpest: float = 1e5,
) -> Minimum:
    """Minimise a loss and a ridge up to ``tol``, in at most ``max_iter`` steps.

    Parameters
    ----------
    loss : Loss
    space : Space
    l2 : float
        Above 0.
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int
        Newton's steps and cutting planes at most, together.
    smooth : callable, optional
        Returns the smooth form of a sharpness from 1 on, with planes below the loss.
    sharpest : float
        Beyond, smooth forms have too few digits.
    """
    planes = RidgePlanes(loss, space, l2)
    sharp, steps = 1.0, 0
    while smooth is not None and steps < max_iter and planes.gap > tol and sharp <= sharpest:
        form = smooth(sharp)
        # (a fraction of what the smooth form itself is off is enough)
        enough = max(0.01 * tol, 1e-3 / (sharp * sharp))
        found = truncated_newton(form, space, l2, enough, max_iter - steps, planes.weights)
        steps += max(1, found.n_iter)
        scores = space.scores(found.weights)
        planes.offer(found.weights, scores, loss(scores)[0])
        value, by_score = form(scores)
        a, b = form.plane(scores, value, by_score)
        planes.add(a - b, by_score)
        sharp *= _SHARPER
    in_vain = 0
    while steps < max_iter and planes.gap > max(tol, 1e-15 * abs(planes.value)):
        before = planes.gap
        planes.cut()
        steps += 1
        # (a plane that lifts the bound by less than its last digit still turns the next step)
        in_vain = in_vain + 1 if planes.stuck and planes.gap >= before else 0
        if in_vain == _IN_VAIN:
            break
    return Minimum(planes.weights, planes.value, planes.gap, steps)


# --- Newton's steps in the weights that are not 0, and how far to go along them


# How far to go along a step of Newton's method, at most.
_LONGEST = 4.0
# Evaluations of one line search, at most.
_SEARCH = 40


def _newton_step(
    loss: CurvedLoss,
    space: Space,
    scores: Floats,
    slope: Floats,
    accuracy: float,
    sign: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return Newton's step in some columns and the scores it adds, along the face of given signs.

    Parameters
    ----------
    loss : CurvedLoss
    space : Space
        Of these columns.
    scores : array of shape (n_rows,)
    slope : array of shape (n_columns,)
        Gradient of the objective.
    accuracy : float
    sign : array of shape (n_columns,), optional
        Keep the sum of the weights of these signs.
    """
    curvature = loss.curvature(scores)

    def image_of(along: Floats, ahead: Floats) -> Floats:
        image = space.back(curvature(ahead))
        return image if sign is None else _along(image, sign)

    most = min(_INNER, 3 * len(slope) + 10)
    return conjugate_gradients(image_of, space, -slope, space.scores(-slope), accuracy, most)


def _along(slope: Floats, sign: Floats) -> Floats:
    """Return the part of a direction that keeps the sum of the absolute weights."""
    return np.asarray(slope - sign * (dot(sign, slope) / len(sign)))


def _ends(w: Floats, step: Floats) -> Floats:
    """Return how far along a step every weight is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(step * w < 0.0, -w / step, np.inf)


def lowest_along(
    loss: CurvedLoss,
    scores: Floats,
    move: Floats,
    slope: float,
    linear: float = 0.0,
    longest: float = 1.0,
) -> float:
    """Return the r in [0, longest] with the lowest ``loss(scores + r move) + r linear``.

    The derivative rises with r. Its zero is found by Newton's method, which is exact on a piece of
    a quadratic, kept between the ends by bisection.

    Parameters
    ----------
    loss : convex loss with gradient and curvature
    scores, move : arrays of shape (n_rows,)
    slope : float
        The derivative at 0, ``linear`` included; below 0.
    linear, longest : float
    """
    low, high, rate, first = 0.0, longest, 0.0, slope
    reached = False  # (whether the far end was tried)
    for _ in range(_SEARCH):
        bend = dot(move, loss.curvature(scores + rate * move)(move))
        new = rate - slope / bend if bend > 0.0 else np.inf
        if new >= high and not reached:
            new, reached = high, True
        elif not low < new < high:
            new = 0.5 * (low + high)
        if new == rate:
            break
        rate = new
        slope = dot(loss(scores + rate * move)[1], move) + linear
        if abs(slope) <= 1e-13 * abs(first) or (rate == longest and slope <= 0.0):
            break
        if slope <= 0.0:
            low = rate
        else:
            high = rate
        if high - low <= 1e-15 * longest:
            break
    return rate


# --- Minimise smooth convex losses and a weighted l1 norm
#
#     min over w of  L(A w) + sum_j shrink_j |w_j|
#
# FISTA (Beck & Teboulle 2009) with restarts finds out which weights are not 0; Newton's method on
# those, signs kept, finds their digits. A dual bound proves how far the minimum may be.


# Steps of FISTA between two attempts of Newton's method.
_BLOCK = 10
# Newton's steps in one attempt.
_NEWTON_STEPS = 8
# Newton's steps for the last digits, at most.
_POLISH = 50


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
    space: Space,
    shrink: Floats,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> Minimum:
    """Minimise a loss and a weighted l1 norm up to ``tol``.

    The value is never above that of the start.

    Parameters
    ----------
    loss : BoundedLoss
    space : Space
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
    problem = _Problem(loss, space, shrink)
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
    return Minimum(best.w, best.value, problem.gap(best), steps, problem.violation(best))


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

    def __init__(self, loss: BoundedLoss, space: Space, shrink: Floats) -> None:
        self.loss, self.space, self.shrink = loss, space, shrink

    def norm(self, w: Floats) -> float:
        return dot(self.shrink, np.abs(w))

    def at(self, w: Floats) -> _Point:
        scores = self.space.scores(w)
        loss, by_score = self.loss(scores)
        return _Point(w, scores, loss, loss + self.norm(w), by_score, self.space.back(by_score))

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

    def violation(self, point: _Point) -> float:
        """Return by how much the conditions of a minimum are violated."""
        return violation(point.w, point.slope, self.shrink)

    def left(self, point: _Point) -> float:
        """Return the violation or the gap, which must fall to ``tol``."""
        return self.violation(point) if np.any(self.shrink == 0.0) else self.gap(point)


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
        slope = problem.space.back(by_score)
        while True:
            new = soft(y - rate * slope, rate * problem.shrink)
            move = new - y
            new_scores = problem.space.scores(new)
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
        columns, accuracy = problem.space.some(used), 1e-2 if tol > 0.0 else 1e-12
        step, moved = _newton_step(problem.loss, columns, point.scores, slope, accuracy)
        new = _lowest(problem, point, used, step, moved, slope)
        if new is None:
            return point
        point = new
    return point


def _lowest(
    problem: _Problem, point: _Point, used: Ints, step: Floats, moved: Floats, slope: Floats
) -> _Point | None:
    """Return the lowest point along a step, up to where a weight is 0; None if none is lower."""
    falls = dot(slope, step)
    if not np.isfinite(step).all() or not falls < 0.0:
        return None
    w = point.w[used]
    ends = _ends(w, step)
    longest = min(_LONGEST, float(ends.min()))
    linear = dot(problem.shrink[used], np.copysign(step, step * w))
    rate = lowest_along(problem.loss, point.scores, moved, falls, linear, longest)
    new = point.w.copy()
    new[used] += rate * step
    new[used[ends <= rate]] = 0.0
    found = problem.at(new)
    if found.value < point.value:
        return found
    # (where the value falls no more but for rounding, a flatter slope has better digits)
    still = found.value <= point.value + _ROUNDING * abs(point.value)
    flatter = problem.violation(found) < 0.5 * problem.violation(point)
    return found if still and flatter else None


# --- Penalties that are not convex, and the minimum of a loss with one of them
#
#     min over w of  L(A w) + weight sum_j g(|w_j|)
#
# g is concave and rises from 0, so that its tangent at the current weights lies above it: with it
# in place of g the problem is a weighted l1 norm, whose solution cannot have a larger objective
# (majorise and minimise; Laporte et al. 2014). The first tangent has slope 1 everywhere.


#: g of absolute weights, and its derivative.
Penalty: TypeAlias = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]


def log_penalty(epsilon: float) -> Penalty:
    """Return ``ln(1 + |w| / epsilon)``.

    Examples
    --------
    >>> log_penalty(0.5)[1](np.array([0.0, 0.5])).tolist()
    [2.0, 1.0]
    """
    return lambda size: log1p(size / epsilon), lambda size: 1.0 / (epsilon + size)


def power_penalty(q: float, epsilon: float) -> Penalty:
    """Return ``(|w| + epsilon)^q - epsilon^q``: the l_q norm with a finite slope at 0."""
    return (
        lambda size: power(size + epsilon, q) - power(epsilon, q),
        lambda size: q * power(size + epsilon, q - 1.0),
    )


def minimax_penalty(end: float) -> Penalty:
    """Return ``|w| - w^2 / (2 end)`` up to ``end``, constant from there on (Zhang 2010, MCP)."""

    def value(size: Floats) -> Floats:
        within = np.minimum(size, end)
        return np.asarray(within - within * within / (2.0 * end))

    return value, lambda size: np.maximum(0.0, 1.0 - size / end)


def minimise_concave(
    loss: BoundedLoss, space: Space, weight: float, penalty: Penalty, tol: float, max_iter: int
) -> Minimum:
    """Lower a loss and a concave penalty until a step gains at most ``tol``.

    Parameters
    ----------
    loss : BoundedLoss
    space : Space
    weight : float
        Weight of the penalty.
    penalty : Penalty
    tol : float
    max_iter : int
        Steps of all weighted l1 problems together, at most.

    Returns
    -------
    Minimum
        Its path has the objective after every weighted l1 problem, and never rises. The weights
        are a stationary point; there may be lower ones elsewhere.
    """
    value_of, slope_of = penalty

    def objective(w: Floats) -> float:
        return loss(space.scores(w))[0] + weight * float(value_of(np.abs(w)).sum())

    shrink = np.full(space.n_weights, weight)
    found = minimise_l1(loss, space, shrink, 0.1 * tol, max_iter)
    w, steps = found.weights, found.n_iter
    path = [objective(w)]
    while True:
        shrink = weight * slope_of(np.abs(w))
        found = minimise_l1(loss, space, shrink, 0.1 * tol, max(0, max_iter - steps), w)
        steps += max(1, found.n_iter)
        value = objective(found.weights)
        if value > path[-1]:  # (by rounding alone: the tangent lies above the penalty)
            break
        w = found.weights
        path.append(value)
        if path[-2] - value <= tol or steps >= max_iter:
            break
    slope = space.back(loss(space.scores(w))[1])
    off = violation(w, slope, weight * slope_of(np.abs(w)))
    return Minimum(w, path[-1], np.nan, steps, off, tuple(path))


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


# Steps between two corrections, and Newton's steps in one.
_EVERY, _NEWTON = 10, 20


def frank_wolfe(
    loss: CurvedLoss, space: Space, radius: float, tol: float, max_iter: int
) -> Minimum:
    """Minimise a loss over an l1 ball up to ``tol``, in at most ``max_iter`` steps.

    Parameters
    ----------
    loss : CurvedLoss
    space : Space
    radius : float
    tol : float
        Ends where the proven gap is at most this.
    max_iter : int

    Returns
    -------
    Minimum
        Its path has the value after every step.
    """
    w = np.zeros(space.n_weights)
    scores = space.scores(w)
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
        move = corner * space.some(np.array([best])).scores(np.ones(1)) - scores
        rate = lowest_along(loss, scores, move, dot(by_score, move))
        w = (1.0 - rate) * w
        w[best] += rate * corner
        scores = scores + rate * move
        steps += 1
        if steps % _EVERY == 0:
            w = _corrected(loss, space, w, radius)
            scores = space.scores(w)  # (so that rounding does not add up)
        value, by_score = loss(scores)
        path.append(value)
    return Minimum(w, value, gap, steps, gap, tuple(path))


def _corrected(loss: CurvedLoss, space: Space, w: Floats, radius: float) -> Floats:
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


def _newton(loss: CurvedLoss, space: Space, w: Floats, radius: float, *, on_face: bool) -> Floats:
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
        step, moved = _newton_step(loss, part, scores, slope, 1e-12, sign if on_face else None)
        falls = dot(slope, step)
        if not falls < 0.0:
            break
        ends = _ends(w[used], step)
        longest, outwards = min(_LONGEST, float(ends.min())), dot(sign, step)
        if not on_face and outwards > 0.0:
            longest = min(longest, (radius - float(np.abs(w).sum())) / outwards)
        rate = lowest_along(loss, scores, moved, falls, 0.0, longest)
        new = w.copy()
        new[used] += rate * step
        new[used[ends <= rate]] = 0.0
        new_scores = space.scores(new)
        new_value, new_by_score = loss(new_scores)
        if not new_value < value:
            break
        w, scores, value, by_score = new, new_scores, new_value, new_by_score
    return w


# --- Cutting planes with an l1 norm, for the sparse infinite push (Rakotomamonjy 2012)
#
#     min over w of  L(A w)  +  weight |w|_1
#
# The loss is a maximum of planes, and with the l1 norm the problem is a linear program. The planes
# so far and the norm are a small one, whose solution is the next w and whose dual is a lower bound
# on the minimum.


def l1_planes(loss: Loss, space: Space, weight: float, tol: float, max_iter: int) -> Minimum:
    """Minimise a maximum of planes and an l1 norm up to ``tol``, in at most ``max_iter`` programs.

    Every program adds two planes: where its own solution is, and half way from there to the best
    weights so far, which keeps the search from jumping between far corners. Only solutions of
    programs are returned: they are corners, and so have more weights of 0 than points between.
    """
    planes = Planes(loss, space, lambda w, scores: weight * float(np.abs(w).sum()))
    steps = 0
    while planes.gap > tol and steps < max_iter and space.n_weights:
        slopes, heights = np.array(planes.slopes), planes.heights
        w, shares = _program(slopes, heights, weight)
        steps += 1
        planes.bound = max(planes.bound, _bound(shares, slopes, heights, weight))
        planes.drop(shares)
        scores = space.scores(w)
        planes.touch(None, 0.5 * (planes.scores + scores))
        planes.touch(w, scores)
    return Minimum(planes.weights, planes.value, planes.gap, steps, planes.gap)


def _program(slopes: Floats, heights: Floats, weight: float) -> tuple[Floats, Floats]:
    """Minimise ``max(0, heights + slopes w) + weight |w|_1``; return w and the planes' shares."""
    n, d = slopes.shape
    rows = np.column_stack([slopes, -slopes, -np.ones(n)])
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

"""Minimise a convex loss of scores and a ridge: L-BFGS, Newton's method, cutting planes.

    min over w of  L(scores(w)) + (l2 / 2) <w, w>

The ridge makes the objective strongly convex, so that ``|gradient|^2 / (2 l2)`` is a proven bound
on the distance from the minimum; a plane below the loss, and the ridge, have a known minimum, which
is a lower bound for losses without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import dot, row_sums
from crucial.kernels.minimise import quasi_newton
from crucial.rankers.linear.columns import Space
from crucial.rankers.linear.losses import BoundedLoss, CurvedLoss, Loss
from crucial.types import Bools, Floats


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
    shares: Floats = best / best.sum()
    return shares


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

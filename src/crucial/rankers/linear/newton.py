"""Minimise smooth convex losses and a ridge by Newton's method, steps by conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot, exp
from crucial.kernels.quasi_newton import quasi_newton
from crucial.rankers.linear.columns import FeatureSpace, Matrix, Space
from crucial.types import Floats

# --- Minimise smooth convex losses and a ridge by Newton's method, steps by conjugate gradients
#
#     min over w of  L(scores(w)) + (l2 / 2) <w, w>
#
# Every step solves ``(H + l2) step = -gradient`` up to a share of the gradient, by conjugate
# gradients in the inner product of the space (Chapelle & Keerthi 2010): one product with the
# columns
# and one back, or one with the kernel, per iteration. The ridge makes the objective strongly
# convex,
# so that ``|gradient|^2 / (2 l2)`` is a proven bound on the distance from the minimum.


# Conjugate gradient iterations in one step, at most.
_INNER = 250
# Lengths of a step that are tried, at most.
_TRIALS = 30
# Share of the predicted decrease that a step must reach.
_ENOUGH = 1e-4
# A decrease of the objective below this share of it is rounding.
_ROUNDING = 1e-14


class CurvedLoss(Protocol):
    """A convex loss with a gradient, and a second derivative almost everywhere."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""


@dataclass(frozen=True)
class Minimum:
    """How far Newton's method got.

    Attributes
    ----------
    weights, scores : arrays
    value : float
        Loss and ridge.
    by_score : array
        Gradient of the loss by the scores.
    gap : float
        The value is at most this far above the minimum.
    n_iter : int
        Newton's steps.
    """

    weights: Floats
    scores: Floats
    value: float
    by_score: Floats
    gap: float
    n_iter: int


def truncated_newton(
    loss: CurvedLoss,
    space: Space,
    l2: float,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> Minimum:
    """Minimise a loss and a ridge up to ``tol``, or as far as rounding lets it.

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
            loss_value, by_score = loss(f)
            value = loss_value + 0.5 * l2 * space.dot(w, w, f)
            return Minimum(w, f, value, by_score, gap, steps)
        step, moved = _direction(loss.curvature(f), space, l2, residual, pull, square)
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


def _direction(
    product: Callable[[Floats], Floats],
    space: Space,
    l2: float,
    residual: Floats,
    pull: Floats,
    square: float,
) -> tuple[Floats, Floats]:
    """Return Newton's step, solved up to a share of the gradient, and the scores it adds."""
    step, moved = np.zeros_like(residual), np.zeros_like(pull)
    along, ahead = residual.copy(), pull.copy()
    enough = square * min(0.01, max(1e-12, square))
    for _ in range(_INNER):
        image = space.back(product(ahead)) + l2 * along
        # (image first: the scores of `along` are known, those of the image are not)
        curve = space.dot(image, along, ahead)
        if not curve > 0:
            break
        rate = square / curve
        step += rate * along
        moved += rate * ahead
        residual = residual - rate * image
        pull = space.scores(residual)
        before, square = square, max(0.0, space.dot(residual, residual, pull))
        if square <= enough:
            break
        along = residual + (square / before) * along
        ahead = pull + (square / before) * ahead
    return step, moved


# --- Directions and lengths of Newton's steps, for losses that are quadratic piece by piece


# Evaluations of one line search, at most.
_SEARCH = 40


class _CurvedLoss(Protocol):
    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""


def conjugate_gradients(
    product: Callable[[Floats], Floats], right: Floats, accuracy: float, max_iter: int
) -> Floats:
    """Solve a symmetric system without negative directions, up to a share of the right side.

    It stops where a direction has no curvature, which the systems of equal columns have.
    """
    step, residual = np.zeros_like(right), right.copy()
    along = residual.copy()
    square = first = dot(residual, residual)
    for _ in range(max_iter):
        if square <= accuracy * accuracy * first:
            break
        image = product(along)
        curve = dot(along, image)
        if not curve > 1e-15 * dot(along, along):
            break
        rate = square / curve
        step += rate * along
        residual -= rate * image
        before, square = square, dot(residual, residual)
        along = residual + (square / before) * along
    return step


def lowest_along(
    loss: _CurvedLoss,
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


# --- What every solver of a linear ranker takes and returns


# Binary digits that are kept of weights that LAPACK found, twelve decimal ones: in the solution of
# well-conditioned equations, CPUs differ from the fifteenth on.
_DIGITS = 40


@dataclass(frozen=True)
class Solution:
    """The minimum of a loss and a ridge ``(l2 / 2) |w|^2``, as far as a solver got.

    Attributes
    ----------
    weights : array of shape (n_columns,)
    value : float
        Loss and ridge together.
    gap : float
        Proven upper bound on the distance of the value from the minimum.
    n_iter : int
        Number of steps.
    slope : float or None
        Largest absolute entry of the gradient, where there is one.
    """

    weights: Floats
    value: float
    gap: float
    n_iter: int
    slope: float | None = None


class SmoothLoss(Protocol):
    """A convex, differentiable loss."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""


def ridge(w: Floats, l2: float) -> float:
    """Return ``(l2 / 2) |w|^2``."""
    return 0.5 * l2 * dot(w, w)


def rounded(values: Floats, size: float) -> Floats:
    """Round weights to the digits that equations solved by LAPACK have on every machine.

    Parameters
    ----------
    values : array
    size : float
        That of the scores, from which digits are counted: rounding then moves a score by little
        even where large weights cancel out.

    Examples
    --------
    >>> rounded(np.array([1.0 + 1e-13, 1e-14]), 1.0).tolist()
    [1.0, 0.0]
    """
    shift = _DIGITS - math.frexp(size)[1]
    if not size > 0.0:
        return values
    return np.asarray(np.ldexp(np.round(np.ldexp(values, shift)), -shift))


def sigmoid(x: Floats) -> Floats:
    """Return ``1 / (1 + e^-x)``, without overflow.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    tail = exp(-np.abs(x))
    return np.where(x > 0, 1.0, tail) / (1.0 + tail)


# --- Solvers of convex losses of scores ``A w`` with a ridge ``(l2 / 2) |w|^2``


# By how much the smooth form gets sharper at a time, and how sharp it gets at most.
_SHARPER = 4.0
_SHARPEST = 1e9


def lbfgs(loss: SmoothLoss, matrix: Matrix, l2: float, tol: float, max_iter: int) -> Solution:
    """Minimise a differentiable loss and a ridge by L-BFGS.

    Parameters
    ----------
    loss : SmoothLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    l2 : float
        Above 0.
    tol : float
        Stops where no entry of the gradient is larger.
    max_iter : int
    """

    space = FeatureSpace(matrix)

    def objective(w: Floats) -> tuple[float, Floats]:
        value, by_score = loss(space.scores(w))
        return value + ridge(w, l2), space.back(by_score) + l2 * w

    w, steps = quasi_newton(objective, np.zeros(space.n_weights), tol, max_iter)
    value, gradient = objective(w)
    # The ridge makes the objective strongly convex, which bounds the gap by the gradient.
    gap = dot(gradient, gradient) / (2.0 * l2)
    return Solution(w, value, gap, steps, float(np.abs(gradient).max(initial=0.0)))


class SharpLoss(Protocol):
    """A convex loss with smooth forms below it, the closer the sharper they are."""

    def value(self, scores: Floats) -> float:
        """Return the loss itself."""

    def smooth(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return a smooth form of the loss, and its gradient by the scores."""

    def curvature(self, scores: Floats, sharp: float, moved: Floats) -> Floats:
        """Return the product of the smooth form's second derivative with a move of the scores."""

    def dual(self, scores: Floats, sharp: float) -> tuple[float, Floats]:
        """Return d and g: ``d - |A^T g|^2 / (2 l2)`` is a lower bound on the minimum."""


def newton(loss: SharpLoss, matrix: Matrix, l2: float, tol: float, max_iter: int) -> Solution:
    """Minimise ever sharper forms of a loss and a ridge by Newton's method.

    It stops when the gap to the dual bound is at most ``tol``, or after ``max_iter`` steps; the
    gap then says how far the solution may be from the minimum.

    Parameters
    ----------
    loss : SharpLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    l2 : float
        Above 0.
    tol : float
    max_iter : int
    """
    space = FeatureSpace(matrix)
    w = np.zeros(space.n_weights)
    sharp, steps, enough = _SHARPER, 0, 0.01 * tol
    while True:
        smooth = _Smooth(loss, sharp)
        found = truncated_newton(smooth, space, l2, enough, max_iter - steps, w)
        w, steps = found.weights, steps + found.n_iter
        value = loss.value(found.scores) + ridge(w, l2)
        dual, by_score = loss.dual(found.scores, sharp)
        force = space.back(by_score)
        gap = max(0.0, value - (dual - dot(force, force) / (2.0 * l2)))
        if steps >= max_iter or (enough == 0.0 and (gap <= tol or sharp >= _SHARPEST)):
            return Solution(w, value, gap, steps)
        if gap <= tol or sharp >= _SHARPEST:
            enough = 0.0  # (all digits, so that the order of the rows changes none)
        else:
            sharp *= _SHARPER


class _Smooth:
    """A smooth form of a loss; a `CurvedLoss`."""

    def __init__(self, loss: SharpLoss, sharp: float) -> None:
        self._loss, self._sharp = loss, sharp

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the smooth form, and its gradient by the scores."""
        return self._loss.smooth(scores, self._sharp)

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""
        return lambda move: self._loss.curvature(scores, self._sharp, move)

"""Solvers of convex losses of scores ``A w`` with a ridge ``(l2 / 2) |w|^2``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot
from crucial.kernels.quasi_newton import quasi_newton
from crucial.linear.design import Matrix
from crucial.linear.solution import SmoothLoss, Solution, ridge
from crucial.linear.spaces import FeatureSpace
from crucial.linear.truncated_newton import truncated_newton
from crucial.types import Floats

__all__ = ["SharpLoss", "lbfgs", "newton"]

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

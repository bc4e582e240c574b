"""Solvers of convex losses of scores ``A w`` with a ridge ``(l2 / 2) |w|^2``."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from crucial.linear.design import Matrix
from crucial.linear.solution import SmoothLoss, Solution, ridge
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

    def objective(w: Floats) -> tuple[float, Floats]:
        value, by_score = loss(np.asarray(matrix @ w))
        gradient = np.asarray(matrix.T @ by_score) + l2 * w
        return value + ridge(w, l2), gradient

    w = np.zeros(matrix.shape[1])
    steps = 0
    if matrix.shape[1]:
        options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 4 * max_iter}
        found = minimize(objective, w, jac=True, method="L-BFGS-B", options=options)
        w, steps = found.x, int(found.nit)
    value, gradient = objective(w)
    # The ridge makes the objective strongly convex, which bounds the gap by the gradient.
    gap = float(np.dot(gradient, gradient)) / (2.0 * l2)
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
    """Minimise ever sharper forms of a loss and a ridge by Newton's method in a trust region.

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

    def smooth(w: Floats, sharp: float) -> tuple[float, Floats]:
        value, by_score = loss.smooth(matrix @ w, sharp)
        return value + ridge(w, l2), matrix.T @ by_score + l2 * w

    def curvature(w: Floats, direction: Floats, sharp: float) -> Floats:
        product = loss.curvature(matrix @ w, sharp, matrix @ direction)
        return np.asarray(matrix.T @ product + l2 * direction)

    def polished(w: Floats, sharp: float) -> Floats:
        """Return w to the last digits, so that the order of the rows does not change the model.

        A trust region stops where the objective no longer changes, half of the digits of w before
        the gradient does; plain Newton steps go on from there.
        """
        slope = smooth(w, sharp)[1]
        for _ in range(5):
            product = partial(curvature, w, sharp=sharp)
            step, _ = cg(LinearOperator((len(w), len(w)), matvec=product), -slope, rtol=1e-10)
            after = smooth(w + step, sharp)[1]
            if not np.linalg.norm(after) < 0.5 * np.linalg.norm(slope):
                break
            w, slope = w + step, after
        return w

    w = np.zeros(matrix.shape[1])
    sharp, steps = _SHARPER, 0
    while True:
        options = {"gtol": 1e-11, "maxiter": max_iter - steps}
        found = minimize(
            smooth, w, (sharp,), "trust-ncg", jac=True, hessp=curvature, options=options
        )
        w, steps = polished(found.x, sharp), steps + int(found.nit)
        scores = matrix @ w
        value = loss.value(scores) + ridge(w, l2)
        dual, by_score = loss.dual(scores, sharp)
        force = matrix.T @ by_score
        gap = max(0.0, value - (dual - float(np.dot(force, force)) / (2.0 * l2)))
        if gap <= tol or steps >= max_iter or sharp >= _SHARPEST:
            return Solution(w, value, gap, steps)
        sharp *= _SHARPER

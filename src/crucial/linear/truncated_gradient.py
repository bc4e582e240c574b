"""Minimise smooth losses and an l1 norm by truncated gradients (Langford, Li & Zhang 2009).

    min over w of  L(A w) + weight |w|_1

Every step follows the gradient of the loss; every k-th step also moves all weights towards 0, by
what the l1 norm asks for in k steps. With k = 1 it is the proximal gradient method.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crucial.kernels.products import dot
from crucial.linear.design import Matrix
from crucial.linear.l1 import soft
from crucial.linear.solution import SmoothLoss
from crucial.linear.spaces import FeatureSpace
from crucial.types import Floats

__all__ = ["largest_curvature", "truncated_gradient"]


def largest_curvature(product: Callable[[Floats], Floats], matrix: Matrix) -> float:
    """Return the largest curvature of a loss along unit weights, by the power method.

    Parameters
    ----------
    product : callable
        Product with the second derivative of the loss by the scores.
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    """
    space = FeatureSpace(matrix)
    w = np.ones(matrix.shape[1])
    size = 0.0
    for _ in range(30):
        w = w / np.sqrt(dot(w, w))
        image = space.back(product(space.scores(w)))
        size = float(np.sqrt(dot(image, image)))
        if not size > 0.0:
            break
        w = image
    return size


def truncated_gradient(
    loss: SmoothLoss,
    matrix: Matrix,
    weight: float,
    rate: Callable[[int], float],
    every: int,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
) -> tuple[Floats, int]:
    """Return the weights and the number of steps.

    Parameters
    ----------
    loss : SmoothLoss
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    weight : float
        Weight of the l1 norm.
    rate : callable
        Length of a step from its number, from 0; times the gradient.
    every : int
        Steps from one truncation to the next.
    tol : float
        Ends where no weight moves by more from one truncation to the next.
    max_iter : int
    start : array of shape (n_columns,), optional
        Weights to begin with; 0 by default.
    """
    space = FeatureSpace(matrix)
    w = np.zeros(matrix.shape[1]) if start is None else start.copy()
    steps, before, owed = 0, w, 0.0
    while steps < max_iter and len(w):
        slope = space.back(loss(space.scores(w))[1])
        w = w - rate(steps) * slope
        owed += rate(steps) * weight
        steps += 1
        if steps % every and steps < max_iter:
            continue
        w, owed = soft(w, np.full(len(w), owed)), 0.0
        if float(np.abs(w - before).max()) <= tol:
            break
        before = w
    return w, steps

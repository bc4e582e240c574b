"""Directions and lengths of Newton's steps, for losses that are quadratic piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot
from crucial.types import Floats

__all__ = ["conjugate_gradients", "lowest_along"]

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

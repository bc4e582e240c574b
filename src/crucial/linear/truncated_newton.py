"""Minimise smooth convex losses and a ridge by Newton's method, steps by conjugate gradients.

    min over w of  L(scores(w)) + (l2 / 2) <w, w>

Every step solves ``(H + l2) step = -gradient`` up to a share of the gradient, by conjugate
gradients in the inner product of the space (Chapelle & Keerthi 2010): one product with the columns
and one back, or one with the kernel, per iteration. The ridge makes the objective strongly convex,
so that ``|gradient|^2 / (2 l2)`` is a proven bound on the distance from the minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot
from crucial.linear.spaces import Space
from crucial.types import Floats

__all__ = ["CurvedLoss", "Minimum", "truncated_newton"]

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

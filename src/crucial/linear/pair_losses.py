"""Losses over pairs for sparse linear rankers."""

from __future__ import annotations

from collections.abc import Callable

from crucial.kernels.elementary import dot
from crucial.linear.hinge import Hinges
from crucial.types import Floats

__all__ = ["HalfSquaredHinge"]


class HalfSquaredHinge:
    """Half of the mean squared hinge over pairs; a `BoundedLoss`."""

    def __init__(self, hinges: Hinges) -> None:
        self._hinges = hinges

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        return self._hinges.squared(scores)

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""
        return self._hinges.curvature(scores)

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below the loss; see `BoundedLoss`.

        ``[t]_+^2 / 2`` is at least ``p t - p^2 / 2`` for any p, here a share of ``[t]_+`` at these
        scores, with t = 1 - margin. The sum of ``c p t`` is twice the loss.
        """
        return 2.0 * value - dot(by_score, scores), value

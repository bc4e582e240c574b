"""What every solver of a linear ranker takes and returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.kernels.elementary import dot, exp
from crucial.types import Floats

__all__ = ["SmoothLoss", "Solution", "ridge", "rounded", "sigmoid"]

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

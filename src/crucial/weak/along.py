"""Z along a weak ranker of any scores, and where it is smallest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from crucial.feedback.potentials import Potentials, exponential_pairs
from crucial.feedback.states import Output
from crucial.kernels.elementary import exp, expm1, log
from crucial.kernels.exact_sums import exact_dot, exact_sum
from crucial.model.tree import Tree
from crucial.types import Floats
from crucial.weak.base import Candidate
from crucial.weak.drops import SNAP

__all__ = ["Derivatives", "largest_drop", "log_z_along", "newton_root"]

# Beyond this a step has no finite optimum: its wrong pairs weigh less than what is 0.
_FAR = -0.5 * log(SNAP)
# Slopes of ln Z below this are treated as zero.
_FLAT = 1e-15
# Steps of alpha that change Z by less than rounding.
_CLOSE = 1e-8
# A function that has all but vanished, and whose tangent still leads further, has no zero.
_NEAR = 1e-3

#: ``ln Z(alpha)`` with its first and second derivative, as a function.
Derivatives: TypeAlias = Callable[[float], tuple[float, float, float]]


@runtime_checkable
class WeighsByValue(Protocol):
    """A state of rows that move one by one, each by what its own score says."""

    def weights_by_value(self, output: Output, values: Floats) -> Floats:
        """See `crucial.feedback.bipartite.BipartiteState`."""


def log_z_along(candidate: Candidate, potentials: Potentials) -> Derivatives:
    """Return ``ln Z(alpha)`` of a candidate with its derivatives."""
    if isinstance(potentials.pairs, WeighsByValue) and isinstance(candidate.ranker, Tree):
        values = np.unique(candidate.ranker.values)
        bad, good = potentials.pairs.weights_by_value(candidate.output, values)
        return _log_z_of(np.concatenate((values, -values)), np.concatenate((bad, good)))
    trial, h = exponential_pairs(potentials).fork(), candidate.output
    spare = np.zeros_like(potentials.pi)
    start = trial.potentials(spare)[1]
    reached = 0.0

    def derivatives(alpha: float) -> tuple[float, float, float]:
        nonlocal reached
        trial.advance(h, alpha - reached)
        reached = alpha
        log_z = trial.potentials(spare)[1] - start
        mean, square = trial.moments(h)
        return log_z, -mean, max(square - mean * mean, 0.0)

    return derivatives


def _log_z_of(moves: Floats, weights: Floats) -> Derivatives:
    """Return ``ln sum weight e^(alpha move)`` with its derivatives; weights sum to 1."""

    def derivatives(alpha: float) -> tuple[float, float, float]:
        with np.errstate(divide="ignore"):
            logs = log(weights) + alpha * moves
        top = float(logs.max())
        shares = exp(logs - top)
        total = exact_sum(shares)
        slope = exact_dot(shares, moves) / total
        bend = exact_dot(shares, (moves - slope) ** 2) / total
        return top + log(total), slope, bend

    return derivatives


def newton_root(
    slope_at: Callable[[float], tuple[float, float]], tolerance: float = 1e-15
) -> float | None:
    """Return the zero of a rising function; None if there is none near.

    Parameters
    ----------
    slope_at : function
        Returns the value and its derivative.
    tolerance : float
        The search stops at a smaller step.

    Examples
    --------
    >>> round(newton_root(lambda x: (math.exp(x) - 2.0, math.exp(x))), 10)
    0.6931471806

    A function that comes ever closer to 0 has none:

    >>> newton_root(lambda x: (-math.exp(-4.0 * x), 4.0 * math.exp(-4.0 * x)))
    """
    low, high = -math.inf, math.inf
    alpha = vanished = 0.0
    for _ in range(200):
        slope, curvature = slope_at(alpha)
        vanished = vanished or SNAP * abs(slope)
        if abs(slope) <= vanished and abs(slope) > _NEAR * curvature:
            return None
        if abs(slope) <= _FLAT:
            return alpha
        if slope > 0:
            high = alpha
        else:
            low = alpha
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if abs(step) <= tolerance * max(1.0, abs(alpha)):
            return alpha
        proposal = alpha + max(-2.0, min(2.0, step))
        if not low < proposal < high:
            proposal = (low + high) / 2
        if abs(proposal) > _FAR:
            return None
        if proposal in (low, high):
            return proposal
        alpha = proposal
    return alpha


def largest_drop(candidate: Candidate, potentials: Potentials) -> float:
    """Return ``1 - Z`` at the best weight of a candidate, for scores of any size.

    For a {0, 1} ranker in closed form, ``(sqrt(W+) - sqrt(W-))^2``; otherwise by Newton's method
    (method 1 of Freund et al. 2003, section 3.2). A ranker whose best weight is infinite counts
    with a large one.
    """
    if candidate.output.dtype == np.uint8:
        weights = exponential_pairs(potentials).binary_weights(candidate.output)
        right, wrong = (0.0 if one < SNAP else one for one in weights)
        return (math.sqrt(right) - math.sqrt(wrong)) ** 2
    derivatives = log_z_along(candidate, potentials)
    alpha = newton_root(lambda at: derivatives(at)[1:], _CLOSE)
    if alpha is None:
        alpha = math.copysign(_FAR, candidate.slope)
    return -expm1(min(derivatives(alpha)[0], 0.0))

"""Z along a weak ranker of any scores, and where it is smallest."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from crucial.feedback.potentials import Potentials, exponential_pairs
from crucial.feedback.states import Output
from crucial.kernels.exact_sums import exact_dot, exact_sum
from crucial.model.tree import Tree
from crucial.types import Floats
from crucial.weak.base import Candidate
from crucial.weak.drops import SNAP

__all__ = ["AFAR", "Derivatives", "largest_drop", "log_z_along", "misorders", "newton_root"]

# Beyond this a {0, 1} ranker has no finite optimum: its wrong pairs weigh less than what is 0. Any
# other ranker may have one, since its margins may be small.
_FAR = -0.5 * math.log(SNAP)
#: A weight that is as good as an infinite one, and leaves margins their digits.
AFAR = 1e12
# A step after which nothing weighs anything beside the pairs that a ranker orders worst.
_INFINITE = 1e200
# A step after which pairs in the right order, of a margin of 1 at least, weigh nothing.
_SETTLED = 60.0
# Moments of scores of a larger range are cut off, see `LabelState`.
_RANGE = 600.0
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
    pairs, h = exponential_pairs(potentials), candidate.output
    trial, spare = pairs.fork(), np.zeros_like(potentials.pi)
    start = trial.potentials(spare)[1]
    reached, last = 0.0, (0.0, 0.0)
    begun, width = (float(np.ptp(values)) for values in (trial.scores, h))
    # (most rows near 0: an outlier takes their digits otherwise; rows one by one have their own 0)
    middle = 0.0 if isinstance(pairs, WeighsByValue) else float(np.median(h))

    def far(alpha: float) -> tuple[float, float, float]:
        trial, around = pairs.fork(), h - middle
        trial.advance(around, alpha)
        scale, log_loss = trial.potentials(spare)
        slope = -scale * exact_dot(spare[: len(h)], around)
        bend = (slope - last[1]) / (alpha - last[0]) if alpha != last[0] else 0.0
        return log_loss - start, slope, max(bend, 0.0)

    def near(alpha: float) -> tuple[float, float, float]:
        nonlocal reached
        trial.advance(h, alpha - reached)
        reached = alpha
        log_z = trial.potentials(spare)[1] - start
        mean, square = trial.moments(h)
        return log_z, -mean, max(square - mean * mean, 0.0)

    def derivatives(alpha: float) -> tuple[float, float, float]:
        nonlocal last
        found = (far if begun + abs(alpha) * width > _RANGE else near)(alpha)
        last = alpha, found[1]
        return found

    return derivatives


def _log_z_after(candidate: Candidate, potentials: Potentials, alpha: float) -> float:
    """Return ln Z after a step along what a candidate says, without how much it says.

    Pairs that it ties keep their weights, others gain or lose a multiple of alpha.
    """
    pairs, spare = exponential_pairs(potentials), np.zeros_like(potentials.pi)
    trial, h = pairs.fork(), candidate.output
    start = trial.potentials(spare)[1]
    if isinstance(pairs, WeighsByValue):
        says = np.sign(h).astype(np.float64)  # (of rows one by one)
    else:
        says = np.unique(h, return_inverse=True)[1].astype(np.float64)
    trial.advance(says, alpha)
    return trial.potentials(spare)[1] - start


def misorders(candidate: Candidate, potentials: Potentials, sign: float) -> bool:
    """Return whether a candidate of a weight of that sign misorders any pair, however light.

    Z has a finite minimum on that side then, and else falls for ever.
    """
    return _log_z_after(candidate, potentials, math.copysign(_INFINITE, sign)) > 1.0


def _log_z_of(moves: Floats, weights: Floats) -> Derivatives:
    """Return ``ln sum weight e^(alpha move)`` with its derivatives; weights sum to 1."""

    def derivatives(alpha: float) -> tuple[float, float, float]:
        with np.errstate(divide="ignore"):
            logs = np.log(weights) + alpha * moves
        top = float(logs.max())
        shares = np.exp(logs - top)
        total = exact_sum(shares)
        slope = exact_dot(shares, moves) / total
        bend = exact_dot(shares, (moves - slope) ** 2) / total
        return top + math.log(total), slope, bend

    return derivatives


def newton_root(
    slope_at: Callable[[float], tuple[float, float]],
    tolerance: float = 1e-15,
    turns: Callable[[float], bool] | None = None,
) -> float | None:
    """Return the zero of a rising function; None if there is none.

    Parameters
    ----------
    slope_at : function
        Returns the value and its derivative.
    tolerance : float
        The search stops at a smaller step.
    turns : function, optional
        Returns whether the function changes its sign at all on the way to an infinite number of
        that sign. Asked where it has all but vanished, or is far from 0; without it there is no
        zero then.

    Examples
    --------
    >>> round(newton_root(lambda x: (math.exp(x) - 2.0, math.exp(x))), 10)
    0.6931471806

    A function that comes ever closer to 0 has none:

    >>> newton_root(lambda x: (-math.exp(-4.0 * x), 4.0 * math.exp(-4.0 * x)))
    """
    low, high = -math.inf, math.inf
    alpha = vanished = 0.0
    known = False  # that there is a zero
    for _ in range(200):
        slope, curvature = slope_at(alpha)
        vanished = vanished or SNAP * abs(slope)
        if not known and abs(slope) <= vanished and abs(slope) > _NEAR * curvature:
            if turns is None or not turns(-slope):
                return None
            known = True
        if abs(slope) <= _FLAT:
            return alpha
        if slope > 0:
            high = alpha
        else:
            low = alpha
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if abs(step) <= tolerance * max(1.0, abs(alpha)):
            return alpha
        reach = max(2.0, abs(alpha)) if known else 2.0
        proposal = alpha + max(-reach, min(reach, step))
        if not low < proposal < high:
            proposal = (low + high) / 2
        if not known and abs(proposal) > _FAR:
            if turns is None or not turns(proposal):
                return None
            known = True
        if proposal in (low, high):
            return proposal
        alpha = proposal
    return alpha


def largest_drop(candidate: Candidate, potentials: Potentials) -> float:
    """Return ``1 - Z`` at the best weight of a candidate, for scores of any size.

    For a {0, 1} ranker in closed form, ``(sqrt(W+) - sqrt(W-))^2``; otherwise by Newton's method
    (method 1 of Freund et al. 2003, section 3.2). A ranker whose best weight is infinite leaves
    the pairs that it ties.
    """
    if candidate.output.dtype == np.uint8:
        weights = exponential_pairs(potentials).binary_weights(candidate.output)
        right, wrong = (0.0 if one < SNAP else one for one in weights)
        return (math.sqrt(right) - math.sqrt(wrong)) ** 2
    derivatives = log_z_along(candidate, potentials)
    turns = partial(misorders, candidate, potentials)
    alpha = newton_root(lambda at: derivatives(at)[1:], _CLOSE, turns)
    if alpha is None:
        left = _log_z_after(candidate, potentials, math.copysign(_SETTLED, candidate.slope))
    else:
        left = derivatives(alpha)[0]
    return -math.expm1(min(left, 0.0))

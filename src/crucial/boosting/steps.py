"""How far to go along a weak ranker: methods 1, 2 and 3 of Freund et al. (2003, section 3.2).

A round is *perfect* when the weak ranker misorders nothing (or orders nothing right):
its best weight is then infinite. Connamacher et al. (2019, appendix B) show that
stopping, a large constant and an infinite weight each break a guarantee; here the
weights of right and wrong pairs are smoothed in such a round, and in no other.
"""

from __future__ import annotations

import numpy as np

from crucial.errors import ParameterError
from crucial.feedback.base import Potentials, exponential_pairs
from crucial.kernels.elementary import exp, log
from crucial.weak.along import AFAR, Derivatives, log_z_along, newton_root
from crucial.weak.base import Candidate, StepRule
from crucial.weak.drops import SNAP

__all__ = [
    "AFAR",
    "STEPS",
    "BoundStep",
    "Derivatives",
    "ExactStep",
    "NumericStep",
    "Step",
    "UnitStep",
    "half_log_ratio",
    "log_z_along",
    "newton_root",
    "smoothed",
]


class Step(StepRule):
    """Base of the step rules.

    Parameters
    ----------
    smoothing : float
        See `smoothing_of`.
    stop_when_perfect : bool
        End before a perfect round instead of smoothing it.

    Attributes
    ----------
    smoothing : float
        0 where a perfect round ends the ensemble.
    """

    def __init__(self, smoothing: float = 1e-3, stop_when_perfect: bool = False) -> None:
        self.smoothing = 0.0 if stop_when_perfect else smoothing

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        raise NotImplementedError


class BoundStep(Step):
    """Method 3: minimises an upper bound of Z, ``.5 ln((1 + r) / (1 - r))``; h in [0, 1]."""

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        r = min(1.0, max(-1.0, candidate.slope))
        return half_log_ratio((1.0 + r) / 2.0, (1.0 - r) / 2.0, self.smoothing)


class ExactStep(Step):
    """Method 2: minimises Z for a {0, 1} ranker, ``.5 ln(W+ / W-)``."""

    needs = ("binary_weights",)

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        weights = candidate.weights
        if weights is None:
            if candidate.output.dtype != np.uint8:
                raise ParameterError(
                    "step='exact' needs weak rankers of 0 and 1, and "
                    f"{candidate.ranker!r} has other scores; use step='bound' or 'numeric'."
                )
            weights = exponential_pairs(potentials).binary_weights(candidate.output)
        return half_log_ratio(*weights, self.smoothing)


class NumericStep(Step):
    """Method 1: minimises Z for any ranker, by Newton's method kept inside a bracket."""

    needs = ("binary_weights", "moments", "fork")

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        if candidate.output.dtype == np.uint8:
            # The same minimum in closed form.
            weights = candidate.weights
            if weights is None:
                weights = exponential_pairs(potentials).binary_weights(candidate.output)
            return half_log_ratio(*weights, self.smoothing)
        along = log_z_along(candidate, potentials)
        alpha = newton_root(lambda at: along(at)[1:], turns=along.turns)
        if alpha is None and self.smoothing > 0.0:
            alpha = newton_root(lambda at: smoothed(*along(at), at, self.smoothing)[1:])
        return alpha


class UnitStep(StepRule):
    """Weight 1, before the learning rate: for weak rankers whose values are Newton steps."""

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return 1."""
        return 1.0


def half_log_ratio(right: float, wrong: float, smoothing: float) -> float | None:
    """Return ``.5 ln(right / wrong)``.

    Where one of them is 0, both are raised by the smoothing first; None if that is 0.

    Examples
    --------
    >>> round(half_log_ratio(0.75, 0.25, 0.001), 6), half_log_ratio(1.0, 0.0, 0.0)
    (0.549306, None)
    """
    if right < SNAP or wrong < SNAP:
        if smoothing == 0.0:
            return None
        right, wrong = right + smoothing, wrong + smoothing
    return 0.5 * log(right / wrong)


def smoothed(
    log_z: float, slope: float, curvature: float, alpha: float, share: float
) -> tuple[float, float, float]:
    """Return ``ln Z`` with its derivatives, for one more right and wrong pair of that share."""
    z = exp(min(log_z, 600.0))
    more = share * (exp(alpha) + exp(-alpha))
    first = (z * slope + share * (exp(alpha) - exp(-alpha))) / (z + more)
    second = (z * (curvature + slope * slope) + more) / (z + more) - first * first
    return log((z + more) / (1.0 + 2.0 * share)), first, max(second, 0.0)


STEPS: dict[str, type[Step]] = {"numeric": NumericStep, "exact": ExactStep, "bound": BoundStep}

"""Steps for losses that are not sums of exponentials over pairs: the push, the logistic loss."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from crucial.boosting.steps import BoundStep, Step, half_log_ratio, newton_root
from crucial.feedback.base import Potentials
from crucial.objectives.own_loss import OwnLossState
from crucial.types import Floats
from crucial.weak.base import Candidate
from crucial.weak.drops import SNAP

__all__ = ["LineStep", "ShortBoundStep"]

# Newton's steps double the digits: after one this small nothing is left to gain.
_CLOSE_WEIGHTS = 1e-10


class ShortBoundStep(BoundStep):
    """Method 3 for a p-th power: ``ln((1 + r) / (1 - r)) / 2p``.

    With margins m in [-1, 1], ``e^(-alpha m)`` lies under its chord and the p-th power of a
    chord under the chord of the powers, so that ``F(alpha) / F(0) <= (1-r)/2 e^(p alpha) +
    (1+r)/2 e^(-p alpha)``: method 3 of Freund et al. (2003) in ``p alpha``. F falls by at
    least ``sqrt(1 - r^2)``.

    Parameters
    ----------
    p : float
    smoothing, stop_when_perfect : as in `Step`
    """

    def __init__(self, p: float, smoothing: float, stop_when_perfect: bool = False) -> None:
        super().__init__(smoothing, stop_when_perfect)
        self._p = p

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        alpha = super().__call__(candidate, potentials)
        return None if alpha is None else alpha / self._p


class LineStep(Step):
    """The minimum of the loss along the weak ranker, by formula or by Newton's method."""

    needs = ("line",)

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        if candidate.output.dtype != np.uint8:
            return self._real(candidate, potentials)
        line = cast(OwnLossState, potentials.pairs).line(candidate.output)
        right, wrong = line.weights()
        alpha: float | None = None
        if right >= SNAP and wrong >= SNAP:
            alpha = line.closed_form()
            if alpha is None:
                alpha = newton_root(line, _CLOSE_WEIGHTS, lambda _: True)  # (pairs of either sign)
        if alpha is None or not math.isfinite(alpha):
            ratio = half_log_ratio(right, wrong, self.smoothing)
            return None if ratio is None else line.reach * ratio
        return alpha

    def _real(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of a ranker of any scores that span at most 1.

        Where the minimum is at infinity, the weight is that of method 3, which lowers the loss too.
        """
        state = cast(OwnLossState, potentials.pairs)
        output = candidate.output
        alpha = newton_root(
            _Secants(state, output), _CLOSE_WEIGHTS, lambda sign: state.turns(output, sign)
        )
        if alpha is not None:
            return alpha
        if self.smoothing == 0.0:
            return None
        ratio = BoundStep(self.smoothing)(candidate, potentials)
        return None if ratio is None else state.reach * ratio


class _Secants:
    """The slope of a loss along a weak ranker of any scores; its own slope is that of a secant.

    Parameters
    ----------
    state : OwnLossState
    output : array
    """

    def __init__(self, state: OwnLossState, output: Floats) -> None:
        self._state, self._output = state, output
        self._last: tuple[float, float] | None = None

    def __call__(self, alpha: float) -> tuple[float, float]:
        slope = self._state.slope_along(self._output, alpha)
        bend = abs(slope)  # (a first step of 1)
        if self._last is not None and alpha != self._last[0]:
            bend = (slope - self._last[1]) / (alpha - self._last[0])
        self._last = alpha, slope
        return slope, max(bend, 0.0)

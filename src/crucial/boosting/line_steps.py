"""Steps for losses that are not sums of exponentials over pairs: the push, the logistic loss."""

from __future__ import annotations

import math
from typing import cast

from crucial.boosting.steps import BoundStep, Step, half_log_ratio, newton_root
from crucial.feedback.potentials import Potentials
from crucial.objectives.own_loss import OwnLossState
from crucial.weak.base import Candidate
from crucial.weak.drops import SNAP

__all__ = ["LineStep", "ShortBoundStep"]

# Newton's steps double the digits: after one this small nothing is left to gain.
_CLOSE = 1e-10


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
        line = cast(OwnLossState, potentials.pairs).line(candidate.output)
        right, wrong = line.weights()
        alpha: float | None = None
        if right >= SNAP and wrong >= SNAP:
            alpha = line.closed_form()
            if alpha is None:
                alpha = newton_root(line, _CLOSE)
        if alpha is None or not math.isfinite(alpha):  # further than any step should go
            ratio = half_log_ratio(right, wrong, self.smoothing)
            return None if ratio is None else line.reach * ratio
        return alpha

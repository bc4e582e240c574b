"""The logistic loss of two classes, by Newton's method (LogitBoost)."""

from __future__ import annotations

import numpy as np

from crucial.boosting.parts import Objective
from crucial.feedback.base import Feedback, Output, Potentials, draw_share, padded
from crucial.kernels.elementary import exp, logaddexp
from crucial.kernels.sums import exact_sum
from crucial.objectives.regression import log_of, logit_loss
from crucial.types import Floats

__all__ = ["LogitLoss", "LogitState"]


class LogitLoss(Objective):
    """Mean of ``log2(1 + e^(-2 Y s))``, in the working responses of Newton's method.

    With ``p = 1 / (1 + e^-2s)`` a row weighs ``w = p (1 - p)``, and ``z = (y - p) / w`` is what
    it asks for (Friedman, Hastie & Tibshirani 2000, algorithm 3).

    Parameters
    ----------
    clip : float or None
        Largest absolute z.
    """

    def __init__(self, clip: float | None = 4.0) -> None:
        self._clip = clip

    def begin(self, feedback: Feedback, threads: int) -> LogitState:
        """Return the state at scores of 0, for feedback of two labels and one query."""
        return LogitState(feedback, self._clip)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return nothing: the loss of the trace is the mean loss itself."""
        return {}


class LogitState:
    """See `crucial.feedback.base.ScoreState`.

    Attributes
    ----------
    curvature : array over the rows, padded as potentials are
        w times the weight of the row; of the scores that potentials were last asked for.
    """

    def __init__(self, feedback: Feedback, clip: float | None) -> None:
        classes = feedback.two_classes()
        assert classes is not None
        self._feedback, self._clip = feedback, clip
        n = len(feedback.rows)
        self._sign = np.where(np.arange(n) < classes.n_low, -1.0, 1.0)
        weight = np.ones(n) if feedback.weight is None else feedback.weight
        self._weight: Floats = weight / feedback.row_mass().total
        self._drawn = np.ones(n)
        self.scores = np.zeros(n)
        self.curvature = np.zeros(padded(n))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write w z of every row."""
        n = len(self.scores)
        margin = self._sign * self.scores
        right = exp(-logaddexp(0.0, -2.0 * margin))
        wrong = exp(-logaddexp(0.0, 2.0 * margin))
        counted = self._weight * self._drawn
        self.curvature[:n] = counted * right * wrong
        pi[:n] = counted * self._sign * wrong
        if self._clip is not None:
            most = self._clip * self.curvature[:n]
            np.clip(pi[:n], -most, most, out=pi[:n])
        size = exact_sum(np.abs(pi[:n]))
        loss = exact_sum(self._weight * logit_loss(self._sign, self.scores))
        return (1.0 / size if size > 0 else 1.0), log_of(loss)

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the ranking: over the pairs of a good and a bad row."""
        state = self._feedback.state()
        state.advance(self.scores, 1.0)
        return state.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the rows of each class, at least one."""
        self._drawn = np.zeros(len(self.scores))
        for sign in (-1.0, 1.0):
            rows = np.flatnonzero(self._sign == sign)
            self._drawn[draw_share(rows, fraction, random)] = 1.0

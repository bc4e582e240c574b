"""Steps on the smooth margin (Rudin & Schapire 2009, section 4.2).

``G = -ln F / |lambda|_1`` with ``F = sum exp(-margin)`` lies below the smallest normalised
margin and comes closer to it as the weights grow. Where RankBoost drives F down, these
steps drive G up, and with it the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from crucial.boosting.parts import Candidate
from crucial.boosting.steps import (
    AFAR,
    Derivatives,
    NumericStep,
    Step,
    log_z_along,
    newton_root,
    smoothed,
)
from crucial.boosting.stump_search import SNAP
from crucial.feedback.base import Feedback, Potentials, exponential_pairs
from crucial.kernels.elementary import exp, log
from crucial.model.weak import Tree
from crucial.types import Floats

__all__ = ["SmoothClassMarginStep", "SmoothMarginStep", "smooth_step"]

# A smooth margin that is 0 may be so much, by the rounding of the logarithm of the loss.
_ROUNDING = 1e-13


def smooth_step(right: float, wrong: float, tied: float, g: float) -> float:
    """Return the step of a {0, 1} ranker on the smooth margin (equation 12; may be infinite).

    Uses the conjugate of the numerator: finite where nothing is wrong, and without the
    difference of two numbers that are nearly equal.

    Parameters
    ----------
    right, wrong, tied : float
        Weight of the pairs that the ranker orders so; sums to 1.
    g : float
        Smooth margin before the step, in (0, 1).

    Examples
    --------
    >>> round(smooth_step(0.7, 0.1, 0.2, 0.25), 10)
    0.6201065
    >>> smooth_step(1.0, 0.0, 0.0, 0.25)
    inf
    """
    below = g * tied + math.sqrt((g * tied) ** 2 + 4.0 * (1.0 - g) * (1.0 + g) * right * wrong)
    return log(2.0 * (1.0 - g) * right / below) if below > 0.0 else math.inf


class SmoothMarginStep(Step):
    """Coordinate descent until G > 0, then steps that raise G.

    Parameters
    ----------
    feedback : Feedback
        Its lightest pair has weight 1 in F, so that G stays below the margin.
    line_search : bool
        Maximise G along the weak ranker (equation 10) instead of solving equation 11.
    smoothing, stop_when_perfect
        See `crucial.boosting.steps.Step`.
    """

    needs = NumericStep.needs

    @staticmethod
    def _unit_of(tree: Tree) -> float:
        """Return the largest margin that a tree gives to a pair."""
        return tree.span

    def __init__(
        self,
        feedback: Feedback,
        line_search: bool = False,
        smoothing: float = 1e-3,
        stop_when_perfect: bool = False,
    ) -> None:
        super().__init__(smoothing, stop_when_perfect)
        self._feedback, self._line_search = feedback, line_search
        self.name = "line_search" if line_search else "smooth"
        self._log_lightest = self._lightest()
        self._descent = NumericStep(smoothing, stop_when_perfect)
        # |lambda|_1, where a weak ranker and its opposite are two
        self._norm = 0.0

    def _lightest(self) -> float:
        """Return the logarithm of the weight that F counts as 1, as a share of all weight."""
        return self._feedback.log_lightest()

    def _smallest(self, scores: Floats) -> float:
        """Return the smallest margin at the scores of ``feedback.rows``."""
        return self._feedback.margin_range(scores)[0]

    def smooth_margin(self, potentials: Potentials) -> float:
        """Return G of the ensemble so far; -inf before its first round."""
        if self._norm == 0.0:
            return -math.inf
        return (self._log_lightest - potentials.log_loss) / self._norm

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add the weight of a round to |lambda|_1."""
        tree = candidate.ranker
        # (the weight of a tree is in its values)
        unit = self._unit_of(tree) if isinstance(tree, Tree) else 1.0
        self._norm += abs(alpha) * unit

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return G, and the smallest margin of a pair over |lambda|_1."""
        return {
            "smooth_margin": self.smooth_margin(potentials),
            "margin": self._smallest(potentials.pairs.scores) / self._norm,
        }

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        g = self.smooth_margin(potentials)
        if not g > _ROUNDING:
            return self._descent(candidate, potentials)
        if min(abs(candidate.slope), 1.0) <= g:
            return 0.0  # (no ranker is better than the margin reached: all is done)
        # A ranker that points down is one that points up with a weight below 0.
        sign = 1.0 if candidate.slope > 0.0 else -1.0
        if candidate.output.dtype == np.uint8:
            weights = candidate.weights
            if weights is None:
                weights = exponential_pairs(potentials).binary_weights(candidate.output)
            right, wrong = weights[:: int(sign)]
            alpha = self._binary(right, wrong, g, self._norm)
        else:
            alpha = self._numeric(candidate, potentials, sign, g)
        # (below 0 where smoothing a perfect round makes it worse than g)
        return None if alpha is None else sign * max(alpha, 0.0)

    def _binary(self, right: float, wrong: float, g: float, norm: float) -> float | None:
        """Return the step of a {0, 1} ranker that points up."""
        tied = 1.0 - right - wrong
        wrong = 0.0 if wrong < SNAP else wrong
        tied = 0.0 if tied < SNAP else tied
        if wrong + tied == 0.0:
            if self.smoothing == 0.0:
                return None
            right, wrong = right + self.smoothing, self.smoothing
        if not self._line_search:
            return smooth_step(right, wrong, tied, g)
        whole = right + wrong + tied

        def derivatives(alpha: float) -> tuple[float, float, float]:
            up, down = right * exp(-alpha), wrong * exp(alpha)
            z = up + down + tied
            slope = (down - up) / z
            return log(z / whole), slope, (up + down) / z - slope * slope

        return self._root(derivatives, g, norm)

    def _numeric(
        self, candidate: Candidate, potentials: Potentials, sign: float, g: float
    ) -> float | None:
        """Return the step of a real-valued ranker, by its sign."""
        along = log_z_along(candidate, potentials)

        def derivatives(alpha: float) -> tuple[float, float, float]:
            log_z, slope, curvature = along(sign * alpha)
            return log_z, sign * slope, curvature

        def turns(way: float) -> bool:
            # (the slope afar is minus the smallest margin, which infinite weights would make G)
            return way > 0.0 and (along.turns(sign) or g + derivatives(AFAR)[1] > 0.0)

        return self._root(derivatives, g, self._norm, turns)

    def _root(
        self,
        derivatives: Derivatives,
        g: float,
        norm: float,
        turns: Callable[[float], bool] | None = None,
    ) -> float | None:
        """Return the zero of equation 10 or 11; smoothed, or None, where it is infinite."""

        def falling(log_z: float, slope: float, curvature: float, at: float) -> tuple[float, float]:
            """Return minus the slope of G, up to a positive factor, and its derivative."""
            if self._line_search:  # equation 10: G where the step leads
                grown = 1.0 + at / norm
                return g - log_z / norm + grown * slope, grown * curvature
            return g + slope, curvature  # equation 11: G where the step begins

        found = newton_root(lambda at: falling(*derivatives(at), at), turns=turns)
        if found is None and self.smoothing > 0.0:
            share = self.smoothing
            found = newton_root(lambda at: falling(*smoothed(*derivatives(at), at, share), at))
        return found


class SmoothClassMarginStep(SmoothMarginStep):
    """The same steps for classification into two (Rudin, Schapire & Daubechies 2007).

    F is AdaBoost's sum over instances of ``exp(-y_i H(x_i))``, and the margin of an instance is
    ``y_i H(x_i) / |lambda|_1``. AdaBoost's steps until G > 0, then those of *approximate
    coordinate ascent boosting*, ``.5 ln((1 + r)/(1 - r)) - .5 ln((1 + g)/(1 - g))`` (equation 12
    without ties), or with ``line_search`` those of *coordinate ascent boosting*.
    """

    @staticmethod
    def _unit_of(tree: Tree) -> float:
        """Return the largest margin that a tree gives to a row."""
        return tree.size

    def _lightest(self) -> float:
        mass = self._feedback.row_mass()
        # A row of weight 2 counts as two rows, so it is as light as they are.
        return log(min(1.0, mass.lightest)) - log(mass.total)

    def _smallest(self, scores: Floats) -> float:
        return self._feedback.least_row_margin(scores)

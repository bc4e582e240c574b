"""Sums over the rows of two classes, without rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crucial.feedback.base import Feedback, power_of_two_scale
from crucial.kernels.elementary import exp, log
from crucial.kernels.sums import ExactSum, exact_sum
from crucial.types import Floats

__all__ = [
    "ClassTotals",
    "log_class_sums",
    "unit_of_weights",
]


@dataclass(frozen=True)
class ClassTotals:
    """Weights of the bad and of the good rows, added up without rounding.

    Attributes
    ----------
    drawn, every : (ExactSum, ExactSum)
        Masses of the rows that count, and of all.
    log_factor : (float, float)
        Logarithms of what a mass of each class is worth.
    """

    drawn: tuple[ExactSum, ExactSum]
    every: tuple[ExactSum, ExactSum]
    log_factor: tuple[float, float]

    @property
    def log_unit(self) -> float:
        """Logarithm of what potentials and the sums of `both` are multiples of."""
        return max(self.log_factor)

    def both(self, sums: tuple[ExactSum, ExactSum]) -> tuple[float, float]:
        """Return F- and F+, for ``drawn`` or ``every``."""
        bad, good = (exp(one - self.log_unit) for one in self.log_factor)
        return sums[0].value * bad, sums[1].value * good

    def finish(self, log_start: float) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss.

        Parameters
        ----------
        log_start : float
            Logarithm of the weight of all rows at scores of 0.
        """
        whole = log(sum(self.both(self.every)))
        return 1.0 / sum(self.both(self.drawn)), self.log_unit + whole - log_start

    @property
    def net(self) -> float:
        """Weight of the good rows minus that of the bad ones, as a share of both."""
        bad, good = self.both(self.drawn)
        return (good - bad) / (good + bad)

    def skew(self, log_unit: float) -> float:
        """Return F+ - F- over all rows, times a unit; infinite if it overflows."""
        bad, good = (
            log(one.value) + factor + log_unit
            for one, factor in zip(self.every, self.log_factor, strict=True)
        )
        if max(bad, good) > 709.0:
            return math.inf if good > bad else -math.inf
        return exp(good) - exp(bad)


def log_class_sums(feedback: Feedback, scores: Floats) -> tuple[float, float]:
    """Return the logarithms of F- and F+.

    ``F- = sum u exp(H)`` over bad rows, ``F+ = sum u exp(-H)`` over good ones.

    Parameters
    ----------
    feedback : Feedback
        Of two labels and one query.
    scores : array over ``feedback.rows``
    """
    bad, good = (_log_sum(one) for one in _exponents(feedback, scores))
    return bad, good


def _log_sum(logs: Floats) -> float:
    """Return the logarithm of a sum of exponentials, which is added up without rounding."""
    peak = float(logs.max(initial=-math.inf))
    return peak + log(exact_sum(exp(logs - peak)))


def _exponents(feedback: Feedback, scores: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the terms of F- and of F+."""
    classes = feedback.two_classes()
    assert classes is not None
    n = classes.n_low
    logs = np.zeros(len(scores)) if feedback.weight is None else log(feedback.weight)
    return logs[:n] + scores[:n], logs[n:] - scores[n:]


def unit_of_weights(feedback: Feedback) -> tuple[float, float]:
    """Return a power of two that brings the weights of rows near 1, and what they add up to then.

    >>> from crucial import LabelFeedback
    >>> unit_of_weights(LabelFeedback([0, 1, 1], weight=[4.0, 4.0, 8.0]))
    (0.0625, 1.0)
    """
    mass = feedback.row_mass()
    unit = power_of_two_scale(mass.heaviest) if mass.weighted else 1.0
    return unit, mass.total * unit

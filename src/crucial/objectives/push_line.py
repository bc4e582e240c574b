"""The p-norm push along a weak ranker of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import exp, logaddexp
from crucial.kernels.sums import ExactSum
from crucial.types import Floats

__all__ = ["PushLine", "PushTerms", "in_range"]

# Sums in this range have lost no digit: what underflowed beside them is far below their last one.
_RANGE = (1e-90, 1e90)


def in_range(total: ExactSum) -> bool:
    """Return whether a sum of exponentials has all its digits.

    >>> in_range(ExactSum.of(np.array([0.5]))), in_range(ExactSum.of(np.array([1e-300])))
    (True, False)
    """
    return _RANGE[0] <= total.value <= _RANGE[1]


@dataclass(frozen=True)
class LineTotals:
    """Sums over the terms of F after a step along a ranker, times ``e^-top``, without rounding.

    Attributes
    ----------
    sums : tuple of ExactSum
        F; the share of it that the pairs have that the ranker orders right, and wrong; and, of
        what a loser gains on those above it, the square and the derivative.
    peak : float
        Logarithm of the largest term.
    """

    sums: tuple[ExactSum, ...]
    peak: float

    @property
    def far(self) -> bool:
        """Whether F is so far from ``e^top`` that digits can be lost."""
        return not in_range(self.sums[0])

    @property
    def shares(self) -> tuple[float, ...]:
        """All sums but F, over F."""
        total = self.sums[0].value
        return tuple(one.value / total for one in self.sums[1:])


class PushTerms:
    """The terms of F along a ranker of 0 and 1, one for all rows of a level.

    ``F(alpha) = sum_s (C_s0 + C_s1 e^(p alpha)) (A_s0 + A_s1 e^(-alpha))^p``; the rows of a level
    have the same inner sum.

    Parameters
    ----------
    log_inside, log_above : arrays of shape (n_terms, 2)
        Logarithms of C, coefficients included, and of A.
    p : float
    """

    def __init__(self, log_inside: Floats, log_above: Floats, p: float) -> None:
        counts = (log_inside.max(axis=1) > -np.inf) & (log_above.max(axis=1) > -np.inf)
        self._c, self._a, self._p = log_inside[counts].T, log_above[counts].T, p

    def sums(self, alpha: float, top: float) -> LineTotals:
        """Return the sums after a step of alpha, times ``e^-top``."""
        a = np.stack((self._a[0], self._a[1] - alpha))
        whole = logaddexp(*a)
        logs = self._c + self._p * (whole + np.array([[0.0], [alpha]]))
        inner = exp(a - whole)
        with np.errstate(over="ignore"):  # (then another top is asked for)
            term = exp(logs - top)
        right, wrong = term[0] * inner[1], term[1] * inner[0]
        # How far the loser moves more than the mean of what should win against it.
        square = np.stack((right * inner[1], wrong * inner[0]))
        parts = (term, right, wrong, square, term * (inner[0] * inner[1]))
        return LineTotals(
            tuple(ExactSum.of(one) for one in parts),
            float(logs.max(initial=-np.inf)),
        )

    def best(self) -> float | None:
        """Return ``ln(A1 C0 / (A0 C1)) / (p + 1)``, the best step, for one term; else None."""
        if self._a.shape[1] != 1:
            return None
        (a0, a1), (c0, c1) = self._a[:, 0].tolist(), self._c[:, 0].tolist()
        return float(a1 + c0 - a0 - c1) / (self._p + 1.0)


class PushLine:
    """See `crucial.objectives.own_loss.Line`; ``(1/p) ln F`` along a ranker of 0 and 1.

    Parameters
    ----------
    terms : PushTerms
    p : float
    top : float
        Logarithm of F, or of about as much, before the step.
    """

    def __init__(self, terms: PushTerms, p: float, top: float) -> None:
        self._terms, self._p, self._top = terms, p, top
        self.reach = 2.0 / (p + 1.0)
        self._start = self._at(0.0)

    def _at(self, alpha: float) -> LineTotals:
        found = self._terms.sums(alpha, self._top)
        return self._terms.sums(alpha, found.peak) if found.far else found

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative after a step of alpha."""
        found = self._start if alpha == 0.0 else self._at(alpha)
        right, wrong, square, bend = found.shares
        slope = wrong - right
        return slope, bend + self._p * max(square - slope * slope, 0.0)

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right and wrong, before the step."""
        right, wrong, _, _ = self._start.shares
        return right, wrong

    def closed_form(self) -> float | None:
        """Return ``ln(A1 C0 / (A0 C1)) / (p + 1)`` for one term: one query of two labels."""
        return self._terms.best()

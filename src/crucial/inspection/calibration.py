"""A logistic fit of one score: the odds that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats

__all__ = ["Calibration", "fit_calibration", "sigmoid"]

_STEPS = 200
_SETTLED = 1e-12


@dataclass(frozen=True)
class Calibration(HtmlResult):
    """Log odds as a line of the score: ``intercept + slope * score``.

    Attributes
    ----------
    intercept, slope : float
    intercept_error, slope_error : float
        Standard errors, from the information matrix.
    separated : bool
        Whether some score separates both labels, so that the likelihood has no maximum and
        Platt's targets were fitted instead.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    separated: bool

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log odds of scores."""
        return np.asarray(self.intercept + self.slope * scores)

    def __str__(self) -> str:
        sign = "+" if self.slope >= 0 else "-"
        return f"log odds = {self.intercept:.4g} {sign} {abs(self.slope):.4g} x score"

    def _html_title(self) -> str:
        return str(self)

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "": ["intercept", "slope"],
            "value": [self.intercept, self.slope],
            "standard error": [self.intercept_error, self.slope_error],
        }
        return [HtmlTable(columns)]


def sigmoid(log_odds: Floats) -> Floats:
    """Return probabilities.

    Examples
    --------
    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    half = np.exp(-np.abs(log_odds))
    return np.where(log_odds >= 0, 1.0 / (1.0 + half), half / (1.0 + half))


def fit_calibration(scores: Floats, good: Floats, weight: Floats) -> Calibration:
    """Fit the log odds of ``good`` to a score by maximum likelihood, with Newton's method.

    Where a score separates both labels, the targets are those of Platt (1999, section 2.2):
    ``(n + 1) / (n + 2)`` for the good and ``1 / (m + 2)`` for the bad rows.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Of at least two values.
    good : array of shape (n_rows,)
        1 and 0, both there.
    weight : array of shape (n_rows,)

    Examples
    --------
    >>> found = fit_calibration(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 1, 0, 1]), np.ones(4))
    >>> round(found.slope, 3), round(found.intercept, 3), found.separated
    (0.908, -1.362, False)
    """
    high, low = scores[good > 0], scores[good == 0]
    separated = bool(low.max() <= high.min() or high.max() <= low.min())
    target = good.astype(np.float64)
    if separated:
        n, m = float(weight[good > 0].sum()), float(weight[good == 0].sum())
        target = np.where(good > 0, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))
    mean = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
    x = (scores - mean) / spread
    beta, information = _newton(x, target, weight)
    inverse = np.linalg.inv(information)
    slope = beta[1] / spread
    # The variance of a - b * mean / spread, of the fit to standardised scores.
    at = np.array([1.0, -mean / spread])
    return Calibration(
        float(beta[0] - slope * mean),
        float(slope),
        float(np.sqrt(at @ inverse @ at)),
        float(np.sqrt(inverse[1, 1]) / spread),
        separated,
    )


def _newton(x: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the line of least logistic loss, and the information matrix there."""
    design = np.stack([np.ones(len(x)), x], axis=1)
    rate = float(np.average(target, weights=weight))
    beta = np.array([np.log(rate / (1.0 - rate)), 0.0])

    def loss(line: Floats) -> float:
        eta = design @ line
        return float(weight @ (np.logaddexp(0.0, eta) - target * eta))

    now = loss(beta)
    for _ in range(_STEPS):
        p = sigmoid(design @ beta)
        gradient = design.T @ (weight * (p - target))
        information = design.T @ (design * (weight * p * (1.0 - p))[:, None])
        step = np.linalg.solve(information, gradient)
        size = 1.0
        while loss(beta - size * step) > now and size > 1e-8:
            size /= 2.0
        new = loss(beta - size * step)
        if new <= now:
            beta = beta - size * step
        if now - new <= _SETTLED * (1.0 + abs(now)):
            break
        now = new
    p = sigmoid(design @ beta)
    return beta, np.asarray(design.T @ (design * (weight * p * (1.0 - p))[:, None]))

"""A logistic fit of one score: the odds that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import exp, log, log2, logaddexp
from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats

__all__ = ["Calibration", "fit_calibration", "sigmoid", "weight_unit"]

_STEPS = 200
_SETTLED = 1e-12
_MOST_ROWS = 2.0**40  # of a label in Platt's targets: more round to a target of 1 or 0


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
    half = exp(-np.abs(log_odds))
    return np.where(log_odds >= 0, 1.0 / (1.0 + half), half / (1.0 + half))


def weight_unit(weight: Floats) -> float:
    """Return a power of two close to the mean weight; dividing by it loses no digit.

    Sums of products of weights of 1e-300 vanish, and those of 1e300 overflow. A result on
    divided weights, times the unit, is that on the weights themselves.

    Examples
    --------
    >>> weight_unit(np.ones(3)), weight_unit(np.array([5.0, 6.0]))
    (1.0, 4.0)
    """
    return float(2.0 ** np.floor(log2(weight.mean())))


def fit_calibration(scores: Floats, good: Floats, weight: Floats) -> Calibration:
    """Fit the log odds of ``good`` to a score by maximum likelihood, with Newton's method.

    Where a score separates both labels, the targets are those of Platt (1999, section 2.2):
    ``(n + 1) / (n + 2)`` for the good and ``1 / (m + 2)`` for the bad rows; n and m are at least 1.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Of at least two values.
    good : array of shape (n_rows,)
        1 and 0, both there.
    weight : array of shape (n_rows,)
        Above 0; a row of weight 2 counts as two rows.

    Raises
    ------
    DataError
        Floats cannot hold the fit.

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
        n, m = (float(np.clip(weight[good == k].sum(), 1.0, _MOST_ROWS)) for k in (1, 0))
        target = np.where(good > 0, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))
    # Divided by powers of two, squares of scores and of weights neither overflow nor vanish, and
    # no digit is lost.
    unit, exponent = weight_unit(weight), int(np.frexp(np.abs(scores).max())[1])
    with np.errstate(all="ignore"):  # (what is not finite is refused)
        line, errors = _fit_line(np.ldexp(scores, -exponent), target, weight / unit)
        errors = errors / np.sqrt(unit)
        slope, slope_error = (float(np.ldexp(one[1], -exponent)) for one in (line, errors))
    if not np.isfinite([line[0], slope]).all():
        step = np.diff(np.unique(scores)).min()
        raise DataError(
            f"floats cannot hold a logistic fit to these scores, which differ by {step:g} at least "
            f"and have weights from {weight.min():g} to {weight.max():g}. Multiply the scores by "
            "a constant, or leave out the rows of the smallest weights."
        )
    return Calibration(float(line[0]), slope, float(errors[0]), slope_error, separated)


def _fit_line(scores: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return intercept and slope, and their standard errors; NaN where there is no fit."""
    mean = float(np.average(scores, weights=weight))
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    x = (scores - mean) / spread
    try:
        beta, information = _newton(x, target, weight)
        inverse = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        return np.full(2, np.nan), np.full(2, np.nan)
    slope = beta[1] / spread
    # The variance of a - b * mean / spread, of the fit to standardised scores.
    at = np.array([1.0, -mean / spread])
    errors = np.sqrt([at @ inverse @ at, inverse[1, 1]]) / [1.0, spread]
    return np.array([beta[0] - slope * mean, slope]), np.asarray(errors)


def _newton(x: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the line of least logistic loss, and the information matrix there.

    ``1 - p`` is computed as the sigmoid of the negative log odds, so that it is not rounded to 0
    where nearly all of the weight is on one label.
    """
    design = np.stack([np.ones(len(x)), x], axis=1)
    beta = np.array([log(weight @ target) - log(weight @ (1.0 - target)), 0.0])

    def loss(line: Floats) -> float:
        eta = design @ line
        each = target * logaddexp(0.0, -eta) + (1.0 - target) * logaddexp(0.0, eta)
        return float(weight @ each)

    def information(p: Floats, other: Floats) -> Floats:
        return np.asarray(design.T @ (design * (weight * p * other)[:, None]))

    now = loss(beta)
    for _ in range(_STEPS):
        p, other = sigmoid(design @ beta), sigmoid(-(design @ beta))
        gradient = design.T @ (weight * ((1.0 - target) * p - target * other))
        step = np.linalg.solve(information(p, other), gradient)
        size = 1.0
        while loss(beta - size * step) > now and size > 1e-8:
            size /= 2.0
        new = loss(beta - size * step)
        if new <= now:
            beta = beta - size * step
        if now - new <= _SETTLED * now:
            break
        now = new
    return beta, information(sigmoid(design @ beta), sigmoid(-(design @ beta)))

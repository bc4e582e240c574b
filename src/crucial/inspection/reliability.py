"""The calibration curve: how often rows are good, beside how often they should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.inspection.calibration import Calibration, fit_calibration, sigmoid
from crucial.inspection.curve_parts import equal_parts, read_rows, two_classes
from crucial.notebook import HtmlResult
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, VectorLike
from crucial.wording import counted

__all__ = ["CalibrationCurve", "calibration_curve"]

_Z = 1.959963984540054  # of a 95% interval


@dataclass(frozen=True, eq=False)
class CalibrationCurve(HtmlResult):
    """Result of `calibration_curve`.

    Attributes
    ----------
    expected : array of shape (n_bins,)
        Mean probability of the rows of each bin, rising.
    observed : array of shape (n_bins,)
        Share of high rows in it.
    low, high : arrays of shape (n_bins,)
        Wilson's 95% interval of the share.
    rows : array of shape (n_bins,)
        Weight of the rows in it.
    calibration : Calibration or None
        The logistic fit that turned scores into probabilities; None where they were some.
    brier : float
        Mean squared difference of probability and label (Brier 1950).
    error : float
        Mean absolute difference of expected and observed, over rows.
    given : bool
        Whether the scores are the probabilities.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"expected": 1.0, "observed": 1.0}

    expected: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats
    calibration: Calibration | None
    brier: float
    error: float
    given: bool = True

    def __repr__(self) -> str:
        return f"CalibrationCurve({counted(len(self.rows), 'bin')}, Brier {self.brier:.4f})"

    @property
    def source(self) -> str:
        """Where the probabilities come from."""
        if self.calibration is None:
            return (
                "the scores are the probabilities"
                if self.given
                else "all scores are equal: the probability is the share of high rows"
            )
        return f"probabilities by a logistic fit on the same rows, {self.calibration}"

    def __str__(self) -> str:
        lines = [
            f"calibration curve  Brier {self.brier:.4f}, mean difference {self.error:.4f}; "
            f"{self.source}"
        ]
        for expected, observed, low, high, rows in zip(
            self.expected, self.observed, self.low, self.high, self.rows, strict=True
        ):
            lines.append(
                f"  expected {expected:6.1%}  observed {observed:6.1%} "
                f"({low:.1%} to {high:.1%})  {rows:g} rows"
            )
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per bin."""
        names = ("expected", "observed", "low", "high", "rows")
        return as_frame({name: getattr(self, name).tolist() for name in names})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        reach = np.maximum([self.observed - self.low, self.high - self.observed], 0.0)
        ax.errorbar(self.expected, self.observed, yerr=reach, marker="o", label="observed")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="exact")
        ax.set_xlabel("expected share")
        ax.set_ylabel("observed share")
        ax.legend()
        return ax

    def _html_notes(self) -> list[str]:
        return [self.source]


def calibration_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    probabilities: bool = False,
    bins: int = 10,
    sample_weight: VectorLike | None = None,
) -> CalibrationCurve:
    """Compare probabilities with the shares of high rows, in bins of about equally many rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values.
    scores : array-like of shape (n_rows,)
        Of one query.
    probabilities : bool
        Whether the scores are probabilities of the higher label. If not, a logistic fit on these
        rows makes them some: the curve then shows how far log odds are from a line of the scores.
    bins : int
        Number of bins; rows of equal scores stay together.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> curve = calibration_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8, 0.9],
    ...                           probabilities=True, bins=2)
    >>> curve.expected.round(3).tolist(), curve.observed.round(3).tolist(), curve.rows.tolist()
    ([0.167, 0.8], [0.333, 0.667], [3.0, 3.0])
    """
    check("calibration_curve", "bins", bins, at_least(1))
    rows = read_rows(y, scores, sample_weight, "calibration_curve")
    good = two_classes(rows, "calibration_curve", "gain_curve")
    values = rows.scores[rows.block]
    fit = None
    if probabilities:
        if values.min() < 0.0 or values.max() > 1.0:
            raise DataError(
                f"probabilities must be in [0, 1]. Got scores from {values.min():g} to "
                f"{values.max():g}; set probabilities=False to fit some."
            )
        chance = values
    elif len(rows.scores) == 1:
        chance = np.full(len(good), np.average(good, weights=rows.weight))
    else:
        fit = fit_calibration(values, good, rows.weight)
        chance = sigmoid(fit.log_odds(values))
    part = equal_parts(rows, bins)[rows.block]
    if fit is not None and fit.slope < 0:
        part = part.max() - part
    mass = np.bincount(part, rows.weight).astype(np.float64)
    expected = np.bincount(part, rows.weight * chance) / mass
    observed = np.bincount(part, rows.weight * good) / mass
    low, high = _wilson(observed, mass)
    return CalibrationCurve(
        expected[::-1],
        observed[::-1],
        low[::-1],
        high[::-1],
        mass[::-1],
        fit,
        float(np.average((chance - good) ** 2, weights=rows.weight)),
        float(np.average(np.abs(expected - observed), weights=mass)),
        probabilities,
    )


def _wilson(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return the score interval of a share (Wilson 1927)."""
    z2 = _Z**2
    # Nothing is divided by the count, which may be tiny.
    middle = (share * count + z2 / 2.0) / (count + z2)
    reach = _Z * np.sqrt(share * (1.0 - share) * count + z2 / 4.0) / (count + z2)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)

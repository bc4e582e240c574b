"""The integrated ROC curve: for continuous labels, the mean of the ROC curves of all thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.inspection.curve_parts import Band, RankedRows, band_of, limits, read_rows
from crucial.inspection.ranking_curves import draw_band
from crucial.measures.names import get_measure
from crucial.model.additive import sparkline
from crucial.notebook import HtmlResult
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, VectorLike
from crucial.wording import counted

__all__ = ["IrocCurve", "iroc_curve"]

#: Places of the curve where the exact ones are too many.
_GRID = np.linspace(0.0, 1.0, 201)
_EXACT_POINTS = 50_000


@dataclass(frozen=True, eq=False)
class IrocCurve(HtmlResult):
    """Result of `iroc_curve`.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_points,)
        Mean over thresholds of the share of the rows above the threshold with at least some
        score, where that score leaves the share alpha of the rows below it. A vertical step has
        two points.
    iauc : float
        Integrated AUC over all thresholds: the measure ``iauc``.
    n_thresholds : int
        Number of labels that were thresholds.
    exact : bool
        Whether all labels were thresholds and the points are all the corners of the curve; the
        area under it is then iauc.
    band : Band or None
        Bootstrap band of beta over alpha.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"beta": 1.0}
    _html_curve: ClassVar[bool] = True

    alpha: Floats
    beta: Floats
    iauc: float
    n_thresholds: int
    exact: bool
    band: Band | None = None

    def __repr__(self) -> str:
        return f"IrocCurve({counted(self.n_thresholds, 'threshold')}, IAUC {self.iauc:.4f})"

    def __str__(self) -> str:
        line = sparkline(limits(self.alpha, self.beta, np.linspace(0, 1, 32))[1].tolist(), 32)
        return (
            f"IROC curve  {line}  IAUC {self.iauc:.4f}, {counted(self.n_thresholds, 'threshold')}"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"alpha": self.alpha.tolist(), "beta": self.beta.tolist()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.alpha, self.beta, label=f"IAUC {self.iauc:.3f}")
        draw_band(ax, self.band)
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("share of rows below the threshold")
        ax.set_ylabel("share of rows above the threshold")
        ax.legend()
        return ax


def iroc_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    max_thresholds: int = 200,
    intervals: bool | float = False,
    resamples: int = 100,
    random_state: int = 0,
) -> IrocCurve:
    """Compute the integrated ROC curve of scores for continuous labels.

    For every row in turn its label is a threshold; the curve is the mean of the ROC curves of
    the rows above against the rows below (Clémençon & Achab 2017; Werner 2019, section 3.5).
    Rows of the label itself are on neither side, and a threshold with an empty side is left out.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of at least three values.
    scores : array-like of shape (n_rows,)
        Of one query.
    sample_weight : array-like of shape (n_rows,), optional
    max_thresholds : int
        Labels to average over; of more, as many are taken at equal steps.
    intervals : bool or float
        Level of a bootstrap band; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> curve = iroc_curve([1.0, 2.0, 3.0, 4.0], [0.1, 0.3, 0.2, 0.9])
    >>> round(curve.iauc, 6), curve.n_thresholds
    (1.0, 2)
    """
    check("iroc_curve", "max_thresholds", max_thresholds, at_least(1))
    rows = read_rows(y, scores, sample_weight, "iroc_curve")
    levels = np.unique(rows.y)
    if len(levels) < 3:
        raise DataError(
            f"iroc_curve needs labels of at least three values. Got {len(levels)}. Use roc_curve "
            "for two."
        )
    inner = levels[1:-1]
    every = len(inner) <= max_thresholds
    if not every:
        inner = inner[np.linspace(0, len(inner) - 1, max_thresholds).round().astype(int)]
    at, exact = _GRID, False
    if every and len(inner) * len(rows.scores) <= _EXACT_POINTS:
        at, exact = np.unique([_sides(rows, rows.weight, t)[0] for t in inner]), True
    left, right = _mean_curve(rows, rows.weight, inner, at)
    coarse = np.linspace(0.0, 1.0, 51)
    band = band_of(
        lambda weight: _mean_curve(rows, weight, inner, coarse)[1],
        coarse, rows.weight, [np.arange(len(rows.y))], intervals, resamples, random_state,
    )  # fmt: skip
    area = get_measure("iauc")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    alpha, beta = np.repeat(at, 2), np.column_stack([left, right]).ravel()
    return IrocCurve(alpha, beta, area, len(inner), exact, band)


def _sides(rows: RankedRows, weight: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return the ROC curve of the rows above a threshold against the rows below it."""
    return rows.shares(weight * (rows.y < threshold)), rows.shares(weight * (rows.y > threshold))


def _mean_curve(
    rows: RankedRows, weight: Floats, thresholds: Floats, at: Floats
) -> tuple[Floats, Floats]:
    """Return the limits from both sides of the mean curve; a threshold weighs its rows."""
    sums, total = np.zeros((2, len(at))), 0.0
    for threshold in thresholds:
        mass = float(weight[rows.y == threshold].sum())
        below, above = weight[rows.y < threshold].sum(), weight[rows.y > threshold].sum()
        if mass > 0 and below > 0 and above > 0:
            sums += mass * np.array(limits(*_sides(rows, weight, threshold), at))
            total += mass
    left, right = sums / total if total > 0 else np.full_like(sums, np.nan)
    return left, right

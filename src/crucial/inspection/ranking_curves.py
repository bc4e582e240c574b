"""ROC, gain and lift curves of a ranking: computed, then printed or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.inspection.curve_parts import (
    Band,
    RankedRows,
    band_of,
    curve_line,
    limits,
    read_rows,
    two_classes,
)
from crucial.notebook import HtmlResult
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, VectorLike
from crucial.wording import counted

__all__ = [
    "GainCurve",
    "LiftCurve",
    "RocCurve",
    "gain_curve",
    "lift_curve",
    "roc_curve",
]

_GRID = np.linspace(0.0, 1.0, 101)


def draw_band(ax: Axes, band: Band | None) -> None:
    """Draw a band, if there is one."""
    if band is not None:
        ax.fill_between(band.at, band.low, band.high, alpha=0.2, label=f"{band.level:.0%} band")


@dataclass(frozen=True, eq=False)
class RocCurve(HtmlResult):
    """Result of `roc_curve`.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_points,)
        Share of all low and of all high rows with at least this score, from (0, 0) to (1, 1);
        rows of equal scores make one straight piece.
    thresholds : array of shape (n_points,)
        The score of each point; infinity for the first.
    auc : float
        Area under the curve.
    band : Band or None
        Bootstrap band of beta over alpha.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"beta": 1.0}
    _html_curve: ClassVar[bool] = True

    alpha: Floats
    beta: Floats
    thresholds: Floats
    auc: float
    band: Band | None = None

    def __repr__(self) -> str:
        return f"RocCurve({counted(len(self.alpha), 'point')}, AUC {self.auc:.4f})"

    def __str__(self) -> str:
        return (
            f"ROC curve  {curve_line(limits(self.alpha, self.beta, _GRID)[1])}  AUC {self.auc:.4f}"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame(
            {
                "threshold": self.thresholds.tolist(),
                "alpha": self.alpha.tolist(),
                "beta": self.beta.tolist(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.alpha, self.beta, label=f"AUC {self.auc:.3f}")
        draw_band(ax, self.band)
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("share of low rows")
        ax.set_ylabel("share of high rows")
        ax.legend()
        return ax

    def _html_title(self) -> str:
        return str(self)


def roc_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    intervals: bool | float = False,
    resamples: int = 200,
    random_state: int = 0,
) -> RocCurve:
    """Compute the ROC curve of scores for labels of two values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values.
    scores : array-like of shape (n_rows,)
        Of one query: scores of different queries cannot be compared.
    sample_weight : array-like of shape (n_rows,), optional
    intervals : bool or float
        Level of a bootstrap band, drawn inside each class; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> curve = roc_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    >>> curve.auc, curve.alpha.tolist(), curve.beta.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    rows = read_rows(y, scores, sample_weight, "roc_curve")
    good = two_classes(rows, "roc_curve", "iroc_curve")

    def points(weight: Floats) -> tuple[Floats, Floats]:
        return rows.shares(weight * (1.0 - good)), rows.shares(weight * good)

    alpha, beta = points(rows.weight)
    classes = [np.flatnonzero(good == one) for one in (0.0, 1.0)]
    band = band_of(
        lambda weight: limits(*points(weight), _GRID)[1],
        _GRID, rows.weight, classes, intervals, resamples, random_state,
    )  # fmt: skip
    area = float(np.sum(np.diff(alpha) * (beta[1:] + beta[:-1])) / 2.0)
    return RocCurve(alpha, beta, np.append(np.inf, rows.scores), area, band)


@dataclass(frozen=True, eq=False)
class GainCurve(HtmlResult):
    """Result of `gain_curve`.

    Attributes
    ----------
    share : array of shape (n_points,)
        Share of all rows that are examined, best score first.
    gain : array of shape (n_points,)
        Share of the labels found among them: of the high rows for two labels, of the sum of the
        labels otherwise.
    best : array of shape (n_points,)
        The gain of the best order.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"gain": 1.0}
    _html_curve: ClassVar[bool] = True

    share: Floats
    gain: Floats
    best: Floats

    def __repr__(self) -> str:
        return f"GainCurve({counted(len(self.share), 'point')})"

    def __str__(self) -> str:
        tenth, half = np.interp([0.1, 0.5], self.share, self.gain)
        curve = curve_line(np.interp(_GRID, self.share, self.gain))
        return (
            f"gain curve  {curve}  {tenth:.1%} in the first 10 % of rows, {half:.1%} in the first "
            "half"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"share": self.share.tolist(), "gain": self.gain.tolist(),
                         "best": self.best.tolist()})  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.share, self.gain, label="gain")
        ax.plot(self.share, self.best, linestyle="--", color="0.5", label="best order")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("share of rows")
        ax.set_ylabel("share found")
        ax.legend()
        return ax

    def _html_title(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class LiftCurve(HtmlResult):
    """Result of `lift_curve`.

    Attributes
    ----------
    share : array of shape (n_points,)
        Share of all rows that are examined, best score first; above 0.
    lift : array of shape (n_points,)
        How many times more is found there than in as many rows at random.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"lift": None}
    _html_curve: ClassVar[bool] = True

    share: Floats
    lift: Floats

    def __repr__(self) -> str:
        return f"LiftCurve({counted(len(self.share), 'point')})"

    def __str__(self) -> str:
        (tenth,) = self._at(np.array([0.1]))
        return (
            f"lift curve  {curve_line(self._at(_GRID[1:]))}  {tenth:.2f} in the first 10 % of rows"
        )

    def _at(self, share: Floats) -> Floats:
        """Return the lift of shares above 0: the gain, straight among equal scores, by share."""
        gain = np.append(0.0, self.share * self.lift)
        return np.asarray(np.interp(share, np.append(0.0, self.share), gain) / share)

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"share": self.share.tolist(), "lift": self.lift.tolist()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        # Between two points the lift is no straight line; it bends most at small shares.
        more = np.geomspace(min(float(self.share[0]), 0.01), 1.0, 201)
        share = np.union1d(self.share, more)
        ax.plot(share, self._at(share), label="lift")
        ax.axhline(1.0, linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("share of rows")
        ax.set_ylabel("lift")
        ax.legend()
        return ax

    def _html_title(self) -> str:
        return str(self)


def _gains(rows: RankedRows, owner: str) -> Floats:
    """Return what each row is worth: 1 or 0 for two labels, else the label."""
    labels = np.unique(rows.y)
    if len(labels) == 2:
        return np.asarray((rows.y == labels[1]).astype(np.float64))
    if labels[0] < 0 or labels[-1] <= 0:
        raise DataError(
            f"{owner} needs two labels, or amounts of at least 0 of which one is above 0. Got "
            f"{labels[0]:g}. profit_curve takes any amounts."
        )
    return rows.y


def gain_curve(
    y: VectorLike, scores: VectorLike, *, sample_weight: VectorLike | None = None
) -> GainCurve:
    """Compute the share of all positives found among the best-scored rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values, or amounts of at least 0, of which shares of the sum are found.
    scores : array-like of shape (n_rows,)
        Of one query.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> gain_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).gain.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    rows = read_rows(y, scores, sample_weight, "gain_curve")
    worth = _gains(rows, "gain_curve")
    share, gain = rows.shares(rows.weight), rows.shares(rows.weight * worth)
    order = np.argsort(-worth, kind="stable")
    mass = np.append(0.0, np.cumsum(rows.weight[order]))
    found = np.append(0.0, np.cumsum((rows.weight * worth)[order]))
    best = np.interp(share, mass / mass[-1], found / found[-1])
    return GainCurve(share, gain, best)


def lift_curve(
    y: VectorLike, scores: VectorLike, *, sample_weight: VectorLike | None = None
) -> LiftCurve:
    """Compute how many times more the best-scored rows contain than rows at random.

    Parameters
    ----------
    y, scores, sample_weight
        As in `gain_curve`.

    Examples
    --------
    >>> lift_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).lift.round(3).tolist()
    [2.0, 1.0, 1.333, 1.0]
    """
    rows = read_rows(y, scores, sample_weight, "lift_curve")
    worth = _gains(rows, "lift_curve")
    share, gain = rows.shares(rows.weight)[1:], rows.shares(rows.weight * worth)[1:]
    return LiftCurve(share, gain / share)

"""The ROC surface of three ordered classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.errors import DataError
from crucial.inspection.curve_parts import Band, RankedRows, band_of, limits, read_rows
from crucial.measures.names import get_measure
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Bools, Floats, VectorLike

__all__ = ["RocSurface", "roc_surface"]


@dataclass(frozen=True, eq=False)
class RocSurface(HtmlResult):
    """Result of `roc_surface`.

    With two thresholds, a row below both is put into the lowest class and a row above both into
    the highest.

    Attributes
    ----------
    alpha_low, alpha_high : arrays of shape (n_points,)
        Shares of the lowest and of the highest class that are put into it.
    beta_middle : array of shape (n_points, n_points)
        Share of the middle class between the thresholds, by alpha_low (rows) and alpha_high.
    vus : float
        Volume under the surface: the measure ``vus``.
    band : Band or None
        Bootstrap band of beta_middle; ``band.at`` is alpha_low.
    """

    alpha_low: Floats
    alpha_high: Floats
    beta_middle: Floats
    vus: float
    band: Band | None = None

    def __repr__(self) -> str:
        return f"RocSurface({len(self.alpha_low)} x {len(self.alpha_high)}, VUS {self.vus:.4f})"

    def __str__(self) -> str:
        picked = np.linspace(0, len(self.alpha_low) - 1, 6).round().astype(int)
        lines = [f"ROC surface, VUS {self.vus:.4f} (chance 0.1667): share of the middle class"]
        lines += ["low \\ high" + "".join(f"{self.alpha_high[j]:8.2f}" for j in picked)]
        for i in picked:
            cells = "".join(f"{self.beta_middle[i, j]:8.3f}" for j in picked)
            lines.append(f"{self.alpha_low[i]:10.2f}{cells}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per point."""
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        columns = {"alpha_low": low, "alpha_high": high, "beta_middle": self.beta_middle}
        if self.band is not None:
            columns |= {"low": self.band.low, "high": self.band.high}
        return as_frame({name: values.ravel().tolist() for name, values in columns.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the surface, and its band as two meshes; needs matplotlib. Returns the axes.

        ``ax`` must have the projection "3d".
        """
        canvas: Any = new_axes(ax, projection="3d")
        if not hasattr(canvas, "plot_surface"):
            raise DataError("a surface needs axes with projection='3d'.")
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        canvas.plot_surface(low, high, self.beta_middle, alpha=0.7)
        if self.band is not None:
            for edge in (self.band.low, self.band.high):
                canvas.plot_wireframe(low, high, edge, color="0.5", linewidth=0.5)
        canvas.set_xlabel("share of the lowest class")
        canvas.set_ylabel("share of the highest class")
        canvas.set_title(f"share of the middle class, VUS {self.vus:.3f}")
        drawn: Axes = canvas
        return drawn

    def _html_tables(self) -> list[HtmlTable]:
        picked = np.linspace(0, len(self.alpha_low) - 1, 6).round().astype(int)
        columns: dict[str, Sequence[object]] = {"low \\ high": self.alpha_low[picked].tolist()}
        for j in picked.tolist():
            columns[f"{self.alpha_high[j]:.2f}"] = self.beta_middle[picked, j].tolist()
        heading = "share of the middle class, by the shares of the lowest and the highest"
        return [HtmlTable(columns, heading=heading)]


def roc_surface(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    n_points: int = 51,
    intervals: bool | float = False,
    resamples: int = 200,
    random_state: int = 0,
) -> RocSurface:
    """Compute the ROC surface of scores for labels of three values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of three values.
    scores : array-like of shape (n_rows,)
        Of one query. Rows of equal scores are spread evenly over their place, which makes m
        classes that tie count 1/m!, as in the measure ``vus``.
    sample_weight : array-like of shape (n_rows,), optional
    n_points : int
        Points per side.
    intervals : bool or float
        Level of a bootstrap band, drawn inside each class; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> surface = roc_surface([0, 1, 2, 0, 1, 2], [1, 2, 3, 2, 4, 5], n_points=3)
    >>> round(surface.vus, 4)
    0.625
    >>> surface.beta_middle.tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 0.0]]
    """
    check("roc_surface", "n_points", n_points, at_least(2))
    rows = read_rows(y, scores, sample_weight, "roc_surface")
    labels = np.unique(rows.y)
    if len(labels) != 3:
        raise DataError(
            f"roc_surface needs labels of three values. Got {len(labels)}. Use roc_curve for two, "
            "and the measures vus or iauc for more."
        )
    at = np.linspace(0.0, 1.0, n_points)
    members = [rows.y == label for label in labels]
    classes = [np.flatnonzero(member) for member in members]
    beta = _surface(rows, rows.weight, members, at)
    band = band_of(
        lambda weight: _surface(rows, weight, members, at),
        at, rows.weight, classes, intervals, resamples, random_state,
    )  # fmt: skip
    volume = get_measure("vus")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    return RocSurface(at, at, beta, volume, band)


def _surface(rows: RankedRows, weight: Floats, members: list[Bools], at: Floats) -> Floats:
    """Return the share of the middle class between both thresholds.

    Both thresholds are as good for the middle class as the shares of the others allow: the
    lower one is the least that puts the share of the lowest class below it.
    """
    low, middle, high = (rows.shares(weight * member) for member in members)
    # The shares are those above a score; 1 - them, from the end, are those below.
    below = limits(1.0 - low[::-1], 1.0 - middle[::-1], at)[0]
    above = limits(high, middle, at)[0]
    return np.asarray(np.maximum(1.0 - below[:, None] - above, 0.0))

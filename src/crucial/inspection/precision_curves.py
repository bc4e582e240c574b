"""The precision-recall curve of a ranking: computed, then printed or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.inspection.curve_parts import read_rows, two_classes
from crucial.notebook import HtmlResult
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, VectorLike
from crucial.wording import counted

__all__ = ["PrecisionRecallCurve", "precision_recall_curve"]


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve(HtmlResult):
    """Result of `precision_recall_curve`.

    Attributes
    ----------
    recall : array of shape (n_points,)
        Share of the high rows with at least this score, rising to 1.
    precision : array of shape (n_points,)
        Share of high rows among the rows with at least this score.
    thresholds : array of shape (n_points,)
        The score of each point, falling; rows of equal scores make one point.
    average_precision : float
        Sum over points of the precision by the rise of the recall, without interpolation.
    share : float
        Share of high rows among all: the precision of a random order.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"precision": 1.0}
    _html_curve: ClassVar[bool] = True

    recall: Floats
    precision: Floats
    thresholds: Floats
    average_precision: float
    share: float

    def __repr__(self) -> str:
        return (
            f"PrecisionRecallCurve({counted(len(self.recall), 'point')}, average precision "
            f"{self.average_precision:.4f})"
        )

    def __str__(self) -> str:
        half = float(self.precision[np.searchsorted(self.recall, 0.5)])
        return (
            f"precision-recall curve  average precision {self.average_precision:.4f} "
            f"({self.share:.4f} in random order), precision {half:.1%} where half is found"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame(
            {
                "threshold": self.thresholds.tolist(),
                "recall": self.recall.tolist(),
                "precision": self.precision.tolist(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.step(
            self.recall,
            self.precision,
            where="pre",
            label=f"average precision {self.average_precision:.3f}",
        )
        ax.axhline(self.share, linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("recall")
        ax.set_ylabel("precision")
        ax.legend()
        return ax

    def _html_title(self) -> str:
        return str(self)


def precision_recall_curve(
    y: VectorLike, scores: VectorLike, *, sample_weight: VectorLike | None = None
) -> PrecisionRecallCurve:
    """Compute precision over recall of scores for labels of two values.

    The points, and the average precision, are those of scikit-learn, best score first and without
    its last point at recall 0.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values.
    scores : array-like of shape (n_rows,)
        Of one query: scores of different queries cannot be compared.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> curve = precision_recall_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    >>> curve.recall.tolist(), curve.precision.round(3).tolist()
    ([0.5, 0.5, 1.0, 1.0], [1.0, 0.5, 0.667, 0.5])
    >>> round(curve.average_precision, 4)
    0.8333
    """
    rows = read_rows(y, scores, sample_weight, "precision_recall_curve")
    good = two_classes(rows, "precision_recall_curve", "gain_curve")
    found, seen = rows.sums(rows.weight * good), rows.sums(rows.weight)
    recall, precision = found / found[-1], found[1:] / seen[1:]
    area = float(np.sum(np.diff(recall) * precision))
    share = float(found[-1] / seen[-1])
    return PrecisionRecallCurve(recall[1:], precision, rows.scores, area, share)

"""Profit curves: what examining the best-scored rows yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.inspection.curve_parts import curve_line, read_rows
from crucial.notebook import HtmlResult
from crucial.parameters import between, check
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, VectorLike
from crucial.wording import counted

__all__ = ["ProfitCurve", "profit_curve"]


@dataclass(frozen=True, eq=False)
class ProfitCurve(HtmlResult):
    """Result of `profit_curve`.

    Attributes
    ----------
    count : array of shape (n_points,)
        Rows that are examined (their weight), best score first.
    profit : array of shape (n_points,)
        Sum of their amounts less the cost of each.
    cost : float
        Cost of examining one row.
    best_count, best_profit : float
        The first count with the highest profit, and that profit.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"profit": None}
    _html_curve: ClassVar[bool] = True

    count: Floats
    profit: Floats
    cost: float
    best_count: float
    best_profit: float

    def __repr__(self) -> str:
        return f"ProfitCurve({counted(len(self.count), 'point')}, best at {self.best_count:g})"

    def __str__(self) -> str:
        return (
            f"profit curve  {curve_line(self.profit)}  highest {self.best_profit:.6g} after "
            f"{self.best_count:g} rows at a cost of {self.cost:g} each"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"count": self.count.tolist(), "profit": self.profit.tolist()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.count, self.profit, label=f"cost {self.cost:g} per row")
        ax.axvline(self.best_count, linestyle=":", color="0.5", label="highest profit")
        ax.set_xlabel("rows examined")
        ax.set_ylabel("profit")
        ax.legend()
        return ax

    def _html_title(self) -> str:
        return str(self)


def profit_curve(
    amounts: VectorLike,
    scores: VectorLike,
    *,
    cost: float = 0.0,
    sample_weight: VectorLike | None = None,
) -> ProfitCurve:
    """Compute what examining the best-scored rows yields (the audits of Werner 2019).

    The measure ``profit@k(cost=c)`` is one point of it.

    Parameters
    ----------
    amounts : array-like of shape (n_rows,)
        What a row yields if it is examined, of either sign.
    scores : array-like of shape (n_rows,)
        Of one query.
    cost : float
        Cost of examining one row.
    sample_weight : array-like of shape (n_rows,), optional
        A row of weight 2 counts as two rows.

    Examples
    --------
    >>> curve = profit_curve([5.0, 0.0, 3.0, 0.0], [4.0, 3.0, 2.0, 1.0], cost=1.0)
    >>> curve.profit.tolist(), curve.best_count, curve.best_profit
    ([0.0, 4.0, 3.0, 5.0, 4.0], 3.0, 5.0)
    """
    check("profit_curve", "cost", cost, between(-1e300, 1e300))
    rows = read_rows(amounts, scores, sample_weight, "profit_curve")
    count = rows.sums(rows.weight)
    profit = rows.sums(rows.weight * rows.y) - cost * count
    best = int(np.argmax(profit))
    return ProfitCurve(count, profit, float(cost), float(count[best]), float(profit[best]))

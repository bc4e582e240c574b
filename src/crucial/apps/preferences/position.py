"""Position bias: whether judges prefer the item that was shown first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from crucial.apps.preferences.judges import offset_slope
from crucial.apps.preferences.uncertainty import p_of, quantile
from crucial.data.comparisons import Comparisons
from crucial.notebook import HtmlResult
from crucial.results import Axes, Frame, as_frame, new_axes, padded
from crucial.types import Floats, Ints

__all__ = ["PositionBias", "position_bias"]


@dataclass(frozen=True, eq=False, repr=False)
class PositionBias(HtmlResult):
    """How much being shown first helps, overall and with each judge.

    Attributes
    ----------
    judges : tuple of str
        ``"all"`` first, then the judges.
    n : tuple of int
        Decisions.
    first_won : tuple of float
        Share of decisions for the item shown first.
    effect, low, high : tuples of float
        Log-odds of being shown first, given the strengths of both items, and the interval.
    p_value : tuple of float
        Of the likelihood-ratio test that the position does not matter, or of Student's t where
        only judges or contexts are independent; those of single judges, whose comparisons always
        count as independent, are adjusted for their number (Holm 1979).
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"first_won": 1.0, "effect": None}

    judges: tuple[str, ...]
    n: tuple[int, ...]
    first_won: tuple[float, ...]
    effect: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_value: tuple[float, ...]

    def __repr__(self) -> str:
        return f"PositionBias({self.effect[0]:+.2f}, p={self.p_value[0]:.2g})"

    def to_frame(self) -> Frame:
        """Return one row for all judges together, and one per judge."""
        return as_frame({one.name: list(getattr(self, one.name)) for one in fields(self)})

    def text(self) -> str:
        """Return the bias as lines of text, the most certain first."""
        order = [0, *sorted(range(1, len(self.n)), key=lambda k: (self.p_value[k], k))]
        return "\n".join(
            f"{padded(self.judges[k], 24)} {self.first_won[k]:6.1%} for the first shown, "
            f"{self.effect[k]:+.2f} [{self.low[k]:+.2f}, {self.high[k]:+.2f}], "
            f"{p_text(self.p_value[k])}"
            for k in order[:21]
        )

    __str__ = text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the effect of each judge with its interval."""
        ax = new_axes(ax)
        y = np.arange(len(self.n))
        middle = np.array(self.effect)
        spans = [middle - np.array(self.low), np.array(self.high) - middle]
        ax.errorbar(middle, y, xerr=np.maximum(0.0, spans), fmt="o", capsize=2)
        ax.axvline(0.0, linestyle=":", color="0.5")
        ax.set_yticks(y, list(self.judges), parse_math=False)
        ax.invert_yaxis()
        ax.set_xlabel("log-odds of being shown first")
        return ax


def p_text(value: float) -> str:
    """Return a p-value as text, never 0.

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-9)
    ('p = 0.031', 'p < 1e-4')
    """
    return "p < 1e-4" if value < 1e-4 else f"p = {value:.2g}" if value < 0.1 else f"p = {value:.2f}"


def position_bias(
    comparisons: Comparisons, strengths: Floats, level: float, groups: Ints | None = None
) -> PositionBias | None:
    """Test whether the item shown first wins more often than its strength explains.

    The log-odds of a decision for the first item are the difference of the strengths plus the
    bias (a weak prior of deviation 10 keeps it finite); ties say nothing. None without decisions.
    With ``groups``, numbers of the judges or contexts that are independent, the bias of all
    comparisons has the errors of the sandwich (Liang & Zeger 1986).
    """
    from scipy.special import chdtrc

    assert comparisons.first is not None
    decided = np.flatnonzero(~comparisons.tie & (comparisons.weight > 0))
    if not len(decided):
        return None
    first = comparisons.first[decided]
    d = strengths[comparisons.winner[decided]] - strengths[comparisons.loser[decided]]
    offset = np.where(first, d, -d)
    weight = comparisons.weight[decided]
    judge = np.zeros(len(decided), np.int64)
    names: tuple[str, ...] = ("all",)
    if comparisons.judge is not None and len(comparisons.judges) > 1:
        judge = np.concatenate((judge, 1 + comparisons.judge[decided]))
        offset, first, weight = (np.tile(one, 2) for one in (offset, first, weight))
        names = ("all", *comparisons.judges)
    slope, error, ratio = offset_slope(
        offset, np.ones(len(offset)), first.astype(np.float64), weight, judge, len(names)
    )
    chance = chdtrc(1, np.maximum(ratio, 0.0))
    n = np.bincount(judge, minlength=len(names))
    chance[1:] = holm(np.where(n[1:] > 0, chance[1:], 1.0))
    half = quantile((1 - level) / 2) * error
    if groups is not None:
        every = slice(0, len(decided))  # (the judges' own rows come after those of all)
        chosen = 1.0 / (1.0 + np.exp(-np.clip(offset[every] + slope[0], -700, 700)))
        pulls = weight[every] * (first[every] - chosen)
        own, freedom = _error_by_group(pulls, groups[decided], error[0])
        half[0] = quantile((1 - level) / 2, freedom) * own
        chance[0] = p_of(slope[0], own, freedom)
    total = np.bincount(judge, weight, minlength=len(names))
    won = np.bincount(judge, weight * first, minlength=len(names))
    share = np.divide(won, total, out=np.full(len(names), np.nan), where=total > 0)
    columns = (share, slope, slope - half, slope + half, chance)
    return PositionBias(names, tuple(n.tolist()), *(tuple(one.tolist()) for one in columns))


def _error_by_group(pulls: Floats, groups: Ints, error: float) -> tuple[float, float]:
    """Return the error of a slope and its degrees of freedom, where only groups are independent.

    One group says nothing about others: the error is nan.
    """
    n = len(np.unique(groups))
    if n < 2:
        return np.nan, 1.0
    each = np.bincount(groups, pulls)
    return float(error**2 * np.sqrt(each @ each * n / (n - 1.0))), n - 1.0


def holm(chances: Floats) -> Floats:
    """Return p-values adjusted for their number.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(chances, kind="stable")
    times = len(chances) - np.arange(len(chances))
    rising = np.minimum(1.0, np.maximum.accumulate(chances[order] * times))
    found = np.empty(len(chances))
    found[order] = rising
    return found

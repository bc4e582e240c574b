"""Result objects of a leaderboard: standings, effects of covariates, the board itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crucial.apps.preferences.graph import Circles
from crucial.apps.preferences.judges import JudgeAgreement
from crucial.notebook import HtmlResult, HtmlTable
from crucial.results import Axes, Frame, as_frame, new_axes, padded
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.apps.preferences.position import PositionBias

__all__ = ["SCALES", "Effect", "Leaderboard", "Standing"]

#: Points per unit of log-odds, and the points of an average item.
SCALES = {"logit": (1.0, 0.0), "elo": (400.0 / float(np.log(10.0)), 1000.0)}


@dataclass(frozen=True)
class Effect:
    """What a covariate of the comparisons does.

    Attributes
    ----------
    name : str
    effect, low, high : float
        Log-odds per unit of the covariate, and the interval.
    p_value : float
        Of the test that it does nothing: of Wald, or of Student where judges are independent.
    """

    name: str
    effect: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Standing:
    """One item of a leaderboard.

    Attributes
    ----------
    item : str
    part : int
        Part of the graph, from 1; ranks and strengths are comparable within a part.
    rank : int
    rank_low, rank_high : int
        The interval of the rank, for all comparisons with the other items at once.
    strength, low, high : float
        Log-odds against an average item of the part, or Elo-like points, and the interval.
    tied_with : tuple of str
        Items that are neither surely better nor surely worse.
    wins, losses, ties : float
        Weight of its comparisons; NaN in a leaderboard of rankings.
    provisional : bool
        Whether it has fewer than 5 comparisons, or never lost or never won: how strong it is
        is then the word of the prior.
    """

    item: str
    part: int
    rank: int
    rank_low: int
    rank_high: int
    strength: float
    low: float
    high: float
    tied_with: tuple[str, ...]
    wins: float
    losses: float
    ties: float
    provisional: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(HtmlResult):
    """Result of `leaderboard`.

    Attributes
    ----------
    standings : tuple of Standing
        Part after part, best first.
    groups : tuple of tuples of str
        Longest runs of items without a sure difference; the first is "tied for first".
    level : float
        Confidence level of the intervals.
    circles : Circles or None
        Contradictions among comparisons.
    agreement : JudgeAgreement or None
        Agreement of two judges or more.
    misordered : float
        Share of the weight of decisions that contradict the leaderboard.
    notes : tuple of str
        What to know about the leaderboard.
    scale : {"logit", "elo"}
        Unit of the strengths.
    intervals : {"profile", "wald", "sandwich", "none"}
        How the intervals were found.
    effects : tuple of Effect
        Covariates of the comparisons.
    position : PositionBias or None
        Whether judges prefer what they were shown first, if that is known.
    tie_share : float
        Share of comparisons of two equal items that end in a tie, by the model; 0 without ties.
    """

    standings: tuple[Standing, ...]
    groups: tuple[tuple[str, ...], ...]
    level: float
    circles: Circles | None
    agreement: JudgeAgreement | None
    misordered: float
    notes: tuple[str, ...]
    scale: str = "logit"
    intervals: str = "none"
    effects: tuple[Effect, ...] = ()
    position: PositionBias | None = None
    tie_share: float = 0.0

    @property
    def n_parts(self) -> int:
        """Number of connected parts; items of different parts cannot be compared."""
        return self.standings[-1].part

    def __repr__(self) -> str:
        first = self.standings[0].item
        items, parts = counted(len(self.standings), "item"), counted(self.n_parts, "part")
        return f"Leaderboard({items}, {parts}, first {first!r})"

    def __getitem__(self, item: str) -> Standing:
        for one in self.standings:
            if one.item == item:
                return one
        raise KeyError(item)

    def points(self, strength: float) -> str:
        """Return a strength as text, in the unit of the board."""
        if strength != strength:
            return "none"
        return f"{strength:+.2f}" if self.scale == "logit" else f"{strength:.0f}"

    def chance(self, item: str, other: str) -> float:
        """Return the chance that the first item wins a decided comparison with the second."""
        a, b = self[item], self[other]
        if a.part != b.part:
            return float("nan")
        return float(1.0 / (1.0 + np.exp((b.strength - a.strength) / SCALES[self.scale][0])))

    def to_frame(self) -> Frame:
        """Return one row per item, best first."""
        names = [name for name in Standing.__dataclass_fields__ if name != "tied_with"]
        columns = {name: [getattr(one, name) for one in self.standings] for name in names}
        columns["tied_with"] = ["; ".join(one.tied_with) for one in self.standings]
        return as_frame(columns)

    def text(self, top: int | None = None) -> str:
        """Return the leaderboard as lines of text."""
        width = max(4, min(32, max(len(one.item) for one in self.standings)))
        lines = []
        part = 0
        for one in self.standings[:top]:
            if one.part != part:
                part = one.part
                if self.n_parts > 1:
                    lines.append(f"part {part} of {self.n_parts}")
                lines.append(
                    f"{'rank':>9}  {'item':<{width}} {'strength':>9}  {self.level:.0%} interval"
                )
            span = f"{one.rank_low}-{one.rank_high}"
            place = f"{one.rank} ({span})" if one.rank_low != one.rank_high else f"{one.rank}"
            lines.append(
                f"{place:>9}  {padded(one.item, width)} {self.points(one.strength):>9}  "
                f"[{self.points(one.low)}, {self.points(one.high)}]"
            )
        if top is not None and top < len(self.standings):
            lines.append(f"and {len(self.standings) - top} more")
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.text()

    def plot(self, ax: Axes | None = None, *, top: int = 40) -> Axes:
        """Draw strengths with intervals, best at the top; the title says if items are left out."""
        chosen = self.standings[:top]
        ax = new_axes(ax, size=(6.0, 0.8 + 0.28 * len(chosen)))
        y = np.arange(len(chosen))
        middle = np.array([one.strength for one in chosen])
        low, high = (np.array([getattr(one, end) for one in chosen]) for end in ("low", "high"))
        spans = np.maximum(0.0, [middle - low, high - middle])
        ax.errorbar(middle, y, xerr=spans, fmt="o", capsize=2)
        ax.set_yticks(y, [one.item for one in chosen], parse_math=False)
        ax.invert_yaxis()
        for cut in range(1, len(chosen)):
            if chosen[cut].part != chosen[cut - 1].part:
                ax.axhline(cut - 0.5, color="0.6", linestyle=":")
        unit = "log-odds" if self.scale == "logit" else "Elo points"
        ax.set_xlabel(f"strength ({unit}), {self.level:.0%} interval")
        hidden = len(self.standings) - len(chosen)
        if hidden:
            ax.set_title(
                f"the first {len(chosen)} of {counted(len(self.standings), 'item')}", loc="left"
            )
        return ax

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "rank": [one.rank for one in self.standings],
            "ranks": [f"{one.rank_low}-{one.rank_high}" for one in self.standings],
            "item": [one.item for one in self.standings],
            "strength": [one.strength for one in self.standings],
            "low": [one.low for one in self.standings],
            "high": [one.high for one in self.standings],
            "wins": [one.wins for one in self.standings],
            "losses": [one.losses for one in self.standings],
            "ties": [one.ties for one in self.standings],
            "provisional": [one.provisional for one in self.standings],
        }
        if self.n_parts > 1:
            columns = {"part": [one.part for one in self.standings], **columns}
        return [HtmlTable(columns, {"strength": None})]

    def _html_notes(self) -> list[str]:
        return list(self.notes)

"""Leaderboards from comparisons or rankings, with intervals, ties and notes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crucial.apps.preferences.graph import Circles, circles, parts_of, strong_parts
from crucial.apps.preferences.judges import JudgeAgreement, judge_agreement, judge_ranking
from crucial.apps.preferences.resampling import resample, runs_of_ties
from crucial.apps.preferences.strengths import (
    Choices,
    choices_of_comparisons,
    choices_of_rankings,
    fit_strengths,
)
from crucial.data.comparisons import Comparisons
from crucial.data.rankings import Rankings
from crucial.errors import DataError
from crucial.inspection.results import Axes, Frame, as_frame, new_axes, shown
from crucial.parameters import at_least, between, check, int_between, one_of
from crucial.types import Bools, Floats, Ints

__all__ = ["Leaderboard", "Standing", "leaderboard"]


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
        The best and the worst rank that the sure differences allow.
    strength, low, high : float
        Log-odds against an average item of the part, and the interval.
    tied_with : tuple of str
        Items that are neither surely better nor surely worse.
    wins, losses, ties : float
        Weight of its comparisons; NaN in a leaderboard of rankings.
    boosted : float
        Score by `judge_ranking`; NaN without judges.
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
    boosted: float


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
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
    judge_shares : dict or None
        Weight of each judge in the boosted scores.
    misordered : float
        Share of the weight of decisions that contradict the leaderboard.
    notes : tuple of str
        What to know about the leaderboard.
    """

    standings: tuple[Standing, ...]
    groups: tuple[tuple[str, ...], ...]
    level: float
    circles: Circles | None
    agreement: JudgeAgreement | None
    judge_shares: dict[str, float] | None
    misordered: float
    notes: tuple[str, ...]

    @property
    def n_parts(self) -> int:
        """Number of connected parts; items of different parts cannot be compared."""
        return self.standings[-1].part

    def __repr__(self) -> str:
        first = self.standings[0].item
        return f"Leaderboard({len(self.standings)} items, {self.n_parts} parts, first {first!r})"

    def __getitem__(self, item: str) -> Standing:
        for one in self.standings:
            if one.item == item:
                return one
        raise KeyError(item)

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
                f"{place:>9}  {shown(one.item, width)} {one.strength:>+9.2f}  "
                f"[{one.low:+.2f}, {one.high:+.2f}]"
            )
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def __str__(self) -> str:
        return self.text()

    def plot(self, ax: Axes | None = None, *, top: int = 40) -> Axes:
        """Draw strengths with their intervals, best at the top."""
        chosen = self.standings[:top]
        ax = new_axes(ax, size=(6.0, 0.8 + 0.28 * len(chosen)))
        y = np.arange(len(chosen))
        middle = np.array([one.strength for one in chosen])
        low, high = (np.array([getattr(one, end) for one in chosen]) for end in ("low", "high"))
        spans = np.maximum(0.0, [middle - low, high - middle])
        ax.errorbar(middle, y, xerr=spans, fmt="o", capsize=2)
        ax.set_yticks(y, [one.item for one in chosen])
        ax.invert_yaxis()
        for cut in range(1, len(chosen)):
            if chosen[cut].part != chosen[cut - 1].part:
                ax.axhline(cut - 0.5, color="0.6", linestyle=":")
        ax.set_xlabel(f"strength (log-odds), {self.level:.0%} interval")
        return ax


def leaderboard(
    data: Comparisons | Rankings,
    *,
    prior: float = 0.1,
    n_bootstrap: int = 200,
    level: float = 0.95,
    resample_by: str = "observation",
    random_state: int = 0,
) -> Leaderboard:
    """Rank items by their strengths: Bradley-Terry of comparisons, Plackett-Luce of rankings.

    Parameters
    ----------
    data : Comparisons or Rankings
        A tie counts as half a win each way; in rankings see `choices_of_rankings`.
    prior : float, default=0.1
        So many drawn comparisons with an average item are added for every item, which keeps the
        strength of an item that never lost finite. 0 is maximum likelihood; resampling needs
        more than 0.
    n_bootstrap : int, default=200
        Resamplings for intervals and ties; with 0 no difference is sure.
    level : float, default=0.95
        Confidence level of the intervals.
    resample_by : {"observation", "judge", "context"}, default="observation"
        What is drawn with replacement: single comparisons (rankings), or all those of a judge
        or context together, if these are not independent.
    random_state : int, default=0

    Returns
    -------
    Leaderboard

    Examples
    --------
    >>> from crucial.data.comparisons import Comparisons
    >>> won = [("tea", "milk")] * 9 + [("milk", "tea")] * 2 + [("milk", "wine")] * 8
    >>> winner, loser = zip(*won, ("wine", "milk"))
    >>> board = leaderboard(Comparisons.from_columns(winner, loser))
    >>> [(one.rank, one.item, round(one.strength, 1)) for one in board.standings]
    [(1, 'tea', 1.7), (2, 'milk', 0.2), (3, 'wine', -1.9)]
    """
    check("leaderboard", "prior", prior, between(0.0, math.inf))
    check("leaderboard", "n_bootstrap", n_bootstrap, int_between(0, 100_000))
    check("leaderboard", "level", level, between(0.5, 0.9999))
    check("leaderboard", "resample_by", resample_by, one_of("observation", "judge", "context"))
    check("leaderboard", "random_state", random_state, at_least(0))
    if prior == 0 and n_bootstrap:
        raise DataError(
            "resampling needs a prior above 0: a resampled item may never lose. Give a prior, "
            "or n_bootstrap=0."
        )
    if isinstance(data, Comparisons):
        choices = choices_of_comparisons(data)
    else:
        choices = choices_of_rankings(data)
    high, low = choices.edges()
    part = parts_of(choices.n_items, high, low)
    best = fit_strengths(choices, prior=prior)
    cluster = _cluster(data, resample_by)
    unknown = np.full(len(best), np.nan)
    ends, above = (unknown, unknown), np.zeros((len(best), len(best)), bool)
    if n_bootstrap:
        # (an order that many voters gave is as many observations)
        copies = data.count if isinstance(data, Rankings) else None
        drawn = resample(choices, best, part, prior=prior, cluster=cluster, copies=copies,
                         n_bootstrap=n_bootstrap, level=level, seed=random_state)  # fmt: skip
        ends, above = drawn.intervals(), drawn.above()
    boosted = agreement = shares = None
    if isinstance(data, Comparisons) and len(data.judges) > 1:
        agreement = judge_agreement(data, prior=prior)
        weighed = judge_ranking(data)
        boosted, shares = weighed.scores, dict(zip(weighed.judges, weighed.shares.tolist()))
    standings, groups = _standings(data, part, best, ends, above, boosted)
    groups = groups if n_bootstrap else ()
    return Leaderboard(
        standings,
        groups,
        level,
        circles(data) if isinstance(data, Comparisons) else None,
        agreement,
        shares,
        _misordered(choices, best),
        tuple(_notes(choices, part, groups, standings)),
    )


def _cluster(data: Comparisons | Rankings, by: str) -> Ints | None:
    """Return the number of each observation's judge or context."""
    if by == "observation":
        return None
    found = getattr(data, by, None)
    if found is None:
        raise DataError(f"the data have no column of {by}s to resample by.")
    return np.asarray(found)


def _standings(
    data: Comparisons | Rankings,
    part: Ints,
    best: Floats,
    ends: tuple[Floats, Floats],
    above: Bools,
    boosted: Floats | None,
) -> tuple[tuple[Standing, ...], tuple[tuple[str, ...], ...]]:
    """Return the standings, and the longest runs without a sure difference."""
    n = len(best)
    tallies = _tallies(data) if isinstance(data, Comparisons) else np.full((3, n), np.nan)
    found: list[Standing] = []
    groups: list[tuple[str, ...]] = []
    for number in range(int(part.max()) + 1):
        inside = np.flatnonzero(part == number)
        # (equal strengths share a rank; names decide who is listed first)
        order = inside[np.argsort(-np.round(best[inside], 9), kind="stable")]
        rounded = np.round(best[order], 9)
        ranks = 1 + np.searchsorted(-rounded, -rounded, side="left")
        sure = above[np.ix_(order, order)]
        beaten, beats = sure.sum(axis=0), sure.sum(axis=1)
        for k, item in enumerate(order.tolist()):
            tied = [data.items[j] for j in order[~sure[k] & ~sure[:, k]].tolist() if j != item]
            found.append(
                Standing(
                    data.items[item],
                    number + 1,
                    int(ranks[k]),
                    int(1 + beaten[k]),
                    int(len(order) - beats[k]),
                    float(best[item]),
                    float(ends[0][item]),
                    float(ends[1][item]),
                    tuple(tied),
                    float(tallies[0, item]),
                    float(tallies[1, item]),
                    float(tallies[2, item]),
                    float("nan") if boosted is None else float(boosted[item]),
                )
            )
        for run in runs_of_ties(order, above):
            groups.append(tuple(data.items[j] for j in run))
    return tuple(found), tuple(groups)


def _tallies(data: Comparisons) -> Floats:
    """Return the weight of wins, losses and ties of each item."""
    n = len(data.items)
    w = np.where(data.tie, 0.0, data.weight)
    t = np.where(data.tie, data.weight, 0.0)
    ties = np.bincount(data.winner, t, minlength=n) + np.bincount(data.loser, t, minlength=n)
    return np.array(
        [np.bincount(data.winner, w, minlength=n), np.bincount(data.loser, w, minlength=n), ties]
    )


def _misordered(choices: Choices, best: Floats) -> float:
    """Return the share of the weight of (chosen, left) pairs that contradict the strengths."""
    weight = choices.weights()
    sizes = np.diff(choices.starts)
    high = np.repeat(choices.chosen, sizes)
    each = np.repeat(weight, sizes) * (high != choices.members)
    wrong = best[high] < best[choices.members]
    return float((each * wrong).sum() / each.sum())


def _notes(
    choices: Choices,
    part: Ints,
    groups: tuple[tuple[str, ...], ...],
    standings: tuple[Standing, ...],
) -> list[str]:
    """Return what to know about the leaderboard: parts, certain orders, ties for first."""
    notes = []
    n_parts = int(part.max()) + 1
    sizes = np.bincount(part)
    if n_parts > 1:
        some = ", ".join(str(size) for size in sizes[:8]) + (", ..." if n_parts > 8 else "")
        notes.append(
            f"the comparisons fall into {n_parts} parts (of {some} items) that nothing connects: "
            "items of different parts cannot be compared; ranks and strengths apply within a part"
        )
    else:
        notes.append("the comparisons connect all items")
    strong = strong_parts(choices.n_items, *choices.edges())
    if int(strong.max()) + 1 > n_parts:
        cuts = int(strong.max()) + 1 - n_parts
        where = "1 place" if cuts == 1 else f"{cuts} places"
        notes.append(
            f"in {where} those above only ever won against those below: the order is clear, how "
            "far they are apart is the prior's word"
        )
    if groups and len(groups[0]) > 1:
        names = ", ".join(groups[0][:6]) + (", ..." if len(groups[0]) > 6 else "")
        notes.append(f"tied for first{' in part 1' if n_parts > 1 else ''}: {names}")
    elif groups and standings[0].rank_high == 1 and len(standings) > 1:
        notes.append(f"surely first{' in part 1' if n_parts > 1 else ''}: {standings[0].item}")
    return notes

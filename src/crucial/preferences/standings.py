"""Leaderboards from comparisons or rankings: intervals, ties, effects, categories, notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.comparisons import MAX_WEIGHT, Comparisons, Rankings
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.measures.intervals import t_quantile
from crucial.measures.pairs import strong_parts
from crucial.parameters import between, check, one_of
from crucial.preferences.intervals import (
    Uncertainty,
    inverse_curvature,
    p_of,
    profile_intervals,
    sandwich,
    sandwich_covariance,
    sure_differences,
    wald,
)
from crucial.preferences.judges import (
    JudgeAgreement,
    PositionBias,
    judge_agreement,
    p_text,
    position_bias,
)
from crucial.preferences.likelihood import (
    COMPARISONS,
    COMPARISONS_OR_RANKINGS,
    Circles,
    PairedLikelihood,
    RankingLikelihood,
    cells_of,
    centred,
    circles,
    distinct,
    maximise,
    parts_of,
)
from crucial.results import Axes, Frame, Result, as_frame, new_axes, text_table
from crucial.types import Bools, Floats, Ints
from crucial.wording import counted, printable

# --- Result objects of a leaderboard: standings, effects of covariates, the board itself


#: Points per unit of log-odds, and the points of an average item.
SCALES = {"logit": (1.0, 0.0), "elo": (400.0 / float(np.log(10.0)), 1000.0)}


@dataclass(frozen=True)
class Effect:
    """The effect of a covariate of the comparisons.

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
class Leaderboard(Result):
    """Result of `leaderboard`.

    Attributes
    ----------
    subject : str
        What was ranked: numbers of comparisons or rankings, items and judges.
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

    _bars = ("strength",)

    subject: str
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

    def text(self, top: int | None = None, width: int = 100) -> str:
        """Return the leaderboard as lines of text.

        Parameters
        ----------
        top : int, optional
            Show so many items of each part.
        width : int
            Longest line of the tables; intervals are drawn where there is room.
        """
        lines = [self.subject]
        for part in range(1, self.n_parts + 1):
            inside = [one for one in self.standings if one.part == part]
            if self.n_parts > 1:
                size = counted(len(inside), "item")
                lines.append(f"part {part} of {self.n_parts}: {size}")
            lines += self._table(inside[:top], width)
            if top is not None and top < len(inside):
                lines.append(f"and {len(inside) - top:,} more")
        lines += [f"- {printable(note, 4000)}" for note in (*self.notes, *self._facts())]
        if self.agreement is not None:
            lines += ["", "judges", self.agreement.text(width)]
            if self.position is not None and len(self.position.judges) > 1:
                lines.append(self.position.text(width))
        return "\n".join(lines)

    def _table(self, inside: Sequence[Standing], width: int) -> list[str]:
        """Return the table of some items."""
        known, paired = self.intervals != "none", inside[0].wins == inside[0].wins
        heads = ["rank", "item", "strength"] + [f"{self.level:.0%} interval"] * known
        heads += ["won-lost-tied"] * paired
        rows = []
        for one in inside:
            open_ = known and one.rank_low != one.rank_high
            place = f"{one.rank}" + (f" ({one.rank_low}-{one.rank_high})" if open_ else "")
            name = ("* " if one.provisional else "") + printable(one.item, 200)
            cells = [place, name, self.points(one.strength)]
            cells += [f"{self.points(one.low)} to {self.points(one.high)}"] * known
            rows.append(cells + [f"{one.wins:g}-{one.losses:g}-{one.ties:g}"] * paired)
        lines = text_table(heads, rows, (1,), width)
        if not known or max(map(len, lines)) + 3 + _DRAWN > width:
            return lines
        low, high = min(one.low for one in inside), max(one.high for one in inside)
        drawn = [[*row, _drawing(one, low, high)] for row, one in zip(rows, inside)]
        return text_table([*heads, ""], drawn, (1, len(heads)), width)

    def _facts(self) -> list[str]:
        """Return further notes: provisional items, contradictions, effects, position."""
        facts = []
        provisional = sum(one.provisional for one in self.standings)
        if provisional:
            facts.append(
                f"{counted(provisional, 'item')} marked * {'is' if provisional == 1 else 'are'} "
                "provisional: fewer than 5 comparisons, or none won or none lost"
            )
        if self.circles is not None:
            facts.append(str(self.circles))
        facts.append(f"{self.misordered:.1%} of the decisions are against this order")
        for one in self.effects:
            facts.append(
                f"covariate {one.name}: {one.effect:+.3g} log-odds per unit "
                f"[{one.low:+.3g}, {one.high:+.3g}], {p_text(one.p_value)}"
            )
        bias = self.position
        if bias is not None:
            known = any(one.name == "position" for one in self.effects)
            remedy = "; the covariate position takes it out"
            facts.append(
                f"the item shown first won {bias.first_won[0]:.1%} of "
                f"{counted(bias.n[0], 'decision')}: {bias.effect[0]:+.2f} log-odds "
                f"[{bias.low[0]:+.2f}, {bias.high[0]:+.2f}], {p_text(bias.p_value[0])}"
                + (remedy if bias.p_value[0] < 0.01 and not known else "")
            )
        return facts

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


_DRAWN = 30  # width of a drawn interval


def _drawing(one: Standing, low: float, high: float) -> str:
    """Draw an interval on a line from low to high."""
    if one.low != one.low or high <= low:
        return ""
    places = [
        round((x - low) / (high - low) * (_DRAWN - 1)) for x in (one.low, one.strength, one.high)
    ]
    begin, middle, end = (max(0, min(_DRAWN - 1, place)) for place in places)
    cells = ["─" if begin <= k <= end else " " for k in range(_DRAWN)]
    cells[middle] = "●"
    return "".join(cells)


# --- What to know about a leaderboard, in sentences


_HOW = {
    "profile": "the profile of the likelihood",
    "wald": "the curvature of the likelihood (Wald)",
    "sandwich": "the sandwich estimator",
}


def board_notes(
    data: Comparisons | Rankings,
    part: Ints,
    groups: tuple[tuple[str, ...], ...],
    standings: tuple[Standing, ...],
    known: Uncertainty | None,
    prior: float,
    scale: str,
    tie_share: float,
) -> list[str]:
    """Return the notes: parts, certain orders, first places, odds, intervals, prior."""
    notes = [*_connected(data, part)]
    n_parts = int(part.max()) + 1
    where = " in part 1" if n_parts > 1 else ""
    if groups and len(groups[0]) > 1:
        first = [one.item for one in standings if one.part == 1 and one.rank_low == 1]
        names = ", ".join(first[:6]) + (", ..." if len(first) > 6 else "")
        notes.append(f"tied for first{where}: {names}")
    elif groups and standings[0].rank_high == 1 and len(standings) > 1:
        notes.append(f"surely first{where}: {standings[0].item}")
    leaders = [one for one in standings if one.part == 1 and not one.provisional][:2]
    if len(leaders) > 1:
        notes.append(odds(leaders[0], leaders[1], scale))
    if scale == "elo":
        notes.append("400 points are odds of 10 to 1; an average item has 1000")
    if tie_share:
        notes.append(f"two items of equal strength tie in {tie_share:.0%} of comparisons (fitted)")
    if known is not None:
        notes.append(
            f"intervals are from {_HOW[known.method]}; a rank interval accounts for all "
            "comparisons with the other items at once"
        )
    if prior:
        notes.append(
            f"a weak prior: every item is also given {prior:g} drawn comparisons with an average "
            "item"
        )
    return notes


def odds(first: Standing, second: Standing, scale: str) -> str:
    """Return the odds that the difference of two items stands for.

    Examples
    --------
    >>> a = Standing("tea", 1, 1, 1, 1, 1.1, 0.5, 1.7, (), 9, 2, 0)
    >>> b = Standing("milk", 1, 2, 2, 2, 0.0, -0.6, 0.6, (), 2, 9, 0)
    >>> odds(a, b, "logit")
    'odds of 3 to 1: tea wins 75% of decided comparisons with milk'
    """
    d = (first.strength - second.strength) / SCALES[scale][0]
    ratio = np.exp(min(abs(d), 700.0))
    text = f"{ratio:.3g}" if ratio < 100 else f"{ratio:,.0f}" if ratio < 1e6 else "over a million"
    chance = 1 / (1 + np.exp(-d))
    share = f"{chance:.0%}" if chance < 0.995 else "over 99%"
    return (
        f"odds of {text} to 1: {first.item} wins {share} of decided comparisons with {second.item}"
    )


def _connected(data: Comparisons | Rankings, part: Ints) -> list[str]:
    """Return notes on the parts of the items, and on wins that all go one way."""
    high, low, weight = data.wins()
    n = len(data.items)
    keys, _ = distinct(high[weight > 0] * n + low[weight > 0])
    notes = []
    n_parts = int(part.max()) + 1
    if n_parts > 1:
        sizes = np.bincount(part)
        some = ", ".join(str(size) for size in sizes[:8]) + (", ..." if n_parts > 8 else "")
        notes.append(
            f"the comparisons fall into {n_parts} parts (of {some} items) that nothing connects: "
            "items of different parts cannot be compared; ranks and strengths apply within a part"
        )
    else:
        notes.append("the comparisons connect all items")
    cuts = int(strong_parts(n, keys // n, keys % n).max()) + 1 - n_parts
    if cuts > 0:
        where = "1 place" if cuts == 1 else f"{cuts} places"
        notes.append(
            f"in {where} those above only ever won against those below: how far they are apart is "
            "the prior's word"
        )
    return notes


# --- Effects of covariates on who wins: slopes with intervals and tests


def covariate_effects(
    model: PairedLikelihood, p: Floats, covariates: Sequence[str], level: float, groups: Ints | None
) -> tuple[Effect, ...]:
    """Return slopes of covariates with intervals and tests: Wald's, or those of the sandwich.

    Parameters
    ----------
    model : PairedLikelihood
    p : array
        Its parameters at the maximum.
    covariates : sequence of str
    level : float
        Of the intervals.
    groups : array, optional
        Numbers of the judges or contexts that are independent; without, comparisons are.
    """
    if not covariates:
        return ()
    if groups is not None:
        covariance, freedom = sandwich_covariance(model, p, groups)
    else:
        covariance, freedom = inverse_curvature(model, p), math.inf
    errors = np.sqrt(np.diag(covariance))
    found = []
    for j, name in enumerate(covariates):
        slope, error = float(p[model.n + j]), float(errors[model.n + j])
        half = t_quantile(level, freedom) * error
        chance = p_of(slope, error, freedom)
        found.append(Effect(name, slope, slope - half, slope + half, chance))
    return tuple(found)


# --- Leaderboards from comparisons or rankings, with intervals, ties and notes


_PROFILED = 64  # items up to which the profile is computed: with more, Wald's intervals are alike
_PROFILED_RANKINGS = 1000  # (the same for rankings, whose likelihood takes longer)
_FEW = 5.0  # comparisons below which an item is provisional
#: Why intervals by judge need two of them.
ONE_GROUP = "which says nothing about how others would compare"


def leaderboard(
    data: Comparisons | Rankings,
    *,
    prior: float = 0.7,
    intervals: bool = True,
    level: float = 0.95,
    independent: str = "observation",
    ties: str = "davidson",
    covariates: Sequence[str] = (),
    scale: str = "logit",
) -> Leaderboard:
    """Rank items by their strengths: Bradley-Terry of comparisons, Plackett-Luce of rankings.

    Parameters
    ----------
    data : Comparisons or Rankings
        In rankings, the items of a tie are each chosen from the tie and all below.
    prior : float, default=0.7
        So many drawn comparisons with an average item are added for every item, which keeps the
        strength of an item that never lost finite. 0 is maximum likelihood. The default was chosen
        by how often intervals contain the strengths of simulated boards.
    intervals : bool, default=True
        Whether to compute the intervals of strengths and ranks, which takes half a minute for
        5,000 items, and eight times as long for twice as many.
    level : float, default=0.95
        Confidence level of the intervals.
    independent : {"observation", "judge", "context"}, default="observation"
        What is independent: single comparisons (rankings), or only those of different judges or
        contexts. Intervals of single comparisons are from the profile of the likelihood, with
        more than 64 items or 1,000 rankings from its curvature (Wald); a weight is a number of
        comparisons. Intervals of judges or contexts are from the sandwich estimator. See
        `crucial.preferences.intervals` for how often each contains the truth.
    ties : {"davidson", "split"}
        Whether the chance of a tie is fitted (Davidson 1970), or a tie is half a win each way.
    covariates : sequence of str
        Covariates of the comparisons whose effect is taken out of the strengths; "position" is
        that of being shown first.
    scale : {"logit", "elo"}
        Strengths in log-odds, or in points of which 400 are odds of 10 to 1; an average item has
        1000.

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
    [(1, 'tea', 1.5), (2, 'milk', 0.2), (3, 'wine', -1.7)]
    """
    check("leaderboard", "data", data, COMPARISONS_OR_RANKINGS)
    check("leaderboard", "prior", prior, between(0.0, MAX_WEIGHT))
    check("leaderboard", "intervals", intervals, one_of(True, False))
    check("leaderboard", "level", level, between(0.5, 0.9999))
    check("leaderboard", "independent", independent, one_of("observation", "judge", "context"))
    check("leaderboard", "ties", ties, one_of("davidson", "split"))
    check("leaderboard", "scale", scale, one_of(*SCALES))
    groups = _groups(data, independent, intervals)
    model = _likelihood(data, prior, ties == "split", covariates)
    p = maximise(model)
    best = centred(p[: model.n], model.part)
    tallies = _tallies(data) if isinstance(data, Comparisons) else None
    known: Uncertainty | None = None
    if intervals and isinstance(model, PairedLikelihood) and groups is not None:
        known = sandwich(model, p, best, level, groups)
    elif intervals:
        many = isinstance(data, Rankings) and len(data.orders) > _PROFILED_RANKINGS
        exact = model.n <= _PROFILED and not many
        known = (profile_intervals if exact else wald)(model, p, best, level)
    above = np.zeros((model.n, model.n), bool)
    if known is not None:
        above = sure_differences(model, p, known, _sums_of(data, tallies), level)
    agreement = None
    if isinstance(data, Comparisons) and len(data.judges) > 1:
        agreement = judge_agreement(data, prior=prior)
    high, low, each = data.wins()
    position = None
    if isinstance(data, Comparisons) and data.first is not None:
        position = position_bias(data, best, level, groups)
    standings, found = _standings(data, model.part, best, known, above, tallies, scale)
    runs = found if known is not None else ()
    effects: tuple[Effect, ...] = ()
    tie_share = 0.0
    if isinstance(model, PairedLikelihood):
        effects = covariate_effects(model, p, covariates, level, groups)
        if model.has_ties:
            tie_share = float(1 / (1 + 2 * np.exp(-p[-1])))
    found_circles = circles(data) if isinstance(data, Comparisons) else None
    misordered = float((each * (best[high] < best[low])).sum() / each.sum())
    notes = board_notes(data, model.part, runs, standings, known, prior, scale, tie_share)
    method = "none" if known is None else known.method
    head = (_subject(data), standings, runs, level, found_circles, agreement, misordered)
    return Leaderboard(*head, tuple(notes), scale, method, effects, position, tie_share)


def _subject(data: Comparisons | Rankings) -> str:
    items = counted(len(data.items), "item")
    if isinstance(data, Rankings):
        return f"{counted(round(float(data.count.sum())), 'ranking')} of {items}"
    by = "" if data.judge is None else f" by {counted(len(data.judges), 'judge')}"
    return f"{counted(len(data), 'comparison')} of {items}{by}"


def _groups(data: Comparisons | Rankings, by: str, intervals: bool) -> Ints | None:
    """Return the number of each observation's judge or context; intervals need two of them."""
    if by == "observation":
        return None
    found = getattr(data, by, None)
    if found is None or isinstance(data, Rankings):
        raise DataError(f"the data have no column of {by}s. Name the column that has them ({by}).")
    weight = data.weight
    counted_ones = np.asarray(found)[weight > 0]
    if intervals and len(np.unique(counted_ones)) < 2:
        raise DataError(
            f"all comparisons are of one {by}, {ONE_GROUP}: take single comparisons as "
            "independent, or ask for no intervals.",
            parameter="independent",
        )
    # (whoever weighs nothing is not one more of the groups, which are numbered without gaps)
    kept = np.where(weight > 0, found, counted_ones[0])
    return np.asarray(np.unique(kept, return_inverse=True)[1], np.int64)


def _likelihood(
    data: Comparisons | Rankings, prior: float, split: bool, covariates: Sequence[str]
) -> PairedLikelihood | RankingLikelihood:
    """Return the likelihood of the data; without a prior it must have a maximum."""
    if isinstance(data, Comparisons):
        cells = cells_of(data, _covariates(data, covariates))
        counts = cells.counts()
        won, lost = counts[:, 0] + counts[:, 2] > 0, counts[:, 1] + counts[:, 2] > 0
        high = np.concatenate((cells.first[won], cells.second[lost]))
        low = np.concatenate((cells.second[won], cells.first[lost]))
    else:
        if covariates:
            raise DataError("rankings have no covariates; they belong to comparisons.")
        high, low, _ = data.wins()
        if not len(high):
            raise DataError(
                "no ranking puts an item above another; there is nothing to learn from."
            )
    part = parts_of(len(data.items), high, low)
    if prior == 0 and strong_parts(len(data.items), high, low).max() > part.max():
        raise DataError(
            "the most likely strengths are infinite: some items only ever won against the rest. "
            "Give a prior above 0."
        )
    if isinstance(data, Comparisons):
        return PairedLikelihood(cells, counts, prior, part, split)
    return RankingLikelihood(data, prior, part)


def _covariates(data: Comparisons, names: Sequence[str]) -> Floats | None:
    """Return the covariates of these names, seen from the winner."""
    columns = []
    for name in names:
        if name in data.covariate_names and data.covariates is not None:
            columns.append(data.covariates[:, data.covariate_names.index(name)])
        elif name == "position" and data.first is not None:
            columns.append(np.where(data.first, 1.0, -1.0))
        else:
            known = ", ".join(map(shown, data.covariate_names)) or "none"
            why = "who was shown first is not known" if name == "position" else f"known: {known}"
            raise DataError(f"there is no covariate {shown(name)} ({why}).", parameter="covariates")
    return np.column_stack(columns) if columns else None


def _sums_of(data: Comparisons | Rankings, tallies: Floats | None) -> Floats:
    """Return the weight that each item won and lost, a tie half of each."""
    if tallies is not None:
        return np.asarray(tallies[:2] + tallies[2] / 2)
    high, low, weight = data.wins()
    n = len(data.items)
    return np.array([np.bincount(high, weight, minlength=n), np.bincount(low, weight, minlength=n)])


def _standings(
    data: Comparisons | Rankings,
    part: Ints,
    best: Floats,
    known: Uncertainty | None,
    above: Bools,
    tallies: Floats | None,
    scale: str,
) -> tuple[tuple[Standing, ...], tuple[tuple[str, ...], ...]]:
    """Return the standings, and the longest runs without a sure difference."""
    unknown = np.full(len(best), np.nan)
    low, high = (unknown, unknown) if known is None else (known.low, known.high)
    counts = np.full((3, len(best)), np.nan) if tallies is None else tallies
    few = (counts.sum(axis=0) < _FEW) | (counts[0] + counts[2] == 0) | (counts[1] + counts[2] == 0)
    unit, middle = SCALES[scale]
    names = np.array(data.items, object)
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
        open_ = ~(sure | sure.T)
        np.fill_diagonal(open_, False)
        places = (np.full(len(order), number + 1), ranks, 1 + beaten, len(order) - beats)
        points = (one[order] * unit + middle for one in (best, low, high))
        rows = zip(*(one.tolist() for one in (*places, *points)))
        for item, tied, row in zip(order.tolist(), open_, rows):
            tally, same = counts[:, item].tolist(), tuple(names[order[tied]].tolist())
            cells: list[Any] = [names[item], *row, same, *tally, bool(few[item])]
            found.append(Standing(*cells))
        for run in _runs_of_ties(order, above):
            groups.append(tuple(data.items[j] for j in run))
    return tuple(found), tuple(groups)


def _runs_of_ties(order: Ints, above: Bools) -> list[tuple[int, ...]]:
    """Return the longest runs of the order in which no item is surely above another."""
    runs: list[tuple[int, ...]] = []
    last = reached = 0
    for first in range(len(order)):
        last = max(last, first + 1)  # (what is left of a run is one too)
        while last < len(order) and not above[order[first:last], order[last]].any():
            last += 1
        if last > reached:
            runs.append(tuple(int(k) for k in order[first:last]))
            reached = last
    return runs


def _tallies(data: Comparisons) -> Floats:
    """Return the weight of wins, losses and ties of each item."""
    n = len(data.items)
    w = np.where(data.tie, 0.0, data.weight)
    t = np.where(data.tie, data.weight, 0.0)
    ties = np.bincount(data.winner, t, minlength=n) + np.bincount(data.loser, t, minlength=n)
    return np.array(
        [np.bincount(data.winner, w, minlength=n), np.bincount(data.loser, w, minlength=n), ties]
    )


# --- Leaderboards of the categories of comparisons


_MOST_CATEGORIES = 100


def leaderboards(data: Comparisons, **options: Any) -> dict[str, Leaderboard]:
    """Return one leaderboard per category of the comparisons, from the most compared down.

    Categories of several columns come one column after the other.

    Parameters
    ----------
    data : Comparisons
        With categories.
    **options
        Those of `leaderboard`.
    """
    check("leaderboards", "data", data, COMPARISONS)
    if data.category is None:
        raise DataError("the comparisons have no categories; name a column of them.")
    if len(data.categories) > _MOST_CATEGORIES:
        raise DataError(
            f"there are {len(data.categories):,} categories, more than {_MOST_CATEGORIES}: take a "
            "column with fewer."
        )
    boards = {}
    for codes in data.category.reshape(len(data), -1).T:
        for number in np.argsort(-np.bincount(codes), kind="stable").tolist():
            rows = data.take(codes == number)
            if rows.weight.any():
                boards[data.categories[number]] = _of_category(rows.compact(), options)
    return boards


def _of_category(rows: Comparisons, options: dict[str, Any]) -> Leaderboard:
    """Return the leaderboard of a category, without intervals where one judge gave all of it."""
    by = options.get("independent", "observation")
    groups = getattr(rows, str(by), None)
    if groups is None or len(np.unique(groups[rows.weight > 0])) > 1:
        return leaderboard(rows, **options)
    board = leaderboard(rows, **{**options, "intervals": False})
    note = f"No intervals: all comparisons are of one {by}, {ONE_GROUP}."
    return replace(board, notes=(*board.notes, note))

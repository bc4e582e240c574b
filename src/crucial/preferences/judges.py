"""Judges: how they agree, and whether they prefer the item that was shown first."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from crucial.data.comparisons import Comparisons
from crucial.errors import DataError
from crucial.kernels.minimise import damped_newton
from crucial.measures.intervals import holm, t_quantile
from crucial.parameters import check
from crucial.preferences.intervals import p_of
from crucial.preferences.likelihood import (
    COMPARISONS,
    PairedCells,
    PairedLikelihood,
    cells_of,
    centred,
    distinct,
    maximise,
    parts_of,
    sums,
)
from crucial.results import Frame, Result, as_frame, text_table
from crucial.types import Floats, Ints
from crucial.wording import counted, printable

# --- How judges agree with each other


_LEFT_OUT = 100  # up to so many judges, each is compared with a ranking made without them
_SHOWN = 8  # judges in the text


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement(Result):
    """The agreement of judges with each other.

    Attributes
    ----------
    judges : tuple of str
    n : tuple of int
        Number of comparisons of each judge.
    with_others : tuple of float
        Share of a judge's decisions (without ties, weighted) that agree with the ranking learned
        from all other judges; NaN if that does not order their items.
    left_out : bool
        Whether that ranking leaves the judge out; with very many judges it is of all.
    reliability, reliability_low, reliability_high : tuples of float
        How closely a judge follows the strengths learned from the others: the slope of the
        log-odds of the judge's decisions on the differences of strength, with a 95% interval.
        1: as judges do on average; 0: guesses; below 0: contradicts the others. Judges who decide
        alike have the same value.
    same_pair : float
        Share of equal answers where two judges decided the same pair (in the same context).
    n_same_pair : int
        Number of such couples of decisions; chance alone gives one half.
    """

    _bars = ("with_others", "reliability")

    judges: tuple[str, ...]
    n: tuple[int, ...]
    with_others: tuple[float, ...]
    left_out: bool
    same_pair: float
    n_same_pair: int
    reliability: tuple[float, ...] = ()
    reliability_low: tuple[float, ...] = ()
    reliability_high: tuple[float, ...] = ()

    def to_frame(self) -> Frame:
        """Return the columns judge, comparisons, with_others and reliability."""
        names = ("with_others", "reliability", "reliability_low", "reliability_high")
        columns = {"judge": self.judges, "comparisons": self.n}
        return as_frame(columns | {name: getattr(self, name) for name in names})

    def text(self, width: int = 100) -> str:
        """Return the agreement as lines of text, the busiest judges first."""
        lines = ["no two judges decided the same pair"]
        if self.n_same_pair:
            lines = [
                f"on the same pair two judges agree in {self.same_pair:.1%} of "
                f"{counted(self.n_same_pair, 'couple')} of decisions (chance: 50%)"
            ]
        order = sorted(range(len(self.judges)), key=lambda k: -self.n[k])
        rows = []
        for k in order[:_SHOWN]:
            share, slope = self.with_others[k], self.reliability[k]
            span = f"{self.reliability_low[k]:.2f} to {self.reliability_high[k]:.2f}"
            follows = "" if slope != slope else f"{slope:.2f} ({span})"
            agrees = "" if share != share else f"{share:.1%}"
            rows.append((printable(self.judges[k], 200), f"{self.n[k]:,}", agrees, follows))
        heads = ("judge", "comparisons", "as the others", "reliability")
        lines += text_table(heads, rows, width=width)
        if len(order) > _SHOWN:
            lines.append(f"and {len(order) - _SHOWN:,} more judges")
        lines.append(
            "reliability: 1 follows the others as judges do on average, 0 guesses, below 0 "
            "contradicts"
        )
        return "\n".join(lines)


def judge_agreement(comparisons: Comparisons, *, prior: float = 0.1) -> JudgeAgreement:
    """Compare each judge with the others.

    Parameters
    ----------
    comparisons : Comparisons
        With judges.
    prior : float
        As in `leaderboard`.
    """
    check("judge_agreement", "comparisons", comparisons, COMPARISONS)
    judge = _judges_of(comparisons)
    n_judges = len(comparisons.judges)
    left_out = n_judges <= _LEFT_OUT
    cells = cells_of(comparisons)
    width = 3 * len(cells.first)
    # (what each judge said, added up: a ranking without a judge costs the same however much
    # there is)
    kinds, place = distinct(judge * width + cells.kind)
    weight = sums(place, cells.weight, len(kinds))
    by, kind = kinds // width, kinds % width
    whole = sums(kind, weight, width)
    base = _fitted(cells, whole, prior, None)
    d = np.zeros(len(kinds))
    sure = np.zeros(len(kinds), bool)
    for number in range(n_judges) if left_out else [-1]:
        own = by == number if left_out else np.ones(len(kinds), bool)
        s, part = base
        if left_out:
            rest = whole - sums(kind[own], weight[own], width)
            s, part = _fitted(cells, np.maximum(rest, 0.0), prior, base[0])
        cell, outcome = np.divmod(kind[own], 3)
        high = np.where(outcome == 1, cells.second[cell], cells.first[cell])
        low = np.where(outcome == 1, cells.first[cell], cells.second[cell])
        d[own] = s[high] - s[low]
        # (items that the others do not connect, or rank equal, do not count; nor do ties)
        sure[own] = (np.abs(d[own]) > 1e-9) & (part[high] == part[low]) & (outcome < 2)
    w = weight * sure
    right, total = sums(by, w * (d > 0), n_judges), sums(by, w, n_judges)
    shares = np.divide(right, total, out=np.full(n_judges, np.nan), where=total > 0)
    slope, error, _ = offset_slope(np.zeros(len(d)), d, np.ones(len(d)), w, by, n_judges)
    pooled, _, _ = offset_slope(np.zeros(len(d)), d, np.ones(len(d)), w, 0 * by, 1)
    if pooled[0] > 0.1:  # (1 is the judges' average)
        slope, error = slope / pooled[0], error / pooled[0]
    slope[total == 0] = np.nan
    same, couples = _same_pair(comparisons)
    counts = np.bincount(judge, minlength=n_judges).tolist()
    rate = same / couples if couples else float("nan")
    ends = (slope, slope - 1.96 * error, slope + 1.96 * error)
    found = (tuple(counts), tuple(shares.tolist()), left_out, rate, couples)
    return JudgeAgreement(comparisons.judges, *found, *(tuple(one.tolist()) for one in ends))


def _fitted(
    cells: PairedCells, counts: Floats, prior: float, start: Floats | None
) -> tuple[Floats, Ints]:
    """Return the strengths of counts, and the part of each item."""
    table = counts.reshape(-1, 3)
    there = table.sum(axis=1) > 0
    part = parts_of(cells.n_items, cells.first[there], cells.second[there])
    model = PairedLikelihood(cells, table, max(prior, 1e-6), part, split_ties=True)
    return centred(maximise(model, start, 1e-6), part), part


def offset_slope(
    offset: Floats, x: Floats, won: Floats, weight: Floats, group: Ints, n_groups: int
) -> tuple[Floats, Floats, Floats]:
    """Fit one slope per group: the log-odds of winning are ``offset + slope * x``.

    Newton's method on all groups at once; a normal prior of deviation 10 keeps slopes finite.

    Returns
    -------
    slope, error, ratio : float64 arrays of shape (n_groups,)
        The slopes, their standard errors, and twice the log of the likelihood ratio to slope 0.
    """

    def grouped(values: Floats) -> Floats:
        return sums(group, weight * values, n_groups)

    def value(slope: Floats) -> Floats:
        z = offset + slope[group] * x
        return grouped(won * z - np.logaddexp(0.0, z)) - slope**2 / 200

    def chance(slope: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(offset + slope[group] * x, -700, 700))))

    def precision(p: Floats) -> Floats:
        return grouped(x**2 * p * (1 - p)) + 0.01

    def step_at(slope: Floats) -> Floats:
        p = chance(slope)
        return (grouped(x * (won - p)) - slope / 100) / precision(p)

    nothing = np.zeros(n_groups)
    slope, _ = damped_newton(lambda at: float(value(at).sum()), step_at, nothing, 1e-10, longest=5)
    error = 1.0 / np.sqrt(precision(chance(slope)))
    return slope, error, 2 * (value(slope) - value(nothing))


def _judges_of(comparisons: Comparisons) -> Ints:
    if comparisons.judge is None:
        raise DataError("the comparisons have no judges; add a column of judges.")
    return comparisons.judge


def _same_pair(comparisons: Comparisons) -> tuple[int, int]:
    """Count couples of decisions by two judges on one pair: with the same answer, and all."""
    judge = _judges_of(comparisons)
    decided = ~comparisons.tie
    up = (comparisons.winner < comparisons.loser)[decided]
    a = np.minimum(comparisons.winner, comparisons.loser)[decided]
    b = np.maximum(comparisons.winner, comparisons.loser)[decided]
    n = len(comparisons.items)
    pair = a * n + b
    if comparisons.context is not None:
        pair = comparisons.context[decided] * n**2 + pair
    key = distinct(pair)[1]
    # Counts of ups and downs by pair and judge; couples of one judge are subtracted again.
    cell = distinct(key * len(comparisons.judges) + judge[decided])[1]
    same = total = 0
    for group, sign in ((key, 1), (cell, -1)):
        ups = np.bincount(group, up).astype(np.int64)
        all_ = np.bincount(group)
        downs = all_ - ups
        same += sign * int((ups * (ups - 1) + downs * (downs - 1)).sum()) // 2
        total += sign * int((all_ * (all_ - 1)).sum()) // 2
    return same, total


# --- Position bias: whether judges prefer the item that was shown first


@dataclass(frozen=True, eq=False, repr=False)
class PositionBias(Result):
    """The advantage of being shown first, overall and with each judge.

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

    _bars = ("first_won", "effect")

    judges: tuple[str, ...]
    n: tuple[int, ...]
    first_won: tuple[float, ...]
    effect: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_value: tuple[float, ...]

    def to_frame(self) -> Frame:
        """Return one row for all judges together, and one per judge."""
        return as_frame({one.name: list(getattr(self, one.name)) for one in fields(self)})

    def text(self, width: int = 100) -> str:
        """Return the bias as lines of text, the most certain first."""
        order = [0, *sorted(range(1, len(self.n)), key=lambda k: (self.p_value[k], k))]
        rows = []
        for k in order[: _SHOWN + 1]:
            won = "" if self.first_won[k] != self.first_won[k] else f"{self.first_won[k]:.1%}"
            effect = f"{self.effect[k]:+.2f} [{self.low[k]:+.2f}, {self.high[k]:+.2f}]"
            head = (printable(self.judges[k], 200), f"{self.n[k]:,}")
            rows.append((*head, won, effect, p_text(self.p_value[k])))
        heads = ("judge", "decisions", "first shown won", "log-odds", "test")
        note = "tests of single judges are adjusted for their number"
        lines = text_table(heads, rows, width=width)
        if len(order) > len(rows):
            lines.append(f"and {len(order) - len(rows):,} more judges")
        return "\n".join([*lines, *([note] if len(order) > 1 else [])])


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
    half = t_quantile(level, math.inf) * error
    if groups is not None:
        every = slice(0, len(decided))  # (the judges' own rows come after those of all)
        chosen = 1.0 / (1.0 + np.exp(-np.clip(offset[every] + slope[0], -700, 700)))
        pulls = weight[every] * (first[every] - chosen)
        own, freedom = _error_by_group(pulls, groups[decided], error[0])
        half[0] = t_quantile(level, freedom) * own
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

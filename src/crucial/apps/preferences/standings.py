"""Leaderboards from comparisons or rankings, with intervals, ties and notes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.apps.preferences.accepted import COMPARISONS_OR_RANKINGS
from crucial.apps.preferences.board import SCALES, Effect, Leaderboard, Standing
from crucial.apps.preferences.board_notes import board_notes
from crucial.apps.preferences.effects import covariate_effects
from crucial.apps.preferences.graph import always_winning, centred, circles, parts_of
from crucial.apps.preferences.judges import judge_agreement
from crucial.apps.preferences.nested import RankingLikelihood
from crucial.apps.preferences.newton import maximise
from crucial.apps.preferences.paired import PairedLikelihood, cells_of
from crucial.apps.preferences.position import PositionBias, position_bias
from crucial.apps.preferences.uncertainty import (
    Uncertainty,
    profile_intervals,
    sandwich,
    sure_differences,
    wald,
)
from crucial.data.comparisons import MAX_WEIGHT, Comparisons, Rankings
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.parameters import between, check, one_of
from crucial.types import Bools, Floats, Ints

__all__ = ["ONE_GROUP", "Leaderboard", "Standing", "leaderboard"]

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
        `crucial.apps.preferences.uncertainty` for how often each contains the truth.
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
    known = _uncertainty(data, model, p, best, level, groups) if intervals else None
    above = np.zeros((model.n, model.n), bool)
    if known is not None:
        above = sure_differences(model, p, known, _sums_of(data, tallies), level)
    agreement = None
    if isinstance(data, Comparisons) and len(data.judges) > 1:
        agreement = judge_agreement(data, prior=prior)
    standings, found = _standings(data, model.part, best, known, above, tallies, scale)
    runs = found if known is not None else ()
    effects: tuple[Effect, ...] = ()
    tie_share = 0.0
    if isinstance(model, PairedLikelihood):
        effects = covariate_effects(model, p, covariates, level, groups)
        if model.has_ties:
            tie_share = float(1 / (1 + 2 * np.exp(-p[-1])))
    return Leaderboard(
        standings,
        runs,
        level,
        circles(data) if isinstance(data, Comparisons) else None,
        agreement,
        _misordered(data, best),
        tuple(board_notes(data, model.part, runs, standings, known, prior, scale, tie_share)),
        scale,
        "none" if known is None else known.method,
        effects,
        _position(data, best, level, groups),
        tie_share,
    )


def _position(
    data: Comparisons | Rankings, best: Floats, level: float, groups: Ints | None
) -> PositionBias | None:
    """Return the position bias, if it is known who was shown first."""
    if isinstance(data, Comparisons) and data.first is not None:
        return position_bias(data, best, level, groups)
    return None


def _groups(data: Comparisons | Rankings, by: str, intervals: bool) -> Ints | None:
    """Return the number of each observation's judge or context; intervals need two of them."""
    if by == "observation":
        return None
    found = getattr(data, by, None)
    if found is None or isinstance(data, Rankings):
        raise DataError(f"the data have no column of {by}s.")
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
    if prior == 0 and always_winning(len(data.items), high, low, part):
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


def _uncertainty(
    data: Comparisons | Rankings,
    model: PairedLikelihood | RankingLikelihood,
    p: Floats,
    best: Floats,
    level: float,
    groups: Ints | None,
) -> Uncertainty:
    """Return the uncertainty of the strengths."""
    if groups is not None:
        assert isinstance(model, PairedLikelihood)
        return sandwich(model, p, best, level, groups)
    many = isinstance(data, Rankings) and len(data.orders) > _PROFILED_RANKINGS
    return (wald if model.n > _PROFILED or many else profile_intervals)(model, p, best, level)


def _sums_of(data: Comparisons | Rankings, tallies: Floats | None) -> Floats:
    """Return the weight that each item won and lost, a tie half of each."""
    if tallies is not None:
        return np.asarray(tallies[:2] + tallies[2] / 2)
    assert isinstance(data, Rankings)
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
        for k, item in enumerate(order.tolist()):
            open_ = ~(sure[k] | sure[:, k])
            open_[k] = False
            found.append(
                Standing(
                    data.items[item],
                    number + 1,
                    int(ranks[k]),
                    int(1 + beaten[k]),
                    int(len(order) - beats[k]),
                    float(best[item] * unit + middle),
                    float(low[item] * unit + middle),
                    float(high[item] * unit + middle),
                    tuple(names[order[open_]].tolist()),
                    float(counts[0, item]),
                    float(counts[1, item]),
                    float(counts[2, item]),
                    bool(few[item]),
                )
            )
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


def _misordered(data: Comparisons | Rankings, best: Floats) -> float:
    """Return the share of the weight of decisions that contradict the strengths."""
    if isinstance(data, Comparisons):
        high, low, each, _ = data.directed()
    else:
        high, low, each = data.wins()
    return float((each * (best[high] < best[low])).sum() / each.sum())

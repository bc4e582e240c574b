"""What to know about a leaderboard, in sentences."""

from __future__ import annotations

import numpy as np

from crucial.apps.preferences.board import SCALES, Standing
from crucial.apps.preferences.graph import strong_parts
from crucial.apps.preferences.paired import distinct
from crucial.apps.preferences.uncertainty import Uncertainty
from crucial.data.comparisons import Comparisons, Rankings
from crucial.types import Ints

__all__ = ["board_notes", "odds"]

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
    """Return what the difference of two items means, in odds.

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
    """Return what connects the items, and where all wins go one way."""
    if isinstance(data, Comparisons):
        high, low, weight, _ = data.directed()
    else:
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

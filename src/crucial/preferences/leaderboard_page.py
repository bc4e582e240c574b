"""The page of a leaderboard: one file of HTML that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from crucial.data.comparisons import Comparisons, Rankings
from crucial.pages import Page
from crucial.parameters import check, instance_of
from crucial.preferences.likelihood import COMPARISONS_OR_RANKINGS
from crucial.preferences.standings import SCALES, Leaderboard

_HEAT = 40  # items of a table of wins
_JUDGES = 200


def board_page(
    board: Leaderboard,
    data: Comparisons | Rankings,
    by_category: Mapping[str, Leaderboard] | None = None,
    *,
    title: str = "Leaderboard",
) -> Page:
    """Return a page with a leaderboard, who beat whom, categories and judges.

    Parameters
    ----------
    board : Leaderboard
    data : Comparisons or Rankings
        What it was made of.
    by_category : mapping, optional
        Result of `leaderboards`: one tab each.
    title : str

    Examples
    --------
    >>> from crucial.preferences import Comparisons, leaderboard
    >>> made = Comparisons.from_columns(["tea", "tea", "milk"], ["milk", "wine", "wine"])
    >>> page = board_page(leaderboard(made), made, title="Drinks")
    >>> [one["name"] for one in page.data["boards"]], page.to_html()[:15]
    (['All'], '<!doctype html>')
    """
    check("board_page", "board", board, instance_of(Leaderboard))
    check("board_page", "data", data, COMPARISONS_OR_RANKINGS)
    boards = [_board_data("All", board, data)]
    for name, one in (by_category or {}).items():
        assert isinstance(data, Comparisons)
        assert data.category is not None
        within = data.category.reshape(len(data), -1) == data.categories.index(name)
        rows = data.take(within.any(axis=1))
        boards.append(_board_data(name or "(empty)", one, rows))
    facts: dict[str, Any] = {
        "version": version("crucial"),
        "title": title,
        "subtitle": board.subject,
        "scale": board.scale,
        "unit": SCALES[board.scale][0],
        "level": board.level,
        "boards": boards,
        "judges": _judges(board),
        "n_judges": 0 if board.agreement is None else len(board.agreement.judges),
        "position": _position(board, 0),
        "effects": [
            {"name": one.name, "effect": one.effect, "low": one.low, "high": one.high,
             "p": one.p_value}
            for one in board.effects
        ],
    }  # fmt: skip
    return Page("leaderboard", title, facts)


def _board_data(name: str, board: Leaderboard, data: Comparisons | Rankings) -> dict[str, Any]:
    """Return one board: its items, best first, and who beat whom among the first."""
    notes = [*board.notes]
    if board.circles is not None:
        notes.append(str(board.circles))
    notes.append(f"{board.misordered:.1%} of the decisions are against this order")
    return {
        "name": name,
        "comparisons": len(data) if isinstance(data, Comparisons) else None,
        "intervals": board.intervals,
        "items": [
            {
                "name": one.item,
                "part": one.part,
                "rank": one.rank,
                "ranks": [one.rank_low, one.rank_high],
                "strength": one.strength,
                "span": None if one.low != one.low else [one.low, one.high],
                "tally": None if one.wins != one.wins else [one.wins, one.losses, one.ties],
                "provisional": one.provisional,
            }
            for one in board.standings
        ],
        "parts": board.n_parts,
        "wins": _wins(board, data),
        "notes": notes,
    }


def _wins(board: Leaderboard, data: Comparisons | Rankings) -> list[list[float]]:
    """Return [row, column, won, tied] of the first items, by place on the board."""
    place = {one.item: k for k, one in enumerate(board.standings[:_HEAT])}
    at = np.array([place.get(item, -1) for item in data.items])
    n = len(place)
    if isinstance(data, Rankings):
        high, low, weight = data.wins()
        tie = np.zeros(len(high), bool)
    else:
        high, low, weight, tie = data.winner, data.loser, data.weight, data.tie
    a, b = at[high], at[low]
    inside = (a >= 0) & (b >= 0)
    a, b, weight, tie = a[inside], b[inside], weight[inside], tie[inside]
    won = np.bincount(a * n + b, weight * ~tie, minlength=n * n).reshape(n, n)
    tied = np.bincount(a * n + b, weight * tie, minlength=n * n).reshape(n, n)
    tied = tied + tied.T
    rows, columns = np.nonzero(won + won.T + tied)
    cells = zip(rows.tolist(), columns.tolist())
    return [[i, j, float(won[i, j]), float(tied[i, j])] for i, j in cells]


def _judges(board: Leaderboard) -> list[dict[str, Any]]:
    """Return the judges, most active first."""
    found = board.agreement
    if found is None:
        return []
    order = sorted(range(len(found.judges)), key=lambda k: -found.n[k])[:_JUDGES]
    return [
        {
            "name": found.judges[k],
            "n": found.n[k],
            "agrees": found.with_others[k],
            "reliability": [
                found.reliability[k], found.reliability_low[k], found.reliability_high[k]
            ],
            "position": _position(board, k + 1),
        }
        for k in order
    ]  # fmt: skip


def _position(board: Leaderboard, k: int) -> dict[str, float] | None:
    bias = board.position
    if bias is None or k >= len(bias.n):
        return None
    return {"share": bias.first_won[k], "effect": bias.effect[k], "p": bias.p_value[k],
            "n": bias.n[k], "low": bias.low[k], "high": bias.high[k]}  # fmt: skip

"""Leaderboards of the categories of comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crucial.apps.preferences.accepted import COMPARISONS
from crucial.apps.preferences.board import Leaderboard
from crucial.apps.preferences.standings import ONE_GROUP, leaderboard
from crucial.data.comparisons import Comparisons
from crucial.errors import DataError
from crucial.parameters import check

__all__ = ["leaderboards"]

_MOST_CATEGORIES = 100


def leaderboards(data: Comparisons, **options: Any) -> dict[str, Leaderboard]:
    """Return one leaderboard per category of the comparisons, from the most compared down.

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
    counts = np.bincount(data.category, minlength=len(data.categories))
    if len(counts) > _MOST_CATEGORIES:
        raise DataError(
            f"there are {len(counts):,} categories, more than {_MOST_CATEGORIES}: take a column "
            "with fewer."
        )
    boards = {}
    for number in np.argsort(-counts, kind="stable").tolist():
        rows = data.take(data.category == number)
        if not rows.weight.any():
            continue
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

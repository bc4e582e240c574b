"""A scorecard as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crucial.data.arrays import DAYS

if TYPE_CHECKING:
    from crucial.inspection.scorecards.card import CardBin, CardFeature, Scorecard

__all__ = ["card_sql"]

_TICKS = 86_400e6  # microseconds per day


def card_sql(card: Scorecard, table: str) -> str:
    """Return a query with one column, points."""
    times = card.model.encodings.times
    parts = [str(card.start)] if card.start else []
    parts += [_case(one, times.get(one.cut.feature) == DAYS) for one in card.features]
    body = "\n  + ".join(parts)
    return f"SELECT\n    {body} AS points\nFROM {_name(table)};\n"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _case(one: CardFeature, is_date: bool) -> str:
    """Return the points of a feature as one CASE expression."""
    column = _name(one.name)
    *known, missing = one.bins
    if one.cut.categories:
        tests = [_among(column, part) for part in known]
        return f"CASE {' '.join(tests)} ELSE {missing.points} END"
    tests = [f"WHEN {column} IS NULL THEN {missing.points}"]
    tests += [
        f"WHEN {column} <= {_moment(part.up_to) if is_date else repr(part.up_to)} "
        f"THEN {part.points}"
        for part in known[:-1]
    ]
    return f"CASE {' '.join(tests)} ELSE {known[-1].points} END"


def _among(column: str, part: CardBin) -> str:
    texts = ", ".join(map(_text, part.categories))
    return f"WHEN {column} IN ({texts}) THEN {part.points}"


def _moment(days: float) -> str:
    """Return days since 1970 as a date, or as a timestamp where they are not whole."""
    if days == int(days):
        return f"DATE '{np.datetime64(int(days), 'D')}'"
    ticks = round(days * _TICKS)
    # The last microsecond whose number of days is not above the edge, as the card counts them:
    # rounded otherwise, a row could change sides.
    while ticks / _TICKS > days:
        ticks -= 1
    while (ticks + 1) / _TICKS <= days:
        ticks += 1
    text = str(np.datetime64(ticks, "us")).replace("T", " ")
    return f"TIMESTAMP '{text.removesuffix('.000000')}'"

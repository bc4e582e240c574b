"""Recommended items as a table with reasons, and as TSV."""

from __future__ import annotations

import math
from collections.abc import Iterator

from crucial.apps.recommend import Recommendations, Recommender
from crucial.apps.recommend.reasons import Reason
from crucial.cli.shared.terminal import console, counted, number_column, table
from crucial.model.text import printable

__all__ = ["HEADER", "print_recommendations", "tsv_lines"]

#: The first line of the TSV.
HEADER = "user\tposition\titem\tscore\ttitle\n"

# A share of agreement over fewer films is not reported.
_FEWEST_SHARED = 10


def tsv_lines(found: Recommendations) -> Iterator[str]:
    """Yield one line per recommended item."""
    user = "" if found.user is None else _cell(found.user)
    for one in found.picks:
        yield f"{user}\t{one.position}\t{_cell(one.item)}\t{one.score!r}\t{_cell(one.title)}\n"


def _cell(value: object) -> str:
    return " ".join(str(value).split())


def print_recommendations(recommender: Recommender, found: Recommendations, reasons: int) -> None:
    """Print the recommended items, each with up to so many reasons."""
    shown = table(number_column(""))
    shown.add_column("recommended", overflow="fold")
    shown.add_column("score", justify="right")
    shown.add_column("rated by", justify="right")
    if reasons:
        shown.add_column("because", overflow="fold")
    for one in found.picks:
        cells = [str(one.position), printable(one.title), f"{one.score:.3f}", str(one.raters)]
        if reasons:
            lines = [_in_words(recommender, reason) for reason in found.why(one, reasons)]
            cells.append("\n".join(lines) or "no reason among its raters; the others abstain")
        shown.add_row(*cells)
    console().print(shown)


def _in_words(recommender: Recommender, reason: Reason) -> str:
    if reason.viewer is None:
        return f"those like you would give it {reason.rating:.2f} (vsim)"
    text = "rated it" if reason.seen_only else f"gave it {reason.rating:g}"
    details = [f"you both rated {counted(reason.shared, 'film')}"]
    if reason.shared >= _FEWEST_SHARED and not math.isnan(reason.agreement):
        details = [f"agrees with you on {reason.agreement:.0%}"]
    if reason.films:
        details.append(f"both like {', '.join(recommender.title(film) for film in reason.films)}")
    return printable(f"{reason.viewer} {text} ({'; '.join(details)})", limit=300)

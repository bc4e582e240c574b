"""Recommended items as a table with reasons, and as TSV."""

from __future__ import annotations

from collections.abc import Iterator

from crucial.cli.shared.terminal import console, number_column, table
from crucial.io.text import sheet_cell
from crucial.recommend import Pick, Recommendations, Recommender, listed
from crucial.wording import printable

__all__ = ["HEADER", "print_recommendations", "tsv_lines"]

#: The first line of the TSV.
HEADER = "user\tposition\titem\tscore\ttitle\n"


def tsv_lines(found: Recommendations) -> Iterator[str]:
    """Yield one line per recommended item."""
    user = "" if found.user is None else _cell(found.user)
    for one in found.picks:
        yield f"{user}\t{one.position}\t{_cell(one.item)}\t{one.score!r}\t{_cell(one.title)}\n"


def _cell(value: object) -> str:
    return str(sheet_cell(" ".join(str(value).split())))


def print_recommendations(recommender: Recommender, found: Recommendations, reasons: int) -> None:
    """Print the recommended items, each with up to so many reasons."""
    shown = table(number_column(""))
    shown.add_column("recommended", overflow="fold")
    shown.add_column("rated by", justify="right")
    if reasons:
        shown.add_column("because", overflow="fold")
    for one in found.picks:
        cells = [str(one.position), printable(one.title), str(one.raters)]
        if reasons:
            lines = [
                printable(reason.words(recommender.title), limit=300)
                for reason in found.why(one, reasons)
            ]
            cells.append("\n".join(lines) or _without_viewers(recommender, found, one))
        shown.add_row(*cells)
    console().print(shown)


def _without_viewers(recommender: Recommender, found: Recommendations, pick: Pick) -> str:
    """Return why an item is there where no viewer both liked it and agrees with the user."""
    films = [recommender.title(film) for film in found.related(pick)]
    if not films:
        return "popular; nobody who agrees with you liked it especially"
    return printable(f"goes with {listed(films)}, which you rated", limit=300)

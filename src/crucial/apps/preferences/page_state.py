"""What the page of a session shows, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucial.apps.preferences.items import NAMES, Item
from crucial.apps.preferences.session import PreferenceSession
from crucial.data.words import shown
from crucial.errors import DataError

__all__ = ["PageOptions", "check_blind", "page_state", "ranking_state"]

_SHOWN = 20  # places sent with every question; the page asks for all if they are wanted
_CELLS = 40  # other cells of an item on the page
_LONGEST = 20_000  # characters of a text on the page
#: Columns that say what an item is, and are not shown where names are hidden.
_TELLING = frozenset((*NAMES, "author"))


@dataclass(frozen=True)
class PageOptions:
    """How a session is shown.

    Attributes
    ----------
    title : str
        Heading of the page.
    blind : bool
        Whether names are hidden, and the ranking until it is asked for.
    markdown : bool
        Whether texts are Markdown.
    """

    title: str = ""
    blind: bool = False
    markdown: bool = True


def check_blind(items: Sequence[Item]) -> None:
    """Refuse items of which nothing is left to compare when their names are hidden."""
    for item in items:
        if not (item.text or item.picture or _cells(item, blind=True)):
            raise DataError(
                f"names are hidden, and nothing else of {shown(item.name)} can be shown: it needs "
                "a text, a picture or another column."
            )


def page_state(session: PreferenceSession, options: PageOptions) -> dict[str, object]:
    """Return the question, how far the ranking is settled, and its first places."""
    with session.lock:
        left, right = session.question
        state: dict[str, object] = {
            "title": options.title,
            "blind": options.blind,
            "markdown": options.markdown,
            "number": session.n_events,
            "answers": session.n_answers,
            "items": len(session.names),
            "settled": session.settled(),
            "top": session.top,
            "done": session.top_settled(),
            "left": _shown(left, session.items[left], blind=options.blind),
            "right": _shown(right, session.items[right], blind=options.blind),
        }
        return {**state, **ranking_state(session, 0 if options.blind else _SHOWN)}


def ranking_state(session: PreferenceSession, most: int | None = None) -> dict[str, object]:
    """Return the first places of the ranking, and how many items have a place."""
    with session.lock:
        places = session.ranking()
        return {
            "number": session.n_events,
            "judge": session.judge or "",
            "ranked": len(places),
            "ranking": [vars(one) for one in places[:most]],
        }


def _cells(item: Item, *, blind: bool) -> list[tuple[str, str]]:
    cells = [cell for cell in item.cells if not blind or cell[0].lower() not in _TELLING]
    return cells[:_CELLS]


def _shown(number: int, item: Item, *, blind: bool) -> dict[str, object]:
    """Return an item as the page shows it."""
    return {
        "item": number,
        "name": "" if blind else _text(item.name),
        "text": _text(item.text),
        "image": None if item.picture is None else f"image/{number}",
        "cells": [[_text(name), _text(cell)] for name, cell in _cells(item, blind=blind)],
    }


def _text(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} … (cut: {_LONGEST:,} of {len(text):,} characters)"

"""Ask for ratings of films in the terminal, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from crucial.cli.shared.terminal import note
from crucial.data.words import to_number
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from crucial.recommend import Recommender

__all__ = ["ask_ratings"]


def ask_ratings(
    recommender: Recommender, own: dict[str, float], path: str | None, questions: int
) -> dict[str, float]:
    """Ask for ratings beyond one's own, add them to the file, and return all.

    Questions end with the number of answers wanted, with ``q``, with the end of the input, or
    when there is nothing left to ask. The file is written after every answer.
    """
    from crucial.io.ratings import write_own_ratings

    own = dict(own)
    ratings = recommender.ratings
    low, high = float(ratings.rating.min()), float(ratings.rating.max())
    click.echo(
        f"Rate {counted(questions, 'film')}, {low:g} to {high:g}; "
        "Enter: do not know it, q: enough.",
        err=True,
    )
    answered = 0
    for item in recommender.to_rate(len(ratings.items)):
        title = recommender.title(item)
        if str(item) in own or title in own:
            continue
        answer = _ask(title, low, high)
        if answer == "q":
            break
        if answer is None:
            continue
        own[str(item)] = float(answer)
        answered += 1
        if path is not None:
            write_own_ratings(path, own)
        if answered == questions:
            break
    kept = f", kept in {path}" if path is not None and answered else ""
    note(f"{counted(len(own), 'rating')} of yours{kept}")
    return own


def _ask(title: str, low: float, high: float) -> float | str | None:
    """Return a rating; None for a film that is not known, "q" for the end."""
    while True:
        try:
            text = click.prompt(printable(title), default="", show_default=False, err=True).strip()
        except click.Abort as end:
            if not isinstance(end.__context__, EOFError):  # (an interrupt ends the command)
                raise
            click.echo("", err=True)
            return "q"
        if not text:
            return None
        if text.lower() == "q":
            return "q"
        value = to_number(text)
        if value is not None and low <= value <= high:
            return value
        click.echo(f"Type a number from {low:g} to {high:g}, Enter or q.", err=True)

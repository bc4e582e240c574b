"""The ranking that ``crucial prefer`` prints at its end."""

from __future__ import annotations

from crucial.apps.preferences.session import PreferenceSession
from crucial.cli.shared.terminal import (
    console,
    counted,
    label_column,
    number_column,
    one_line,
    table,
)

__all__ = ["print_session"]

_MOST_ITEMS = 20


def print_session(session: PreferenceSession) -> None:
    """Print a person's ranking after a session, as far as it is settled."""
    screen = console()
    screen.print(f"\n{counted(session.n_answers, 'answer')}", style="bold")
    if not session.n_answers:
        return
    shown = table(number_column("rank"), label_column("item", 40), number_column("strength"))
    for one in session.ranking()[:_MOST_ITEMS]:
        still = f" ({one.rank_low}-{one.rank_high})" if one.rank_low < one.rank_high else ""
        shown.add_row(f"{one.rank}{still}", one_line(one.name), f"{one.strength:+.2f}")
    screen.print(shown)
    screen.print(f"about {session.settled():.0%} of all pairs are expected in their right order")

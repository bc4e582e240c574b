"""The ranking that ``crucial prefer`` prints at its end."""

from __future__ import annotations

from crucial.cli.shared.terminal import console, label_column, number_column, one_line, table
from crucial.preferences.session import PreferenceSession
from crucial.wording import counted

__all__ = ["print_session"]

_MOST_ITEMS = 20


def print_session(session: PreferenceSession) -> None:
    """Print a person's ranking after a session, as far as it is settled."""
    screen = console()
    screen.print(f"\n{counted(session.n_answers, 'answer')}", style="bold")
    if not session.n_answers:
        return
    places = session.ranking()
    if not places:
        return
    shown = table(number_column("rank"), label_column("item", 40), number_column("strength"))
    for one in places[:_MOST_ITEMS]:
        known = one.settled or one.rank_low == one.rank_high
        still = "" if known else f" ({one.rank_low}-{one.rank_high})"
        shown.add_row(f"{one.rank}{still}", one_line(one.name), f"{one.strength:+.2f}")
    screen.print(shown)
    new = len(session.names) - len(places)
    if new:
        screen.print(f"{counted(new, 'item')} not compared yet")
    share = session.settled()
    screen.print(
        f"{2 * share - 1:.0%} of the order is known: about {share:.0%} of all pairs are expected "
        "in their right order"
    )
    if session.top_settled() in ("answers", "model"):
        screen.print(
            f"the first {'place is' if session.top == 1 else f'{session.top} places are'} settled"
        )

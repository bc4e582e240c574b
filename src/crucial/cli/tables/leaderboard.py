"""The tables of ``crucial pairs``: leaderboard, judges, consensus, features."""

from __future__ import annotations

import csv
import io
from dataclasses import fields

from rich.console import Console

from crucial.apps.preferences.learning import PreferenceRanker
from crucial.apps.preferences.mallows import Consensus
from crucial.apps.preferences.standings import Leaderboard, Standing
from crucial.cli.shared.terminal import counted, label_column, number_column, one_line, table
from crucial.cli.tables.blocks import bar
from crucial.cli.tables.features import feature_table
from crucial.data.comparisons import Comparisons
from crucial.data.rankings import Rankings
from crucial.model.describe import describe

__all__ = ["leaderboard_csv", "print_consensus", "print_leaderboard", "print_learned"]

_INTERVAL_WIDTH = 30
_MOST_JUDGES = 20


def _interval(one: Standing, low: float, high: float) -> str:
    """Draw an interval on a line from low to high."""
    if one.low != one.low or high <= low:
        return ""
    last = _INTERVAL_WIDTH - 1

    def place(x: float) -> int:
        return max(0, min(last, round((x - low) / (high - low) * last)))

    begin, middle, end = place(one.low), place(one.strength), place(one.high)
    cells = ["─" if begin <= k <= end else " " for k in range(_INTERVAL_WIDTH)]
    cells[middle] = "●"
    return "".join(cells).rstrip()


def print_leaderboard(
    screen: Console, board: Leaderboard, data: Comparisons | Rankings, top: int
) -> None:
    """Print the items best first, part after part, and what to know about them."""
    screen.print(_heading(data), style="bold")
    judged = board.judge_shares is not None
    for part in range(1, board.n_parts + 1):
        inside = [one for one in board.standings if one.part == part]
        if board.n_parts > 1:
            size = counted(len(inside), "item")
            screen.print(f"part {part} of {board.n_parts}: {size}", style="bold")
        shown = table(
            number_column("rank", no_wrap=True),
            label_column("item", 28),
            number_column("strength"),
            label_column(f"{board.level:.0%} interval"),
            label_column("won-lost-tied" if isinstance(data, Comparisons) else ""),
            *([number_column("boosted")] if judged else []),
        )
        low = min((one.low for one in inside), default=0.0)
        high = max((one.high for one in inside), default=0.0)
        for one in inside[:top]:
            place = f"{one.rank}"
            if one.rank_low != one.rank_high and one.low == one.low:
                place += f" ({one.rank_low}-{one.rank_high})"
            tally = f"{one.wins:g}-{one.losses:g}-{one.ties:g}" if one.wins == one.wins else ""
            cells = [place, one_line(one.item), f"{one.strength:+.2f}", _interval(one, low, high)]
            shown.add_row(*cells, tally, *([f"{one.boosted:.2f}"] if judged else []))
        screen.print(shown)
        _print_hidden(screen, len(inside) - top, " (--top)")
    for text in board.notes:
        screen.print(f"- {one_line(text)}")
    if board.circles is not None:
        screen.print(f"- {board.circles}")
    screen.print(f"- {board.misordered:.1%} of the decisions are against this order")
    if board.agreement is not None:
        _print_judges(screen, board)


def _print_hidden(screen: Console, hidden: int, remedy: str = "") -> None:
    if hidden > 0:
        screen.print(f"and {hidden:,} more{remedy}", style="dim")


def _heading(data: Comparisons | Rankings) -> str:
    items = counted(len(data.items), "item")
    if not isinstance(data, Comparisons):
        return f"{counted(round(float(data.count.sum())), 'ranking')} of {items}"
    by = "" if data.judge is None else f" by {counted(len(data.judges), 'judge')}"
    return f"{counted(len(data), 'comparison')} of {items}{by}"


def _print_judges(screen: Console, board: Leaderboard) -> None:
    """Print how much the judges agree, and the weight of each in the boosted scores."""
    found, shares = board.agreement, board.judge_shares or {}
    if found is None:
        return
    screen.print("\njudges", style="bold")
    if found.n_same_pair:
        screen.print(
            f"on the same pair two judges agree in {found.same_pair:.1%} of "
            f"{found.n_same_pair:,} couples of decisions (chance: 50%)"
        )
    shown = table(
        label_column("judge", 28),
        number_column("comparisons"),
        number_column("as the others"),
        label_column("weight in boosted"),
    )
    order = sorted(range(len(found.judges)), key=lambda k: -shares.get(found.judges[k], 0.0))
    for k in order[:_MOST_JUDGES]:
        share, weight = found.with_others[k], shares.get(found.judges[k], 0.0)
        agrees = "" if share != share else f"{share:.1%}"
        drawn = f"{weight:6.1%} {bar(weight, 16)}"
        shown.add_row(one_line(found.judges[k]), f"{found.n[k]:,}", agrees, drawn)
    screen.print(shown)
    _print_hidden(screen, len(order) - _MOST_JUDGES)


def print_consensus(screen: Console, found: Consensus, top: int) -> None:
    """Print the ranking nearest to all."""
    how = "the least found" if found.method == "kemeny" else "found greedily"
    how = "no ranking has less" if found.exact else how
    screen.print("\nconsensus", style="bold")
    screen.print(
        f"distance {found.distance:g} ({how}; lower bound {found.lower_bound:g}): "
        f"{found.share:.1%} of the opinions on pairs are against it"
    )
    if found.theta is not None:
        screen.print(f"Mallows: theta {found.theta:.3f} (0 is chance)")
    for rank, item in enumerate(found.items[:top], 1):
        screen.print(f"{rank:>4}  {one_line(item)}")
    _print_hidden(screen, len(found.items) - top, " (--top)")


def print_learned(screen: Console, learned: PreferenceRanker) -> None:
    """Print which features make items win, and how well unseen items are ranked."""
    screen.print("\nwhat drives wins", style="bold")
    screen.print(feature_table(describe(learned.model)))
    if learned.n_held_out:
        screen.print(
            f"{learned.rounds} rounds; {learned.accuracy:.1%} of {learned.n_held_out:,} decisions "
            "about items that were held out come out right (chance: 50%)"
        )
    else:
        screen.print(f"{learned.rounds} rounds; too few items to hold some out", style="dim")


def leaderboard_csv(board: Leaderboard) -> str:
    """Return the leaderboard as CSV; a cell is empty where there is no number."""
    names = [one.name for one in fields(board.standings[0])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for one in board.standings:
        cells = [getattr(one, name) for name in names]
        writer.writerow(
            [
                "; ".join(cell) if isinstance(cell, tuple) else "" if cell != cell else cell
                for cell in cells
            ]
        )
    return text.getvalue()

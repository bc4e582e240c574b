"""A leaderboard for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crucial.cli.shared.terminal import counted, one_line, table
from crucial.cli.tables.drawing import bar
from crucial.data.comparisons import Comparisons

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.apps.preferences.learning import PreferenceRanker
    from crucial.apps.preferences.mallows import Consensus
    from crucial.apps.preferences.standings import Leaderboard, Standing

__all__ = ["print_consensus", "print_leaderboard", "print_learned"]

_WIDTH = 30


def _span(one: Standing, low: float, high: float) -> str:
    """Draw an interval on a line from low to high."""
    if one.low != one.low or high <= low:
        return ""

    def place(x: float) -> int:
        return max(0, min(_WIDTH - 1, round((x - low) / (high - low) * (_WIDTH - 1))))

    a, m, b = place(one.low), place(one.strength), place(one.high)
    cells = ["─" if a <= k <= b else " " for k in range(_WIDTH)]
    cells[m] = "●"
    return "".join(cells).rstrip()


def print_leaderboard(screen: Console, board: Leaderboard, data: Any, top: int) -> None:
    """Items best first, part after part, and what to know."""
    screen.print(_heading(data), style="bold")
    judged = board.judge_shares is not None
    for part in range(1, board.n_parts + 1):
        inside = [one for one in board.standings if one.part == part]
        if board.n_parts > 1:
            size = counted(len(inside), "item", "items")
            screen.print(f"part {part} of {board.n_parts}: {size}", style="bold")
        shown = table()
        shown.add_column("rank", justify="right", no_wrap=True)
        shown.add_column("item", no_wrap=True, overflow="ellipsis", max_width=28)
        shown.add_column("strength", justify="right")
        shown.add_column(f"{board.level:.0%} interval", no_wrap=True)
        shown.add_column("won-lost-tied" if isinstance(data, Comparisons) else "", no_wrap=True)
        if judged:
            shown.add_column("boosted", justify="right")
        low = min((one.low for one in inside), default=0.0)
        high = max((one.high for one in inside), default=0.0)
        for one in inside[:top]:
            place = f"{one.rank}"
            if one.rank_low != one.rank_high and one.low == one.low:
                place += f" ({one.rank_low}-{one.rank_high})"
            tally = f"{one.wins:g}-{one.losses:g}-{one.ties:g}" if one.wins == one.wins else ""
            cells = [place, one_line(one.item), f"{one.strength:+.2f}", _span(one, low, high)]
            shown.add_row(*cells, tally, *([f"{one.boosted:.2f}"] if judged else []))
        screen.print(shown)
        if len(inside) > top:
            screen.print(f"and {len(inside) - top:,} more (--top)", style="dim")
    for said in board.notes:
        screen.print(f"- {one_line(said)}")
    if board.circles is not None:
        screen.print(f"- {board.circles}")
    screen.print(f"- {board.misordered:.1%} of the decisions are against this order")
    if board.agreement is not None:
        _print_judges(screen, board)


def _heading(data: Any) -> str:
    items = counted(len(data.items), "item", "items")
    if not isinstance(data, Comparisons):
        return f"{counted(round(float(data.count.sum())), 'ranking', 'rankings')} of {items}"
    said = f"{counted(len(data), 'comparison', 'comparisons')} of {items}"
    if data.judge is not None:
        said += f" by {counted(len(data.judges), 'judge', 'judges')}"
    return said


def _print_judges(screen: Console, board: Leaderboard) -> None:
    found, shares = board.agreement, board.judge_shares or {}
    if found is None:
        return
    screen.print("\njudges", style="bold")
    if found.n_same_pair:
        screen.print(
            f"on the same pair two judges agree in {found.same_pair:.1%} of "
            f"{found.n_same_pair:,} couples of decisions (chance: 50%)"
        )
    shown = table()
    shown.add_column("judge", no_wrap=True, overflow="ellipsis", max_width=28)
    shown.add_column("comparisons", justify="right")
    shown.add_column("as the others", justify="right")
    shown.add_column("weight in boosted", no_wrap=True)
    order = sorted(range(len(found.judges)), key=lambda k: -shares.get(found.judges[k], 0.0))
    for k in order[:20]:
        share, weight = found.with_others[k], shares.get(found.judges[k], 0.0)
        said = "" if share != share else f"{share:.1%}"
        drawn = f"{weight:6.1%} {bar(weight, 16)}"
        shown.add_row(one_line(found.judges[k]), f"{found.n[k]:,}", said, drawn)
    screen.print(shown)
    if len(order) > 20:
        screen.print(f"and {len(order) - 20:,} more", style="dim")


def print_consensus(screen: Console, found: Consensus, top: int) -> None:
    """The ranking nearest to all."""
    how = "no ranking has less" if found.exact else "the least found"
    screen.print("\nconsensus", style="bold")
    screen.print(
        f"distance {found.distance:g} ({how}; lower bound {found.lower_bound:g}): "
        f"{found.share:.1%} of the opinions on pairs are against it"
    )
    if found.theta is not None:
        screen.print(f"Mallows: theta {found.theta:.3f} (0 is chance)")
    for rank, item in enumerate(found.items[:top], 1):
        screen.print(f"{rank:>4}  {one_line(item)}")
    if len(found.items) > top:
        screen.print(f"and {len(found.items) - top:,} more (--top)", style="dim")


def print_learned(screen: Console, learned: PreferenceRanker) -> None:
    """Which features drive wins, and how well unseen items are ranked."""
    from crucial.cli.tables.drawing import feature_table
    from crucial.model.describe import describe

    screen.print("\nwhat drives wins", style="bold")
    screen.print(feature_table(describe(learned.model)))
    if learned.n_held_out:
        screen.print(
            f"{learned.rounds} rounds; {learned.accuracy:.1%} of {learned.n_held_out:,} decisions "
            "about items that were held out come out right (chance: 50%)"
        )
    else:
        screen.print(f"{learned.rounds} rounds; too few items to hold some out", style="dim")

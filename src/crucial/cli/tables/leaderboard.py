"""The tables of ``crucial pairs``: leaderboard, judges, consensus, features."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import fields

from rich.console import Console
from rich.table import Table

from crucial.cli.shared.terminal import label_column, number_column, one_line, picture_column, table
from crucial.cli.tables.features import feature_table
from crucial.data.comparisons import Comparisons, Rankings
from crucial.io.text import sheet_cell
from crucial.model.describe import describe
from crucial.preferences.judges import p_text
from crucial.preferences.learning import PreferenceRanker
from crucial.preferences.orders import Consensus
from crucial.preferences.standings import Leaderboard, Standing
from crucial.wording import counted

__all__ = [
    "leaderboard_csv",
    "print_categories",
    "print_consensus",
    "print_leaderboard",
    "print_learned",
]

_INTERVAL_WIDTH = 30
_MOST_JUDGES = 20


def _drawing(one: Standing, low: float, high: float) -> str:
    """Draw an interval on a line from low to high."""
    if one.low != one.low or high <= low:
        return ""
    last = _INTERVAL_WIDTH - 1

    def place(x: float) -> int:
        return max(0, min(last, round((x - low) / (high - low) * last)))

    begin, middle, end = place(one.low), place(one.strength), place(one.high)
    cells = ["─" if begin <= k <= end else " " for k in range(_INTERVAL_WIDTH)]
    cells[middle] = "●"
    return "".join(cells)


def print_leaderboard(
    screen: Console, board: Leaderboard, data: Comparisons | Rankings, top: int
) -> None:
    """Print the items best first, part after part, and what to know about them."""
    screen.print(_heading(data), style="bold")
    for part in range(1, board.n_parts + 1):
        inside = [one for one in board.standings if one.part == part]
        if board.n_parts > 1:
            size = counted(len(inside), "item")
            screen.print(f"part {part} of {board.n_parts}: {size}", style="bold")
        screen.print(_standings_table(screen, board, inside[:top], data))
        _print_hidden(screen, len(inside) - top, " (--top)")
    for text in board.notes:
        screen.print(f"- {one_line(text)}")
    provisional = sum(one.provisional for one in board.standings)
    if provisional:
        screen.print(
            f"- {counted(provisional, 'item')} marked * {'is' if provisional == 1 else 'are'} "
            "provisional: fewer than 5 comparisons, or none won or none lost"
        )
    if board.circles is not None:
        screen.print(f"- {board.circles}")
    screen.print(f"- {board.misordered:.1%} of the decisions are against this order")
    _print_effects(screen, board)
    if board.agreement is not None:
        _print_judges(screen, board)


def _standings_table(
    screen: Console, board: Leaderboard, inside: list[Standing], data: Comparisons | Rankings
) -> Table:
    """Return the table of some items; numbers keep their width, names are cut."""
    paired = isinstance(data, Comparisons)
    known = board.intervals != "none"
    rows = []
    low = min((one.low for one in inside), default=0.0)
    high = max((one.high for one in inside), default=0.0)
    for one in inside:
        place = f"{one.rank}"
        if one.rank_low != one.rank_high and known:
            place += f" ({one.rank_low}-{one.rank_high})"
        cells = [place, ("* " if one.provisional else "") + one_line(one.item)]
        cells.append(board.points(one.strength))
        if known:
            cells.append(f"{board.points(one.low)} to {board.points(one.high)}")
        if paired:
            cells.append(f"{one.wins:g}-{one.losses:g}-{one.ties:g}")
        rows.append((cells, _drawing(one, low, high)))
    heads = ["rank", "item", "strength"] + [f"{board.level:.0%} interval"] * known
    heads += ["won-lost-tied"] * paired
    widths = [max(len(head), *(len(cells[k]) for cells, _ in rows)) for k, head in enumerate(heads)]
    taken = sum(widths) - widths[1] + 3 * len(heads)
    room = screen.width - taken
    drawn = known and room - _INTERVAL_WIDTH - 3 >= min(widths[1], 24)
    names = max(12, room - (_INTERVAL_WIDTH + 3) * drawn)
    shown = table(
        *(
            label_column(head, min(names, 40)) if k == 1
            else number_column(head)
            for k, head in enumerate(heads)
        ),
        *([picture_column("")] if drawn else []),
    )  # fmt: skip
    for cells, picture in rows:
        shown.add_row(*cells, *([picture] if drawn else []))
    return shown


def _print_effects(screen: Console, board: Leaderboard) -> None:
    """Print what covariates do, and whether being shown first helps."""
    for one in board.effects:
        screen.print(
            f"- covariate {one_line(one.name)}: {one.effect:+.3g} log-odds per unit "
            f"[{one.low:+.3g}, {one.high:+.3g}], {p_text(one.p_value)}"
        )
    bias = board.position
    if bias is not None:
        screen.print(
            f"- the item shown first won {bias.first_won[0]:.1%} of "
            f"{counted(bias.n[0], 'decision')}: "
            f"{bias.effect[0]:+.2f} log-odds [{bias.low[0]:+.2f}, {bias.high[0]:+.2f}], "
            f"{p_text(bias.p_value[0])}"
            + ("; --covariate position takes it out" if _worth_it(board) else "")
        )


def _worth_it(board: Leaderboard) -> bool:
    """Return whether there is a position bias that is not yet taken out."""
    known = board.position is not None and board.position.p_value[0] < 0.01
    return known and all(one.name != "position" for one in board.effects)


def print_categories(
    screen: Console, board: Leaderboard, boards: Mapping[str, Leaderboard], top: int
) -> None:
    """Print the first items of every category: rank with interval, and strength."""
    screen.print("\nby category", style="bold")
    shown = table(
        label_column("category", 28),
        number_column("comparisons"),
        label_column("first"),
    )
    for name, one in boards.items():
        count = sum(item.wins + item.ties / 2 for item in one.standings)
        best = [item for item in one.standings if item.part == 1][:3]
        text = ", ".join(
            f"{item.rank} ({item.rank_low}-{item.rank_high}) {one_line(item.item)} "
            f"{one.points(item.strength)}"
            for item in best
        )
        shown.add_row(one_line(name) or "(empty)", f"{count:,.0f}", text)
    screen.print(shown)


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
    """Print how much the judges agree, how reliable each is, and whether position sways them."""
    found = board.agreement
    if found is None:
        return
    screen.print("\njudges", style="bold")
    if found.n_same_pair:
        screen.print(
            f"on the same pair two judges agree in {found.same_pair:.1%} of "
            f"{counted(found.n_same_pair, 'couple')} of decisions (chance: 50%)"
        )
    bias = board.position if board.position and len(board.position.judges) > 1 else None
    shown = table(
        label_column("judge", 24),
        number_column("comparisons"),
        number_column("as the others"),
        number_column("reliability"),
        *([number_column("first shown won")] if bias else []),
    )
    order = sorted(range(len(found.judges)), key=lambda k: -found.n[k])
    for k in order[:_MOST_JUDGES]:
        share, slope = found.with_others[k], found.reliability[k]
        agrees = "" if share != share else f"{share:.1%}"
        follows = ""
        if slope == slope:
            span = f"{found.reliability_low[k]:.2f} to {found.reliability_high[k]:.2f}"
            follows = f"{slope:.2f} ({span})"
        cells = [one_line(found.judges[k]), f"{found.n[k]:,}", agrees, follows]
        if bias is not None:
            first = bias.first_won[k + 1]
            test = p_text(bias.p_value[k + 1])
            cells.append("" if first != first else f"{first:.1%}, {test}")
        shown.add_row(*cells)
    screen.print(shown)
    _print_hidden(screen, len(order) - _MOST_JUDGES)
    screen.print(
        "reliability: 1 follows the others as judges do on average, 0 guesses, below 0 contradicts"
        + ("; tests of the position are adjusted for the number of judges" if bias else ""),
        style="dim",
    )


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
            f"{counted(learned.rounds, 'round')}; {learned.accuracy:.1%} of "
            f"{counted(learned.n_held_out, 'decision')} about items that were held out come out "
            "right (chance: 50%)"
        )
    else:
        screen.print(
            f"{counted(learned.rounds, 'round')}; too few items to hold some out", style="dim"
        )


def leaderboard_csv(board: Leaderboard) -> str:
    """Return the leaderboard as CSV; a cell is empty where there is no number."""
    names = [one.name for one in fields(board.standings[0])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for one in board.standings:
        cells = (getattr(one, name) for name in names)
        texts = ("; ".join(cell) if isinstance(cell, tuple) else cell for cell in cells)
        writer.writerow(["" if cell != cell else sheet_cell(cell) for cell in texts])
    return text.getvalue()

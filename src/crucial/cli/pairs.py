"""``crucial pairs``: a leaderboard from comparisons, or from many rankings."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from crucial.cli.options import File, JobsOptions, argument, option, refuse_given, verb
from crucial.cli.rows import RowFormat
from crucial.cli.terminal import (
    TextTable,
    check_targets,
    console,
    label_column,
    note,
    number_column,
    one_line,
    picture_column,
    write_text,
)
from crucial.errors import FileError, in_file
from crucial.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.comparisons import Comparisons, Rankings
    from crucial.preferences.learning import PreferenceRanker
    from crucial.preferences.orders import Consensus
    from crucial.preferences.standings import Leaderboard, Standing

# --- ``crucial pairs``: a leaderboard from comparisons, or from many rankings


_COLUMNS = ("winner", "loser", "tie", "weight", "judge", "context", "left", "right")
_PREFLIB = (".soc", ".soi", ".toc", ".toi", ".cat", ".wmd")  # (the last two are refused)


@dataclass(frozen=True)
class LeaderboardOptions:
    """How strengths are estimated and shown."""

    heading: ClassVar[str] = "Leaderboard"

    top: int = option("Number of items to print.", low=1, default=50)
    by: str | None = option("Column of categories: also print a leaderboard for each.")
    scale: Literal["logit", "elo"] = option(
        "Strengths in log-odds, or Elo-like: 400 points are odds of 10 to 1.", default="logit"
    )
    ties: Literal["davidson", "split"] = option(
        "Fit how often items tie, or count a tie as half a win each way.", default="davidson"
    )
    prior: float = option("Ties with an average item that every item is given.", low=0, default=0.7)
    covariate: tuple[str, ...] = option(
        "Column of numbers (first side less second, or winner less loser) whose effect is taken "
        "out; 'position' is being shown first. May be repeated."
    )
    no_intervals: bool = option("Compute no intervals, which take minutes for 10,000 items.")
    level: float = option("Level of the intervals.", low=0.5, high=0.9999, default=0.95)
    independent: Literal["observation", "judge", "context"] = option(
        "What is independent: single comparisons, or only different judges or contexts.",
        default="observation",
    )


@dataclass(frozen=True)
class ItemFeatureOptions:
    """How a ranker learns which features make items win."""

    heading: ClassVar[str] = "Features of items"

    features: File | None = option(
        "Table of items and their features, to learn which features make items win."
    )
    item: str = option("Column of item names in it.", default="item")
    ignore: tuple[str, ...] = option("Column in it that is not a feature; may be repeated.")
    model: File | None = option("File to write a ranker to, for items that nobody has compared.")
    rounds: int = option("Maximum number of rounds.", low=1, default=300)
    seed: int = option("Seed for the folds.", low=0, default=0)


@dataclass(frozen=True)
class ComparisonColumnOptions:
    """The columns of a table of comparisons."""

    heading: ClassVar[str] = "Columns of COMPARISONS"

    winner: str = option("Column of winners.", default="winner")
    loser: str = option("Column of losers.", default="loser")
    tie: str = option("Column of ties.", default="tie")
    weight: str = option("Column of weights.", default="weight")
    judge: str = option("Column of judges.", default="judge")
    context: str = option("Column of contexts.", default="context")
    left: str | None = option("Column of the items of the first side, with --right.")
    right: str | None = option("Column of the items of the second side, with --left.")


@dataclass(frozen=True)
class PairsOptions(LeaderboardOptions, ItemFeatureOptions, ComparisonColumnOptions, JobsOptions):
    """The options of ``crucial pairs``."""

    comparisons: File = argument()
    output: File | None = option(
        "Also write the leaderboard as CSV; - writes it to standard output, and nothing else.", "-o"
    )
    report: File | None = option("Also write the leaderboard as a page, usually .html.")
    title: str | None = option("Heading of the page.", metavar="TEXT")
    consensus: bool = option("Also print the consensus ranking (Kemeny, Mallows).")
    consensus_method: Literal["kemeny", "greedy", "greedy-components"] | None = option(
        "How to find it; the greedy orders are quick for many items. [default: kemeny]"
    )


@verb("pairs", PairsOptions)
def pairs_command(options: PairsOptions) -> None:
    """Rank items from pairwise COMPARISONS, or from many rankings.

    The leaderboard has intervals and ties, and reports what the comparisons cannot settle.

    \b
    Examples:
      crucial pairs judged.csv
      crucial pairs battles.jsonl --scale elo --by language --report board.html
      crucial pairs judged.csv --independent judge -o leaderboard.csv
      crucial pairs judged.csv --features answers.csv --model judge.json
      crucial pairs election.soc --consensus
      crucial prefer items.csv          (collects comparisons, on a page in the browser)

    \b
    COMPARISONS is a CSV or TSV whose first line names its columns, or JSON lines:
      winner, loser   the items; or, as in arena files,
      model_a, model_b, winner   (also left, right): the items of both sides, and who won: the
                      side, its item, tie or tie (bothbad)
      tie             1 or true where neither won
      weight          the weight of the comparison; 1 by default
      judge, context  who compared, and on what (a prompt, a day)
    or lines 'winner TAB loser [TAB weight]', or rankings in PrefLib's format (.soc .soi .toc .toi).

    Strengths are log-odds: an item that is stronger by 1 wins 73% of decided comparisons. The
    interval of a rank accounts for all other items at once; items are tied where the comparisons
    leave their order open.
    """
    from crucial.data.comparisons import Comparisons
    from crucial.preferences.standings import leaderboard, leaderboards

    if options.features is None:
        refuse_given(ItemFeatureOptions.__annotations__, "needs --features.")
    if not options.consensus:
        refuse_given(["consensus_method"], "needs --consensus.")
    if options.report is None:
        refuse_given(["title"], "needs --report.")
    if (options.left is None) != (options.right is None):
        raise click.UsageError("--left and --right go together.")
    if options.model == "-":
        raise click.UsageError("a model is written to a file; name it with --model.")
    if options.report == "-":
        raise click.UsageError("a page is written to a file; name it with --report.")
    targets = [one for one in (options.output, options.model, options.report) if one is not None]
    check_targets(targets, options.comparisons, options.features)
    data = _read(options)
    for text in getattr(data, "notes", ()):
        note(text)
    asked: dict[str, Any] = {
        "prior": options.prior,
        "intervals": not options.no_intervals,
        "level": options.level,
        "independent": options.independent,
        "ties": options.ties,
        "covariates": options.covariate,
        "scale": options.scale,
    }
    with in_file(options.comparisons):
        board = leaderboard(data, **asked)
        boards = {}
        if options.by is not None and isinstance(data, Comparisons):
            boards = leaderboards(data, **asked)
    learned = None
    if options.features is not None and isinstance(data, Comparisons):
        learned = _learn(options.features, data, options)
    if options.output is not None:
        write_text(options.output, leaderboard_csv(board))
    if options.model is not None and learned is not None:
        learned.save(options.model)
    if options.report is not None:
        from crucial.preferences.leaderboard_page import board_page

        name = os.path.basename(options.comparisons)
        page = board_page(board, data, boards, title=options.title or f"Leaderboard of {name}")
        page.save(options.report)
    if options.output == "-":
        return
    screen = console()
    print_leaderboard(screen, board, data, options.top)
    if boards:
        print_categories(screen, board, boards, options.top)
    if options.consensus:
        from crucial.preferences.orders import consensus

        with in_file(options.comparisons):
            found = consensus(data, options.consensus_method or "kemeny")
        print_consensus(screen, found, options.top)
    if learned is not None:
        print_learned(screen, learned)
    for target in targets:
        note(f"wrote {target}")


def _read(options: PairsOptions) -> Comparisons | Rankings:
    """Read comparisons, or rankings in PrefLib's format."""
    from crucial.io.comparisons import read_comparisons, read_preflib

    if not options.comparisons.lower().removesuffix(".gz").endswith(_PREFLIB):
        columns = {name: getattr(options, name) for name in _COLUMNS}
        numbers = [name for name in options.covariate if name.lower() != "position"]
        return read_comparisons(
            options.comparisons, **columns, category=options.by, covariates=numbers
        )
    for name in ("features", "by", "covariate"):
        if getattr(options, name):
            raise click.UsageError(f"--{name} is of comparisons; these are rankings.")
    return read_preflib(options.comparisons)


def _learn(path: str, data: Comparisons, options: PairsOptions) -> PreferenceRanker:
    """Learn which features make items win; the model stores how the table was read."""
    from crucial.io.tables import read_table
    from crucial.preferences.learning import learn_preferences

    rows = read_table(path, label=None, qid=None, item=options.item, ignore=options.ignore)
    if rows.n_features == 0:
        raise FileError(path, "there is no column of features.")
    with in_file(path):
        learned = learn_preferences(
            data,
            rows.instances(),
            [] if rows.item is None else rows.item.tolist(),
            n_estimators=options.rounds,
            random_state=options.seed,
            n_jobs=options.jobs,
        )
    stored = RowFormat("table", item=options.item).to_store()
    model = replace(learned.model, training={**learned.model.training, "data": stored})
    return replace(learned, model=model)


# --- The tables of ``crucial pairs``: leaderboard, judges, consensus, features


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
) -> TextTable:
    """Return the table of some items; numbers keep their width, names are cut."""
    from crucial.data.comparisons import Comparisons

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
    shown = TextTable(
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
    from crucial.preferences.judges import p_text

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
    shown = TextTable(
        label_column("category", 28), number_column("comparisons"), label_column("first")
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
    from crucial.data.comparisons import Comparisons

    items = counted(len(data.items), "item")
    if not isinstance(data, Comparisons):
        return f"{counted(round(float(data.count.sum())), 'ranking')} of {items}"
    by = "" if data.judge is None else f" by {counted(len(data.judges), 'judge')}"
    return f"{counted(len(data), 'comparison')} of {items}{by}"


def _print_judges(screen: Console, board: Leaderboard) -> None:
    """Print how much the judges agree, how reliable each is, and whether position sways them."""
    from crucial.preferences.judges import p_text

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
    shown = TextTable(
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
    from crucial.cli.train import feature_table
    from crucial.model.describe import describe

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
    from crucial.io.text import sheet_cell

    names = [one.name for one in fields(board.standings[0])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for one in board.standings:
        cells = (getattr(one, name) for name in names)
        texts = ("; ".join(cell) if isinstance(cell, tuple) else cell for cell in cells)
        writer.writerow(["" if cell != cell else sheet_cell(cell) for cell in texts])
    return text.getvalue()

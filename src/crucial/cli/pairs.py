"""``crucial pairs``: a leaderboard from comparisons, or from many rankings."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from crucial.cli import terminal
from crucial.cli.options import File, JobsOptions, argument, option, refuse_given, verb
from crucial.cli.rows import RowFormat
from crucial.cli.train import feature_table
from crucial.errors import FileError, in_file

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.comparisons import Comparisons, Rankings
    from crucial.preferences.learning import PreferenceRanker
    from crucial.preferences.standings import Leaderboard

# --- ``crucial pairs``: a leaderboard from comparisons, or from many rankings


_COLUMNS = ("winner", "loser", "tie", "weight", "judge", "context", "left", "right")
_PREFLIB = (".soc", ".soi", ".toc", ".toi", ".cat", ".wmd")  # (the last two are refused)


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of estimating and showing strengths."""

    heading: ClassVar[str] = "Leaderboard"

    top: int = option("Number of items to print.", low=1, default=50)
    by: tuple[str, ...] = option(
        "Column of categories: also print a leaderboard for each. May be repeated, for one column "
        "after the other."
    )
    scale: Literal["logit", "elo"] = option(
        "Strengths in log-odds, or Elo-like: 400 points are odds of 10 to 1.", default="logit"
    )
    ties: Literal["davidson", "split"] = option(
        "Fit how often items tie, or count a tie as half a win each way.", default="davidson"
    )
    prior: float = option("Ties with an average item that every item is given.", low=0, default=0.7)
    covariate: tuple[str, ...] = option(
        "Column of numbers (first side less second, or winner less loser) whose effect is taken "
        "out, or [NAME=]COLUMN-COLUMN; 'position' is being shown first. May be repeated."
    )
    no_intervals: bool = option("Compute no intervals, which take minutes for 10,000 items.")
    level: float = option("Level of the intervals.", low=0.5, high=0.9999, default=0.95)
    independent: Literal["observation", "judge", "context"] = option(
        "What is independent: single comparisons, or only different judges or contexts.",
        default="observation",
    )


@dataclass(frozen=True)
class ItemFeatureOptions:
    """Options of learning which features make items win."""

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
        "Also write the leaderboard, or the next comparisons: "
        f"{terminal.TABLES}; - writes CSV to standard output, and nothing else.",
        "-o",
    )
    report: File | None = option("Also write the leaderboard as a page, usually .html.")
    title: str | None = option("Heading of the page.", metavar="TEXT")
    next: int | None = option(
        "Propose so many next comparisons, the most informative ones, instead of a leaderboard.",
        low=1,
    )
    consensus: bool = option("Also print the consensus ranking (Kemeny, Mallows).")
    consensus_method: Literal["kemeny", "greedy", "greedy-components"] | None = option(
        "How to find it; the greedy orders are quick for many items. [default: kemeny]"
    )


@verb("pairs", PairsOptions)
def pairs_command(options: PairsOptions) -> None:
    """Rank items from pairwise COMPARISONS, as of an arena or LLM judges.

    The leaderboard has intervals and ties, and reports what the comparisons cannot settle. Many
    rankings (PrefLib's files) give one too.

    \b
    Examples:
      crucial pairs judged.csv
      crucial pairs battles.jsonl --scale elo --by language --report board.html
      crucial pairs battles.jsonl --covariate length=meta.tokens_a-meta.tokens_b
      crucial pairs judged.csv --independent judge -o leaderboard.csv
      crucial pairs judged.csv --next 20 -o next.csv
      crucial pairs judged.csv --features answers.csv --model judge.json
      crucial pairs election.soc --consensus
      crucial prefer items.csv          (collects comparisons in the browser)

    \b
    COMPARISONS is a CSV or TSV whose first line names its columns, or JSON lines:
      winner, loser   the items; or, as in arena files,
      model_a, model_b, winner
                      (also left, right): the items of both sides, and who won:
                      the side, its item, tie or tie (bothbad)
      tie             1 or true where neither won
      weight          the weight of the comparison; 1 by default
      judge, context  who compared, and on what (a prompt, a day)
      tags.math       the key math inside the object tags of JSON, and so on
    or lines 'winner TAB loser [TAB weight]', or rankings in PrefLib's format
    (.soc .soi .toc .toi).

    Strengths are log-odds: an item that is stronger by 1 wins 73% of decided comparisons. The
    interval of a rank accounts for all other items at once; items are tied where the comparisons
    leave their order open.
    """
    from crucial.data.comparisons import Comparisons
    from crucial.model.describe import describe
    from crucial.preferences.standings import leaderboard, leaderboards

    if options.features is None:
        refuse_given(ItemFeatureOptions.__annotations__, "needs --features.")
    if not options.consensus:
        refuse_given(["consensus_method"], "needs --consensus.")
    if options.report is None:
        refuse_given(["title"], "needs --report.")
    if options.next is not None:
        shapes = {**LeaderboardOptions.__annotations__, **ItemFeatureOptions.__annotations__}
        refuse_given([*shapes, "report", "consensus"], "is of a leaderboard; leave --next out.")
    if (options.left is None) != (options.right is None):
        raise click.UsageError("--left and --right go together.")
    if options.model == "-":
        raise click.UsageError("a model is written to a file; name it with --model.")
    if options.report == "-":
        raise click.UsageError("a page is written to a file; name it with --report.")
    targets = [one for one in (options.output, options.model, options.report) if one is not None]
    terminal.check_targets(targets, options.comparisons, options.features)
    data = _read(options)
    for text in getattr(data, "notes", ()):
        terminal.note(text)
    if options.next is not None and isinstance(data, Comparisons):
        _propose(data, options)
        return
    numbers = iter(getattr(data, "covariate_names", ()))
    asked: dict[str, Any] = {
        "prior": options.prior,
        "intervals": not options.no_intervals,
        "level": options.level,
        "independent": options.independent,
        "ties": options.ties,
        "covariates": [
            "position" if one.lower() == "position" else next(numbers) for one in options.covariate
        ],
        "scale": options.scale,
    }
    with in_file(options.comparisons):
        board = leaderboard(data, **asked)
        boards = {}
        if options.by and isinstance(data, Comparisons):
            boards = leaderboards(data, **asked)
    learned = None
    if options.features is not None and isinstance(data, Comparisons):
        learned = _learn(options.features, data, options)
    if options.output is not None:
        terminal.write_frame(options.output, board.to_frame())
    if options.model is not None and learned is not None:
        learned.save(options.model)
    if options.report is not None:
        from crucial.preferences.leaderboard_page import board_page

        name = os.path.basename(options.comparisons)
        page = board_page(board, data, boards, title=options.title or f"Leaderboard of {name}")
        page.save(options.report)
    if options.output == "-":
        return
    screen = terminal.console()
    screen.print(board.text(options.top, screen.width))
    if boards:
        print_categories(screen, options.by, boards)
    if options.consensus:
        from crucial.preferences.orders import consensus

        with in_file(options.comparisons):
            found = consensus(data, options.consensus_method or "kemeny")
        screen.print(f"\nconsensus\n{found.text(options.top)}")
    if learned is not None:
        screen.print("\nwhat drives wins", style="bold")
        screen.print(feature_table(describe(learned.model)))
        screen.print(str(learned).partition("\n")[0])
    for target in targets:
        terminal.note(f"wrote {target}")


def _read(options: PairsOptions) -> Comparisons | Rankings:
    """Read comparisons, or rankings in PrefLib's format."""
    from crucial.io.comparisons import read_comparisons, read_preflib

    if not options.comparisons.lower().removesuffix(".gz").endswith(_PREFLIB):
        columns = {name: getattr(options, name) for name in _COLUMNS}
        numbers = [name for name in options.covariate if name.lower() != "position"]
        return read_comparisons(
            options.comparisons, **columns, category=options.by, covariates=numbers
        )
    for name in ("features", "by", "covariate", "next"):
        if getattr(options, name):
            raise click.UsageError(f"--{name} is of comparisons; these are rankings.")
    return read_preflib(options.comparisons)


def _propose(data: Comparisons, options: PairsOptions) -> None:
    """Write or print the next comparisons."""
    from crucial.preferences.session import next_comparisons

    assert options.next is not None
    with in_file(options.comparisons):
        found = next_comparisons(data, options.next)
    if options.output is not None:
        terminal.write_frame(options.output, found.to_frame())
    if options.output != "-":
        screen = terminal.console()
        screen.print(found.text(screen.width))
        if options.output is not None:
            terminal.note(f"wrote {options.output}")


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


def print_categories(
    screen: Console, columns: Sequence[str], boards: Mapping[str, Leaderboard]
) -> None:
    """Print the first items of every category: rank with interval, and strength."""
    screen.print(f"\nby {', '.join(map(terminal.one_line, columns))}", style="bold")
    shown = terminal.TextTable(
        terminal.label_column("category", 28),
        terminal.number_column("comparisons"),
        terminal.label_column("first"),
    )
    for name, one in boards.items():
        count = math.fsum(item.wins + item.ties / 2 for item in one.standings)
        best = [item for item in one.standings if item.part == 1][:3]
        text = ", ".join(
            f"{item.rank} ({item.rank_low}-{item.rank_high}) {terminal.one_line(item.item)} "
            f"{one.points(item.strength)}"
            for item in best
        )
        shown.add_row(terminal.one_line(name) or "(empty)", f"{count:,.0f}", text)
    screen.print(shown)

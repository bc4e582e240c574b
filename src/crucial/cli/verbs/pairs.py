"""``crucial pairs``: a leaderboard from comparisons, or from many rankings."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import jobs_option
from crucial.cli.shared.reading import naming, refuse_same_file
from crucial.cli.shared.terminal import console, note
from crucial.cli.shared.writing import check_target, write_text
from crucial.errors import FileError

if TYPE_CHECKING:
    from crucial.apps.preferences.standings import Leaderboard
    from crucial.data.comparisons import Comparisons
    from crucial.data.rankings import Rankings

__all__ = ["pairs_command"]

_PREFLIB = (".soc", ".soi", ".toc", ".toi")

_EPILOG = """\
\b
Examples:
  crucial pairs judged.csv
  crucial pairs judged.csv --resample judge -o leaderboard.csv
  crucial pairs judged.csv --features answers.csv --model judge.json
  crucial pairs election.soc --consensus
  crucial prefer items.csv          (makes comparisons, on a page in the browser)

\b
COMPARISONS is a CSV or TSV whose first line names its columns:
  winner, loser   the items; both must be there
  tie             1 or true where neither won; a tie is half a win each way
  weight          what it counts; judge: who compared; context: on what (a prompt, a day)
or lines 'winner TAB loser [TAB weight]', or rankings in PrefLib's format (.soc .soi .toc .toi).

Strengths are log-odds: an item that is 1 stronger wins 73% of comparisons. Items are tied where
resampling the comparisons leaves their order open.
"""


@click.command("pairs", epilog=_EPILOG)
@click.argument("comparisons", type=click.Path())
@click.option("-o", "--output", type=click.Path(), metavar="FILE",
              help="Also write the leaderboard as CSV; - is standard output, alone.")  # fmt: skip
@click.option("--features", type=click.Path(), metavar="FILE",
              help="Table of items and their features: which features drive wins?")  # fmt: skip
@click.option("--item", default="item", show_default=True, metavar="NAME",
              help="--features: the column with the names of the items.")  # fmt: skip
@click.option("--ignore", multiple=True, metavar="NAME",
              help="--features: a column that is no feature; may be repeated.")  # fmt: skip
@click.option("--model", type=click.Path(), metavar="FILE",
              help="--features: write a ranker for items nobody has compared.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), default=300, show_default=True, metavar="N",
              help="--features: the most rounds that may be chosen.")  # fmt: skip
@click.option("--consensus", "with_consensus", is_flag=True,
              help="Also the ranking nearest to all (Kemeny, Mallows).")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=50, show_default=True, metavar="N",
              help="Items to print.")  # fmt: skip
@click.option("--prior", type=click.FloatRange(min=0), default=0.1, show_default=True,
              help="Draws with an average item that every item is given.")  # fmt: skip
@click.option("--bootstrap", type=click.IntRange(0, 100_000), default=200, show_default=True,
              metavar="N", help="Resamplings; 0 for no intervals.")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True,
              help="Of the intervals.")  # fmt: skip
@click.option("--resample", type=click.Choice(["observation", "judge", "context"]),
              default="observation", show_default=True,
              help="What is drawn anew: comparisons, or all those of a judge "
              "or context.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N")
@click.option("--winner", default="winner", metavar="NAME", help="Column. [default: winner]")
@click.option("--loser", default="loser", metavar="NAME", help="Column. [default: loser]")
@click.option("--tie", default="tie", metavar="NAME", help="Column. [default: tie]")
@click.option("--weight", default="weight", metavar="NAME", help="Column. [default: weight]")
@click.option("--judge", default="judge", metavar="NAME", help="Column. [default: judge]")
@click.option("--context", default="context", metavar="NAME", help="Column. [default: context]")
@jobs_option
def pairs_command(comparisons: str, output: str | None, **given: Any) -> None:
    """Rank items from COMPARISONS of two, or from many rankings.

    With intervals, ties, and what cannot be said from these comparisons.
    """
    from crucial.apps.preferences.standings import leaderboard
    from crucial.cli.tables.leaderboard import print_consensus, print_leaderboard, print_learned

    if given["model"] is not None and given["features"] is None:
        raise click.UsageError("--model needs --features.")
    if given["model"] == "-":
        raise click.UsageError("a model is written to a file; name it with --model.")
    for target in (output, given["model"]):
        if target is not None:
            refuse_same_file(target, comparisons, given["features"])
            check_target(target)
    data = _read(comparisons, given)
    with naming(comparisons):
        board = leaderboard(
            data,
            prior=given["prior"],
            n_bootstrap=given["bootstrap"],
            level=given["level"],
            resample_by=given["resample"],
            random_state=given["seed"],
        )
    learned = None
    if given["features"] is not None:
        learned = _learn(comparisons, data, given)
    if output is not None:
        write_text(output, leaderboard_csv(board))
    if given["model"] is not None and learned is not None:
        learned.save(given["model"])
    if output == "-":
        return
    screen = console()
    print_leaderboard(screen, board, data, given["top"])
    if given["with_consensus"]:
        from crucial.apps.preferences.mallows import consensus

        with naming(comparisons):
            print_consensus(screen, consensus(data), given["top"])
    if learned is not None:
        print_learned(screen, learned)
    for target in (output, given["model"]):
        if target is not None:
            note(f"wrote {target}")


def _read(path: str, given: dict[str, Any]) -> Comparisons | Rankings:
    if path.lower().removesuffix(".gz").endswith(_PREFLIB):
        from crucial.data.formats.preflib import read_preflib

        if given["features"] is not None:
            raise click.UsageError("--features learns from comparisons; these are rankings.")
        return read_preflib(path)
    from crucial.data.formats.comparisons import read_comparisons

    roles = ("winner", "loser", "tie", "weight", "judge", "context")
    return read_comparisons(path, **{role: given[role] for role in roles})


def _learn(path: str, data: Any, given: dict[str, Any]) -> Any:
    from dataclasses import replace

    from crucial.apps.preferences.learning import learn_preferences
    from crucial.cli.shared.reading import as_instances
    from crucial.data.formats.tables import read_table

    features = given["features"]
    rows = read_table(features, label=None, qid=None, item=given["item"], ignore=given["ignore"])
    if rows.n_features == 0:
        raise FileError(features, "there is no column of features.")
    with naming(features):
        learned = learn_preferences(
            data,
            as_instances(rows),
            [] if rows.item is None else rows.item.tolist(),
            n_estimators=given["rounds"],
            random_state=given["seed"],
            n_jobs=given["jobs"],
        )
    told = {"form": "table", "label": "label", "qid": "qid", "item": given["item"]}
    model = replace(learned.model, training={**learned.model.training, "data": told})
    return replace(learned, model=model)


def leaderboard_csv(board: Leaderboard) -> str:
    """The leaderboard as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(type(board.standings[0]).__dataclass_fields__)
    writer.writerow(names)
    for one in board.standings:
        cells = [getattr(one, name) for name in names]
        writer.writerow(
            [
                "; ".join(cell) if isinstance(cell, tuple) else "" if cell != cell else cell
                for cell in cells
            ]
        )
    return out.getvalue()

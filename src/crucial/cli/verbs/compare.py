"""``crucial compare``: runs against a baseline, query by query."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.reading import refuse_same_file
from crucial.cli.shared.terminal import console, one_line, table
from crucial.cli.shared.writing import check_target, write_text
from crucial.cli.tables.measures import gain_rule, print_meanings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crucial.lab.comparison import Comparison

__all__ = ["compare_command", "print_comparison"]

_EPILOG = """\
\b
Examples:
  crucial compare qrels.txt base.run new.run
  crucial compare qrels.txt a.run b.run c.run --baseline b.run -m ndcg@10 -m map
  crucial compare qrels.txt base.run new.run -m mrr --movers 10 --json -o compared.json

\b
Conventions:
  Differences are run minus baseline over the queries that both have; intervals come from
  drawing queries anew. p is two-sided: had the runs been alike, every query's difference
  could as well have the other sign. p Holm is corrected for the number of runs.
  A judged query for which a run has nothing counts as an empty list (--missing skip leaves
  it out, as trec_eval does). Equal scores count by expectation (--ties trec).
"""


@click.command("compare", epilog=_EPILOG)
@click.argument("qrels", type=click.Path())
@click.argument("runs", type=click.Path(), nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--baseline", metavar="RUN",
              help="The run that others are compared with. [default: the first]")  # fmt: skip
@click.option("-m", "--metric", "metrics", multiple=True, metavar="NAME",
              help="A measure; may be repeated. [default: ndcg@10]")  # fmt: skip
@click.option("--test", type=click.Choice(["permutation", "t"]), default="permutation",
              show_default=True, help="The paired test.")  # fmt: skip
@click.option("--movers", type=click.IntRange(min=0), default=5, metavar="N", show_default=True,
              help="Queries to name that gained most, and that lost most.")  # fmt: skip
@click.option("--ties", type=click.Choice(["expected", "trec"]), default="expected",
              show_default=True, help="How equal scores count.")  # fmt: skip
@click.option("--empty", type=click.Choice(["skip", "0", "1"]), default="skip", show_default=True,
              help="What a query without a relevant document counts.")  # fmt: skip
@click.option("--unjudged", type=click.Choice(["not_relevant", "drop"]), default="not_relevant",
              show_default=True, help="What a document without a judgement is.")  # fmt: skip
@click.option("--missing", type=click.Choice(["count", "skip"]), default="count",
              show_default=True, help="What a judged query without a document is.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The result as JSON, for programs.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE",
              help="Where --json goes. [default: standard output]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N",
              help="Of all draws. [default: 0]")  # fmt: skip
def compare_command(qrels: str, runs: tuple[str, ...], **given: Any) -> None:
    """Compare runs with a baseline, by the judgements in QRELS."""
    from crucial.data.formats.trec import read_qrels, read_run
    from crucial.lab.comparison import compare_runs
    from crucial.measures.names import get_measure

    if given["output"] is not None:
        if not given["as_json"]:
            raise click.UsageError("-o is for --json; the table is not written.")
        refuse_same_file(given["output"], qrels, *runs)
        check_target(given["output"])
    names = _names(runs)
    baseline = _baseline(names, given["baseline"])
    chosen = [get_measure(name).name for name in given["metrics"]] or ["ndcg@10"]
    found = compare_runs(
        read_qrels(qrels),
        {name: read_run(path) for name, path in names.items()},
        chosen,
        baseline=baseline,
        test=given["test"],
        ties=given["ties"],
        empty=given["empty"] if given["empty"] == "skip" else int(given["empty"]),
        unjudged=given["unjudged"],
        missing=given["missing"],
        movers=given["movers"],
        random_state=given["seed"],
    )
    if given["as_json"]:
        write_text(given["output"] or "-", _as_json(qrels, found))
        return
    screen = console()
    rule = gain_rule(chosen)
    screen.print(f"{len(names)} runs by {qrels}{'; ' + rule if rule else ''}", style="bold")
    print_comparison(screen, found)
    print_meanings(screen, chosen)


def _names(runs: tuple[str, ...]) -> dict[str, str]:
    """Runs by the names of their files, or by their paths where two files are called alike."""
    if len(runs) < 2:
        raise click.UsageError("name two runs or more: the first is the baseline.")
    if len(set(runs)) < len(runs):
        twice = next(one for one in runs if runs.count(one) > 1)
        raise click.UsageError(f"the run '{twice}' is named twice.")
    short = [os.path.basename(one) for one in runs]
    return dict(zip(runs if len(set(short)) < len(short) else short, runs))


def _baseline(names: dict[str, str], given: str | None) -> str | None:
    """The baseline, by its name or path."""
    if given is None:
        return None
    for name, path in names.items():
        if given in (name, path):
            return name
    raise click.UsageError(f"--baseline '{given}' is not one of the runs: {', '.join(names)}.")


def _number(value: float, sign: str = "") -> str:
    return "none" if math.isnan(value) else f"{value:{sign}.4f}"


def _table_of(found: Comparison, measure: str, own: bool) -> Table:
    span = f"{found.level:.0%} interval"
    heads = [*(("value", span) if own else ()), "difference", span, "p", "p Holm", "won/tied/lost"]
    shown = table()
    shown.add_column(measure, no_wrap=True, max_width=30)
    for head in heads:
        # (names may be cut short, numbers may not)
        shown.add_column(head, justify="right", no_wrap=True, min_width=min(len(head), 6))
    for one in found.differences:
        if one.measure != measure:
            continue
        cells = [one_line(one.system)]
        if own:
            cells += [_number(one.value), f"{_number(one.low)} {_number(one.high)}"]
        if one.system == found.baseline:
            cells += ["baseline", "", "", "", ""]
        else:
            ends = f"{_number(one.difference_low, '+')} {_number(one.difference_high, '+')}"
            cells += [_number(one.difference, "+"), ends, _number(one.p), _number(one.p_holm)]
            cells.append(f"{one.wins}/{one.ties}/{one.losses}")
        shown.add_row(*cells)
    return shown


def print_comparison(screen: Console, found: Comparison, own: bool = True) -> None:
    """Print a table a measure, and below it the biggest movers of the first.

    Parameters
    ----------
    own : bool
        Also the systems' own values, and not only the differences.
    """
    for measure in dict.fromkeys(one.measure for one in found.differences):
        screen.print(_table_of(found, measure, own))
    first = found.differences[0].measure
    movers = [one for one in found.movers if one.measure == first]
    if movers:
        screen.print(f"biggest movers, {first}", style="bold")
        shown = table()
        for head in ("system", found.unit):
            shown.add_column(head, no_wrap=True, max_width=36)
        for head in ("baseline", "system's", "change"):
            shown.add_column(head, justify="right")
        for mover in movers:
            shown.add_row(one_line(mover.system), one_line(mover.block),
                          _number(mover.baseline_value), _number(mover.value),
                          _number(mover.change, "+"))  # fmt: skip
        screen.print(shown)
    for text in found.notes:
        screen.print(one_line(text), style="dim")


def _as_json(qrels: str, found: Comparison) -> str:
    from dataclasses import asdict

    from crucial.lab.tidy import plain

    result = {
        "qrels": qrels,
        "baseline": found.baseline,
        "unit": found.unit,
        "test": found.test,
        "level": found.level,
        "differences": found.to_rows(),
        "movers": [asdict(one) for one in found.movers],
        "notes": found.notes,
    }
    return json.dumps(plain(result), indent=1, allow_nan=False) + "\n"

"""``crucial evaluate``: how good a ranker is on labelled rows, or a run by judgements."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.evaluate_runs import measure_by_judgements, print_topics
from crucial.cli.shared.options import (
    files_argument,
    jobs_option,
    measure_option,
    model_argument,
    only_file,
    reading_options,
    refuse_reading_options,
)
from crucial.cli.shared.reading import as_instances, naming, read_for_model, refuse_same_file
from crucial.cli.shared.terminal import console, counted, one_line, table
from crucial.cli.shared.writing import check_target, write_text
from crucial.cli.tables.measures import default_measure, gain_rule, print_meanings
from crucial.errors import FileError

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.dataset import Dataset
    from crucial.measures.evaluation import Evaluation
    from crucial.model.payloads import Model

__all__ = ["evaluate_command"]

_EPILOG = """\
\b
Examples:
  crucial evaluate model.json test.txt -m ndcg@10 -m map
  crucial evaluate model.json test.txt -m ndcg_exp@10 --intervals
  crucial evaluate model.json test.txt -m map --ties trec --by-query -o map.tsv
  crucial evaluate fused.run --qrels test.qrels -m map -m ndcg@10
  crucial evaluate fuse.json bm25.run dense.run --qrels test.qrels -m map

\b
Conventions:
  ndcg has linear gain y (as trec_eval), ndcg_exp has gain 2^y - 1 (as LightGBM and LETOR).
  Equal scores count by the exact expectation over their random order; --ties trec breaks
  them by name as trec_eval does.
  A query without a relevant row has no value: it is left out of the mean and counted, or
  counts as --empty says (0 as LETOR's scripts, 1 as LightGBM).
"""


@click.command("evaluate", epilog=_EPILOG)
@model_argument
@files_argument
@click.option("--qrels", type=click.Path(), metavar="FILE",
              help="Judgements: MODEL is then a run, or a model of 'crucial fuse' with its runs "
              "as DATA.")  # fmt: skip
@measure_option
@click.option("--by-query", is_flag=True,
              help="Every query's values, tab separated, on standard output (the table then goes "
              "to standard error) or in the file of -o.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The result as JSON, for programs.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE",
              help="Where --by-query or --json go. [default: standard output]")  # fmt: skip
@click.option("--intervals", is_flag=True,
              help="95% intervals, by bootstrap over queries.")  # fmt: skip
@click.option("--ties", type=click.Choice(["expected", "trec"]), default="expected",
              show_default=True, help="How equal scores count.")  # fmt: skip
@click.option("--empty", type=click.Choice(["skip", "0", "1"]), default="skip", show_default=True,
              help="What a query without a value counts.")  # fmt: skip
@click.option("--worst", type=click.IntRange(min=0), default=0, metavar="N",
              help="Also list the N queries with the worst first measure.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N",
              help="Of the bootstrap. [default: 0]")  # fmt: skip
@reading_options
@jobs_option
def evaluate_command(model: str, data: tuple[str, ...], **given: Any) -> None:
    """Measure how well MODEL ranks rows with labels, or a run."""
    from crucial.measures.names import get_measure

    output = given["output"] or "-"
    if given["output"] is not None:
        if not (given["by_query"] or given["as_json"]):
            raise click.UsageError("-o is for --by-query and --json; the table is not written.")
        refuse_same_file(output, model, *data, given["group_sizes"], given["qrels"])
        check_target(output)
    chosen = [get_measure(name).name for name in given["metrics"]]
    if given["qrels"] is None:
        name = only_file(data)
        rows, found = _rows_measured(model, name, chosen, given)
        n_rows = rows.n_rows
    else:
        name = given["qrels"]
        refuse_reading_options(given)
        found, n_rows = measure_by_judgements(model, data, chosen, given)
    if given["as_json"]:
        write_text(output, _as_json(model, name, found, given["by_query"]))
        return
    if given["by_query"]:
        write_text(output, _by_query(found))
    screen = _screen(given["by_query"] and output == "-")
    _print_table(screen, model, name, n_rows, found)
    if given["worst"]:
        _print_worst(screen, found, given["worst"])


def _rows_measured(
    model: str, data: str, chosen: list[str], given: dict[str, Any]
) -> tuple[Dataset, Evaluation]:
    """Measure a model on the rows of a file."""
    from crucial.apps.fusion.ranker import FusionRanker
    from crucial.model.file import load_model

    ranker = load_model(model)
    if isinstance(ranker, FusionRanker):
        raise click.UsageError(f"{model} fuses runs: give them as DATA, and --qrels.")
    rows = read_for_model(data, ranker, given, labels=True)
    with naming(data):
        return rows, _measure(data, ranker, rows, chosen, given)


def _screen(aside: bool) -> Console:
    import sys

    return console(sys.stderr if aside else None)


def _measure(
    path: str, ranker: Model, rows: Dataset, chosen: list[str], given: dict[str, Any]
) -> Evaluation:
    from crucial.data.groups import Groups
    from crucial.measures.evaluation import evaluate

    if rows.y is None:
        raise FileError(
            path, "its rows have no labels to measure by; name the column with --label."
        )
    if rows.qid is None and ranker.training.get("with_qid") is True:
        raise FileError(
            path,
            "its rows have no query ids, and the model was trained with queries: scores of "
            "different queries cannot be compared. Give them (qid:, --qid or --group-sizes).",
        )
    groups = Groups.from_qid(rows.qid, rows.n_rows)
    scores = ranker.predict(as_instances(rows), groups, n_jobs=given["jobs"])
    return evaluate(
        rows.y,
        scores,
        groups,
        chosen or [default_measure(rows)],
        ids=rows.item,
        ties=given["ties"],
        empty=given["empty"] if given["empty"] == "skip" else int(given["empty"]),
        intervals=given["intervals"],
        random_state=given["seed"],
    )


_TIES = {"expected": "equal scores by expectation", "trec": "equal scores as in trec_eval"}


def _print_table(screen: Console, model: str, data: str, n_rows: int, found: Evaluation) -> None:
    n_queries = len(found.per_query["qid"])
    queries = counted(n_queries, "query", "queries")
    filled = found.empty != "skip"
    rules = [_TIES[found.ties], gain_rule(found.results)]
    title = f"{model} on {data}: {n_rows:,} rows, {queries}; {'; '.join(filter(None, rules))}"
    screen.print(title, style="bold")
    shown = table()
    shown.add_column("measure", no_wrap=True)
    shown.add_column("value", justify="right")
    if found.level is not None:
        shown.add_column(f"{found.level:.0%} interval", justify="right", no_wrap=True)
    shown.add_column("queries", justify="right")
    shown.add_column(f"counted {found.empty}" if filled else "left out", justify="right")
    judged = all(one.unjudged is None for one in found.results.values())
    if not judged:
        shown.add_column("unjudged", justify="right")
    for name, one in found.results.items():
        cells = [name, _number(one.value)]
        if found.level is not None:
            ends = one.interval
            cells.append("" if ends is None else f"{_number(ends[0])} to {_number(ends[1])}")
        cells += [f"{one.n_queries:,}", f"{one.n_empty:,}"]
        cells += [] if one.unjudged is None else [f"{one.unjudged:.1%}"]
        shown.add_row(*cells)
    screen.print(shown)
    print_meanings(screen, found.results)
    print_topics(screen, found)
    if any(one.n_empty for one in found.results.values()):
        what = f"count as {found.empty}" if filled else "are left out of the mean (--empty 0|1)"
        screen.print(f"queries without a relevant row, or without a pair, {what}", style="dim")


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.4f}"


def _print_worst(screen: Console, found: Evaluation, count: int) -> None:
    """List the queries that pull the first measure down."""
    import numpy as np

    name, first = next(iter(found.results.items()))
    values = found.per_query[name]
    sign = 1.0 if first.measure.higher_is_better else -1.0
    order = [q for q in np.argsort(sign * values, kind="stable").tolist() if values[q] == values[q]]
    screen.print(f"\nqueries with the worst {name}", style="bold")
    shown = table()
    shown.add_column("qid", no_wrap=True)
    for other in found.results:
        shown.add_column(other, justify="right")
    for q in order[:count]:
        cells = [_number(float(found.per_query[other][q])) for other in found.results]
        shown.add_row(one_line(str(found.per_query["qid"][q])), *cells)
    screen.print(shown)


def _by_query(found: Evaluation) -> str:
    """One line a query; an empty cell where it has no value."""
    names = list(found.results)
    lines = ["\t".join(["qid", *names])]
    columns = [found.per_query[name].tolist() for name in names]
    for qid, *values in zip(found.per_query["qid"].tolist(), *columns):
        cells = ["" if math.isnan(value) else repr(value) for value in values]
        lines.append("\t".join([" ".join(str(qid).split()), *cells]))
    return "\n".join(lines) + "\n"


def _as_json(model: str, data: str, found: Evaluation, by_query: bool) -> str:
    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and math.isnan(value) else value

    result: dict[str, Any] = {
        "model": model,
        "data": data,
        "ties": found.ties,
        "empty": found.empty,
        "level": found.level,
        "measures": [{key: plain(value) for key, value in row.items()} for row in found.to_rows()],
    }
    if by_query:
        result["by_query"] = {
            name: [plain(value) for value in values.tolist()]
            for name, values in found.per_query.items()
        }
    return json.dumps(result, indent=1, allow_nan=False) + "\n"

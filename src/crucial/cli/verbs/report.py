"""``crucial report``: one page about a ranker on labelled rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import (
    data_argument,
    jobs_option,
    measure_option,
    model_argument,
    reading_options,
)
from crucial.cli.shared.reading import as_instances, naming, read_for_model, refuse_same_file
from crucial.cli.shared.terminal import console, counted, one_line
from crucial.cli.shared.writing import check_target
from crucial.cli.tables.measures import default_measure
from crucial.errors import FileError

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset

__all__ = ["report_command"]

_EPILOG = """\
\b
Examples:
  crucial report model.json test.txt -o report.html
  crucial report model.json test.csv --item url -m ndcg@10 -m map -o report.html
  crucial train train.txt -o model.json --trace trace.tsv
  crucial report model.json test.txt --trace trace.tsv -o report.html

The page is one file that fetches nothing: open it from disk, send it by mail. It shows
measures with intervals, what every feature adds, the learning curve, and the best and worst
queries with the reasons for their order.
"""


@click.command("report", epilog=_EPILOG)
@model_argument
@data_argument
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE",
              help="The page to write, by custom .html.")  # fmt: skip
@measure_option
@click.option("--trace", type=click.Path(), metavar="FILE",
              help="What 'crucial train --trace' wrote: bounds and risks by round.")  # fmt: skip
@click.option("--title", metavar="TEXT", help="Heading of the page. [default: the model's name]")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N",
              help="Of intervals and permutations. [default: 0]")  # fmt: skip
@reading_options
@jobs_option
def report_command(model: str, data: str, output: str, **given: Any) -> None:
    """Write a page on how well MODEL ranks DATA, and why."""
    from crucial.inspection.report_page import report
    from crucial.measures.names import get_measure
    from crucial.model.file import load_model
    from crucial.model.payloads import row_model

    if output == "-":
        raise FileError(output, "a page goes to a file; name one with -o.")
    refuse_same_file(output, model, data, given["trace"], given["group_sizes"])
    check_target(output)
    chosen = [get_measure(name).name for name in given["metrics"]]
    ranker = row_model(load_model(model))
    trace = None if given["trace"] is None else read_trace(given["trace"])
    rows = read_for_model(data, ranker, given, labels=True)
    if rows.y is None:
        raise FileError(
            data, "its rows have no labels to measure by; name the column with --label."
        )
    with naming(data):
        made = report(
            ranker,
            as_instances(rows),
            rows.y,
            qid=rows.qid,
            item=rows.item,
            metrics=chosen or [default_measure(rows)],
            title=given["title"] or os.path.basename(model),
            subtitle=_subtitle(data, rows),
            trace=trace,
            notes=rows.notes,
            random_state=given["seed"],
            n_jobs=given["jobs"],
        )
    made.save(output)
    screen = console()
    for line in made.data["summary"]["sentences"]:
        screen.print(one_line(line))
    screen.print(f"Written to {output} ({os.path.getsize(output) / 1000:,.0f} kB).", soft_wrap=True)


def _subtitle(path: str, rows: Dataset) -> str:
    said = [counted(rows.n_rows, "row", "rows")]
    if rows.qid is not None:
        said.append(counted(len(set(rows.qid.tolist())), "query", "queries"))
    return f"on {os.path.basename(path)}: {', '.join(said)}"


def read_trace(path: str) -> dict[str, list[str]]:
    """Columns of a trace as ``crucial train --trace`` writes it.

    Raises
    ------
    FileError
        The file is no such table; the line is named.
    """
    from crucial.data.files import open_bytes

    with open_bytes(path) as source:
        lines = [line.decode("utf-8", "replace").rstrip("\r\n") for line in source.lines()]
    heads = lines[0].split("\t") if lines else []
    if "round" not in heads or len(set(heads)) != len(heads):
        raise FileError(
            path, "this is no trace: its first line must name columns, 'round' among them.", 1
        )
    columns: dict[str, list[str]] = {head: [] for head in heads}
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(heads):
            raise FileError(path, f"expected {len(heads)} cells, got {len(cells)}.", number)
        for head, cell in zip(heads, cells):
            columns[head].append(cell)
    _check_numbers(path, columns)
    return columns


def _check_numbers(path: str, columns: dict[str, list[str]]) -> None:
    for name in ("round", "loss"):
        for number, cell in enumerate(columns.get(name, []), 2):
            try:
                float(cell)
            except ValueError:
                raise FileError(path, f"{name!r} must be a number, got {cell!r}.", number) from None

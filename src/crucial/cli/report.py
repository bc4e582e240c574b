"""``crucial report``: one page about a ranker on labelled rows, or a fusion on judged queries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from crucial.cli.options import (
    DEFAULT_MEASURE,
    File,
    NameOptions,
    RowOptions,
    argument,
    measure_names,
    measures_option,
    option,
    verb,
)
from crucial.cli.rows import (
    named,
    note_learned_queries,
    read_for_model,
    read_model,
    refuse_row_options,
    renamed,
)
from crucial.cli.terminal import check_target, console, one_line
from crucial.errors import FileError, in_file
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.fusion.ranker import FusionRanker
    from crucial.model.base import FrozenModel
    from crucial.pages import Page


@dataclass(frozen=True)
class ReportOptions(RowOptions, NameOptions):
    """The options of ``crucial report``."""

    model: File = argument()
    data: tuple[File, ...] = argument()
    output: File = option("Page to write, usually .html.", "-o", required=True)
    qrels: File | None = option(
        "Judgements, for a model from 'crucial fuse' with its runs as DATA."
    )
    metrics: tuple[str, ...] = measures_option(DEFAULT_MEASURE)
    trace: File | None = option(
        "Trace written by 'crucial train --trace', to show bounds and risks by round."
    )
    title: str | None = option("Heading of the page. [default: the model's name]", metavar="TEXT")
    seed: int = option("Seed for intervals and permutations.", low=0, default=0)


@verb("report", ReportOptions, without=("weight", "categories"))
def report_command(options: ReportOptions) -> None:
    """Write a page on how well MODEL ranks DATA, and why.

    \b
    Examples:
      crucial report model.json test.txt -o report.html
      crucial report model.json test.csv --item url -m ndcg@10 -o report.html
      crucial train train.txt -o model.json --trace trace.tsv
      crucial report model.json test.txt --trace trace.tsv -o report.html
      crucial report fuse.json bm25.run dense.run --qrels test.qrels -o page.html

    The page is one file that loads nothing else: open it from disk, or send it by mail. It shows
    measures with intervals, what every feature adds, the learning curve, and the best and worst
    queries with the reasons for their order. For a model from 'crucial fuse' it shows the runs with
    their weights and shapes, who contributed the documents at the top, and the queries that are
    better and worse than with reciprocal rank fusion.
    """
    from crucial.fusion.ranker import FusionRanker
    from crucial.model.file import row_model

    output = options.output
    if output == "-":
        raise FileError(output, "a page is written to a file; name it with -o.")
    check_target(
        output, options.model, *options.data, options.trace, options.group_sizes, options.qrels
    )
    metrics = measure_names(options.metrics)
    model = read_model(options.model, *options.data)
    if isinstance(model, FusionRanker):
        page = _fusion_page(model, metrics, options)
    elif options.qrels is not None:
        raise click.UsageError(
            f"--qrels is for a model of 'crucial fuse'; {options.model} is none."
        )
    else:
        page = _ranker_page(renamed(row_model(model), options.feature_names), metrics, options)
    page.save(output)
    screen = console()
    for line in page.sentences:
        screen.print(one_line(line))
    screen.print(f"Wrote {output} ({os.path.getsize(output) / 1000:,.0f} kB).", soft_wrap=True)


def _fusion_page(fusion: FusionRanker, metrics: list[str], options: ReportOptions) -> Page:
    """Return the page of a fusion on judged queries."""
    from crucial.fusion.comparison import fusion_page
    from crucial.fusion.pool import Pool
    from crucial.io.runs import read_qrels

    refuse_row_options(options)
    if options.trace is not None:
        raise click.UsageError("--trace is for a model of features.")
    if options.qrels is None:
        raise click.UsageError(f"{options.model} fuses runs: give them as DATA, and --qrels.")
    if not options.data:
        raise click.UsageError("Missing argument 'DATA': the runs to fuse.")
    pool, qrels = Pool.of(list(options.data)), read_qrels(options.qrels)
    note_learned_queries(fusion, pool.queries, qrels)
    with in_file(options.qrels):
        return fusion_page(
            fusion,
            pool,
            qrels,
            measures=metrics or ("map", "ndcg@10"),
            title=options.title or os.path.basename(options.model),
            subtitle=f"{counted(len(options.data), 'run')} by {os.path.basename(options.qrels)}",
            random_state=options.seed,
        )


def _ranker_page(model: FrozenModel, metrics: list[str], options: ReportOptions) -> Page:
    """Return the page of a model of features on labelled rows."""
    from crucial.boosting.loop import read_trace
    from crucial.inspection.report_page import report

    trace = None if options.trace is None else read_trace(options.trace)
    data = read_for_model(options.data, model, options, labels=True)
    path = named(options.data)
    assert data.y is not None
    size = [counted(data.n_rows, "row")]
    if data.qid is not None:
        size.append(counted(len(set(data.qid.tolist())), "query"))
    with in_file(path):
        return report(
            model,
            data.instances(),
            data.y,
            qid=data.qid,
            item=data.item,
            metrics=metrics or None,
            title=options.title or os.path.basename(options.model),
            subtitle=f"on {os.path.basename(path)}: {', '.join(size)}",
            trace=trace,
            notes=data.notes,
            random_state=options.seed,
            n_jobs=options.jobs,
        )

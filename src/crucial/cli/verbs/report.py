"""``crucial report``: one page about a ranker on labelled rows."""

from __future__ import annotations

import os
from dataclasses import dataclass

from crucial.cli.shared.files import check_target
from crucial.cli.shared.measures import DEFAULT_MEASURE, measure_names
from crucial.cli.shared.options import File, RowOptions, argument, measures_option, option, verb
from crucial.cli.shared.row_files import read_for_model
from crucial.cli.shared.terminal import console, counted, one_line
from crucial.errors import FileError, in_file

__all__ = ["ReportOptions", "report_command"]


@dataclass(frozen=True)
class ReportOptions(RowOptions):
    """The options of ``crucial report``."""

    model: File = argument()
    data: File = argument()
    output: File = option("Page to write, usually .html.", "-o", required=True)
    metrics: tuple[str, ...] = measures_option(DEFAULT_MEASURE)
    trace: File | None = option(
        "Trace written by 'crucial train --trace', to show bounds and risks by round."
    )
    title: str | None = option("Heading of the page. [default: the model's name]", metavar="TEXT")
    seed: int = option("Seed for intervals and permutations.", low=0, default=0)


@verb("report", ReportOptions)
def report_command(options: ReportOptions) -> None:
    """Write a page on how well MODEL ranks DATA, and why.

    \b
    Examples:
      crucial report model.json test.txt -o report.html
      crucial report model.json test.csv --item url -m ndcg@10 -m map -o report.html
      crucial train train.txt -o model.json --trace trace.tsv
      crucial report model.json test.txt --trace trace.tsv -o report.html

    The page is one file that loads nothing else: open it from disk, or send it by mail. It shows
    measures with intervals, what every feature adds, the learning curve, and the best and worst
    queries with the reasons for their order.
    """
    from crucial.boosting.trace_file import read_trace
    from crucial.inspection.report_page import report
    from crucial.model.file import load_model
    from crucial.model.payloads import row_model

    output, path = options.output, options.data
    if output == "-":
        raise FileError(output, "a page is written to a file; name it with -o.")
    check_target(output, options.model, path, options.trace, options.group_sizes)
    metrics = measure_names(options.metrics)
    model = row_model(load_model(options.model))
    trace = None if options.trace is None else read_trace(options.trace)
    data = read_for_model(path, model, options, labels=True)
    assert data.y is not None
    size = [counted(data.n_rows, "row")]
    if data.qid is not None:
        size.append(counted(len(set(data.qid.tolist())), "query"))
    with in_file(path):
        page = report(
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
    page.save(output)
    screen = console()
    for line in page.data["summary"]["sentences"]:
        screen.print(one_line(line))
    screen.print(f"Wrote {output} ({os.path.getsize(output) / 1000:,.0f} kB).", soft_wrap=True)

"""``crucial compare``: runs against a baseline, query by query."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import click

from crucial.cli.shared.files import check_target, write_text
from crucial.cli.shared.measures import measure_names
from crucial.cli.shared.options import (
    File,
    MeasuringOptions,
    argument,
    measures_option,
    option,
    verb,
)
from crucial.cli.shared.terminal import console

__all__ = ["CompareOptions", "compare_command"]


@dataclass(frozen=True)
class CompareOptions(MeasuringOptions):
    """The options of ``crucial compare``."""

    qrels: File = argument()
    runs: tuple[File, ...] = argument(required=True, metavar="RUN RUN...")
    baseline: str | None = option(
        "The run that the others are compared with. [default: the first]", metavar="RUN"
    )
    metrics: tuple[str, ...] = measures_option("ndcg@10")
    test: Literal["permutation", "t"] = option("The paired test.", default="permutation")
    movers: int = option(
        "Length of the lists of queries that gained most and lost most.", low=0, default=5
    )
    unjudged: Literal["not_relevant", "drop"] = option(
        "What a document without a judgement counts as.", default="not_relevant"
    )
    missing: Literal["count", "skip"] = option(
        "Whether a judged query that a run lacks counts as an empty list.", default="count"
    )
    output: File | None = option("File for --json. [default: standard output]", "-o")


@verb("compare", CompareOptions)
def compare_command(options: CompareOptions) -> None:
    """Compare runs with a baseline, by the judgements in QRELS.

    \b
    Examples:
      crucial compare qrels.txt base.run new.run
      crucial compare qrels.txt a.run b.run c.run --baseline b.run -m ndcg@10 -m map
      crucial compare qrels.txt base.run new.run -m mrr --movers 10 --json -o compared.json

    \b
    Conventions:
      Differences are run minus baseline over the queries that both have; intervals come from
      resampling queries. p is two-sided: if the runs were equally good, every query's difference
      could just as well have the other sign. p Holm is corrected for the number of runs.
      A judged query that a run lacks counts as an empty list (--missing skip leaves it out, as
      trec_eval does). Equal scores count by expectation (--ties trec changes that).
    """
    from crucial.cli.tables.comparison import comparison_json, print_comparison
    from crucial.cli.tables.measures import print_heading, print_meanings
    from crucial.data.formats.trec import read_qrels, read_run
    from crucial.lab.comparison import compare_runs

    if options.output is not None:
        if not options.json:
            raise click.UsageError("-o is for --json; the table is not written.")
        check_target(options.output, options.qrels, *options.runs)
    paths = _named_paths(options.runs)
    baseline = _baseline(paths, options.baseline)
    metrics = measure_names(options.metrics) or ["ndcg@10"]
    found = compare_runs(
        read_qrels(options.qrels),
        {name: read_run(path) for name, path in paths.items()},
        metrics,
        baseline=baseline,
        test=options.test,
        ties=options.ties,
        empty=options.empty,
        unjudged=options.unjudged,
        missing=options.missing,
        movers=options.movers,
        random_state=options.seed,
    )
    if options.json:
        write_text(options.output or "-", comparison_json(options.qrels, found))
        return
    screen = console()
    print_heading(screen, f"{len(paths)} runs by {options.qrels}", metrics)
    print_comparison(screen, found)
    print_meanings(screen, metrics)


def _named_paths(runs: tuple[str, ...]) -> dict[str, str]:
    """Return the runs by file name, or by path where two files have the same name."""
    if len(runs) < 2:
        raise click.UsageError("name two runs or more: the first is the baseline.")
    if len(set(runs)) < len(runs):
        twice = next(one for one in runs if runs.count(one) > 1)
        raise click.UsageError(f"the run '{twice}' is named twice.")
    short = [os.path.basename(one) for one in runs]
    return dict(zip(runs if len(set(short)) < len(short) else short, runs))


def _baseline(paths: dict[str, str], wanted: str | None) -> str | None:
    """Return the name of the baseline, which may be given as a name or a path."""
    if wanted is None:
        return None
    for name, path in paths.items():
        if wanted in (name, path):
            return name
    raise click.UsageError(f"--baseline '{wanted}' is not one of the runs: {', '.join(paths)}.")

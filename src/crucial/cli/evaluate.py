"""``crucial evaluate``: measure a ranker on labelled rows, or a run by judgements."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from crucial.cli import terminal
from crucial.cli.options import (
    DEFAULT_MEASURE,
    ClusterOptions,
    File,
    MeasuringOptions,
    RowOptions,
    argument,
    measure_names,
    measures_option,
    option,
    refuse_given,
    verb,
)
from crucial.cli.rows import (
    evaluate_rows,
    named,
    note_learned_run,
    read_for_model,
    read_model,
    read_runs,
    refuse_row_options,
    score_files,
    start_of,
)
from crucial.errors import in_file
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.dataset import Qrels, Run
    from crucial.measures.evaluation import Evaluation
    from crucial.model.file import Model


# --- ``crucial evaluate``: measure a ranker on labelled rows, or a run by judgements


@dataclass(frozen=True)
class EvaluateOptions(MeasuringOptions, ClusterOptions, RowOptions):
    """The options of ``crucial evaluate``."""

    model: File = argument()
    data: tuple[File, ...] = argument()
    qrels: File | None = option(
        "Judgements; MODEL is then a run, or a model from 'crucial fuse' with its runs as DATA."
    )
    metrics: tuple[str, ...] = measures_option(DEFAULT_MEASURE)
    by_query: bool = option(
        "Write every query's values, as CSV to standard output (the table then goes to standard "
        "error) or to the file given by -o."
    )
    output: File | None = option(
        "File for the measures, or with --by-query every query's values: .csv, .tsv, .jsonl or "
        "parquet; .json has both, as --json prints them.",
        "-o",
    )
    intervals: bool = option(
        "Add 95% intervals: by bootstrap over queries; without queries from the rows, DeLong's for "
        "auc and other shares of pairs."
    )
    resamples: int | None = option(
        "Number of bootstrap draws. [default: as many as the third digit needs]", low=10
    )
    worst: int = option(
        "Also list the N queries that are worst by the first measure.",
        low=0,
        default=0,
        show_default=False,
    )


@verb("evaluate", EvaluateOptions, without=("categories",))
def evaluate_command(options: EvaluateOptions) -> None:
    """Measure how well MODEL ranks labelled rows, or measure a run.

    \b
    Examples:
      crucial evaluate model.json test.txt -m ndcg@10 -m map
      crucial evaluate model.json test.txt -m ndcg_exp@10 --intervals
      crucial evaluate model.json test.txt -m map --by-query -o map.tsv
      crucial evaluate fused.run --qrels test.qrels -m map -m ndcg@10
      crucial evaluate fuse.json bm25.run dense.run --qrels test.qrels -m map
      crucial evaluate model.json 'test/*.parquet' -m ndcg@10 --dask

    \b
    Conventions:
      ndcg has linear gain y (trec_eval), ndcg_exp gain 2^y - 1 (LightGBM and
      LETOR).
      Equal scores count by the exact expectation over random order; --ties trec
      breaks ties by item name as trec_eval does.
      A query without a relevant row has no value: it is left out of the mean
      and reported, or has the value of --empty (0 in LETOR's scripts, 1 in
      LightGBM).
      A run is measured with all its documents, as trec_eval does without -M; a
      model from 'crucial fuse' as the run that 'crucial rank' writes, up to
      1,000 documents per query.
    """

    model, output = options.model, options.output or "-"
    as_json = terminal.writes_json(options.output, options.json)
    if not options.intervals:
        refuse_given(["resamples"], "needs --intervals.")
    terminal.check_target(output, model, *options.data, options.group_sizes, options.qrels)
    metrics = measure_names(options.metrics)
    if options.qrels is not None and options.on_cluster:
        raise click.UsageError("--dask is for rows of features, and --qrels for runs.")
    if options.on_cluster:
        data = named(options.data)
        found, n_rows = _evaluate_parts(metrics, options)
    elif options.qrels is None:
        ranker = _load(options)  # (first: a fusion of several files lacks --qrels)
        data = named(options.data) if options.data else "DATA"
        found, n_rows = _evaluate_model(ranker, metrics, options)
    else:
        data = options.qrels
        found, n_rows = _evaluate_run(data, metrics, options)
    if as_json:
        terminal.write_text(output, evaluation_json(model, data, found, by_query=options.by_query))
        return
    if options.by_query:
        terminal.write_frame(
            output, {name: column.tolist() for name, column in found.per_query.items()}
        )
    elif options.output is not None:
        terminal.write_frame(output, found.to_frame())
    wrote = options.by_query or options.output is not None
    screen = terminal.console(sys.stderr if wrote and output == "-" else None)
    size = counted(n_rows, "row")
    if options.qrels is not None and options.data:
        from crucial.fusion.rules import DEPTH

        size += f", up to {DEPTH:,} per query"
    queries = "" if found.unit == "row" else f", {counted(len(found.per_query['qid']), 'query')}"
    heading = f"{model} on {data}: {size}{queries}; {_TIES[found.ties]}"
    terminal.print_heading(screen, heading, found.results)
    screen.print(found.text(screen.width))
    if options.worst and found.unit != "row":
        screen.print(f"\n{found.worst(options.worst, screen.width)}")


def _evaluate_model(
    model: Model, metrics: list[str], options: EvaluateOptions
) -> tuple[Evaluation, int]:
    """Measure a model on the rows of files; also return how many rows there are."""
    data = read_for_model(options.data, model, options, labels=True, weights=True)
    with in_file(named(options.data)):
        found = evaluate_rows(
            model, data, metrics, options.jobs, sample_weight=data.weight, **_how(options)
        )
    return found, data.n_rows


def _evaluate_parts(metrics: list[str], options: EvaluateOptions) -> tuple[Evaluation, int]:
    """Measure a model on the rows of files that the workers of a cluster read."""
    from crucial.distributed.ranker import connected
    from crucial.measures.evaluation import evaluate
    from crucial.measures.names import default_measure

    model = _load(options)
    with connected(options.dask or None) as client:
        data, scores = score_files(client, options.data, model, options, labels=True)
    assert data.y is not None
    with in_file(named(options.data)):
        found = evaluate(
            data.y,
            scores,
            data.qid,
            metrics or default_measure(data.y, data.qid is not None),
            ids=data.item,
            sample_weight=data.weight,
            **_how(options),
        )
    return found, data.n_rows


def _load(options: EvaluateOptions) -> Model:
    """Read the model to measure; refuse a run or a fusion, with the command to use."""
    from crucial.fusion.ranker import FusionRanker

    fields = start_of(options.model, 4096).split(b"\n", 1)[0].split()
    if len(fields) == 6 and not fields[0].startswith(b"{"):
        raise click.UsageError(
            f"{options.model} is a run and no model; name its judgements: "
            f"crucial evaluate {options.model} --qrels FILE"
        )
    model = read_model(options.model, *options.data)
    if isinstance(model, FusionRanker):
        raise click.UsageError(f"{options.model} fuses runs: give them as DATA, and --qrels.")
    return model


def _how(options: EvaluateOptions) -> dict[str, Any]:
    """Return the options of measuring, as `evaluate` takes them."""
    return {
        "ties": options.ties,
        "empty": options.empty,
        "intervals": options.intervals,
        "resamples": options.resamples,
        "random_state": options.seed,
    }


def _evaluate_run(
    qrels_path: str, metrics: list[str], options: EvaluateOptions
) -> tuple[Evaluation, int]:
    """Measure a run, or the fusion of runs; also return how many documents it has."""
    from crucial.io.runs import read_qrels
    from crucial.measures.evaluation import evaluate_run

    refuse_row_options(options)
    qrels = read_qrels(qrels_path)
    run = _run(options, qrels)
    with in_file(options.model):
        found = evaluate_run(qrels, run, metrics or ["ndcg@10"], **_how(options))
    return found, len(run.doc)


def _run(options: EvaluateOptions, qrels: Qrels) -> Run:
    """Read the run that MODEL is, or fuse the runs of DATA with it."""
    from crucial.fusion.ranker import FusionRanker
    from crucial.io.runs import read_run

    start = start_of(options.model, 512).lstrip()
    # (JSON is a model, or a run {query: {doc: score}}; every model names its format)
    if start.startswith(b"{") and b'"format"' in start:
        fusion = FusionRanker.load(options.model)
        pool, _ = read_runs(fusion, options.data, qrels)
        return fusion.fuse(pool, n_jobs=options.jobs)
    if options.data:
        raise click.UsageError(
            "one run is measured at a time; 'crucial compare' measures several side by side."
        )
    run = read_run(options.model)
    note_learned_run(options.model, run)
    return run


# --- The table of ``crucial evaluate``, and the same numbers as JSON


_TIES = {"expected": "equal scores by expectation", "trec": "equal scores as in trec_eval"}


def evaluation_json(model: str, data: str, found: Evaluation, *, by_query: bool) -> str:
    """Return the measures, and the queries' values if asked for, as JSON."""
    from crucial.results import json_text

    result: dict[str, Any] = {
        "model": model,
        "data": data,
        "ties": found.ties,
        "empty": found.empty,
        "level": found.level,
        "measures": found.to_rows(),
    }
    if by_query:
        result["by_query"] = found.per_query
    return json_text(result)

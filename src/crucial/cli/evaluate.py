"""``crucial evaluate``: measure a ranker on labelled rows, or a run by judgements."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

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
    named,
    note_learned_queries,
    note_learned_run,
    only_file,
    read_for_model,
    refuse_row_options,
    score_files,
)
from crucial.cli.terminal import (
    check_target,
    console,
    label_column,
    number_column,
    one_line,
    table,
    write_text,
)
from crucial.errors import DataError, in_file
from crucial.types import VectorLike
from crucial.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.dataset import Dataset, Qrels, Run
    from crucial.measures.evaluation import Evaluation
    from crucial.measures.names import Measures
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
        "Write every query's values, tab-separated, to standard output (the table then goes to "
        "standard error) or to the file given by -o."
    )
    output: File | None = option("File for --by-query or --json. [default: standard output]", "-o")
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


@verb("evaluate", EvaluateOptions)
def evaluate_command(options: EvaluateOptions) -> None:
    """Measure how well MODEL ranks labelled rows, or measure a run.

    \b
    Examples:
      crucial evaluate model.json test.txt -m ndcg@10 -m map
      crucial evaluate model.json test.txt -m ndcg_exp@10 --intervals
      crucial evaluate model.json test.txt -m map --ties trec --by-query -o map.tsv
      crucial evaluate fused.run --qrels test.qrels -m map -m ndcg@10
      crucial evaluate fuse.json bm25.run dense.run --qrels test.qrels -m map
      crucial evaluate model.json 'test/*.parquet' -m ndcg@10 --dask

    \b
    Conventions:
      ndcg has linear gain y (trec_eval), ndcg_exp has gain 2^y - 1 (LightGBM and LETOR).
      Equal scores count by the exact expectation over random order; --ties trec breaks
      ties by item name as trec_eval does.
      A query without a relevant row has no value: it is left out of the mean and reported,
      or has the value of --empty (0 in LETOR's scripts, 1 in LightGBM).
      A run is measured with all its documents, as trec_eval does without -M; a model from
      'crucial fuse' as the run that 'crucial rank' writes, up to 1,000 documents per query.
    """

    model, output = options.model, options.output or "-"
    if options.output is not None and not (options.by_query or options.json):
        raise click.UsageError("-o is for --by-query and --json; the table is not written.")
    if not options.intervals:
        refuse_given(["resamples"], "needs --intervals.")
    check_target(output, model, *options.data, options.group_sizes, options.qrels)
    metrics = measure_names(options.metrics)
    if options.qrels is not None and options.on_cluster:
        raise click.UsageError("--dask is for rows of features, and --qrels for runs.")
    if options.on_cluster:
        data = named(options.data)
        found, n_rows = _evaluate_parts(metrics, options)
    elif options.qrels is None:
        ranker = _load(options)  # (first: a fusion of several files lacks --qrels)
        data = only_file(options.data)
        found, n_rows = _evaluate_model(ranker, data, metrics, options)
    else:
        data = options.qrels
        found, n_rows = _evaluate_run(data, metrics, options)
    if options.json:
        write_text(output, evaluation_json(model, data, found, by_query=options.by_query))
        return
    if options.by_query:
        write_text(output, by_query_tsv(found))
    screen = console(sys.stderr if options.by_query and output == "-" else None)
    size = counted(n_rows, "row")
    if options.qrels is not None and options.data:
        from crucial.fusion.rules import DEPTH

        size += f", up to {DEPTH:,} per query"
    print_evaluation(screen, f"{model} on {data}: {size}", found, options.worst)


def _evaluate_model(
    model: Model, path: str, metrics: list[str], options: EvaluateOptions
) -> tuple[Evaluation, int]:
    """Measure a model on the rows of a file; also return how many rows there are."""

    data = read_for_model(path, model, options, labels=True, weights=True)
    with in_file(path):
        found = evaluate_model(
            model, data, metrics, sample_weight=data.weight, n_jobs=options.jobs, **_how(options)
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
    """Read a model of rows."""
    from crucial.data.files import first_bytes
    from crucial.fusion.ranker import FusionRanker
    from crucial.model.file import load_model

    fields = first_bytes(options.model, 4096).split(b"\n", 1)[0].split()
    if len(fields) == 6 and not fields[0].startswith(b"{"):
        raise click.UsageError(
            f"{options.model} is a run and no model; name its judgements: "
            f"crucial evaluate {options.model} --qrels FILE"
        )
    model = load_model(options.model)
    if isinstance(model, FusionRanker):
        raise click.UsageError(f"{options.model} fuses runs: give them as DATA, and --qrels.")
    return model


def _how(options: EvaluateOptions) -> dict[str, Any]:
    """Return how to measure."""
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
    from crucial.data.files import first_bytes
    from crucial.fusion.pool import Pool
    from crucial.fusion.ranker import FusionRanker
    from crucial.io.runs import read_run

    start = first_bytes(options.model, 512).lstrip()
    # (JSON is a model, or a run {query: {doc: score}}; every model names its format)
    if start.startswith(b"{") and b'"format"' in start:
        fusion = FusionRanker.load(options.model)
        if not options.data:
            raise click.UsageError("Missing argument 'DATA': the runs to fuse.")
        pool = Pool.of(list(options.data))
        note_learned_queries(fusion, pool.queries, qrels)
        return fusion.fuse(pool, n_jobs=options.jobs)
    if options.data:
        raise click.UsageError(
            "one run is measured at a time; 'crucial compare' measures several side by side."
        )
    run = read_run(options.model)
    note_learned_run(options.model, run)
    return run


# --- The table of ``crucial evaluate``, and the same numbers as TSV and JSON


_TIES = {"expected": "equal scores by expectation", "trec": "equal scores as in trec_eval"}


def number(value: float, sign: str = "", digits: int = 4) -> str:
    """Return a number for a table; "none" for NaN.

    Examples
    --------
    >>> number(0.5), number(0.5, "+"), number(float("nan"))
    ('0.5000', '+0.5000', 'none')
    """
    return "none" if math.isnan(value) else f"{value:{sign}.{digits}f}"


def print_evaluation(screen: Console, subject: str, found: Evaluation, worst: int) -> None:
    """Print one line per measure, and what the values rest on.

    Parameters
    ----------
    screen : Console
    subject : str
        What was measured, for the heading.
    found : Evaluation
    worst : int
        Number of queries to list that pull the first measure down.
    """
    from crucial.cli.tables import print_heading, print_meanings

    by_rows = found.unit == "row"
    queries = "" if by_rows else f", {counted(len(found.per_query['qid']), 'query')}"
    print_heading(screen, f"{subject}{queries}; {_TIES[found.ties]}", found.results)
    filled = found.empty != "skip"
    has_unjudged = any(one.unjudged is not None for one in found.results.values())
    shown = table(label_column("measure"), number_column("value"))
    if found.level is not None:
        shown.add_column(f"{found.level:.0%} interval", justify="right")
    if not by_rows:
        shown.add_column("queries", justify="right")
        shown.add_column(f"counted {found.empty}" if filled else "left out", justify="right")
    if has_unjudged:
        shown.add_column("unjudged", justify="right")
    for name, one in found.results.items():
        cells = [name, number(one.value)]
        if found.level is not None:
            cells.append(one.interval_text)
        cells += [] if by_rows else [f"{one.n_queries:,}", f"{one.n_empty:,}"]
        cells += [] if one.unjudged is None else [f"{one.unjudged:.1%}"]
        shown.add_row(*cells)
    screen.print(shown)
    print_meanings(screen, found.results, found.unit)
    for text in found.notes:
        screen.print(text, style="dim")
    if found.n_missing:
        text = counted(found.n_missing, "judged query")
        screen.print(f"{text} without a document, counted as empty lists", style="dim")
    if found.n_unjudged_queries:
        text = counted(found.n_unjudged_queries, "query")
        screen.print(f"{text} without a judgement, left out", style="dim")
    nothing = any(one.n_empty for one in found.results.values())
    if nothing and by_rows:
        screen.print(
            "a measure without a value: no row is relevant, or no two labels differ", style="dim"
        )
    elif nothing:
        rule = f"count as {found.empty}" if filled else "are left out of the mean (--empty 0|1)"
        screen.print(f"queries without a relevant row, or without a pair, {rule}", style="dim")
    if worst and not by_rows:
        _print_worst(screen, found, worst)


def _print_worst(screen: Console, found: Evaluation, count: int) -> None:
    """Print the queries that pull the first measure down."""
    name, first = next(iter(found.results.items()))
    values = found.per_query[name]
    sign = 1.0 if first.measure.higher_is_better else -1.0
    order = [q for q in np.argsort(sign * values, kind="stable").tolist() if values[q] == values[q]]
    screen.print(f"\nqueries with the worst {name}", style="bold")
    shown = table(label_column("qid"), *(number_column(other) for other in found.results))
    for q in order[:count]:
        cells = [number(float(found.per_query[other][q])) for other in found.results]
        shown.add_row(one_line(str(found.per_query["qid"][q])), *cells)
    screen.print(shown)


def by_query_tsv(found: Evaluation) -> str:
    """Return one line per query; a cell is empty where the query has no value."""
    from crucial.io.text import sheet_cell

    names = list(found.results)
    lines = ["\t".join(["qid", *names])]
    columns = [found.per_query[name].tolist() for name in names]
    for qid, *values in zip(found.per_query["qid"].tolist(), *columns):
        cells = ["" if math.isnan(value) else repr(value) for value in values]
        lines.append("\t".join([str(sheet_cell(" ".join(str(qid).split()))), *cells]))
    return "\n".join(lines) + "\n"


def evaluation_json(model: str, data: str, found: Evaluation, *, by_query: bool) -> str:
    """Return the measures, and the queries' values if asked for, as JSON."""
    from crucial.results import json_value

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
    return json.dumps(json_value(result), indent=1, allow_nan=False) + "\n"


# --- Measure a model on labelled rows


def evaluate_model(
    model: Model,
    data: Dataset,
    measures: Measures | None = None,
    *,
    sample_weight: VectorLike | None = None,
    ties: str = "expected",
    empty: str | int = "skip",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Measure how well a model ranks the rows of a dataset.

    Parameters
    ----------
    model : Model
    data : Dataset
        Rows with labels; without query ids all of them are one query.
    measures : str, Measure, or several of them, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    sample_weight, ties, empty, intervals, resamples, random_state
        As in `crucial.evaluate`.
    n_jobs : int, optional
        Number of threads.

    Raises
    ------
    DataError
        The rows have no labels.
    """
    from crucial.data.groups import Groups
    from crucial.measures.evaluation import evaluate
    from crucial.measures.names import default_measure

    if data.y is None:
        raise DataError("the rows have no labels to measure by.")
    groups = Groups.from_qid(data.qid, data.n_rows)
    return evaluate(
        data.y,
        model.predict(data.instances(), groups, n_jobs=n_jobs),
        groups,
        measures or default_measure(data.y, data.qid is not None),
        ids=data.item,
        sample_weight=sample_weight,
        ties=ties,
        empty=empty,
        intervals=intervals,
        resamples=resamples,
        random_state=random_state,
    )

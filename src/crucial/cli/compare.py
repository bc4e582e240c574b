"""``crucial compare``: runs or models against a baseline."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from crucial.cli import terminal
from crucial.cli.options import (
    File,
    MeasuringOptions,
    RowOptions,
    argument,
    measure_names,
    measures_option,
    option,
    verb,
)
from crucial.cli.rows import is_model_file, note_learned_run, read_for_model
from crucial.errors import in_file

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset
    from crucial.lab.comparison import Comparison
    from crucial.model.file import Model


# --- ``crucial compare``: runs or models against a baseline


@dataclass(frozen=True)
class CompareOptions(MeasuringOptions):
    """The options of ``crucial compare``."""

    qrels: File = argument(metavar="QRELS|DATA")
    runs: tuple[File, ...] = argument(required=True, metavar="RUN RUN... | MODEL MODEL...")
    baseline: str | None = option(
        "The run or model that the others are compared with. [default: the first]", metavar="NAME"
    )
    metrics: tuple[str, ...] = measures_option(
        "ndcg@10; of models without queries, or with labels below 0: auc"
    )
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
    resamples: int | None = option(
        "Models without queries: draws of rows for intervals other than those of shares of pairs. "
        "[default: as many as the third digit needs]",
        low=10,
    )
    label: str | None = option("Models: column of labels in DATA. [default: as in training]")
    qid: str | None = option("Models: column of query ids in DATA. [default: as in training]")
    output: File | None = option(
        "File for the differences: .csv, .tsv, .jsonl or parquet; .json has all, as --json prints "
        "it.",
        "-o",
    )


@verb("compare", CompareOptions)
def compare_command(options: CompareOptions) -> None:
    """Compare runs by QRELS, or models on the rows of DATA.

    \b
    Examples:
      crucial compare qrels.txt base.run new.run
      crucial compare qrels.txt a.run b.run c.run --baseline b.run -m map
      crucial compare qrels.txt base.run new.run -m mrr --movers 10 -o movers.json
      crucial compare test.csv old.json new.json -m auc -m p@20

    \b
    Conventions:
      Differences are run minus baseline over the queries that both have;
      intervals come from resampling queries. p is two-sided: if the runs were
      equally good, every query's difference could just as well have the other
      sign. p Holm is corrected for the number of runs.
      Without queries, intervals and tests come from the rows: DeLong's for auc
      and other shares of pairs, else rows of each label are drawn with
      replacement.
      A judged query that a run lacks counts as an empty list (--missing skip
      leaves it out, as trec_eval does). All documents of a run count. Equal
      scores count by expectation (--ties trec changes that).
    """
    from crucial.wording import counted

    as_json = terminal.writes_json(options.output, options.json)
    if options.output is not None:
        terminal.check_target(options.output, options.qrels, *options.runs)
    paths = _named_paths(options.runs)
    baseline = _baseline(paths, options.baseline)
    metrics = measure_names(options.metrics)
    of_models = _are_models(options.qrels, paths)
    settings = {name: getattr(options, name) for name in ("test", "ties", "empty", "movers")}
    settings |= {"baseline": baseline, "random_state": options.seed}
    found = (_compare_models if of_models else _compare_runs)(paths, metrics, options, settings)
    if as_json:
        by = {"data" if of_models else "qrels": options.qrels}
        terminal.write_text(options.output or "-", comparison_json(by, found))
        return
    if options.output is not None:
        terminal.write_frame(options.output, found.to_frame())
    screen = terminal.console(sys.stderr if options.output == "-" else None)
    names = list(dict.fromkeys(one.measure for one in found.differences))
    count = counted(len(paths), "model" if of_models else "run")
    terminal.print_heading(screen, f"{count} {'on' if of_models else 'by'} {options.qrels}", names)
    screen.print(found.text(screen.width))
    unit = "row" if found.unit == "row" else "query"
    terminal.print_meanings(screen, names, unit)


def _are_models(first: str, paths: dict[str, str]) -> bool:
    """Return whether the files are models; they must all be, or none, and rows come first."""
    models = [path for path in paths.values() if is_model_file(path)]
    if models and is_model_file(first):
        rows = next((path for path in paths.values() if path not in models), "rows.csv")
        models = [first, *models]
        raise click.UsageError(
            f"the labelled rows come first: crucial compare {rows} {' '.join(models)}"
        )
    if models and len(models) < len(paths):
        other = next(path for path in paths.values() if path not in models)
        raise click.UsageError(
            f"{models[0]} is a model and {other} is not. Runs are compared with runs: 'crucial "
            f"rank {models[0]} {first} -o new.run' writes one, for crucial compare QRELS {other} "
            "new.run"
        )
    return bool(models)


def _compare_runs(
    paths: dict[str, str], metrics: list[str], options: CompareOptions, settings: dict[str, Any]
) -> Comparison:
    """Compare runs by judgements, query by query."""
    from crucial.io.runs import read_qrels, read_run
    from crucial.lab.comparison import compare_runs

    for name in ("resamples", "label", "qid"):
        if getattr(options, name) is not None:
            raise click.UsageError(f"--{name} is for models on rows; these files are runs.")
    runs = {name: read_run(path) for name, path in paths.items()}
    for name, run in runs.items():
        note_learned_run(paths[name], run)
    settings |= {"unjudged": options.unjudged, "missing": options.missing}
    return compare_runs(read_qrels(options.qrels), runs, metrics or ["ndcg@10"], **settings)


def _compare_models(
    paths: dict[str, str], metrics: list[str], options: CompareOptions, settings: dict[str, Any]
) -> Comparison:
    """Compare models on labelled rows: by query, or without queries by row."""
    from crucial.fusion.ranker import FusionRanker
    from crucial.lab.comparison import compare_models
    from crucial.model.file import load_model

    models = {name: load_model(path) for name, path in paths.items()}
    reading = RowOptions.as_trained(label=options.label, qid=options.qid)
    rows: dict[str, tuple[Model, Dataset]] = {}
    for name, model in models.items():
        if isinstance(model, FusionRanker):
            raise click.UsageError(
                f"{paths[name]} fuses runs: write its run with 'crucial rank', and compare that."
            )
        data = read_for_model(options.qrels, model, reading, labels=True, notes=not rows)
        rows[name] = (model, data)
    with in_file(options.qrels):
        return compare_models(rows, metrics or None, resamples=options.resamples, **settings)


def _named_paths(runs: tuple[str, ...]) -> dict[str, str]:
    """Return the files by name, or by path where two files have the same name."""
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


# --- The differences as JSON


def comparison_json(judged_by: dict[str, str], found: Comparison) -> str:
    """Return the differences and movers as JSON, after what they were judged by."""
    from crucial.results import json_text

    result = {
        **judged_by,
        "baseline": found.baseline,
        "unit": found.unit,
        "test": found.test,
        "level": found.level,
        "differences": found.to_rows(),
        "movers": [asdict(one) for one in found.movers],
        "notes": found.notes,
        "methods": found.methods,
    }
    return json_text(result)

"""``crucial experiment``: several rankers on the same folds, compared."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from crucial.cli.options import (
    File,
    RowOptions,
    argument,
    measure_names,
    measures_option,
    option,
    verb,
)
from crucial.cli.rows import RowFormat
from crucial.cli.terminal import TABLES, check_sources, check_targets, console, note
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.lab.protocols import ExperimentProtocol, FoldTask, Task
    from crucial.lab.results import ExperimentResult


# --- ``crucial experiment``: several rankers on the same folds, compared


@dataclass(frozen=True)
class ProtocolOptions:
    """Options of the division of rows, and of the choice of rounds and parameters."""

    heading: ClassVar[str] = "Protocol"

    protocol: Literal["three-way", "plain", "half"] | None = option(
        "three-way: train, validate and test in turn; plain: no validation, use the last round; "
        "half: train on half of every query's rows, test on the rest. [default: three-way]"
    )
    folds: int | None = option("Number of folds. [default: 5]", low=2)
    choose_by: str | None = option(
        "Measure by which rounds are chosen. [default: each measure for itself]"
    )
    tune: bool = option("Also choose parameters by validation, from small grids.")
    rounds: int | None = option(
        "Number of rounds, for rankers that have rounds. [default: the ranker's]", low=1
    )
    seed: int = option("Seed for the folds.", low=0, default=0)


@dataclass(frozen=True)
class ExperimentOptions(ProtocolOptions, RowOptions):
    """The options of ``crucial experiment``."""

    data: tuple[File, ...] = argument(required=True, metavar="DATA...")
    rankers: str = option(
        "Rankers by name ('crucial list rankers' lists them).", required=True, metavar="A,B,..."
    )
    metrics: tuple[str, ...] = measures_option("ndcg@10")
    baseline: str | None = option("Ranker to compare the others with. [default: the first]")
    output: File | None = option("Folder where every result is kept once computed.", metavar="DIR")
    retry_failed: bool = option("With --output: retry what failed.")
    save: File | None = option(f"File for a table of all results: {TABLES}.")
    report: File | None = option("File for a page with all results (.html).")
    jobs: int | None = option(
        "Number of parallel fits, each on one thread. [default: one after the other, on all cores]",
        low=1,
    )


@verb("experiment", ExperimentOptions, without=("weight", "missing_features"))
def experiment_command(options: ExperimentOptions) -> None:
    """Compare rankers on DATA, by cross-validation.

    \b
    Examples:
      crucial experiment data.txt --rankers rankboost,rb_c -m ndcg@10 -m r2
      crucial experiment MQ2008 --rankers rankboost,lightgbm --tune
      crucial experiment data.txt --rankers rankboost,rb_d --output results
      crucial experiment u1.txt u2.txt --rankers rb_c,rb_d --report page.html

    \b
    DATA is
      a file: its queries are divided into folds (its rows, if it has none);
      several files: each is a task, and rankers are ranked over tasks;
      a folder like LETOR's, with Fold1/train.txt, vali.txt, test.txt and so on:
      its own folds.

    \b
    Conventions:
      Of five folds, three train, one validates and one tests, in turn. The
      round of every ranker, and with --tune its parameters, are chosen by
      validation, for each measure separately (--choose-by map: by map for all
      measures).
      Rankers are those of 'crucial list rankers', which also lists peers such
      as lightgbm and random, and of 'crucial list presets'.
      With --output, an experiment that was killed continues where it stopped. A
      ranker that fails on a fold is shown with its failures; the others
      continue.
    """
    check_targets((options.save, options.report), *options.data, options.group_sizes)
    check_sources(*options.data, options.group_sizes)
    from crucial.io.writing import table_kind_of

    if options.save and table_kind_of(options.save) is None:
        endings = ".csv, .tsv, .json, .jsonl or .parquet"
        raise click.UsageError(f"--save {options.save}: the name must end in {endings}.")
    rankers = [name.strip() for name in options.rankers.split(",") if name.strip()]
    if options.baseline is not None and options.baseline not in rankers:
        raise click.UsageError(
            f"--baseline '{options.baseline}' is not one of the rankers: {', '.join(rankers)}."
        )
    measures = measure_names(options.metrics) or ["ndcg@10"]
    from crucial.lab.experiment import Experiment
    from crucial.lab.rankers import as_contenders

    as_contenders(rankers)  # (names are refused before files are read)
    experiment = Experiment(
        _tasks(options),
        rankers,
        measures,
        _protocol(options),
        grids="small" if options.tune else None,
        changes={} if options.rounds is None else {"n_estimators": options.rounds},
        seed=options.seed,
    )
    result = experiment.run(options.output, n_jobs=options.jobs, retry_failed=options.retry_failed)
    if options.save is not None:
        result.save(options.save)
    if options.report is not None:
        title = f"Experiment on {', '.join(options.data)}"
        result.report(options.report, title, options.baseline)
    print_experiment(result, options.baseline)


def _tasks(options: ExperimentOptions) -> list[Task | FoldTask]:
    """Return one task per file or folder."""
    from crucial.lab.protocols import Task, read_folds

    names = [os.path.basename(os.path.normpath(path)) for path in options.data]
    if len(set(names)) < len(names):
        names = list(options.data)

    def reader_options(path: str) -> dict[str, Any]:
        how = RowFormat.of_options(path, options)
        reader = how.reader_options()
        reader.pop("weight", None)
        return {"format": how.form, **reader}

    tasks: list[Task | FoldTask] = []
    for name, path in zip(names, options.data):
        if os.path.isdir(path):
            first = read_folds(path, name).folds[0].train
            tasks.append(read_folds(path, name, **reader_options(first)))
        else:
            tasks.append(Task.from_file(path, name, **reader_options(path)))
    return tasks


def _protocol(options: ExperimentOptions) -> ExperimentProtocol:
    """Return the protocol that the options describe."""
    from crucial.lab.protocols import GivenFolds, HalfOfItems, PlainFolds, ThreeWayFolds

    by = options.choose_by or "each"
    folders = [os.path.isdir(path) for path in options.data]
    if any(folders):
        if not all(folders):
            raise click.UsageError("files and folders cannot be mixed: folders have their folds.")
        if options.folds is not None or options.protocol is not None:
            raise click.UsageError("a folder has its own folds; leave out --folds, --protocol.")
        return GivenFolds(choose_by=by)
    kind = options.protocol or "three-way"
    if kind != "three-way" and (options.choose_by or options.tune):
        raise click.UsageError(f"--protocol {kind} has no validation part to choose by.")
    if kind == "half":
        if options.folds is not None:
            raise click.UsageError("--protocol half has no folds; leave out --folds.")
        return HalfOfItems()
    n_folds = options.folds or 5
    if kind == "plain":
        return PlainFolds(n_folds=n_folds)
    if n_folds == 2:
        raise click.UsageError("--folds 2 leaves none to train on; use 3 or more.")
    return ThreeWayFolds(choose_by=by, n_folds=n_folds)


# --- The text of ``crucial experiment``


def print_experiment(result: ExperimentResult, baseline: str | None) -> None:
    """Print the rankers by each measure, their ranks and differences, and what failed."""
    screen = console()
    screen.print(result.text(screen.width))
    if len(result.rankers) > 1:
        ranked = {one["measure"] for one in result.summary() if not math.isnan(one["average_rank"])}
        for measure in result.measures:
            if measure in ranked:
                screen.print(f"\n{result.ranks(measure).text(screen.width)}")
        differences = result.compare(baseline, movers=2)
        screen.print(f"\ndifferences {differences.text(screen.width, values=False)}")
    for failure in result.failures[:5]:
        where = f"{failure['task']}, {failure['split']}"
        note(f"{failure['ranker']} failed on {where}: {failure['error']}")
    if len(result.failures) > 5:
        count = counted(len(result.failures), "cell")
        note(f"{count} failed in all; --save or --report lists them.")

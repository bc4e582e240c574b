"""``crucial experiment``: several rankers on the same folds, compared."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import reading_options
from crucial.cli.shared.reading import Reading
from crucial.cli.shared.terminal import console, note, one_line, table
from crucial.cli.shared.writing import check_target
from crucial.cli.tables.measures import gain_rule, print_meanings
from crucial.cli.verbs.compare import print_comparison

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.lab.experiment_result import ExperimentResult

__all__ = ["experiment_command"]

_EPILOG = """\
\b
Examples:
  crucial experiment data.txt --rankers rankboost,rb_c,random -m ndcg@10 -m r2
  crucial experiment MQ2008 --rankers rankboost,lightgbm --tune --report page.html
  crucial experiment data.txt --rankers rankboost,rb_d --output results --jobs 2
  crucial experiment u1.txt u2.txt u3.txt --rankers rb_c,rb_d -m r2 --save cells.csv

\b
DATA is
  a file: its queries are dealt into folds (its rows, where it has no queries);
  several files: every one is a task, and rankers are ranked over tasks;
  a folder as LETOR's, with Fold1/train.txt, vali.txt, test.txt and so on: its own folds.

\b
Conventions:
  Of five folds three train, one validates, one tests, in turn. The round of every ranker,
  and with --tune its parameters, are chosen by validation, for each measure by itself
  (--choose-by map: for all by map).
  Rankers: those of 'crucial train --ranker', the names of 'crucial presets', and peers:
  lightgbm, xgboost, catboost, ridge, logistic-regression, random-forest,
  hist-gradient-boosting, best-feature (by training pairs), random.
  With --output a run that was killed goes on where it stood. A ranker that fails somewhere
  is shown with its failures; the others go on.
"""


@click.command("experiment", epilog=_EPILOG)
@click.argument("data", type=click.Path(), nargs=-1, required=True, metavar="DATA...")
@click.option("--rankers", required=True, metavar="A,B,...",
              help="Rankers by name; the first is what the others are compared with.")  # fmt: skip
@click.option("-m", "--metric", "metrics", multiple=True, metavar="NAME",
              help="A measure; may be repeated. [default: ndcg@10]")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=2), metavar="N",
              help="Number of folds. [default: 5]")  # fmt: skip
@click.option("--protocol", type=click.Choice(["three-way", "plain", "half"]),
              help="three-way: train, validate, test in turn; plain: no validation, the last "
              "round; half: half of every query's rows. [default: three-way]")  # fmt: skip
@click.option("--choose-by", metavar="NAME",
              help="One measure to choose all rounds by. [default: each its own]")  # fmt: skip
@click.option("--tune", is_flag=True, help="Also choose parameters by validation (small grids).")
@click.option("--rounds", type=click.IntRange(min=1), metavar="N",
              help="Rounds of every ranker that has any. [default: as each has]")  # fmt: skip
@click.option("--baseline", metavar="NAME", help="Another ranker to compare with.")
@click.option("--output", type=click.Path(), metavar="DIR",
              help="Folder that keeps every result as soon as it is there.")  # fmt: skip
@click.option("--save", type=click.Path(), metavar="FILE",
              help="All cells as a table: .csv, .tsv, .json or .parquet.")  # fmt: skip
@click.option("--report", type=click.Path(), metavar="FILE", help="A page with everything (.html).")
@click.option("--retry-failed", is_flag=True, help="With --output: try again what failed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N",
              help="Deals the folds. [default: 0]")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), metavar="N",
              help="Fits at the same time, each on one thread. [default: one after the other, on "
              "all cores]")  # fmt: skip
@reading_options
def experiment_command(data: tuple[str, ...], **given: Any) -> None:
    """Compare rankers on DATA, by cross-validation."""
    from crucial.lab.experiment import Experiment
    from crucial.lab.rankers import as_contenders
    from crucial.measures.names import get_measure

    for target in (given["save"], given["report"]):
        if target is not None:
            check_target(target)
    _check_save(given["save"])
    rankers = [name.strip() for name in given["rankers"].split(",") if name.strip()]
    if given["baseline"] is not None and given["baseline"] not in rankers:
        raise click.UsageError(
            f"--baseline '{given['baseline']}' is not one of the rankers: {', '.join(rankers)}."
        )
    measures = [get_measure(name).name for name in given["metrics"]] or ["ndcg@10"]
    as_contenders(rankers)  # (names are refused before files are read)
    made = Experiment(
        _tasks(data, given),
        rankers,
        measures,
        _protocol(data, given),
        grids="small" if given["tune"] else None,
        changes={} if given["rounds"] is None else {"n_estimators": given["rounds"]},
        seed=given["seed"],
    )
    result = made.run(given["output"], n_jobs=given["jobs"], retry_failed=given["retry_failed"])
    if given["save"] is not None:
        result.save(given["save"])
    if given["report"] is not None:
        result.report(given["report"], f"Experiment on {', '.join(data)}", given["baseline"])
    _print(console(), result, given["baseline"])


def _check_save(path: str | None) -> None:
    endings = (".csv", ".tsv", ".json", ".parquet", ".pq")
    if path is not None and not path.lower().removesuffix(".gz").endswith(endings):
        raise click.UsageError(f"--save {path}: the name must end in {', '.join(endings)}.")


def _options(path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `read_data`, as the command's options say."""
    how = Reading.of_options(path, given)
    names: tuple[str, ...] = ("label", "qid", "item", "ignore")
    if how.form == "svmlight":
        names = ("absent", "index_base", "group_sizes")
    return {"format": how.form} | {name: getattr(how, name) for name in names}


def _tasks(data: tuple[str, ...], given: Mapping[str, Any]) -> list[Any]:
    """A task for every file or folder."""
    from crucial.lab.given_folds import read_folds
    from crucial.lab.tasks import Task

    if given["weight"]:
        raise click.UsageError("--weight is not used in experiments; leave it out.")
    names = [os.path.basename(os.path.normpath(path)) for path in data]
    if len(set(names)) < len(names):
        names = list(data)
    tasks: list[Any] = []
    for name, path in zip(names, data):
        if os.path.isdir(path):
            folds = read_folds(path, name)
            options = _options(folds.folds[0].train, given)
            tasks.append(read_folds(path, name, **options))
        else:
            tasks.append(Task.from_file(path, name, **_options(path, given)))
    return tasks


def _protocol(data: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    """The protocol that the options ask for."""
    from crucial.lab.protocols import GivenFolds, HalfOfItems, PlainFolds, ThreeWayFolds

    by = given["choose_by"] or "each"
    folders = [os.path.isdir(path) for path in data]
    if any(folders):
        if not all(folders):
            raise click.UsageError("files and folders cannot be mixed: folders bring their folds.")
        if given["folds"] is not None or given["protocol"] is not None:
            raise click.UsageError("a folder brings its own folds; leave out --folds, --protocol.")
        return GivenFolds(choose_by=by)
    kind = given["protocol"] or "three-way"
    if kind != "three-way" and (given["choose_by"] or given["tune"]):
        raise click.UsageError(f"--protocol {kind} has no validation part to choose by.")
    if kind == "half":
        if given["folds"] is not None:
            raise click.UsageError("--protocol half has no folds; leave out --folds.")
        return HalfOfItems()
    if kind == "plain":
        return PlainFolds(n_folds=given["folds"] or 5)
    if given["folds"] == 2:
        raise click.UsageError("--folds 2 leaves none to train on; use 3 or more.")
    return ThreeWayFolds(choose_by=by, n_folds=given["folds"] or 5)


def _number(value: float, digits: int = 4) -> str:
    return "none" if math.isnan(value) else f"{value:.{digits}f}"


def _print(screen: Console, result: ExperimentResult, baseline: str | None) -> None:
    rule = gain_rule(result.measures)
    tasks = "1 task" if len(result.tasks) == 1 else f"{len(result.tasks):,} tasks"
    head = f"{tasks}: {result.settings['protocol']['text']}{'; ' + rule if rule else ''}"
    screen.print(one_line(head), style="bold")
    rows = result.summary()
    for measure, about in result.measures.items():
        mine = [one for one in rows if one["measure"] == measure]
        sign = -1.0 if about["higher_is_better"] else 1.0
        mine.sort(key=lambda one, sign=sign: (math.isnan(one["value"]), sign * one["value"]))  # type: ignore[misc]
        shown = table()
        shown.add_column(measure, no_wrap=True, max_width=26)
        for column in ("value", "95% interval", "average rank", "mean round", "fit s", "failed"):
            shown.add_column(column, justify="right", no_wrap=True)
        for one in mine:
            shown.add_row(
                one_line(one["ranker"]),
                _number(one["value"]),
                f"{_number(one['low'])} {_number(one['high'])}",
                _number(one["average_rank"], 3),
                _number(one["mean_round"], 1),
                _number(one["fit_seconds"], 2),
                str(one["failures"] or ""),
            )
        screen.print(shown)
        if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in mine):
            screen.print(str(result.ranks(measure)) + "\n")
    if len(result.rankers) > 1:
        screen.print(f"differences, paired by {result.unit_of()}", style="bold")
        print_comparison(screen, result.compare(baseline, movers=2), own=False)
    print_meanings(screen, result.measures)
    for failure in result.failures[:5]:
        note(
            f"{failure['ranker']} failed on {failure['task']}, {failure['split']}: "
            f"{failure['error']}"
        )
    if len(result.failures) > 5:
        note(f"{len(result.failures)} cells failed in all; --save or --report lists them.")

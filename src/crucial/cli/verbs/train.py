"""``crucial train``: learn a ranker from a file and write it to another."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.choosing import DEFAULT, make_ranker, takes
from crucial.cli.shared.options import data_argument, jobs_option, measure_option, reading_options
from crucial.cli.shared.reading import as_instances, naming, read_training, refuse_same_file
from crucial.cli.shared.terminal import note
from crucial.cli.shared.writing import check_target
from crucial.cli.tables.measures import default_measure
from crucial.errors import FileError
from crucial.estimators.presets import PRESETS
from crucial.estimators.registry import RANKERS

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset
    from crucial.model.additive import AdditiveRanker

__all__ = ["Trained", "train_command"]

_EPILOG = """\
\b
Examples:
  crucial train train.txt -o model.json
  crucial train train.txt --valid valid.txt -m ndcg@10 -m map -o model.json
  crucial train clicks.csv --label grade --qid query --item url -o model.json
  crucial train runs.csv --preset rankboost.3.cum --rounds 200 -o model.json
  crucial train train.txt --ranker pnorm-push --p 8 -o model.json
  crucial train train.txt --ranker rankboost-plus --set search=optimal -o model.json

\b
Conventions:
  A higher label should rank higher, within its query. No qid: all rows are one query.
  A missing value (nan, an empty cell, or --absent missing) is no opinion: the feature
  abstains, and what that is worth is learned or set (--default-rank).
  ndcg has linear gain y, ndcg_exp has gain 2^y - 1; ties count by their expectation.

The model is one JSON file, written whole at the end or not at all.
"""


def _bins(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check a number of bins: an int, or "all"."""
    if value is None or value == "all":
        return value
    return click.IntRange(2, 65535).convert(value, parameter, context)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Trained:
    """What a training gave, for the report."""

    path: str
    valid_path: str | None
    output: str
    train: Dataset
    valid: Dataset | None
    ranker: Any
    model: AdditiveRanker
    metrics: tuple[str, ...]
    seconds: float


@click.command("train", epilog=_EPILOG)
@data_argument
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE",
              help="Model file to write (JSON).")  # fmt: skip
@click.option("--valid", type=click.Path(), metavar="FILE",
              help="Rows to judge by after every round; the best round is kept. With "
              "--group-sizes, its own sizes are in FILE.query.")  # fmt: skip
@measure_option
@click.option("--ranker", type=click.Choice(sorted(RANKERS)), metavar="NAME",
              help="What to learn with ('crucial rankers' lists them); each has defaults of its "
              f"own, and those told here are RankBoost's. [default: {DEFAULT}]")  # fmt: skip
@click.option("--preset", type=click.Choice(sorted(PRESETS)), metavar="NAME",
              help="A paper's RankBoost by name ('crucial presets' lists them); other options "
              "change it.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Rounds. [default: 300]")
@click.option("--learning-rate", type=click.FloatRange(0, 1, min_open=True), metavar="RATE",
              help="Factor on every weight; the papers use 1. [default: 0.3]")  # fmt: skip
@click.option("--early-stopping", type=click.IntRange(min=0), metavar="N",
              help="Stop after N rounds without a better value of the first measure; 0: never. "
              "Without --valid, a fifth of the queries is set aside to judge by. "
              "[default: never; the best round on --valid is kept]")  # fmt: skip
@click.option("--choice", type=click.Choice(["steepest", "steepest_positive", "largest_drop"]),
              help="Which stump a round takes: largest |r|, largest r, smallest Z. "
              "[default: steepest]")  # fmt: skip
@click.option("--step", type=click.Choice(["bound", "exact", "numeric"]),
              help="Its weight: methods 3, 2 and 1 of the paper. [default: bound]")  # fmt: skip
@click.option("--positive/--no-positive", default=None,
              help="Keep the summed weight of every stump positive: for features that are known "
              "to point up. [default: no]")  # fmt: skip
@click.option("--default-rank", type=click.Choice(["learned", "0", "1"]),
              help="What a stump says where its feature abstains. [default: learned]")  # fmt: skip
@click.option("--balance", type=click.Choice(["pairs", "queries"]),
              help="Whether all pairs weigh the same, or all queries do. "
              "[default: pairs]")  # fmt: skip
@click.option("--max-bins", callback=_bins, metavar="N|all",
              help="Bins a feature; all: one per distinct value. [default: 255]")  # fmt: skip
@click.option("--p", type=float, metavar="P",
              help="pnorm-push: how much more the top counts; 1 is RankBoost.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="Any other parameter of the ranker, by its name in Python; may be "
              "repeated.")  # fmt: skip
@click.option("--subsample", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              help="Share of the queries that count in a round. [default: 1]")  # fmt: skip
@click.option("--pairs", type=click.Path(), metavar="FILE",
              help="Pairs, winner TAB loser [TAB weight]: learn from these as well as from the "
              "labels.")  # fmt: skip
@click.option("--pairs-only", is_flag=True, help="Learn from the pairs, and not from the labels.")
@click.option("--pairs-by", type=click.Choice(["auto", "row", "item"]), default="auto",
              help="What pairs name: rows, counted from 0, or items. [default: items where DATA "
              "has them]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), metavar="N",
              help="Of everything random. [default: 0]")  # fmt: skip
@click.option("--trace", type=click.Path(), metavar="FILE",
              help="Also write what happened in every round, tab separated.")  # fmt: skip
@reading_options
@jobs_option
def train_command(data: str, output: str, **given: Any) -> None:
    """Learn to rank the rows of DATA and write the ranker to a file.

    DATA holds labelled rows in queries: svmlight / LETOR lines (label qid:Q index:value
    ... # item), CSV, TSV or parquet; plain or gzip. RankBoost adds one stump
    [feature > threshold] a round, chosen to put more pairs in the right order; --ranker
    names others.
    """
    from crucial.cli.tables.training import report, write_trace

    began = time.perf_counter()
    if output == "-":
        raise FileError(output, "a model goes to a file; name one with -o.")
    for target in (output, given["trace"]):
        if target is not None:
            refuse_same_file(target, data, given["valid"], given["pairs"], given["group_sizes"])
            check_target(target)
    made = _train(data, output, given)
    if given["trace"] is not None:  # before the model, which must not change if this fails
        write_trace(given["trace"], made)
    made.model.save(output)
    report(replace(made, seconds=time.perf_counter() - began))


def _train(path: str, output: str, given: dict[str, Any]) -> Trained:
    """Read, learn, and put together what the report tells."""
    from crucial.measures.names import get_measure

    metrics = [get_measure(name).name for name in given["metrics"]]
    ranker = make_ranker(given, metrics)
    _check_abilities(ranker, given)
    train, valid, how = read_training(path, given["valid"], given)
    metrics = metrics or [default_measure(train, valid)]
    if takes(ranker, "get_params") and "eval_metric" in ranker.get_params():
        ranker.set_params(eval_metric=metrics)
    _check_queries(path, train, given["valid"], valid)
    with naming(path):
        _check_measures(metrics, train)
    _say_patience(ranker, given)
    with naming(path, given["valid"]):
        _fit(ranker, path, train, valid, given)
    remembered = how.to_remember()
    if given["preset"] is not None:
        remembered["preset"] = given["preset"]
    model = replace(ranker.model_, training={**ranker.model_.training, "data": remembered})
    return Trained(path, given["valid"], output, train, valid, ranker, model, tuple(metrics), 0.0)


def _check_abilities(ranker: Any, given: dict[str, Any]) -> None:
    """Refuse, before anything is read, what this ranker has no way to do."""
    name = given["ranker"] or DEFAULT
    if given["pairs"] is not None and not takes(ranker, "fit_pairs"):
        raise click.UsageError(f"--pairs: {name} learns from labels alone.")
    if given["trace"] is not None and not takes(ranker, "fit", "eval_set"):
        raise click.UsageError(f"--trace: {name} has no rounds to tell of.")


def _say_patience(ranker: Any, given: dict[str, Any]) -> None:
    """Say what was chosen for the user about stopping."""
    if given["valid"] is None:
        return
    if not takes(ranker, "fit", "eval_set"):
        name = given["ranker"] or DEFAULT
        note(f"{name} has no rounds to choose from: {given['valid']} is measured at the end")
    elif getattr(ranker, "early_stopping_rounds", None) is None:
        how = " (--early-stopping N)" if hasattr(ranker, "early_stopping_rounds") else ""
        note(f"{given['valid']} decides the round to keep; training never stops early{how}")


def _check_queries(
    path: str, train: Dataset, valid_path: str | None, valid: Dataset | None
) -> None:
    """Refuse queries in one file and none in the other, by the files' names."""
    if valid is not None and valid_path is not None and (train.qid is None) != (valid.qid is None):
        with_, without = (path, valid_path) if valid.qid is None else (valid_path, path)
        raise FileError(without, f"its rows have no query ids, and those of {with_} have.")


def _check_measures(metrics: list[str], train: Dataset) -> None:
    """Refuse labels that a measure cannot read before the training, not after it."""
    from crucial.measures.names import get_measure

    if train.y is not None:
        for name in metrics:
            get_measure(name).prepare(train.y, train.qid)


def _fit(
    ranker: Any, path: str, train: Dataset, valid: Dataset | None, given: dict[str, Any]
) -> None:
    X = as_instances(train)
    evals: dict[str, Any] = {}
    if valid is not None:
        if valid.y is None:
            raise FileError(given["valid"], "its rows have no labels to judge by.")
        if takes(ranker, "fit", "eval_set"):
            evals = {"eval_set": (as_instances(valid), valid.y), "eval_qid": valid.qid}
    if given["pairs"] is None:
        if given["pairs_only"]:
            raise click.UsageError("--pairs-only needs --pairs FILE.")
        if train.y is None:
            raise FileError(
                path, "its rows have no labels: name the column with --label, or give --pairs."
            )
        ranker.fit(X, train.y, qid=train.qid, sample_weight=train.weight, **evals)
        return
    pairs, weight = _read_pairs(train, given)
    labels: dict[str, Any] = {}
    if train.y is not None and not given["pairs_only"]:
        labels = {"y": train.y, "sample_weight": train.weight, "qid": train.qid}
    ranker.fit_pairs(X, pairs, pair_weight=weight, **labels, **evals)


def _read_pairs(train: Dataset, given: dict[str, Any]) -> tuple[Any, Any]:
    """Pairs of rows and their weights."""
    from crucial.data.formats.pairs import read_pairs

    path = given["pairs"]
    pairs = read_pairs(path)
    with naming(path):
        return pairs.rows(train.n_rows, train.item, by=given["pairs_by"]), pairs.weight

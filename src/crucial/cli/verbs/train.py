"""``crucial train``: learn a ranker from a file and write it to another."""

from __future__ import annotations

import glob
import os
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from crucial.cli.shared.cluster_rows import named
from crucial.cli.shared.cluster_training import evaluate_on_cluster, train_on_cluster
from crucial.cli.shared.estimator import EstimatorOptions, has_method, make_ranker
from crucial.cli.shared.files import check_targets, in_training_files, refuse_overwriting
from crucial.cli.shared.measures import DEFAULT_MEASURE, measure_names
from crucial.cli.shared.options import (
    ClusterOptions,
    File,
    RowOptions,
    argument,
    measures_option,
    option,
    refuse_given,
    verb,
)
from crucial.cli.shared.row_files import read_training
from crucial.cli.shared.terminal import note
from crucial.errors import FileError, in_file

if TYPE_CHECKING:
    from crucial.cli.tables.training import Training
    from crucial.data.dataset import Dataset

__all__ = ["TrainOptions", "train_command"]


@dataclass(frozen=True)
class TrainOptions(EstimatorOptions, ClusterOptions, RowOptions):
    """The options of ``crucial train``."""

    files: tuple[File, ...] = argument(metavar="DATA", required=True)
    output: File = option("Model file to write (JSON).", "-o", required=True)
    valid: File | None = option(
        "Rows to measure on after every round; the best round is kept. With --group-sizes, "
        "its own sizes are read from FILE.query."
    )
    metrics: tuple[str, ...] = measures_option(DEFAULT_MEASURE)
    pairs: File | None = option(
        "Pairs, winner TAB loser [TAB weight], to learn from in addition to the labels."
    )
    pairs_only: bool = option("Learn from the pairs only, not from the labels.")
    pairs_by: Literal["auto", "row", "item"] = option(
        "Whether pairs name rows, counted from 0, or items. [default: items if DATA names them]",
        default="auto",
        show_default=False,
    )
    trace: File | None = option("Also write a table with one line per round, tab-separated.")
    checkpoint: File | None = option(
        "With --dask: file for the rounds so far, written once a minute and when the training "
        "ends early."
    )
    resume: File | None = option("With --dask: go on from such a file.")

    @property
    def data(self) -> str:
        """DATA as messages call it: the file, or the first of several."""
        return named(self.files)


@verb("train", TrainOptions)
def train_command(options: TrainOptions) -> None:
    """Learn to rank the rows of DATA and write the ranker to a file.

    DATA contains labelled rows in queries, or without: svmlight / LETOR lines (label qid:Q
    index:value ... # item), CSV, TSV, JSON lines, parquet or Excel, text plain or gzipped.
    RankBoost adds one stump [feature > threshold] per round, chosen to put more pairs in the
    right order, or one tree with --weak tree; --ranker selects another method.

    \b
    Examples:
      crucial train train.txt -o model.json
      crucial train train.txt --valid valid.txt -m ndcg@10 -m map -o model.json
      crucial train clicks.csv --label grade --qid query --item url -o model.json
      crucial train runs.csv --preset rankboost.3.cum --rounds 200 -o model.json
      crucial train train.txt --ranker pnorm-push --p 8 -o model.json
      crucial train train.txt --weak tree --max-leaves 8 --interactions 2 -o model.json
      crucial train train.txt --ranker gradient --loss xendcg -o model.json
      crucial train train.txt --auto --budget quick -m ndcg@10 -o model.json
      crucial train train.txt --ranker rankboost-plus --set search=optimal -o model.json
      crucial train 'parts/*.parquet' --dask -o model.json
      crucial train 'parts/*.parquet' --dask=tcp://host:8786 --checkpoint rounds.json -o model.json

    \b
    Conventions:
      Within a query, a row with a higher label should rank higher. Without query ids, all
      rows are one query.
      A missing value (nan, an empty cell, or --absent missing) is no opinion: the feature
      abstains, and the value of an abstention is learned or set (--default-rank).
      ndcg has linear gain y, ndcg_exp has gain 2^y - 1; ties count by expectation.

    The model is one JSON file, written completely at the end or not at all.
    """
    from crucial.boosting.trace import write_trace
    from crucial.cli.tables.training import print_training
    from crucial.inspection.evaluation import evaluate_model

    began = time.perf_counter()
    if options.output == "-":
        raise FileError(options.output, "a model is written to a file; name it with -o.")
    sources = [*options.files, options.valid, options.pairs, options.group_sizes]
    if options.valid is not None and options.group_sizes is not None:
        sources.append(f"{options.valid}.query")
    check_targets((options.output, options.trace, options.checkpoint), *sources)
    for target in (options.output, options.trace):  # (a checkpoint goes on in its own file)
        if target is not None:
            refuse_overwriting(target, options.resume)
    with _cluster(options) as client:
        result = _train(options, client)
        if options.trace is not None:  # before the model, which must not change if this fails
            write_trace(options.trace, result.ranker.trace_, result.model.feature_names)
        result.model.save(options.output)
        if client is not None:
            evaluations = evaluate_on_cluster(client, result, options)
        else:
            evaluations = {
                name: evaluate_model(result.model, data, result.metrics)
                for name, data in (("train", result.train), ("valid", result.valid))
                if data is not None and data.y is not None
            }
    print_training(result, evaluations, time.perf_counter() - began)


_NOT_ON_A_CLUSTER = {
    "auto": "choose among fewer rows on one machine, or name a --ranker",
    "pairs": "learn from labels, or train without --dask",
    "group_sizes": "write the query of every row into the files",
}


def _cluster(options: TrainOptions) -> AbstractContextManager[Any]:
    """Return the client of the cluster to train on; None without --dask."""
    if not options.on_cluster:
        for name in ("checkpoint", "resume"):
            if getattr(options, name) is not None:
                raise click.UsageError(f"--{name} is for training on a cluster (--dask).")
        if len(options.files) > 1:
            raise click.UsageError(
                f"one file is learned from, and {len(options.files)} were given; --dask takes "
                "several."
            )
        for path in options.files:
            if glob.has_magic(path) and not os.path.exists(path):
                raise click.UsageError(
                    f"{path} is a pattern of files, which --dask takes; without it one file is "
                    "learned from, or in Python Dataset.from_parts."
                )
        return nullcontext()
    for name, remedy in _NOT_ON_A_CLUSTER.items():
        if getattr(options, name):
            raise click.UsageError(
                f"--{name.replace('_', '-')} does not run on a cluster (--dask): {remedy}."
            )
    from crucial.distributed.ranker import connected

    return connected(options.dask or None)


def _train(options: TrainOptions, client: Any) -> Training:
    """Read the files and fit the ranker."""
    import numpy as np

    from crucial.cli.tables.training import Training
    from crucial.measures.base import default_measure

    metrics = measure_names(options.metrics)
    ranker = make_ranker(options, metrics)
    _check_abilities(ranker, options)
    if client is not None:
        _note_stopping(ranker, options)
        return train_on_cluster(client, ranker, metrics, options)
    train, valid, how = read_training(
        options.data, options.valid, options, needs_label=options.pairs is None
    )
    labels = [one.y for one in (train, valid) if one is not None and one.y is not None]
    lowest = np.array([y.min() for y in labels])
    metrics = metrics or [default_measure(lowest, train.qid is not None)]
    if has_method(ranker, "get_params") and "eval_metric" in ranker.get_params():
        ranker.set_params(eval_metric=metrics)
    with in_file(options.data):
        _check_measures(metrics, train)
    _note_stopping(ranker, options)
    _note_sparse(ranker, train)
    with in_training_files(options.data, options.valid):
        _fit(ranker, train, valid, options)
    stored = how.to_store()
    if options.preset is not None:
        stored["preset"] = options.preset
    model = replace(ranker.model_, training={**ranker.model_.training, "data": stored})
    paths = (options.data, options.valid, options.output)
    fitted = ranker.ranker_ if options.auto else ranker
    choice = (ranker.table_ or ranker.choice_) if options.auto else None
    return Training(*paths, train, valid, fitted, model, tuple(metrics), choice)


def _check_abilities(ranker: object, options: TrainOptions) -> None:
    """Refuse, before anything is read, what this ranker cannot do."""
    name = options.ranker_name
    if options.pairs is not None and not has_method(ranker, "fit_pairs"):
        raise click.UsageError(
            f"--pairs: {name} learns from labels only; use --ranker rankboost for pairs."
        )
    if options.trace is not None and not has_method(ranker, "fit", "eval_set"):
        raise click.UsageError(f"--trace: {name} has no rounds to trace.")


def _note_stopping(ranker: object, options: TrainOptions) -> None:
    """Report the default that applies to stopping."""
    if options.valid is None:
        return
    if options.auto:
        note(f"--auto chooses by folds of {options.data}: {options.valid} is measured at the end")
    elif not has_method(ranker, "fit", "eval_set"):
        name = options.ranker_name
        note(f"{name} has no rounds to choose from: {options.valid} is measured at the end")
    elif getattr(ranker, "early_stopping_rounds", None) is None:
        how = " (--early-stopping N)" if hasattr(ranker, "early_stopping_rounds") else ""
        note(f"{options.valid} decides the round to keep; training never stops early{how}")


def _note_sparse(ranker: object, train: Dataset) -> None:
    """Recommend what ranks better than the defaults on sparse rows."""
    from crucial.rankers.rankboost import RankBoost

    if not hasattr(train.X, "tocsr") or not isinstance(ranker, RankBoost):
        return
    if ranker.weak == "stump" and ranker.choice == "steepest" and ranker.step is None:
        note(
            "the rows are sparse, where --choice largest_drop --step exact mostly ranks better "
            "than the defaults"
        )


def _check_measures(metrics: list[str], train: Dataset) -> None:
    """Refuse labels that a measure cannot use before the training, not after it."""
    from crucial.measures.names import get_measure

    if train.y is not None:
        for name in metrics:
            get_measure(name).prepare(train.y, train.qid)


def _fit(ranker: Any, train: Dataset, valid: Dataset | None, options: TrainOptions) -> None:
    """Fit the ranker to the labels, the pairs, or both."""
    evals: dict[str, Any] = {}
    if valid is not None:
        if valid.y is None:
            raise FileError(options.valid, "its rows have no labels to measure by.")
        if has_method(ranker, "fit", "eval_set"):
            evals = {"eval_set": (valid.instances(), valid.y), "eval_qid": valid.qid}
    X = train.instances()
    if options.pairs is None:
        if options.pairs_only:
            raise click.UsageError("--pairs-only needs --pairs FILE.")
        refuse_given(["pairs_by"], "needs --pairs FILE.")
        if train.y is None:
            raise FileError(
                options.data,
                "its rows have no labels: name the column with --label, or give --pairs.",
            )
        ranker.fit(X, train.y, qid=train.qid, sample_weight=train.weight, **evals)
        return
    from crucial.io.comparisons import read_pairs

    pairs = read_pairs(options.pairs)
    with in_file(options.pairs):
        pair_rows = pairs.rows(train.n_rows, train.item, by=options.pairs_by)
    labels: dict[str, Any] = {}
    if train.y is not None and not options.pairs_only:
        labels = {"y": train.y, "sample_weight": train.weight, "qid": train.qid}
    ranker.fit_pairs(X, pair_rows, pair_weight=pairs.weight, **labels, **evals)

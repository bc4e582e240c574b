"""``crucial train``: learn a ranker from a file and write it to another."""

from __future__ import annotations

import difflib
import glob
import inspect
import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from crucial.cli.options import (
    DEFAULT_MEASURE,
    ClusterOptions,
    File,
    JobsOptions,
    RowOptions,
    argument,
    measure_names,
    measures_option,
    option,
    refuse_given,
    verb,
)
from crucial.cli.rows import RowFormat, named, part_files, read_training, score_files
from crucial.cli.terminal import (
    check_targets,
    console,
    grid,
    in_training_files,
    label_column,
    note,
    number_column,
    one_line,
    picture_column,
    refuse_overwriting,
    table,
)
from crucial.errors import FileError, in_file
from crucial.parameters import check_parameters, parameters_of
from crucial.rankers.registry import PRESETS, RANKERS, ranker_class
from crucial.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crucial.data.dataset import Dataset
    from crucial.lab.auto_candidates import TriedRankers
    from crucial.measures.evaluation import Evaluation
    from crucial.model.additive import AdditiveRanker
    from crucial.model.describe import Description


# --- ``crucial train --dask``: learn from files in parts on the workers of a Dask cluster


def train_on_cluster(
    client: Any, ranker: Any, metrics: list[str], options: TrainOptions
) -> Training:
    """Fit a ranker to files in parts."""
    import numpy as np

    from crucial.data.dataset import Dataset
    from crucial.distributed.ranker import DaskRanker
    from crucial.measures.base import default_measure

    if "eval_metric" in ranker.get_params():
        ranker.set_params(eval_metric=metrics or None)
    files = part_files(options.files)
    how = RowFormat.of_options(files[0], options)
    roles = {"label": how.label, "qid": how.qid, "weight": how.weight}
    reader = {**roles, "format": how.form, **how.reader_options()}
    reader.pop("group_sizes", None)
    valid = None if options.valid is None else part_files([options.valid])
    shown = getattr(ranker, "verbose", 0)
    learner = DaskRanker(ranker, client=client, checkpoint=options.checkpoint, verbose=shown)
    with in_training_files(options.data, options.valid):
        learner.fit(files, eval_set=valid, resume=options.resume, **reader)
    if not shown:  # (a terminal has seen it before the rows were loaded)
        note(str(learner.memory_))
    fitted, schema = learner.to_local(), learner.schema_
    metrics = metrics or [default_measure(np.array([schema.lowest_label]), schema.with_qid)]
    if how.form == "svmlight":
        how = replace(how, index_base=1 if schema.index_base else 0, complete=schema.complete)
    stored = how.to_store()
    if options.preset is not None:
        stored["preset"] = options.preset
    model = replace(fitted.model_, training={**fitted.model_.training, "data": stored})
    # (rows that are known by their number alone)
    qid = np.broadcast_to(0, schema.n_rows) if schema.with_qid else None
    train = Dataset(np.broadcast_to(0.0, (schema.n_rows, model.n_features)), qid=qid)
    paths = (options.data, options.valid, options.output)
    rows_of_valid = None if valid is None else train
    return Training(*paths, train, rows_of_valid, fitted, model, tuple(metrics))


def evaluate_on_cluster(
    client: Any, result: Training, options: TrainOptions
) -> dict[str, Evaluation]:
    """Measure a model on the files that it learned from and is validated by."""
    from crucial.measures.evaluation import evaluate

    found = {}
    parts = {"train": options.files}
    if options.valid is not None:
        parts["valid"] = (options.valid,)
    for name, paths in parts.items():
        data, scores = score_files(client, paths, result.model, options, labels=True)
        assert data.y is not None
        found[name] = evaluate(data.y, scores, data.qid, result.metrics)
    return found


# --- The options of ``crucial train`` that choose a ranker, and the ranker they describe


_DEFAULT_RANKER = "rankboost"

#: Options that set a parameter of another name.
PARAMETER_OF_OPTION = {
    "rounds": "n_estimators",
    "seed": "random_state",
    "jobs": "n_jobs",
    "positive": "positive_weights",
    "early_stopping": "early_stopping_rounds",
}
#: Parameters that --set does not take, and the options that set them.
_OWN_OPTION = {"eval_metric": "--metric", "n_jobs": "--jobs"}


#: What --auto takes: the rest is chosen.
_AUTO_OPTIONS = ("budget", "store")


def _budget(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check a budget: a name, or seconds."""
    if value is None or value in ("quick", "normal", "thorough"):
        return value
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise click.BadParameter(
            f"'{value}' is not quick, normal, thorough or a number of seconds above 0."
        )
    return seconds


def _bins(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Check a number of bins: an int, or "all"."""
    if value is None or value == "all":
        return value
    return click.IntRange(2, 65535).convert(value, parameter, context)  # type: ignore[arg-type]


@dataclass(frozen=True)
class EstimatorOptions(JobsOptions):
    """Which ranker to train, and its parameters; None where the ranker's default applies."""

    ranker: str | None = option(
        "The ranker to train. The defaults shown are RankBoost's; 'crucial list rankers' lists the "
        f"others'. [default: {_DEFAULT_RANKER}]",
        type=click.Choice(sorted(RANKERS)),
    )
    preset: str | None = option(
        "A paper's variant of RankBoost ('crucial list presets' lists them); other options "
        "override its parameters.",
        type=click.Choice(sorted(PRESETS)),
    )
    auto: bool = option(
        "Choose the ranker, its settings and rounds by validation on DATA, by the first measure."
    )
    budget: str | float | None = option(
        "--auto: how much to try: quick, normal, thorough, or seconds. A name gives the same model "
        "on any machine; with seconds the clock decides what is tried. [default: normal]",
        callback=_budget,
        metavar="NAME|SECONDS",
    )
    store: str | None = option(
        "--auto: folder of finished fits; a search that was killed continues there.", metavar="DIR"
    )
    rounds: int | None = option("Number of boosting rounds. [default: 300]", low=1)
    learning_rate: float | None = option(
        "Factor on every weight; the papers use 1. [default: 0.3]",
        low=0, high=1, low_open=True, metavar="RATE",
    )  # fmt: skip
    early_stopping: int | None = option(
        "Stop after N rounds without a better value of the first measure; 0: never. Without "
        "--valid, a fifth of the queries is held out for this. "
        "[default: never; the best round on --valid is kept]",
        low=0,
    )
    choice: Literal["steepest", "steepest_positive", "largest_drop"] | None = option(
        "Which stump each round adds: largest |r|, largest r, smallest Z. [default: steepest]"
    )
    step: Literal["bound", "exact", "numeric"] | None = option(
        "How its weight is computed: methods 3, 2 and 1 of the paper. By default method 3, and "
        "method 1 for trees."
    )
    positive: bool | None = option(
        "Keep the summed weight of every stump positive, for features whose high values are known "
        "to be better. [default: no]",
        "--positive/--no-positive",
        default=None,
    )
    default_rank: Literal["learned", 0, 1] | None = option(
        "The output of a stump where its feature abstains. [default: learned]"
    )
    balance: Literal["pairs", "queries"] | None = option(
        "Whether all pairs or all queries have the same weight. [default: pairs]"
    )
    max_bins: str | int | None = option(
        "Bins per feature; all: one per distinct value. [default: 255]",
        callback=_bins,
        metavar="N|all",
    )
    p: float | None = option(
        "pnorm-push: how much more the top of the list counts; 1 is RankBoost.", metavar="P"
    )
    loss: (
        Literal["query_rmse", "xendcg", "lambda", "softmax", "yeti", "exponential", "logistic"]
        | None
    ) = option("gradient: what the trees minimise. [default: query_rmse]")
    weak: Literal["stump", "tree", "feature", "column"] | None = option(
        "What each round adds: a stump, a tree, a feature, or a column that is a ranker already; "
        "not all rankers know all of them, and gradient adds trees by default. [default: stump]"
    )
    max_leaves: int | None = option("Trees: leaves per tree. [default: 8]", low=2)
    max_depth: int | None = option("Trees: depth per tree; any by default.", low=1)
    min_rows: float | None = option(
        "Trees: least weight of the rows of a leaf. [default: 20]", low=0, metavar="X"
    )
    l2: float | None = option(
        "Trees: curvature added to every leaf, in average rows, which makes values smaller. For "
        "linear rankers, the ridge. gradient has none by default with lambda and xendcg. "
        "[default: 1]",
        low=0,
        metavar="X",
    )
    interactions: Literal[1, 2] | None = option(
        "Trees: most features of one tree: 1 for functions of one feature, 2 also for tables of "
        "two; any number by default."
    )
    subsample: float | None = option(
        "Share of the queries that each round learns from. [default: 1]",
        low=0, high=1, low_open=True, metavar="SHARE",
    )  # fmt: skip
    n_bags: int | None = option(
        "Average N runs, each on other 63% of the queries, into one model: steadier where there is "
        "little data, and N times the work. [default: 1]",
        low=1,
    )
    settings: tuple[str, ...] = option(
        "Any other parameter of the ranker, by its name in Python; may be repeated.",
        "--set",
        metavar="NAME=VALUE",
    )
    seed: int | None = option("Seed for all random draws. [default: 0]", low=0)

    @property
    def ranker_name(self) -> str:
        """The ranker's name on the command line."""
        return "auto" if self.auto else self.ranker or _DEFAULT_RANKER

    def values(self) -> dict[str, Any]:
        """Return the values of the parameters' options that were given, by option."""
        others = ("ranker", "preset", "settings", "auto")
        names = [one.name for one in fields(EstimatorOptions) if one.name not in others]
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if "positive" in found:
            found["positive"] = "cumulative" if found["positive"] else None
        if found.get("max_bins") == "all":
            found["max_bins"] = None
        if found.get("early_stopping") == 0:
            found["early_stopping"] = None
        return found


def make_ranker(options: EstimatorOptions, metrics: list[str]) -> Any:
    """Return the unfitted estimator that the options describe; its parameters are checked.

    Parameters
    ----------
    options : EstimatorOptions
    metrics : list of str
        Measures to compute after every round, for a ranker that has rounds.
    """
    name = options.ranker_name
    _check_auto(options)
    if options.preset is not None and name != _DEFAULT_RANKER:
        raise click.UsageError(
            f"--preset {options.preset} is a variant of {_DEFAULT_RANKER}, and --ranker is {name}: "
            "leave one of them out."
        )
    estimator = _auto_ranker() if options.auto else ranker_class(name)
    known = parameters_of(estimator)
    settings: dict[str, Any] = {}
    for field_name, value in options.values().items():
        parameter = PARAMETER_OF_OPTION.get(field_name, field_name)
        if parameter not in known:
            flags = "--" + field_name.replace("_", "-")
            raise click.UsageError(f"{flags}: {_unknown(name, parameter, known)}")
        settings[parameter] = value
    for text in options.settings:
        parameter, value = parse_setting(text)
        if parameter not in known:
            raise click.UsageError(f"--set {parameter}: {_unknown(name, parameter, known)}")
        if parameter in _OWN_OPTION:
            raise click.UsageError(f"--set {parameter}: use {_OWN_OPTION[parameter]}.")
        if parameter in settings:
            raise click.UsageError(f"{parameter} is given twice, with --set {text} too.")
        settings[parameter] = value
    fixed: dict[str, Any] = {"eval_metric": metrics, "verbose": int(sys.stderr.isatty())}
    if options.auto and metrics:
        fixed["measure"] = metrics[0]
    settings = {key: value for key, value in fixed.items() if key in known} | settings
    make = estimator if options.preset is None else partial(estimator.preset, options.preset)
    ranker = make(**settings)
    check_parameters(ranker)  # (before the data are read, which may take long)
    return ranker


def _auto_ranker() -> type[Any]:
    from crucial.lab.auto_ranker import AutoRanker

    return AutoRanker


def _check_auto(options: EstimatorOptions) -> None:
    """Refuse options that only make sense with --auto, or only without."""
    if not options.auto:
        for name in _AUTO_OPTIONS:
            if getattr(options, name) is not None:
                raise click.UsageError(f"--{name} needs --auto, which it is for.")
        return
    for name in ("ranker", "preset"):
        value = getattr(options, name)
        if value is not None:
            raise click.UsageError(
                f"--auto chooses the ranker, and --{name} is {value}: leave one of them out."
            )


def has_method(ranker: object, method: str, argument: str | None = None) -> bool:
    """Return whether a ranker has a method that does not just refuse, and it an argument."""
    found = getattr(ranker, method, None)
    if found is None:
        return False
    signature = inspect.signature(found)
    if signature.return_annotation in (NoReturn, "NoReturn"):
        return False
    return argument is None or argument in signature.parameters


def parse_setting(text: str) -> tuple[str, Any]:
    """Split ``NAME=VALUE``; the value is JSON, a Python constant, or a word.

    Examples
    --------
    >>> parse_setting("p=16"), parse_setting("search=optimal"), parse_setting("max_bins=None")
    (('p', 16), ('search', 'optimal'), ('max_bins', None))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise click.UsageError(f"--set {text}: a setting is NAME=VALUE, such as p=16.")
    constants = {"True": True, "False": False, "None": None}
    if value in constants:
        return name, constants[value]
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _unknown(name: str, parameter: str, known: Iterable[str]) -> str:
    """Say which parameters a ranker has, and which rankers have the parameter."""
    shown = sorted(one for one in known if one not in ("verbose", "warm_start"))
    close = difflib.get_close_matches(parameter, shown, n=2)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    others = [one for one in RANKERS if parameter in parameters_of(ranker_class(one))]
    where = f" ({', '.join(others)} {'has' if len(others) == 1 else 'have'} it)" if others else ""
    return f"{name} has no parameter '{parameter}'{where}.{hint} It takes {', '.join(shown)}."


# --- ``crucial train``: learn a ranker from a file and write it to another


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
    from crucial.boosting.loop import write_trace
    from crucial.cli.evaluate import evaluate_model

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


# --- The table of ``crucial train --auto``: what was tried and what was kept


def print_choice(screen: Console, choice: TriedRankers | str) -> None:
    """Print every ranker that was tried, and why one was kept."""
    if not isinstance(choice, str):
        # (a name says the kind; the outcome is a mark, as the numbers need the room)
        ranker, _, *numbers, _ = choice.heads
        columns = [number_column(one) for one in numbers]
        shown = table(label_column(ranker, 34), *columns)
        for trial, (name, _, *cells, _) in zip(choice.trials, choice.cells(), strict=True):
            mark = "> " if trial is choice.kept else "  "
            shown.add_row(mark + one_line(name), *(one_line(cell) for cell in cells))
        screen.print(shown)
        for trial in choice.trials:
            if trial.error is not None:
                screen.print(f"{one_line(trial.name)} failed: {one_line(trial.error)}")
        choice = choice.choice
    screen.print(f"\n{one_line(choice)}\n")


# --- The table of a model's heaviest features


def feature_table(learned: Description) -> Table:
    """Return the heaviest features, heaviest first, with what they add to a score."""
    from crucial.model.additive import sparkline

    shapes = [one.shape for one in learned.features if one.shape is not None]
    # Without missing values in the data an abstention adds what the lowest value adds.
    abstains = any(shape.missing != shape.values[0] for shape in shapes)
    shown = table(
        label_column("feature", 30),
        number_column("share of weight"),
        picture_column("low → high value"),
        number_column("adds"),
        *([number_column("no opinion")] if abstains else []),
    )
    for one in learned.features:
        spark, adds, missing = "", "", ""
        if one.shape is not None:
            values = one.shape.values.tolist()
            spark = sparkline(values, 24) if len(values) > 1 else "the same for all"
            adds = " to ".join(f"{value:.3g}" for value in dict.fromkeys((values[0], values[-1])))
            missing = f"{one.shape.missing:.3g}"
        cells = [one.label, f"{one.share:.1%}", spark, adds]
        shown.add_row(*cells, *([missing] if abstains else []))
    hidden, unused = learned.n_used - len(learned.features), learned.n_features - learned.n_used
    others = [f"{hidden:,} more"] if hidden else []
    others += [f"{unused:,} unused"] if unused else []
    if others:
        shown.add_row(", ".join(others), style="dim")
    return shown


# --- The closing summary of ``crucial train``


_CURVE_WIDTH = 50


@dataclass(frozen=True, eq=False)
class Training:
    """A finished training.

    Attributes
    ----------
    path, valid_path, output : str
        The files of the rows to learn from, of those to validate by, and of the model.
    train, valid : Dataset
        The rows themselves.
    ranker : estimator
        The fitted ranker.
    model : AdditiveRanker
        Its model, with how the rows were read.
    metrics : tuple of str
        The measures.
    choice : TriedRankers, str or None
        How the ranker was chosen, if it was: a table, or why nothing was tried.
    """

    path: str
    valid_path: str | None
    output: str
    train: Dataset
    valid: Dataset | None
    ranker: Any
    model: AdditiveRanker
    metrics: tuple[str, ...]
    choice: TriedRankers | str | None = None

    @property
    def held_out(self) -> Mapping[str, float] | None:
        """Measures on the training queries that were held out, if any were."""
        return None if self.valid is not None else self.model.training.get("eval")


def print_training(result: Training, evaluations: Mapping[str, Evaluation], seconds: float) -> None:
    """Print the rows, rounds, measures and heaviest features of a training.

    Parameters
    ----------
    result : Training
    evaluations : mapping from str to Evaluation
        The measures of the model, by "train" and "valid".
    seconds : float
        The time it took.
    """
    from crucial.cli.tables import print_heading, print_meanings
    from crucial.model.describe import describe

    screen = console()
    name = type(result.ranker).__name__
    heading = f"{name} on {one_line(str(result.path))}, in {seconds:.1f} s"
    screen.print(f"\n{heading}", style="bold", soft_wrap=True)
    if result.choice is not None:
        print_choice(screen, result.choice)
    screen.print(_counts(result))
    screen.print()
    if evaluations:  # (rows of pairs may have no labels)
        print_heading(screen, "measures of the model", result.metrics)
        screen.print(_measures(result, evaluations))
        print_meanings(screen, result.metrics, next(iter(evaluations.values())).unit)
    curve = _curve(result)
    if curve:
        screen.print(f"\n{curve}")
    screen.print()
    screen.print(feature_table(describe(result.model, top=8)))
    screen.print()
    size = os.path.getsize(result.output) / 1000
    typed = shlex.quote(str(result.output))
    show = f"crucial show {'-- ' if typed.startswith('-') else ''}{typed}"
    said = f"wrote {result.output} ({size:,.0f} kB); {show!r} shows more"
    screen.print(one_line(said), soft_wrap=True)


def _counts(result: Training) -> Table:
    """Return the numbers of rows, queries, pairs and rounds, and the training bound."""
    summary, ranker, rows = result.model.training, result.ranker, result.train.n_rows
    shown = grid()

    def add(name: str, value: str) -> None:
        shown.add_row(name, one_line(value))

    used = summary["rows"]
    or_held_out = "" if result.held_out is None else " or held out"
    left = f" ({rows - used:,} in no pair{or_held_out})" if used < rows else ""
    add("rows", f"{rows:,}{left} with {counted(result.train.n_features, 'feature')}")
    if not summary["queries"]:
        add("queries", "not used: learned from the pairs of the file only")
    elif result.train.qid is None:
        add("queries", "none given: all rows are compared")
    else:
        add(
            "queries",
            f"{summary['queries']:,} used, {summary['skipped_queries']:,} skipped "
            f"(no two rows with different labels{or_held_out})",
        )
    add("pairs", f"{summary['pairs']:,}")
    if not hasattr(ranker, "trace_"):
        return shown
    add("rounds", _rounds(result))
    risk = getattr(ranker, "bounded_risk", None)
    if ranker.best_round_ and risk is not None:
        loss = ranker.trace_[ranker.best_round_ - 1].loss
        ties = "" if risk == "R1" else ", a tie counted half"
        add("bound", f"{loss:.4f}: at most this share of the pairs is misordered in training{ties}")
    return shown


def _rounds(result: Training) -> str:
    trace, kept = result.ranker.trace_, result.ranker.best_round_
    why = f" ({trace.stopped})" if trace.stopped else ""
    if len(trace) == 0 or not trace[0].measures:
        return f"{len(trace)}{why}"
    held_out = "the rows held out" if result.train.qid is None else "the queries held out"
    judge = result.valid_path or held_out
    return f"{len(trace)}{why}; the first {kept} are kept, best {result.metrics[0]} on {judge}"


def _measures(result: Training, evaluations: Mapping[str, Evaluation]) -> Table:
    """Return one line per measure, and one column per file or part of it."""
    held_out = result.held_out
    columns = []
    for name, one in evaluations.items():
        part = name if held_out is None else "all rows"
        first = next(iter(one.results.values()))
        left = f", {first.n_empty:,} left out" if first.n_empty else ""
        base = f"{counted(first.n_queries, 'query')}{left}"
        if one.unit == "row":
            base = counted(one.n_rows, "row")
        columns.append(number_column(f"{part}\n({base})"))
    if held_out is not None:
        columns.append(number_column("held out"))
    shown = table(label_column("measure"), *columns)
    for name in result.metrics:
        values = [one[name] for one in evaluations.values()]
        values += [] if held_out is None else [held_out[name]]
        shown.add_row(name, *(f"{value:.4f}" for value in values))
    return shown


def _curve(result: Training) -> str | None:
    """Return the first measure, round by round, as one line of blocks."""
    from crucial.model.additive import sparkline

    trace = getattr(result.ranker, "trace_", None)
    if trace is None or len(trace) < 2 or not trace[0].measures:
        return None
    name, best_round = result.metrics[0], result.ranker.best_round_
    values = trace.column(name).tolist()
    # (a later round within the tolerance of early stopping is kept instead of the best)
    found = "best" if values[best_round - 1] in (min(values), max(values)) else "kept"
    return (
        f"{name} by round  {sparkline(values, _CURVE_WIDTH)}\n"
        f"{values[0]:.4f} after round 1, {found} {values[best_round - 1]:.4f} after {best_round}, "
        f"{values[-1]:.4f} after {len(values)}"
    )

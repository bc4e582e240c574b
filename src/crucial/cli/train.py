"""``crucial train``: learn a ranker from a file and write it to another."""

from __future__ import annotations

import difflib
import inspect
import os
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import click

from crucial.cli import terminal
from crucial.cli.options import (
    DEFAULT_MEASURE,
    RANKER_NAMES,
    ClusterOptions,
    File,
    JobsOptions,
    NameOptions,
    RowOptions,
    argument,
    estimator_named,
    measure_names,
    measures_option,
    name_option,
    option,
    refuse_given,
    verb,
)
from crucial.cli.rows import (
    RowFormat,
    data_files,
    evaluate_rows,
    named,
    read_training,
    score_files,
    with_names,
)
from crucial.errors import FileError, ParameterError, in_file
from crucial.parameters import check, parameters_of, parse
from crucial.rankers.registry import KNOWN_AS, PRESETS, RANKERS, ranker_class
from crucial.wording import counted

if TYPE_CHECKING:
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

    from crucial.distributed.ranker import DaskRanker
    from crucial.measures.names import default_measure

    if "eval_metric" in ranker.get_params():
        ranker.set_params(eval_metric=metrics or None)
    files = data_files(options.files)
    how = RowFormat.of_options(files[0], options)
    roles = {"label": how.label, "qid": how.qid, "weight": how.weight}
    reader = {**roles, "format": how.form, **how.reader_options()}
    reader.pop("group_sizes", None)
    valid = None if options.valid is None else data_files([options.valid])
    shown = getattr(ranker, "verbose", 0)
    learner = DaskRanker(ranker, client=client, checkpoint=options.checkpoint, verbose=shown)
    with terminal.in_training_files(options.data, options.valid):
        learner.fit(files, eval_set=valid, resume=options.resume, **reader)
    if not shown:  # (a terminal has seen it before the rows were loaded)
        terminal.note(str(learner.memory_))
    fitted, schema = learner.to_local(), learner.schema_
    metrics = metrics or [default_measure(np.array([schema.lowest_label]), schema.with_qid)]
    if how.form == "svmlight":
        how = replace(how, index_base=1 if schema.index_base else 0, complete=schema.complete)
    return Training.of(fitted, how, schema.n_rows, schema.with_qid, metrics, options)


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


# --- The options of ``crucial train``


@dataclass(frozen=True)
class RankerOptions(JobsOptions):
    """The ranker to train, and its parameters as text; None where the default applies."""

    heading: ClassVar[str] = "Ranker"

    ranker: str = name_option(
        "The ranker to train. The defaults below are RankBoost's; 'crucial list rankers' lists all "
        "rankers, and 'crucial list rankers NAME' the parameters of one. auto tries many by "
        "cross-validation on DATA and keeps the best by the first measure.",
        RANKER_NAMES,
        "ranker",
        KNOWN_AS,
        default="rankboost",
    )
    preset: str | None = name_option(
        "A paper's variant of RankBoost ('crucial list presets' lists them); other options "
        "override its parameters.",
        PRESETS,
        "preset",
    )
    rounds: str | None = option(
        "Number of boosting rounds. [default: 300; gradient: 200]", metavar="N"
    )
    learning_rate: str | None = option(
        "Factor on every weight; the papers use 1. [default: 0.3, of trees 0.1]", metavar="RATE"
    )
    early_stopping: str | None = option(
        "Stop after N rounds without a better value of the first measure. Without --valid, a fifth "
        "of the queries is held out for this. [default: never; the best round on --valid is kept]",
        metavar="N",
    )
    weak: str | None = option(
        "What each round adds: stump, tree, feature or another that the ranker knows. [default: "
        "stump; gradient: tree]"
    )
    loss: str | None = option(
        "What is minimised, such as lambda (LambdaMART) or xendcg, with --ranker gradient."
    )
    max_leaves: str | None = option("Leaves per tree. [default: 16]", metavar="N")
    settings: tuple[str, ...] = option(
        "Any other parameter of the ranker; may be repeated. VALUE is a number, a word, None, True "
        "or JSON. Examples: --set max_bins=64, --set positive_weights=cumulative, "
        "--set 'monotone_constraints={\"price\": -1}'.",
        "--set",
        metavar="NAME=VALUE",
    )
    seed: str | None = option("Seed for all random draws. [default: 0]", metavar="N")


#: Options that set a parameter of another name.
PARAMETER_OF_OPTION = {
    "rounds": "n_estimators",
    "seed": "random_state",
    "jobs": "n_jobs",
    "early_stopping": "early_stopping_rounds",
}
_PARAMETER_OPTIONS = (
    "rounds", "learning_rate", "early_stopping", "weak", "loss", "max_leaves", "seed", "jobs",
)  # fmt: skip


@dataclass(frozen=True)
class CheckpointOptions(ClusterOptions):
    """Options of keeping the rounds of a training on a cluster."""

    heading: ClassVar[str] = ClusterOptions.heading

    checkpoint: File | None = option(
        "With --dask: file for the rounds so far, written once a minute and when the training "
        "ends early."
    )
    resume: File | None = option("With --dask: go on from such a file.")


@dataclass(frozen=True)
class TrainOptions(RankerOptions, CheckpointOptions, RowOptions, NameOptions):
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
    trace: File | None = option(f"Also write a table with one line per round: {terminal.TABLES}.")

    @property
    def data(self) -> str:
        """DATA as messages call it: the file, or the first of several."""
        return named(self.files)


@verb("train", TrainOptions, without=("missing_features",))
def train_command(options: TrainOptions) -> None:
    """Learn to rank the rows of DATA and write the ranker to a file.

    DATA contains labelled rows in queries, or without: svmlight / LETOR lines (label qid:Q
    index:value ... # item), CSV, TSV, JSON lines, parquet or Excel, text plain or gzipped. It is
    one file or several, a folder, a pattern in quotes such as 'parts/*.csv', or - (standard input).
    RankBoost adds one stump [feature > threshold] per round, chosen to put more pairs in the
    right order, or one tree with --weak tree; --ranker selects another method.

    \b
    Examples:
      crucial train train.txt -o model.json
      crucial train train.txt --valid valid.txt -m ndcg@10 -m map -o model.json
      crucial train clicks.csv --label grade --qid query --item url -o model.json
      crucial train train.txt --weak tree --max-leaves 8 -o model.json
      crucial train runs.csv --preset rankboost.3.cum --rounds 200 -o model.json
      crucial train train.txt --ranker pnorm-push --set p=8 -o model.json
      crucial train train.txt --ranker auto --set budget=quick -o model.json
      # LambdaMART
      crucial train train.txt --ranker gradient --loss lambda -o model.json
      crucial train 'parts/*.parquet' -o model.json
      # larger than memory
      crucial train 'parts/*.parquet' --dask -o model.json
      crucial train 'parts/*.parquet' --dask=tcp://host:8786 -o model.json

    \b
    Conventions:
      Within a query, a row with a higher label should rank higher. Without
      query ids, all rows are one query.
      A missing value (nan, an empty cell, or --absent missing) is no opinion:
      the feature abstains, and the value of an abstention is learned or set
      (--set default_rank=0).
      ndcg has linear gain y, ndcg_exp gain 2^y - 1; ties count by expectation.

    The model is one JSON file, written completely at the end or not at all.
    """
    began = time.perf_counter()
    if options.output == "-":
        raise FileError(options.output, "a model is written to a file; name it with -o.")
    sources = [*options.files, options.valid, options.pairs, options.group_sizes]
    if options.valid is not None and options.group_sizes is not None:
        sources.append(f"{options.valid}.query")
    terminal.check_targets((options.output, options.trace, options.checkpoint), *sources)
    terminal.check_sources(*options.files)
    for target in (options.output, options.trace):  # (a checkpoint goes on in its own file)
        if target is not None:
            terminal.refuse_overwriting(target, options.resume)
    if options.pairs is None:
        refuse_given(["pairs_only", "pairs_by"], "needs --pairs FILE.")
    with _cluster(options) as client:
        metrics = measure_names(options.metrics)
        ranker = make_ranker(options, metrics)
        _check_abilities(ranker, options)
        data: dict[str, Dataset] = {}
        if client is not None:
            result = train_on_cluster(client, ranker, metrics, options)
        else:
            result, data = _train(ranker, metrics, options)
        if options.trace is not None:  # before the model, which must not change if this fails
            from crucial.boosting.loop import write_trace

            write_trace(options.trace, result.ranker.trace_, result.model.feature_names)
        result.model.save(options.output)
        if client is not None:
            evaluations = evaluate_on_cluster(client, result, options)
        else:
            evaluations = {
                part: evaluate_rows(result.model, rows, result.metrics)
                for part, rows in data.items()
                if rows.y is not None
            }
    print_training(result, evaluations, time.perf_counter() - began)


# --- The ranker that the options describe


def make_ranker(options: RankerOptions, metrics: list[str]) -> Any:
    """Return the unfitted estimator that the options describe; its parameters are checked.

    Parameters
    ----------
    options : RankerOptions
    metrics : list of str
        Measures to compute after every round, for a ranker that has rounds.
    """
    if options.preset is not None and options.ranker != "rankboost":
        raise click.UsageError(
            f"--preset {options.preset} is a variant of rankboost, and --ranker is "
            f"{options.ranker}: leave one of them out."
        )
    estimator = estimator_named(options.ranker)
    known = parameters_of(estimator)
    settings: dict[str, Any] = {}
    for flag, name, text in _given(options):
        if name not in known and options.ranker == "auto" and not flag.startswith("--set"):
            raise click.UsageError(
                f"{flag}: --ranker auto chooses this itself; leave it out, or name a ranker. "
                "--set budget=quick takes less time."
            )
        if name not in known:
            raise click.UsageError(f"{flag}: {_unknown(options.ranker, name)}")
        if name in settings:
            raise click.UsageError(f"{name} is given twice, with {flag} too.")
        rule = known[name].rule
        settings[name] = parse(text, rule)
        try:  # (before the data are read, which may take long)
            check(options.ranker, name, settings[name], rule)
        except ParameterError as error:
            problem = f"{flag} must be {rule.wording}. Got {text} instead. {error.remedy}"
            raise click.UsageError(problem.rstrip()) from None
    fixed: dict[str, Any] = {"eval_metric": metrics, "verbose": int(sys.stderr.isatty())}
    if options.ranker == "auto" and metrics:
        fixed["measure"] = metrics[0]
    settings = {key: value for key, value in fixed.items() if key in known} | settings
    make = estimator if options.preset is None else partial(estimator.preset, options.preset)
    return make(**settings)


def _given(options: RankerOptions) -> list[tuple[str, str, str]]:
    """Return the flag, the parameter and the text of every option that sets a parameter."""
    given = []
    for option_name in _PARAMETER_OPTIONS:
        value = getattr(options, option_name)
        if value is not None:
            flag = "--" + option_name.replace("_", "-")
            given.append((flag, PARAMETER_OF_OPTION.get(option_name, option_name), str(value)))
    own_option = {"eval_metric": "--metric", "n_jobs": "--jobs"}
    for setting in options.settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not name or not text:
            raise click.UsageError(f"--set {setting}: a setting is NAME=VALUE, such as p=16.")
        if name in own_option:
            raise click.UsageError(f"--set {name}: use {own_option[name]}.")
        given.append((f"--set {name}", name, text))
    return given


def _unknown(ranker: str, name: str) -> str:
    """Say that a ranker has no such parameter, what is close to it, and which rankers have it."""
    close = difflib.get_close_matches(name, parameters_of(estimator_named(ranker)), n=2)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    others = [one for one in RANKERS if name in parameters_of(ranker_class(one))]
    where = f" ({', '.join(others)} {'has' if len(others) == 1 else 'have'} it)" if others else ""
    lists = f"'crucial list rankers {ranker}' lists them."
    return f"{ranker} has no parameter '{name}'{where}.{hint} {lists}"


def _has_method(ranker: object, method: str, argument: str | None = None) -> bool:
    """Return whether a ranker has a method that does not just refuse, and it an argument."""
    function = getattr(ranker, method, None)
    if function is None:
        return False
    signature = inspect.signature(function)
    if signature.return_annotation in (NoReturn, "NoReturn"):
        return False
    return argument is None or argument in signature.parameters


def _check_abilities(ranker: object, options: TrainOptions) -> None:
    """Refuse, before anything is read, what this ranker cannot do; report when it stops."""
    name, valid = options.ranker, options.valid
    has_rounds = _has_method(ranker, "fit", "eval_set")
    if options.pairs is not None and not _has_method(ranker, "fit_pairs"):
        raise click.UsageError(
            f"--pairs: {name} learns from labels only; use --ranker rankboost for pairs."
        )
    if options.trace is not None and not has_rounds:
        raise click.UsageError(f"--trace: {name} has no rounds to trace.")
    if valid is None:
        return
    if name == "auto":
        terminal.note(
            f"--ranker auto chooses by folds of {options.data}: {valid} is measured at the end"
        )
    elif not has_rounds:
        terminal.note(f"{name} has no rounds to choose from: {valid} is measured at the end")
    elif getattr(ranker, "early_stopping_rounds", None) is None:
        how = " (--early-stopping N)" if hasattr(ranker, "early_stopping_rounds") else ""
        terminal.note(f"{valid} decides the round to keep; training never stops early{how}")


# --- Fit the ranker to the rows of a file, or of files that the workers of a cluster read


_NOT_ON_A_CLUSTER = {
    "pairs": "learn from labels, or train without --dask",
    "group_sizes": "write the query of every row into the files",
    "feature_names": "'crucial show' and 'crucial why' have it too",
}


def _cluster(options: TrainOptions) -> AbstractContextManager[Any]:
    """Return the client of the cluster to train on; None without --dask."""
    if not options.on_cluster:
        refuse_given(["checkpoint", "resume"], "is for training on a cluster (--dask).")
        return nullcontext()
    if options.ranker == "auto":
        raise click.UsageError(
            "--ranker auto does not run on a cluster (--dask): choose among fewer rows on one "
            "machine, or name another ranker."
        )
    for name, remedy in _NOT_ON_A_CLUSTER.items():
        refuse_given([name], f"does not run on a cluster (--dask): {remedy}.")
    from crucial.distributed.ranker import connected

    return connected(options.dask or None)


def _train(
    ranker: Any, metrics: list[str], options: TrainOptions
) -> tuple[Training, dict[str, Dataset]]:
    """Read the files and fit the ranker; also return the rows to measure on."""
    import numpy as np

    from crucial.measures.names import default_measure, get_measure

    train, valid, how = read_training(
        options.files, options.valid, options, needs_label=options.pairs is None
    )
    train = with_names(train, options.feature_names)
    valid = None if valid is None else with_names(valid, options.feature_names)
    data = {"train": train} if valid is None else {"train": train, "valid": valid}
    lowest = np.array([rows.y.min() for rows in data.values() if rows.y is not None])
    metrics = metrics or [default_measure(lowest, train.qid is not None)]
    if "eval_metric" in parameters_of(ranker):
        ranker.set_params(eval_metric=metrics)
    if train.y is not None:
        with in_file(options.data):
            for name in metrics:  # (labels that it cannot use are refused before the training)
                get_measure(name).prepare(train.y, train.qid)
    _note_sparse(ranker, train)
    with terminal.in_training_files(options.data, options.valid):
        _fit(ranker, train, valid, options)
    result = Training.of(ranker, how, train.n_rows, train.qid is not None, metrics, options)
    return result, data


def _note_sparse(ranker: object, train: Dataset) -> None:
    """Recommend what ranks better than the defaults on sparse rows."""
    from crucial.rankers.rankboost import RankBoost

    if not hasattr(train.X, "tocsr") or not isinstance(ranker, RankBoost):
        return
    if ranker.weak == "stump" and ranker.choice == "steepest" and ranker.step is None:
        terminal.note(
            "the rows are sparse, where --set choice=largest_drop --set step=exact mostly ranks "
            "better than the defaults"
        )


def _fit(ranker: Any, train: Dataset, valid: Dataset | None, options: TrainOptions) -> None:
    """Fit the ranker to the labels, the pairs, or both."""
    evals: dict[str, Any] = {}
    if valid is not None:
        if valid.y is None:
            raise FileError(options.valid, "its rows have no labels to measure by.")
        if _has_method(ranker, "fit", "eval_set"):
            evals = {"eval_set": (valid.instances(), valid.y), "eval_qid": valid.qid}
    X = train.instances()
    if options.pairs is None:
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


# --- The table of a model's heaviest features


def feature_table(learned: Description) -> terminal.TextTable:
    """Return the heaviest features, heaviest first, with what they add to a score."""
    from crucial.model.additive import sparkline

    shapes = [one.shape for one in learned.features if one.shape is not None]
    drawn = (
        [terminal.picture_column("low → high value"), terminal.number_column("adds")]
        if shapes
        else []
    )
    # Without missing values in the data an abstention adds what the lowest value adds.
    abstains = any(shape.missing != shape.values[0] for shape in shapes)
    shown = terminal.TextTable(
        terminal.label_column("feature", 30),
        terminal.number_column("share of weight"),
        *drawn,
        *([terminal.number_column("no opinion")] if abstains else []),
    )
    for one in learned.features:
        spark, adds, missing = "", "", ""
        if one.shape is not None:
            values = one.shape.values.tolist()
            spark = sparkline(values, 24) if len(values) > 1 else "the same for all"
            adds = " to ".join(f"{value:.3g}" for value in dict.fromkeys((values[0], values[-1])))
            missing = f"{one.shape.missing:.3g}"
        cells = [one.label, f"{one.share:.1%}", *([spark, adds] if drawn else [])]
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
    options : TrainOptions
    n_rows : int
        Rows to learn from.
    with_qid : bool
        Whether they have query ids.
    ranker : estimator
        The fitted ranker.
    model : AdditiveRanker
        Its model, with how the rows were read.
    metrics : tuple of str
        The measures.
    choice : TriedRankers, str or None
        How the ranker was chosen, if it was: a table, or why nothing was tried.
    """

    options: TrainOptions
    n_rows: int
    with_qid: bool
    ranker: Any
    model: AdditiveRanker
    metrics: tuple[str, ...]
    choice: TriedRankers | str | None = None

    @classmethod
    def of(
        cls,
        ranker: Any,
        how: RowFormat,
        n_rows: int,
        with_qid: bool,
        metrics: list[str],
        options: TrainOptions,
    ) -> Training:
        """Return the training of a fitted ranker; the model stores how the rows were read."""
        stored = how.to_store()
        if options.preset is not None:
            stored["preset"] = options.preset
        model = replace(ranker.model_, training={**ranker.model_.training, "data": stored})
        choice = None
        if options.ranker == "auto":
            ranker, choice = ranker.ranker_, ranker.table_ or ranker.choice_
        return cls(options, n_rows, with_qid, ranker, model, tuple(metrics), choice)

    @property
    def held_out(self) -> Mapping[str, float] | None:
        """Measures on the training queries that were held out, if any were."""
        return None if self.options.valid is not None else self.model.training.get("eval")


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
    from crucial.model.describe import describe

    screen = terminal.console()
    name = type(result.ranker).__name__
    heading = f"{name} on {terminal.one_line(result.options.data)}, in {seconds:.1f} s"
    screen.print(f"\n{heading}", style="bold", soft_wrap=True)
    if result.choice is not None:
        screen.print(f"{result.choice}\n")
    screen.print(_counts(result))
    screen.print()
    if evaluations:  # (rows of pairs may have no labels)
        terminal.print_heading(screen, "measures of the model", result.metrics)
        screen.print(_measures(result, evaluations))
        terminal.print_meanings(screen, result.metrics, next(iter(evaluations.values())).unit)
    curve = _curve(result)
    if curve:
        screen.print(f"\n{curve}")
    screen.print()
    screen.print(feature_table(describe(result.model, top=8)))
    screen.print()
    output = result.options.output
    size = os.path.getsize(output) / 1000
    typed = shlex.quote(output)
    show = f"crucial show {'-- ' if typed.startswith('-') else ''}{typed}"
    written = f"wrote {output} ({size:,.0f} kB); {show!r} shows more"
    screen.print(terminal.one_line(written), soft_wrap=True)


def _counts(result: Training) -> Table:
    """Return the numbers of rows, queries, pairs and rounds, and the training bound."""
    summary, ranker, rows = result.model.training, result.ranker, result.n_rows
    shown = terminal.grid()

    def add(name: str, value: str) -> None:
        shown.add_row(name, terminal.one_line(value))

    used = summary["rows"]
    or_held_out = "" if result.held_out is None else " or held out"
    left = f" ({rows - used:,} in no pair{or_held_out})" if used < rows else ""
    add("rows", f"{rows:,}{left} with {counted(result.model.n_features, 'feature')}")
    if not summary["queries"]:
        add("queries", "not used: learned from the pairs of the file only")
    elif not result.with_qid:
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
    held_out = "the queries held out" if result.with_qid else "the rows held out"
    judge = result.options.valid or held_out
    return f"{len(trace)}{why}; the first {kept} are kept, best {result.metrics[0]} on {judge}"


def _measures(result: Training, evaluations: Mapping[str, Evaluation]) -> terminal.TextTable:
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
        columns.append(terminal.number_column(f"{part}\n({base})"))
    if held_out is not None:
        columns.append(terminal.number_column("held out"))
    shown = terminal.TextTable(terminal.label_column("measure"), *columns)
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

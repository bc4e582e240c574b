"""``crucial export``: a model in another engine's format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from crucial.cli.options import File, RowOptions, argument, option, verb
from crucial.cli.terminal import TextTable, check_target, console, label_column
from crucial.errors import ParameterError

if TYPE_CHECKING:
    from crucial.model.base import FrozenModel
    from crucial.model.file import Model
    from crucial.types import PathLike


_DIALECTS = Literal["ansi", "postgres", "sqlite", "duckdb", "bigquery", "snowflake"]


@dataclass(frozen=True)
class ExportOptions:
    """The options of ``crucial export``."""

    model: File | None = argument(required=False)
    to: str | None = option("The target; --list describes all.", metavar="TARGET")
    output: File | None = option("The file to write.", "-o")
    list: bool = option("List the targets, and what each can hold.")
    data: File | None = option(
        "Rows to hold the export to, those of training best, read as at training: thresholds are "
        "chosen so that their values stay on their sides in the engine's numbers."
    )
    features: File | None = option(
        'JSON file of names in the engine: {"name in the model": "name there", ...}.'
    )
    shift: bool | None = option(
        "Add a constant, so that no score is negative. [default: for Elasticsearch, OpenSearch and "
        "Solr, which reject negative scores]",
        "--shift/--no-shift",
        default=None,
    )
    missing: Literal["abstain", "zero"] = option(
        "What the engine makes of a missing value; 'zero' accepts that it counts as 0.",
        default="abstain",
    )
    probability: bool = option("Give probabilities in place of scores, where the model has any.")
    encoded: bool = option("The engine gets columns of text and dates as the model's numbers.")
    allow_ties: bool = option(
        "Go on where the engine cannot tell values apart that the model does."
    )
    dialect: _DIALECTS = option("Dialect of SQL.", default="ansi")
    runs: tuple[File, ...] = option(
        "A fusion as weights: a TREC run on which the loss is measured; may be repeated."
    )
    qrels: File | None = option("A fusion as weights: judgements of the queries of the runs.")
    metric: str | None = option(
        "A fusion as weights: the measure of the loss. [default: that of the fusion]", "-m"
    )
    name: str | None = option("Name of the model or function in the engine.")
    verify: bool | None = option(
        "Score rows by what was written before the file is moved into place.",
        "--verify/--no-verify",
        default=True,
    )


@verb("export", ExportOptions)
def export_command(options: ExportOptions) -> None:
    """Write MODEL in the format of another engine.

    \b
    Examples:
      crucial export --list
      crucial export model.json --to xgboost -o model.xgb.json --data train.txt
      crucial export model.json --to elasticsearch-ltr -o ltr.json --features names.json
      crucial export model.json --to sql --dialect postgres -o score.sql
      crucial export fusion.json --to langchain --runs a --runs b --qrels q -o weights.py

    A missing value stays "no opinion", and values fall on the same side of every threshold in the
    engine's type of numbers; what cannot be kept is refused. Before the file is moved into place it
    is read back and scored, by the engine if it is installed, otherwise by a twin of its
    evaluation.
    """
    if options.list:
        _print_targets()
        return
    if options.model is None or options.to is None or options.output is None:
        raise click.UsageError(
            "name the model, the target and the file: crucial export MODEL --to TARGET -o FILE"
        )
    sources = (options.model, options.data, options.features, options.qrels, *options.runs)
    check_target(options.output, *sources)
    from crucial.export.targets import TARGETS, refuse_reader
    from crucial.model.file import load_model, row_model
    from crucial.parameters import lookup

    refuse_reader(options.to)
    lookup(dict.fromkeys((*TARGETS, *_FUSIONS_ONLY)), options.to, "target")
    loaded = load_model(options.model)
    if options.to in _FUSIONS_ONLY:
        _export_fusion(options, loaded, options.to, options.output)
        return
    _refuse_unused(options, ("runs", "qrels", "metric"))
    model = row_model(loaded)
    settings: dict[str, Any] = {
        "features": read_names(options.features),
        "shift": options.shift,
        "missing": options.missing,
        "probability": options.probability,
        "encoded": options.encoded,
        "allow_ties": options.allow_ties,
        "dialect": options.dialect,
        "name": options.name,
        "data": _rows(options, model),
    }
    done = model.export(options.output, options.to, verify=bool(options.verify), **settings)
    click.echo(str(done))


# Targets that take the weights of a fusion.
_FUSIONS_ONLY = (
    "elasticsearch-rrf",
    "elasticsearch-linear",
    "opensearch-rrf",
    "opensearch-linear",
    "langchain",
    "llamaindex",
)


def _export_fusion(options: ExportOptions, loaded: Model, target: str, output: str) -> None:
    from crucial.fusion.export import export_fusion
    from crucial.fusion.ranker import FusionRanker

    if not isinstance(loaded, FusionRanker):
        raise ParameterError(
            f"{target} takes the weights of runs, and this model does not fuse runs: learn a "
            "fusion with crucial fuse, or export to another target.",
            parameter="to",
        )
    _refuse_unused(
        options,
        (
            "features", "shift", "missing", "probability", "encoded", "allow_ties", "data",
            "dialect", "name",
        ),
    )  # fmt: skip
    qrels = None
    if options.qrels is not None:
        from crucial.io.runs import read_qrels

        qrels = read_qrels(options.qrels)
    done = export_fusion(
        loaded, output, target, runs=list(options.runs), qrels=qrels, measure=options.metric
    )
    click.echo(str(done))


_UNSET = (None, False, (), "abstain", "ansi")


def _refuse_unused(options: ExportOptions, names: tuple[str, ...]) -> None:
    """Refuse options that this export would not look at."""
    for name in names:
        if getattr(options, name) not in _UNSET:
            raise ParameterError(
                f"--to {options.to} takes no --{name.replace('_', '-')} for this model: leave it "
                "out.",
                parameter=name,
            )


def _rows(options: ExportOptions, model: FrozenModel) -> Any:
    from crucial.cli.rows import read_for_model

    if options.data is None:
        return None
    return read_for_model(options.data, model, RowOptions.as_trained(), labels=False).instances()


def read_names(path: PathLike | None) -> dict[str, str]:
    """Read the names of features in the engine."""
    if path is None:
        return {}
    import msgspec

    from crucial.data.files import open_bytes

    with open_bytes(path) as file:
        content = file.read()
    try:
        return msgspec.json.decode(content, type=dict[str, str])
    except (msgspec.DecodeError, ValueError) as error:
        raise ParameterError(
            f"{path}: names of features are a JSON object from the model's names to those in the "
            f"engine: {error}.",
            parameter="features",
        ) from error


def _print_targets() -> None:
    from crucial.export.targets import TARGETS, target_named

    shown = TextTable(label_column("target"), "what it is", "numbers")
    targets = {name: target_named(name) for name in TARGETS}
    for name, target in targets.items():
        shown.add_row(name, target.title, target.numbers)
    console().print(shown)
    console().print()
    kinds = TextTable(label_column("models"), "go to")
    for kind, part, otherwise in _KINDS:
        able = [name for name, target in targets.items() if part in target.holds | target.takes]
        names = "all targets" if len(able) == len(targets) else ", ".join(able) or "no target"
        kinds.add_row(kind, f"{names}{otherwise}")
    kinds.add_row("learned fusions", f"{', '.join(_FUSIONS_ONLY)} as weights, with a loss")
    console().print(kinds)


# Kinds of models and columns, what a target must hold for them, and what to do with the others.
_KINDS = (
    ("of stumps: rankboost, logitboost, adaboost ...", "trees", ""),
    ("of trees: gradient; treerank, crank and their forests by the mean", "trees", ""),
    (
        "of straight lines: linear rankers, componentwise, --weak feature",
        "pieces",
        "; others: train stumps or trees",
    ),
    ("probabilities: logitboost, to_classifier()", "probability", "; scores to all targets"),
    ("columns of text", "text", "; others with --encoded"),
    ("columns of dates", "dates", " (sqlite, duckdb, postgres); others with --encoded"),
    (
        "ranking inside queries (featurerank, diffrank ...), kernels, nets, medians of trees",
        "queries",
        ": score with crucial rank",
    ),
)

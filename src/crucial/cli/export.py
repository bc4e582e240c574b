"""``crucial export``: a model in another engine's format."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from crucial.cli.options import File, RowOptions, argument, option, refuse_given, verb
from crucial.cli.terminal import check_sources, check_target
from crucial.errors import ParameterError

if TYPE_CHECKING:
    from crucial.model.base import FrozenModel
    from crucial.types import PathLike


@dataclass(frozen=True)
class FusionWeightOptions:
    """Runs and judgements that the weights of a fusion are measured on."""

    heading: ClassVar[str] = "Weights of a fusion"

    runs: tuple[File, ...] = option("A TREC run on which the loss is measured; may be repeated.")
    qrels: File | None = option("Judgements of the queries of the runs.")
    metric: str | None = option("The measure of the loss. [default: that of the fusion]", "-m")


@dataclass(frozen=True)
class RowExportOptions:
    """Options of exporting a model of rows."""

    heading: ClassVar[str] = "Models of rows"

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
    dialect: str = option(
        "Dialect of SQL, such as postgres ('crucial list targets' lists them).", default="ansi"
    )
    name: str | None = option("Name of the model or function in the engine.")


@dataclass(frozen=True)
class ExportOptions(RowExportOptions, FusionWeightOptions):
    """The options of ``crucial export``."""

    model: File = argument()
    to: str = option(
        "The target ('crucial list targets' lists them).", metavar="TARGET", required=True
    )
    output: File = option("The file to write.", "-o", required=True)
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
      crucial list targets
      crucial export model.json --to xgboost -o model.xgb.json --data train.txt
      crucial export model.json --to elasticsearch-ltr -o ltr.json
      crucial export model.json --to solr --features names.json -o solr.json
      crucial export model.json --to sql --dialect postgres -o score.sql
      crucial export fuse.json --to langchain --runs a --runs b --qrels q -o w.py

    A missing value stays "no opinion", and values fall on the same side of every threshold in the
    engine's type of numbers; what cannot be kept is refused. Before the file is moved into place it
    is read back and scored, by the engine if it is installed, otherwise by our reference
    implementation of it.
    """
    sources = (options.model, options.data, options.features, options.qrels, *options.runs)
    check_target(options.output, *sources)
    check_sources(options.model)
    from crucial.export.targets import TARGETS, refuse_reader
    from crucial.fusion.export import FLAT_TARGETS, export_fusion
    from crucial.fusion.ranker import FusionRanker
    from crucial.io.runs import read_qrels
    from crucial.model.file import load_model, row_model
    from crucial.parameters import lookup

    refuse_reader(options.to)
    lookup({**TARGETS, **FLAT_TARGETS}, options.to, "target")
    model = load_model(options.model)
    unused = f"is not for --to {options.to}: leave it out."
    if options.to in FLAT_TARGETS:
        if not isinstance(model, FusionRanker):
            raise ParameterError(
                f"{options.to} takes the weights of runs, and this model does not fuse runs: learn "
                "a fusion with crucial fuse, or export to another target.",
                parameter="to",
            )
        refuse_given(RowExportOptions.__annotations__, unused)
        done: object = export_fusion(
            model,
            options.output,
            options.to,
            runs=list(options.runs),
            qrels=None if options.qrels is None else read_qrels(options.qrels),
            measure=options.metric,
        )
    else:
        flat = f"{options.to.partition('-')[0]}-linear"
        if isinstance(model, FusionRanker) and flat in FLAT_TARGETS:
            problem = f"{options.to} takes no fusion: --to {flat} takes one weight per run."
            raise ParameterError(problem, parameter="to")
        refuse_given(FusionWeightOptions.__annotations__, unused)
        model = row_model(model)
        settings = {one.name: getattr(options, one.name) for one in fields(RowExportOptions)}
        settings |= {"features": read_names(options.features), "data": _rows(options, model)}
        done = model.export(options.output, options.to, verify=bool(options.verify), **settings)
    click.echo(str(done))


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

"""``crucial show`` and ``crucial why``: what a model learned, and why A ranks above B."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.options import File, NameOptions, RowOptions, argument, option, verb
from crucial.cli.rows import read_for_model, read_model, renamed
from crucial.cli.terminal import TextTable, console, grid, label_column, number_column, one_line
from crucial.errors import DataError, in_file
from crucial.parameters import parameters_of
from crucial.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crucial.inspection.explain import PairExplanation
    from crucial.inspection.guarantees import Bound
    from crucial.model.describe import Description, FeatureSummary

# --- ``crucial show``: what a model learned


@dataclass(frozen=True)
class ShowOptions(NameOptions):
    """The options of ``crucial show``."""

    model: File = argument()
    features: int = option(
        "Number of features to draw, largest weight first.", "-n", low=0, default=10
    )
    json: bool = option("Print everything as JSON.")


@verb("show", ShowOptions)
def show_command(options: ShowOptions) -> None:
    """Show what MODEL learned: draw its main features.

    \b
    Examples:
      crucial show model.json
      crucial show model.json --features 3
      crucial show model.json --json > learned.json

    Each drawing shows what a feature adds to the score, from its lowest values on the left to its
    highest on the right; every step has the same width. "no opinion" is what a missing value adds.
    Only differences between scores count. In trees of two features, what one feature explains of a
    pair is part of its drawing; features of larger trees have their share of the gains alone.
    """
    model = read_model(options.model)
    from crucial.errors import NotRankedError, ParameterError
    from crucial.inspection.guarantees import training_bound
    from crucial.inspection.shape_functions import describe_with_pairs
    from crucial.model.file import row_model

    model = renamed(row_model(model), options.feature_names)
    learned = describe_with_pairs(model, options.features)
    try:
        bound = training_bound(model)
    except (NotRankedError, ParameterError):  # (the second: models of this kind have no bound)
        bound = None
    if options.json:
        click.echo(model_json(learned, bound))
    else:
        print_model(options.model, learned, bound)


# --- A model's training and features for ``crucial show``, drawn and as JSON


#: Entries of the training summary, and how they are labelled.
_LABELS = {
    "estimator": "trained with",
    "rows": "rows",
    "queries": "queries",
    "skipped_queries": "skipped queries",
    "pairs": "pairs",
    "stopped": "ended",
}


def print_model(path: str, learned: Description, bound: Bound | None) -> None:
    """Print how a model was trained, and draw its heaviest features.

    Parameters
    ----------
    path : str
        The model file, for the heading.
    learned : Description
    bound : Bound or None
        The bound on the training error, if the model has one.
    """
    screen = console()
    features = counted(learned.n_features, "feature")
    screen.print(f"{path}: {learned.size} over {features}, {learned.n_used:,} used", style="bold")
    screen.print(_training(learned, bound))
    for one in learned.features:
        if one.direction:
            _draw(screen, one, "gains" if "gains" in learned.importance_of else "weight")
        else:
            screen.print(f"{_label(one)}  {one.share:.1%}: {learned.importance_of}")
    for line in learned.lines:
        screen.print(line, overflow="fold")
    hidden = learned.n_used - len(learned.features)
    if hidden:
        text = counted(hidden, "lighter feature") + (" is" if hidden == 1 else " are")
        screen.print(f"\n{text} not shown (--features N)", style="dim")


def _training(learned: Description, bound: Bound | None) -> Table:
    """Return the training summary, as far as the model has one."""
    shown, training = grid(), learned.training
    for key, label in _LABELS.items():
        value = training.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            shown.add_row(label, f"{value:,}" if isinstance(value, int) else one_line(value))
    details = {"parameters set": _changed_parameters(training), "eval set": training.get("eval")}
    details |= {key: training.get(key) for key in ("folds", "data")}
    for label, values in details.items():
        if isinstance(values, dict) and values:
            items = [f"{key}={_short(value)}" for key, value in values.items() if value is not None]
            shown.add_row(label, one_line(", ".join(items)))
    kinds = [f"{count:,} {kind}" for kind, count in learned.kinds.items()]
    if kinds:
        shown.add_row("weak rankers", ", ".join(kinds))
    if learned.intercept:
        shown.add_row("intercept", f"{learned.intercept:.4g}, the same for every row")
    if bound is not None:
        shown.add_row("training bound", bound.says)
    return shown


def _changed_parameters(training: Mapping[str, Any]) -> object:
    """Return the parameters that were not left at the defaults of the ranker."""
    from crucial import rankers

    parameters = training.get("parameters")
    if not isinstance(parameters, dict):
        return parameters
    declared = parameters_of(getattr(rankers, str(training.get("estimator")), None))
    return {
        key: value
        for key, value in parameters.items()
        if key not in declared or declared[key].default != value
    }


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _label(one: FeatureSummary) -> str:
    # (svmlight files know features by their number only)
    return f"feature {one.label}" if one.label.isdigit() else one.label


def _draw(screen: Console, one: FeatureSummary, what: str) -> None:
    """Draw what one feature adds to the score; its share is one of the weight or the gains."""
    from crucial.model.describe import drawing

    screen.print()
    head = f"{_label(one)}  {one.share:.1%} of the {what}, {one.direction}"
    screen.print(head, style="bold", overflow="fold")
    if one.shape is not None and len(one.shape.values) == 1:
        screen.print(
            f"  any value adds {one.shape.values[0]:.4g}, no opinion {one.shape.missing:.4g}"
        )
        return
    for line in drawing(one, max(12, min(60, screen.width - 16))):
        screen.print(line, overflow="crop", no_wrap=True)


def model_json(learned: Description, bound: Bound | None) -> str:
    """Return the description as JSON."""
    result: dict[str, object] = {
        "n_features": learned.n_features,
        "n_rounds": learned.n_rounds,
        "size": learned.size,
        "n_used": learned.n_used,
        "kinds": learned.kinds,
        "intercept": learned.intercept,
        "features": [_plain_feature(one) for one in learned.features],
        "lines": list(learned.lines),
        "training": learned.training,
        "training_bound": None,
    }
    if bound is not None:
        value = bound.value if math.isfinite(bound.value) else None  # (JSON has no infinity)
        facts = {"value": value, "vacuous": bound.vacuous, "says": bound.says}
        result["training_bound"] = facts
    return json.dumps(result, indent=1, allow_nan=False)


def _plain_feature(one: FeatureSummary) -> dict[str, object]:
    shape = one.shape
    return {
        "feature": one.feature,
        "name": one.label,
        "weight": one.weight,
        "share": one.share,
        "direction": one.direction,
        "thresholds": None if shape is None else shape.thresholds.tolist(),
        "values": None if shape is None else shape.values.tolist(),
        "missing": None if shape is None else shape.missing,
        "ramps": [asdict(ramp) for ramp in one.ramps],
        "rankings": [asdict(rung) for rung in one.rungs],
        "categories": dict(one.categories),
        "unit": one.unit or None,
    }


# --- ``crucial why``: why one item ranks above another


@dataclass(frozen=True)
class WhyOptions(RowOptions, NameOptions):
    """The options of ``crucial why``."""

    model: File = argument()
    data: File = argument()
    a: str = argument(metavar="A", type=str)
    b: str = argument(metavar="B", type=str)
    query: str | None = option("Query of both items, where items are in several queries.")
    most: int = option("Number of features to list.", "-n", "--features", low=1, default=12)
    json: bool = option("Print everything as JSON.")


@verb("why", WhyOptions, without=("weight", "categories", "unlabelled"))
def why_command(options: WhyOptions) -> None:
    """Explain why MODEL ranks item A of DATA above item B, or below.

    \b
    Examples:
      crucial why model.json test.txt d17 d4
      crucial why model.json test.csv --item url page-a page-b --query "red shoes"
      crucial why model.json test.txt 12 13 --json > why.json

    A and B are names of items; an item without a name is named by the number of its row, from 1.
    The parts of the features add up to the difference of both scores. In a sum of functions of one
    feature they are plain differences; what several features do together in a tree is shared
    among them by Shapley values of the change from B to A.
    """
    from crucial.cli.rows import row_of, title_of
    from crucial.inspection.explain import why
    from crucial.model.file import row_model

    model = renamed(row_model(read_model(options.model, options.data)), options.feature_names)
    data = read_for_model(options.data, model, options, labels=False)
    with in_file(options.data):
        a, b = (row_of(data, name, options.query) for name in (options.a, options.b))
        if data.qid is not None and data.qid[a] != data.qid[b]:
            raise DataError(
                f"{options.a!r} is in query {data.qid[a]} and {options.b!r} in query "
                f"{data.qid[b]}: scores of different queries cannot be compared."
            )
    found = why(model, data.instances(), a, b)
    titles = title_of(data, a), title_of(data, b)
    if options.json:
        click.echo(explanation_json(found, titles))
    else:
        print_explanation(found, titles, options.most)


# --- Why one item ranks above another, as a table and as JSON


def print_explanation(found: PairExplanation, titles: tuple[str, str], top: int) -> None:
    """Print both scores, and what each feature adds for the first item minus the second."""
    screen, margin = console(), found.margin
    side = "above" if margin > 0 else "below" if margin < 0 else "level with"
    by = f" by {abs(margin):.6g}" if margin else ""
    (a, b), scores = titles, (found.score_a, found.score_b)
    head = f"{a} (score {scores[0]:.6g}) ranks {side} {b} (score {scores[1]:.6g}){by}"
    screen.print(head, style="bold")
    shown = TextTable(
        label_column("feature", 40), *(number_column(name) for name in ("adds", a, b))
    )
    parts = zip(found.names, found.added, found.texts_a, found.texts_b, strict=True)
    differ = [one for one in parts if one[1]]
    for name, added, x, y in differ[:top]:
        shown.add_row(name, f"{added:+.4g}", x, y)
    rest = math.fsum(one[1] for one in differ[top:])
    if len(differ) > top:
        shown.add_row(counted(len(differ) - top, "other feature"), f"{rest:+.4g}", "", "")
    screen.print(shown)
    same = len(found.names) - len(differ)
    if same:
        makes = "makes" if same == 1 else "make"
        screen.print(f"{counted(same, 'feature')} {makes} no difference", style="dim")


def explanation_json(found: PairExplanation, titles: tuple[str, str]) -> str:
    """Return the explanation as JSON; a missing value is null, categories and dates are text."""
    both = (found.values_a, found.texts_a), (found.values_b, found.texts_b)
    values = [
        [_plain(float(v), text) for v, text in zip(part, texts, strict=True)]
        for part, texts in both
    ]
    features = [
        {"feature": feature, "name": name, "adds": float(added), "a": x, "b": y}
        for feature, name, added, x, y in zip(
            found.features, found.names, found.added, *values, strict=True
        )
    ]
    result = {
        "a": {"item": titles[0], "row": found.a + 1, "score": found.score_a},
        "b": {"item": titles[1], "row": found.b + 1, "score": found.score_b},
        "margin": found.margin,
        "features": features,
    }
    return json.dumps(result, indent=1, allow_nan=False)


def _plain(value: float, text: str) -> float | str | None:
    """Return a value of a feature: its number, or its text where it stands for something else."""
    if math.isnan(value):
        return None
    return value if text == f"{value:.6g}" else text

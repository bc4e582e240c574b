"""``crucial show``: what a model learned."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from crucial.cli.shared.options import model_argument
from crucial.cli.shared.terminal import console, counted, grid, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crucial.inspection.bounds import Bound
    from crucial.model.describe import Description, FeatureSummary
    from crucial.model.payloads import RowModel

__all__ = ["show_command"]

_EPILOG = """\
\b
Examples:
  crucial show model.json
  crucial show model.json --features 3
  crucial show model.json --json > learned.json

A picture shows what a feature adds to the score, from its lowest values at the left to its
highest at the right; every step is equally wide. "no opinion" is what a missing value adds.
Only differences between scores count.
"""


@click.command("show", epilog=_EPILOG)
@model_argument
@click.option("-n", "--features", type=click.IntRange(min=0), default=10, show_default=True,
              metavar="N", help="How many features to draw, heaviest first.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON, for programs.")
def show_command(model: str, features: int, as_json: bool) -> None:
    """Show what MODEL learned: its heaviest features, drawn."""
    from crucial.model.describe import describe
    from crucial.model.file import load_model
    from crucial.model.payloads import row_model

    read = row_model(load_model(model))
    learned, bound = describe(read, top=features), _bound(read)
    if as_json:
        click.echo(json.dumps(_plain(learned, bound), indent=1, allow_nan=False))
        return
    screen = console()
    rounds = counted(learned.n_rounds, "round", "rounds")
    features_ = counted(learned.n_features, "feature", "features")
    screen.print(f"{model}: {rounds} over {features_}, {learned.n_used:,} used", style="bold")
    screen.print(_training(learned, bound))
    for one in learned.features:
        _draw(screen, one)
    rest = learned.n_used - len(learned.features)
    if rest:
        screen.print(f"\n{rest} lighter features are not shown (--features N)", style="dim")


_COUNTS = {
    "estimator": "trained with",
    "rows": "rows",
    "queries": "queries",
    "skipped_queries": "skipped queries",
    "pairs": "pairs",
    "stopped": "ended",
}
_PARAMETERS = (
    "n_estimators",
    "n_intervals",
    "prec",
    "centre",
    "order",
    "cycles",
    "balance_control",
    "learning_rate",
    "choice",
    "step",
    "positive_weights",
    "default_rank",
    "balance",
    "gain",
    "max_bins",
    "subsample",
    "early_stopping_rounds",
    "random_state",
)


def _bound(model: RowModel) -> Bound | None:
    """Bound on the training error, for a model that knows how its training went."""
    from crucial.errors import NotRankedError, ParameterError
    from crucial.inspection.bounds import training_bound

    try:
        return training_bound(model)
    except (NotRankedError, ParameterError):  # (the second: no such thing is known of its kind)
        return None


def _training(learned: Description, bound: Bound | None) -> Table:
    """The training summary, as far as a model has one."""
    shown = grid()
    training = learned.training
    for key, word in _COUNTS.items():
        value = training.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool):
            shown.add_row(word, f"{value:,}" if isinstance(value, int) else one_line(value))
    parameters, data = training.get("parameters"), training.get("data")
    if isinstance(parameters, dict):
        parameters = {key: parameters[key] for key in _PARAMETERS if key in parameters}
    for word, values in (
        ("parameters", parameters),
        ("eval set", training.get("eval")),
        ("data", data),
    ):
        if isinstance(values, dict) and values:
            said = [f"{key}={_short(value)}" for key, value in values.items() if value is not None]
            shown.add_row(word, one_line(", ".join(said)))
    kinds = [f"{count:,} {kind}" for kind, count in learned.kinds.items()]
    if kinds:
        shown.add_row("weak rankers", ", ".join(kinds))
    if learned.intercept:
        shown.add_row("intercept", f"{learned.intercept:.4g}, the same for every row")
    if bound is not None:
        shown.add_row("training bound", bound.says)
    return shown


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw(screen: Console, one: FeatureSummary) -> None:
    from crucial.model.describe import drawing

    screen.print()
    # (svmlight files know features by their number alone)
    label = f"feature {one.label}" if one.label.isdigit() else one.label
    head = f"{label}  {one.share:.1%} of the weight, {one.direction}"
    screen.print(head, style="bold", overflow="ellipsis", no_wrap=True)
    if one.shape is not None and len(one.shape.values) == 1:
        screen.print(
            f"  any value adds {one.shape.values[0]:.4g}, no opinion {one.shape.missing:.4g}"
        )
        return
    width = max(12, min(60, screen.width - 16))
    for line in drawing(one, width):
        screen.print(line, overflow="crop", no_wrap=True)


def _plain(learned: Description, bound: Bound | None) -> dict[str, Any]:
    """The description as JSON holds it."""
    features = []
    for one in learned.features:
        shape = one.shape
        features.append(
            {
                "feature": one.feature,
                "name": one.label,
                "weight": one.weight,
                "share": one.share,
                "direction": one.direction,
                "thresholds": None if shape is None else shape.thresholds.tolist(),
                "values": None if shape is None else shape.values.tolist(),
                "missing": None if shape is None else shape.missing,
                "ramps": [
                    {"low": r.low, "high": r.high, "missing": r.missing, "weight": r.weight}
                    for r in one.ramps
                ],
                "rankings": [{"centres": list(r.centres), "weight": r.weight} for r in one.rungs],
            }
        )
    return {
        "n_features": learned.n_features,
        "n_rounds": learned.n_rounds,
        "n_used": learned.n_used,
        "kinds": learned.kinds,
        "intercept": learned.intercept,
        "features": features,
        "training": learned.training,
        "training_bound": None if bound is None else _plain_bound(bound),
    }


def _plain_bound(bound: Bound) -> dict[str, Any]:
    value = bound.value if math.isfinite(bound.value) else None  # (JSON knows no infinity)
    return {"value": value, "vacuous": bound.vacuous, "says": bound.says}

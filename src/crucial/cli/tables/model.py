"""A model's training and features for ``crucial show``, drawn and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from crucial.cli.shared.terminal import console, grid, one_line
from crucial.inspection.bounds import Bound
from crucial.model.describe import Description, FeatureSummary, drawing
from crucial.wording import counted

__all__ = ["model_json", "print_model"]

#: Entries of the training summary, and how they are labelled.
_LABELS = {
    "estimator": "trained with",
    "rows": "rows",
    "queries": "queries",
    "skipped_queries": "skipped queries",
    "pairs": "pairs",
    "stopped": "ended",
}
#: Parameters to show, in this order.
_PARAMETERS = (
    "n_estimators", "n_intervals", "prec", "centre", "order", "cycles", "balance_control",
    "splitter", "splitter_depth", "max_depth", "min_rows", "max_features", "consensus", "pruning",
    "levels", "learning_rate", "loss", "weak", "max_leaves", "symmetric", "l2", "interactions",
    "max_pairs", "choice", "step", "positive_weights", "default_rank", "balance", "gain",
    "max_bins", "subsample", "n_bags", "early_stopping_rounds", "validation_folds", "random_state",
)  # fmt: skip

#: Those that apply to weak rankers that are trees.
_OF_TREES = (
    "max_leaves",
    "symmetric",
    "max_depth",
    "min_rows",
    "l2",
    "interactions",
    "max_pairs",
    "max_features",
)


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
    parameters = training.get("parameters")
    if isinstance(parameters, dict):
        left_out = _OF_TREES if parameters.get("weak", "tree") != "tree" else ()
        names = [key for key in _PARAMETERS if key in parameters and key not in left_out]
        parameters = {key: parameters[key] for key in names}
    details = {"parameters": parameters, "eval set": training.get("eval")}
    details["folds"] = training.get("folds")
    for label, values in {**details, "data": training.get("data")}.items():
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


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _label(one: FeatureSummary) -> str:
    # (svmlight files know features by their number only)
    return f"feature {one.label}" if one.label.isdigit() else one.label


def _draw(screen: Console, one: FeatureSummary, what: str) -> None:
    """Draw what one feature adds to the score; its share is one of the weight or the gains."""
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

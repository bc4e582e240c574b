"""The table of a model's heaviest features."""

from __future__ import annotations

from rich.table import Table

from crucial.cli.shared.terminal import label_column, number_column, picture_column, table
from crucial.model.additive import sparkline
from crucial.model.describe import Description

__all__ = ["feature_table"]


def feature_table(learned: Description) -> Table:
    """Return the heaviest features, heaviest first, with what they add to a score."""
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

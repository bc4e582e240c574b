"""What a model learned, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crucial.cli.shared.terminal import table

if TYPE_CHECKING:
    from rich.table import Table

    from crucial.model.describe import Description

__all__ = ["bar", "feature_table", "half_blocks"]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def bar(share: float, width: int = 20) -> str:
    """Draw a share of 1 as a bar.

    Examples
    --------
    >>> bar(0.55, width=10)
    '█████▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def half_blocks(rows: Sequence[Sequence[bool]]) -> list[str]:
    """Draw a black and white picture, two rows in a line of text.

    Examples
    --------
    >>> half_blocks([[True, False, True], [False, False, True]])
    ['▀ █']
    """
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[bool(a), bool(b)] for a, b in zip(*pair)) for pair in pairs]


def feature_table(learned: Description) -> Table:
    """The heaviest features, heaviest first, with what they add to a score."""
    from crucial.model.shape import sparkline

    shapes = [one.shape for one in learned.features if one.shape is not None]
    # Without missing values in the data an abstention is worth what the lowest value is.
    silence = any(shape.missing != shape.values[0] for shape in shapes)
    made = table()
    made.add_column("feature", no_wrap=True, overflow="ellipsis", max_width=30)
    made.add_column("share of weight", justify="right")
    made.add_column("low → high value")
    made.add_column("adds", justify="right")
    if silence:
        made.add_column("no opinion", justify="right")
    for one in learned.features:
        spark, adds, missing = "", "", ""
        if one.shape is not None:
            values = one.shape.values.tolist()
            spark = sparkline(values, 24) if len(values) > 1 else "the same for all"
            adds = " to ".join(f"{value:.3g}" for value in dict.fromkeys((values[0], values[-1])))
            missing = f"{one.shape.missing:.3g}"
        cells = [one.label, f"{one.share:.1%}", spark, adds]
        made.add_row(*cells, *([missing] if silence else []))
    others = _others(learned.n_used - len(learned.features), learned.n_features - learned.n_used)
    if others:
        made.add_row(others, style="dim")
    return made


def _others(rest: int, unused: int) -> str:
    """Say how many features are not shown."""
    parts = [f"{rest:,} more"] if rest else []
    parts += [f"{unused:,} unused"] if unused else []
    return ", ".join(parts)

"""What results share: names, frames and drawings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from crucial.errors import MissingExtraError
from crucial.model.text import printable

if TYPE_CHECKING:
    import matplotlib.axes

__all__ = [
    "Axes",
    "Frame",
    "as_frame",
    "axes_grid",
    "feature_name",
    "json_value",
    "listed",
    "literal",
    "new_axes",
    "padded",
]

#: A pandas DataFrame, or a dict of lists where pandas is not installed.
Frame: TypeAlias = Any
Axes: TypeAlias = "matplotlib.axes.Axes"


def feature_name(names: Sequence[str] | None, feature: int) -> str:
    """Return the name of a feature, or a substitute if it has none.

    Examples
    --------
    >>> feature_name(("bm25",), 0), feature_name(None, 7)
    ('bm25', 'feature 7')
    """
    return names[feature] if names is not None else f"feature {feature}"


def padded(name: str, width: int) -> str:
    """Return a name without control characters, padded or cut to a width."""
    return f"{printable(name, width):<{width}}"


def literal(text: str) -> str:
    """Return a text that matplotlib draws as it is: between two signs of $ it expects formulas.

    For labels of legends, which know no ``parse_math=False``.

    Examples
    --------
    >>> literal("US$ to A$")
    'US\\\\$ to A\\\\$'
    """
    return text.replace("$", r"\$")


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: no NaN, no infinity, no NumPy numbers, text for the rest."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def listed(names: Sequence[str], count: int = 8) -> str:
    """Return the first few names as text, and how many more there are."""
    few = ", ".join(padded(name, 24).strip() for name in names[:count])
    return few + (f" and {len(names) - count} more" if len(names) > count else "")


def as_frame(columns: Mapping[str, Sequence[object]]) -> Frame:
    """Return a pandas frame where pandas is installed, else a dict of lists."""
    plain = {name: list(values) for name, values in columns.items()}
    try:
        import pandas
    except ImportError:
        return plain
    return pandas.DataFrame(plain)


def _new_figure(
    rows: int, columns: int, size: tuple[float, float] | None, projection: str | None = None
) -> list[Axes]:
    """Return the axes of a new figure; without matplotlib, raise how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plot() needs matplotlib: pip install crucial[plots]. print() and to_frame() show the "
            "same without."
        ) from error
    _, axes = plt.subplots(
        rows,
        columns,
        squeeze=False,
        layout="constrained",
        figsize=size,
        subplot_kw={"projection": projection},
    )
    return list(axes.flat)


def new_axes(
    ax: Axes | None = None,
    size: tuple[float, float] | None = None,
    projection: str | None = None,
) -> Axes:
    """Return ``ax``, or the axes of a new figure if it is None."""
    return _new_figure(1, 1, size, projection)[0] if ax is None else ax


def axes_grid(count: int, columns: int = 3) -> list[Axes]:
    """Return axes for a number of small pictures, in one new figure."""
    columns = max(1, min(columns, count))
    rows = max(1, -(-count // columns))
    axes = _new_figure(rows, columns, (3.6 * columns, 2.4 * rows))
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]

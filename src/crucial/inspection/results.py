"""What the results of an inspection share: names, frames, drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crucial.errors import MissingExtraError
from crucial.model.text import printable

__all__ = ["as_frame", "axes_grid", "feature_name", "new_axes", "shown"]


def feature_name(names: Sequence[str] | None, feature: int) -> str:
    """The name of a feature, or what to call one without.

    Examples
    --------
    >>> feature_name(("bm25",), 0), feature_name(None, 7)
    ('bm25', 'feature 7')
    """
    return names[feature] if names is not None else f"feature {feature}"


def shown(name: str, width: int) -> str:
    """A name on a line of text: without control characters, padded or cut to a width."""
    return f"{printable(name, width):<{width}}"


def as_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A pandas frame where pandas is installed, else a dict of lists, which others take."""
    plain = {name: list(values) for name, values in columns.items()}
    try:
        import pandas
    except ImportError:
        return plain
    return pandas.DataFrame(plain)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            "plot() needs matplotlib: pip install crucial[plots]. print() and to_frame() show the "
            "same without."
        ) from error
    return plt


def new_axes(ax: Any = None, **options: Any) -> Any:
    """The axes to draw on: those given, or those of a new figure."""
    return _pyplot().subplots(layout="constrained", **options)[1] if ax is None else ax


def axes_grid(count: int, columns: int = 3) -> list[Any]:
    """Axes for a number of small pictures, in one new figure."""
    columns = max(1, min(columns, count))
    rows = max(1, -(-count // columns))
    figure, axes = _pyplot().subplots(
        rows, columns, squeeze=False, layout="constrained", figsize=(3.6 * columns, 2.4 * rows)
    )
    for spare in axes.flat[count:]:
        figure.delaxes(spare)
    return list(axes.flat[:count])

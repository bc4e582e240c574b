"""Draw what one feature adds to a score, and where the rows are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.arrays import DAYS
from crucial.results import Axes, padded
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.inspection.shape_functions import FeatureShape

__all__ = ["draw_shape"]

_DRAWN = 20  # categories that a plot shows
_FLOOR = 0.2  # share of the height for the rows


def draw_shape(ax: Axes, shape: FeatureShape) -> None:
    """Draw the function of a feature, what a missing value adds, and the rows at the bottom."""
    title = f"{shape.name} ({shape.share_of_weight:.0%} of the weight)"
    ax.set_title(title, fontsize=9, pad=15, parse_math=False)
    if shape.categories:
        _draw_categories(ax, shape)
    else:
        _draw_steps(ax, shape)
    # Between the title and the axes, where it covers nothing.
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 0.99),
        ncols=2,
        fontsize=7,
        frameon=False,
        borderpad=0.1,
        handlelength=1.5,
        columnspacing=1.0,
    )


def _missing_text(shape: FeatureShape) -> str:
    """Return what a missing value adds, and how many rows have one."""
    rows = ""
    if shape.share_missing is not None:
        rows = f" ({shape.share_missing:.0%} of rows)" if shape.share_missing else " (no row)"
    return f"missing value adds {shape.missing:.3g}{rows}"


def _draw_steps(ax: Axes, shape: FeatureShape) -> None:
    low, high = shape.window
    marks = shape.marks
    fine = np.linspace(low, high, 400)
    xs = np.unique(np.concatenate([fine, marks, np.nextafter(marks, np.inf)]))
    ax.plot(xs, [shape(float(x)) for x in xs])
    ax.axhline(shape.missing, linestyle=":", color="0.5", label=_missing_text(shape))
    _label_values(ax, shape)
    ax.set_ylabel("adds to the score")
    if shape.histogram is None:
        return
    edges, counts = shape.histogram
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom - (top - bottom) * _FLOOR / (1.0 - _FLOOR), top)
    ax.bar(
        edges[:-1],
        0.9 * _FLOOR * counts / max(1, counts.max()),
        np.diff(edges),
        align="edge",
        transform=ax.get_xaxis_transform(),  # (heights are shares of the axes)
        color="0.5",
        alpha=0.6,
        label=counted(int(counts.sum()), "row"),
    )
    ax.set_xlim(edges[0], edges[-1])


def _label_values(ax: Axes, shape: FeatureShape) -> None:
    """Name the axis of the values, as dates where they are days since 1970."""
    unit = f" ({shape.unit})" if shape.unit and shape.unit != DAYS else ""
    ax.set_xlabel(f"{shape.name}{unit}", parse_math=False)
    if shape.unit == DAYS:
        dates: Any = import_module("matplotlib.dates")
        locator = dates.AutoDateLocator(
            minticks=2, maxticks=5
        )  # (matplotlib's dates are days since 1970 too)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _draw_categories(ax: Axes, shape: FeatureShape) -> None:
    parts = list(shape.by_category().items())
    if len(parts) > _DRAWN:
        parts = [*parts[: _DRAWN // 2], *parts[-_DRAWN // 2 :]]
    rows = shape.category_rows
    texts = [
        padded(text, 16).strip() + (f" ({counted(rows.get(text, 0), 'row')})" if rows else "")
        for text, _ in parts
    ]
    ax.barh(range(len(parts)), [part for _, part in parts])
    ax.axvline(shape.missing, linestyle=":", color="0.5", label=_missing_text(shape))
    ax.set_yticks(range(len(parts)), texts, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel("adds to the score")
    ax.set_ylabel(shape.name, parse_math=False)

"""Figures of the studies: drawn to a file, without a screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from crucial.errors import MissingExtraError
from crucial.types import PathLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.inspection.results import Axes

__all__ = ["new_figure", "save_figure"]


def new_figure(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.4), **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a new figure, and its axes row by row.

    Parameters
    ----------
    rows, columns : int
    size : (width, height)
        In inches.
    **options
        Options of ``Figure.subplots``.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed: pip install 'crucial[plots]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def save_figure(figure: Figure, path: PathLike) -> Path:
    """Write a figure to a file of the kind that its name says; return its path."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(place, dpi=120)
    return place

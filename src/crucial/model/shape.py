"""The step function of one feature, as data and as lines of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.types import Floats

__all__ = ["Shape", "draw_shape", "sparkline"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = sys.float_info.max  # (an infinite value is drawn as this one)


@dataclass(frozen=True, eq=False)
class Shape:
    """The step function that a model adds for a feature.

    Attributes
    ----------
    feature : int
        Number of the feature, from 0.
    name : str or None
        Its name, where the model knows one.
    thresholds : float64 array of shape (k,)
        Where the function steps, ascending.
    values : float64 array of shape (k + 1,)
        ``values[c]`` is added where exactly ``c`` of the thresholds are smaller than
        the feature's value.
    missing : float
        Added where the feature abstains.
    """

    feature: int
    name: str | None
    thresholds: Floats
    values: Floats
    missing: float

    def __add__(self, other: Shape) -> Shape:
        """Return the sum of two functions of the same feature."""
        thresholds = np.union1d(self.thresholds, other.thresholds)
        total = np.zeros(len(thresholds) + 1)
        for one in (self, other):
            below = np.searchsorted(one.thresholds, thresholds, "right")
            total += one.values[np.concatenate(([0], below))]
        return Shape(self.feature, self.name, thresholds, total, self.missing + other.missing)


def _levels(values: Sequence[float], low: float, high: float, top: int) -> list[int]:
    """Return the height of every value, from 0 for ``low`` to ``top`` for ``high``."""
    low, high, *values = (min(max(one, -_MOST), _MOST) for one in (low, high, *values))
    span = high / 2 - low / 2  # (half, so that it cannot overflow)
    if span <= 0:
        return [top // 2 for _ in values]
    return [round(top * ((value / 2 - low / 2) / span)) for value in values]


def _spread(n_cells: int, width: int) -> list[int]:
    """Return the cell that each character shows: all equally wide, or a sample of them."""
    if n_cells <= width:
        return [cell for cell in range(n_cells) for _ in range(width // n_cells)]
    return [round(at * (n_cells - 1) / (width - 1)) for at in range(width)]


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """Draw numbers as one line of blocks, lowest to highest.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0], width=6)
    '▁▁▅▅██'
    """
    if len(values) == 0:
        return ""
    cells = _spread(len(values), max(2, width))
    heights = _levels(values, min(values), max(values), len(_BLOCKS) - 1)
    return "".join(_BLOCKS[heights[cell]] for cell in cells)


def draw_shape(shape: Shape, width: int = 48, height: int = 3) -> list[str]:
    """Draw a step function as lines of text.

    Every cell is equally wide, whatever its extent; the numbers below are the first and
    the last threshold.

    Parameters
    ----------
    shape : Shape
        The step function.
    width, height : int
        Characters of the drawing, without its labels.

    Returns
    -------
    list of str
        ``height`` lines of blocks with the highest and the lowest value at their left,
        a line with the thresholds, and a line with the value on abstention.

    Examples
    --------
    >>> import numpy as np
    >>> step = Shape(0, None, np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), 0.25)
    >>> print("\\n".join(draw_shape(step, width=6, height=2)))
             1 ┤  ▁▁██
             0 ┤▁▁████
                steps from 1 to 2
                no opinion: 0.25
    """
    values = shape.values.tolist()
    low, high = min(values), max(values)
    cells = _spread(len(values), max(2, width))
    heights = _levels(values, low, high, len(_BLOCKS) * height - 1)
    labels = [f"{high:.4g}", *[""] * (height - 1)]
    labels[-1] = f"{low:.4g}" if height > 1 else labels[-1]
    lines = []
    for line, label in enumerate(labels):
        floor = len(_BLOCKS) * (height - 1 - line)
        marks = [heights[cell] - floor for cell in cells]
        bar = "".join(" " if m < 0 else _BLOCKS[min(m, len(_BLOCKS) - 1)] for m in marks)
        lines.append(f"{label:>10} ┤{bar}".rstrip())
    thresholds = shape.thresholds.tolist()
    if len(thresholds) > 1:
        lines.append(f"{'':>12}steps from {thresholds[0]:.6g} to {thresholds[-1]:.6g}")
    elif thresholds:
        lines.append(f"{'':>12}step at {thresholds[0]:.6g}")
    else:
        lines.append(f"{'':>12}the same for every value")
    lines.append(f"{'':>12}no opinion: {shape.missing:.4g}")
    return lines

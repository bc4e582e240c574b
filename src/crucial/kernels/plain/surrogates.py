"""Surrogates of the hard ranking loss, over all pairs of a query at a time."""

from __future__ import annotations

import numpy as np

from crucial.kernels.levels import Levels
from crucial.types import Floats

__all__ = ["surrogate_of", "surrogate_sums"]


def surrogate_of(surrogate: str, width: float, z: Floats) -> tuple[Floats, Floats]:
    """Return the loss phi(z), and minus its derivative.

    Examples
    --------
    >>> loss, slope = surrogate_of("piecewise", 0.5, np.array([-1.0, 0.25, 1.0]))
    >>> loss.tolist(), slope.tolist()
    ([1.0, 0.5, 0.0], [0.0, 2.0, 0.0])
    """
    if surrogate == "exp":
        with np.errstate(over="ignore"):
            loss = np.exp(-z)
        return loss, loss
    if surrogate == "hinge":
        return np.maximum(0.0, 1.0 - z), (z < 1.0).astype(np.float64)
    loss = np.where(z < 0.0, 1.0, np.where(z > width, 0.0, 1.0 - z / width))
    return loss, np.where((z > 0.0) & (z <= width), 1.0 / width, 0.0)


def surrogate_sums(
    surrogate: str,
    width: float,
    scores: Floats,
    weight: Floats,
    values: Floats,
    coefficient: Floats,
    levels: Levels,
    gradient: Floats,
) -> float:
    """Return the loss over all pairs, and write minus its gradient by every row over its weight.

    Parameters
    ----------
    scores, weight : arrays over the rows
    values : array over the segments
    coefficient : array over the queries
    gradient : array over the rows, or of length 0  # OUT
    """
    labels = values[levels.segment_of_row]
    starts, total = levels.row_start, 0.0
    for q, factor in enumerate(coefficient.tolist()):
        rows = slice(starts[q], starts[q + 1])
        y, f, u = labels[rows], scores[rows], weight[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            gap = y[:, None] - y[None, :]
            loss, slope = surrogate_of(surrogate, width, gap * (f[:, None] - f[None, :]))
            above = gap > 0.0
            total += factor * float((np.where(above, loss, 0.0) * u * u[:, None]).sum())
            if len(gradient):
                pull = np.where(gap != 0.0, gap * slope, 0.0)
                gradient[rows] = factor * (pull * u).sum(axis=1)
    return total

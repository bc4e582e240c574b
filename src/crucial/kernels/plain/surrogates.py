"""Surrogates of the hard ranking loss, over all pairs at a time."""

from __future__ import annotations

import numpy as np

from crucial.kernels.elementary import exp
from crucial.kernels.levels import Levels
from crucial.types import Floats

__all__ = ["EDGE", "SurrogatePairs", "surrogate_of"]

#: Where a loss has a corner, its slope at a z so close to it is that of the corner: rounding
#: does not decide.
EDGE = 1e-12


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
            loss = exp(-z)
        return loss, loss
    if surrogate == "hinge":
        return np.maximum(0.0, 1.0 - z), (z < 1.0 - EDGE).astype(np.float64)
    loss = np.where(z < 0.0, 1.0, np.where(z > width, 0.0, 1.0 - z / width))
    edge = EDGE * width
    return loss, np.where((z > edge) & (z <= width + edge), 1.0 / width, 0.0)


class SurrogatePairs:
    """Loss and gradient over the pairs of a small problem, which are listed once.

    Parameters
    ----------
    surrogate, width
        See `surrogate_of`.
    values : array over the segments
        Their labels.
    weight : array over the rows
    coefficient : array over the queries
    levels : Levels
    """

    def __init__(
        self,
        surrogate: str,
        width: float,
        values: Floats,
        weight: Floats,
        coefficient: Floats,
        levels: Levels,
    ) -> None:
        self._surrogate, self._width = surrogate, width
        segment, first = levels.segment_of_row, levels.row_start[:-1]
        below = levels.level_start[:-1] - first[levels.query_of_segment]
        wins = below[segment]  # rows of lower labels, for every row
        self._high = np.repeat(np.arange(levels.n_rows), wins)
        within = np.arange(len(self._high)) - np.repeat(np.cumsum(wins) - wins, wins)
        self._low = within + np.repeat(first[levels.query_of_segment[segment]], wins)
        self._gap = values[segment[self._high]] - values[segment[self._low]]
        factor = coefficient[levels.query_of_segment[segment[self._high]]]
        self._weight = factor * weight[self._high] * weight[self._low]
        self._by_high = factor * weight[self._low] * self._gap
        self._by_low = factor * weight[self._high] * self._gap

    def sums(self, scores: Floats, gradient: Floats) -> float:
        """Return the loss; write minus its gradient by every row over the weight of the row.

        Parameters
        ----------
        scores : array over the rows
        gradient : array over the rows, or of length 0  # OUT
        """
        with np.errstate(over="ignore", invalid="ignore"):
            z = self._gap * (scores[self._high] - scores[self._low])
            loss, slope = surrogate_of(self._surrogate, self._width, z)
            if len(gradient):
                gradient[:] = np.bincount(self._high, self._by_high * slope, len(scores))
                gradient -= np.bincount(self._low, self._by_low * slope, len(scores))
            return float((self._weight * loss).sum())

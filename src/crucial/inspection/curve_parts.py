"""What curves of a ranking share: rows sorted into blocks, limits of steps, bootstrap bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.data.arrays import check_sum
from crucial.errors import DataError
from crucial.measures.lists import as_numbers
from crucial.model.additive import sparkline
from crucial.notebook import HtmlResult
from crucial.parameters import at_least, between, check
from crucial.results import Frame, as_frame
from crucial.types import Floats, Ints, VectorLike

__all__ = [
    "Band",
    "RankedRows",
    "band_of",
    "curve_line",
    "equal_parts",
    "limits",
    "read_rows",
    "two_classes",
]


@dataclass(frozen=True)
class RankedRows:
    """Rows in the order of their scores, the best first.

    Attributes
    ----------
    y, weight : arrays of shape (n_rows,)
        Labels and weights, best score first.
    block : int array of shape (n_rows,)
        Number of the block of equal scores that a row is in.
    scores : array of shape (n_blocks,)
        Score of each block, falling.
    """

    y: Floats
    weight: Floats
    block: Ints
    scores: Floats

    def sums(self, values: Floats) -> Floats:
        """Return sums over the rows up to the end of each block, after a 0 for none of them."""
        blocks = np.bincount(self.block, values, minlength=len(self.scores))
        return np.concatenate([[0.0], np.cumsum(blocks)])

    def shares(self, values: Floats) -> Floats:
        """Return the sums as shares of the sum over all rows; the last is 1 exactly."""
        sums = self.sums(values)
        return np.asarray(sums / sums[-1])


def read_rows(
    y: VectorLike, scores: VectorLike, sample_weight: VectorLike | None, owner: str
) -> RankedRows:
    """Check labels, scores and weights, and sort them; rows of weight 0 are left out."""
    labels = as_numbers(y, "y")
    values = as_numbers(scores, "scores", len(labels))
    weight = np.ones(len(labels))
    if sample_weight is not None:
        weight = as_numbers(sample_weight, "sample_weight", len(labels))
        if (weight < 0).any():
            raise DataError(f"{owner}: sample_weight must not be negative.")
        check_sum(weight, "sample_weight")
    kept = weight > 0
    if not kept.any():
        raise DataError(f"{owner} needs at least one row with a weight above 0.")
    labels, values, weight = labels[kept], values[kept], weight[kept]
    distinct, block = np.unique(-values, return_inverse=True)
    order = np.argsort(block.ravel(), kind="stable")
    return RankedRows(labels[order], weight[order], block.ravel()[order], -distinct)


def two_classes(rows: RankedRows, owner: str, instead: str) -> Floats:
    """Return 1 for rows of the higher of two labels and 0 for the others."""
    labels = np.unique(rows.y)
    if len(labels) != 2:
        raise DataError(
            f"{owner} needs labels of two values. Got {len(labels)}. Pass y >= a threshold, or "
            f"use {instead}."
        )
    return np.asarray((rows.y == labels[1]).astype(np.float64))


def equal_parts(rows: RankedRows, count: int) -> Ints:
    """Return the part of each block, numbered from 0 without gaps, best scores first.

    Parts have about the same weight; rows of equal scores are in one part.

    Examples
    --------
    >>> rows = read_rows([0, 1, 1, 0, 1], [5.0, 4.0, 4.0, 2.0, 1.0], None, "example")
    >>> equal_parts(rows, 2).tolist()
    [0, 0, 1, 1]
    """
    weight = np.bincount(rows.block, rows.weight)
    end = np.cumsum(weight)
    # (a block belongs where its middle lies)
    middle = (end - weight / 2.0) / end[-1]
    part = np.minimum((middle * count).astype(np.int64), count - 1)
    return np.asarray(np.unique(part, return_inverse=True)[1].ravel(), np.int64)


def limits(x: Floats, y: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Return the limits from the left and from the right of a curve with vertical steps.

    Parameters
    ----------
    x, y : arrays of shape (n_points,)
        Points of the curve, x from 0 to 1 and never falling.
    at : array
        Where to evaluate it, in [0, 1].

    Examples
    --------
    >>> left, right = limits(np.array([0, 0, 1.0]), np.array([0, 0.5, 1]), np.array([0, 0.5]))
    >>> left.tolist(), right.tolist()
    ([0.0, 0.75], [0.5, 0.75])
    """
    new = np.append(True, x[1:] != x[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(x)) - 1
    places, low, high = x[first], y[first], y[last]
    slope = np.append((low[1:] - high[:-1]) / np.diff(places), 0.0)

    def evaluate(piece: Ints) -> Floats:
        return np.asarray(high[piece] + slope[piece] * (at - places[piece]))

    below = np.searchsorted(places, at, side="left") - 1
    left = np.where(below < 0, low[0], evaluate(np.maximum(below, 0)))
    return left, evaluate(np.searchsorted(places, at, side="right") - 1)


@dataclass(frozen=True, eq=False)
class Band(HtmlResult):
    """A bootstrap band around a curve or surface.

    Attributes
    ----------
    at : array
        Where it was computed.
    low, high : arrays
        The band, point by point.
    level : float
        Share of the resampled curves inside, at each point by itself.
    """

    _html_curve: ClassVar[bool] = True

    at: Floats
    low: Floats
    high: Floats
    level: float

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"at": self.at.tolist(), "low": self.low.tolist(),
                         "high": self.high.tolist()})  # fmt: skip

    def _html_title(self) -> str:
        return f"Bootstrap band at {self.level:.0%}"


def band_of(
    curve: Callable[[Floats], Floats],
    at: Floats,
    weight: Floats,
    classes: Sequence[Ints],
    intervals: bool | float,
    resamples: int,
    random_state: int,
) -> Band | None:
    """Return the percentile band of a curve over bootstraps drawn inside each class.

    Parameters
    ----------
    curve : callable
        Returns the curve at the points ``at`` for weights of the rows.
    at : array
    weight : array of shape (n_rows,)
    classes : sequence of int arrays
        Rows of each class; one array with all rows draws from all of them.
    intervals : bool or float
        Level of the band; True is 0.95, False is no band.
    resamples, random_state : int
    """
    if intervals is False:
        return None
    level = 0.95 if intervals is True else intervals
    check("a curve", "intervals", level, between(0, 1, low_open=True, high_open=True))
    check("a curve", "resamples", resamples, at_least(1))
    check("a curve", "random_state", random_state, at_least(0))
    random = np.random.default_rng(random_state)
    drawn = []
    for _ in range(resamples):
        counts = np.zeros(len(weight))
        for rows in classes:
            picks = random.integers(0, len(rows), len(rows))
            counts[rows] = np.bincount(picks, minlength=len(rows))
        drawn.append(curve(weight * counts))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.array(drawn), [tail, 1.0 - tail], axis=0)
    return Band(at, low, high, level)


def curve_line(values: Floats) -> str:
    """Return a curve as blocks of text."""
    picked = np.unique(np.linspace(0, len(values) - 1, 32).astype(int))
    return sparkline(values[picked].tolist(), 32)

"""The normal equations of RankRLS over dense features, in two or three passes over blocks of rows.

No centred copy of the table is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.kernels.elementary import column_sums, dot
from crucial.kernels.runtime import gram_of
from crucial.linear.dense_rows import ColumnRanges, DenseRows, around_mean, folded
from crucial.linear.differences import Centring
from crucial.types import Floats, Ints

__all__ = ["ScaledEquations", "normal_equations"]

# Numbers in the sums of blocks that wait to be added up.
_CELLS = 1 << 24


@dataclass(frozen=True)
class ScaledEquations:
    """The normal equations of columns, and by what these were divided.

    Attributes
    ----------
    gram, right, square : see `crucial.linear.least_squares.NormalEquations`
    spread : array of shape (n_columns,)
        Standard deviations of the columns, or 1.
    """

    gram: Floats
    right: Floats
    square: float
    spread: Floats


def normal_equations(
    rows: DenseRows, ranges: ColumnRanges, centring: Centring, labels: Floats, standard: bool
) -> ScaledEquations:
    """Return ``X'LX``, ``X'Ly`` and ``y'Ly``.

    Parameters
    ----------
    rows : DenseRows
    ranges : ColumnRanges
    centring : Centring
    labels : array like the rows
    standard : bool
        Whether the columns of X are divided by their standard deviations.
    """
    target = centring.factor(labels)
    # (the only query has the mean of all rows, which abstentions count as)
    one = len(centring.mass) == 1
    spread, means = (None, None) if one else _spreads_and_means(rows, ranges, centring)
    plain = one and bool((centring.weight == 1.0).all())
    factor = float(centring.scale[0]) if plain else 1.0

    def part(a: int, b: int, block: Floats) -> tuple[Floats, Floats]:
        centred = around_mean(block, ranges)
        if means is not None:
            centred -= means[centring.query[a:b]]
        if not plain:
            centred *= centring.scale[a:b, None]
        return gram_of(centred), column_sums(centred, target[a:b])

    gram = np.zeros((len(ranges.features),) * 2)
    right = np.zeros(len(ranges.features))
    most = max(2, _CELLS // max(1, gram.size))
    for own, pulled in rows.over_blocks(part, most):
        gram += own
        right += pulled
    gram *= factor * factor
    right *= factor
    if not standard:
        spread = np.ones(len(right))
    elif spread is None:
        spread = np.sqrt(np.diag(gram) / (centring.coefficient * centring.mass * ranges.mass))
    spread = np.where(spread > 0, spread, 1.0)  # (only a row of negligible weight differs)
    square = dot(target, target)
    return ScaledEquations(gram / np.outer(spread, spread), right / spread, square, spread)


def _spreads_and_means(
    rows: DenseRows, ranges: ColumnRanges, centring: Centring
) -> tuple[Floats, Floats]:
    """Return the standard deviations of columns, and their means in queries around those of all."""
    sums = np.zeros((len(centring.mass), len(ranges.features)))
    weighted = bool((centring.weight != 1.0).any())

    def part(a: int, b: int, block: Floats) -> tuple[Ints, Floats, Floats]:
        centred = around_mean(block, ranges)
        moved = centred * centring.weight[a:b, None] if weighted else centred
        query = centring.query[a:b]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        found = np.add.reduceat(moved, first, axis=0)
        np.multiply(centred, moved, out=centred)
        return query[first], found, folded(np.add, centred)

    squares = np.zeros(len(ranges.features))
    for queries, found, own in rows.over_blocks(part):
        sums[queries] += found
        squares += own
    means: Floats = sums / centring.mass[:, None]
    return np.sqrt(squares / ranges.mass), means

"""Sums of hinges over pairs: every pair is visited, in blocks; see `crucial.kernels.hinge`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from crucial.kernels.levels import Levels
from crucial.types import Floats

__all__ = ["hinge_moved", "hinge_sums"]

_CELLS = 1 << 18  # pairs in one block of rows


def _blocks(
    scores: Floats, margins: Floats, power: int, cut: float, levels: Levels
) -> Iterator[tuple[slice, slice, Floats, Floats]]:
    """Yield rows of one level, all rows of their query below it, shortfalls and factors."""
    level_start, query_first = levels.arrays
    for a, b in pairwise(query_first.tolist()):
        for s in range(a + 1, b):
            lo = slice(level_start[a], level_start[s])
            sizes = np.diff(level_start[a : s + 1])
            apart = np.repeat(margins[s] - margins[a:s], sizes) if len(margins) else np.ones(1)
            threshold, factor = apart - cut, np.ones(1)
            if power:
                threshold, factor = (1.0 - cut) / apart, apart**power
            step = max(1, _CELLS // (lo.stop - lo.start))
            for begin in range(level_start[s], level_start[s + 1], step):
                hi = slice(begin, min(begin + step, level_start[s + 1]))
                short = threshold - (scores[hi, None] - scores[lo])
                yield hi, lo, short, np.where(short > 0.0, factor, 0.0)


def hinge_sums(
    scores: Floats,
    weight: Floats,
    margins: Floats,
    power: int,
    cut: float,
    levels: Levels,
    out: Floats,
) -> None:
    """Write the sums of every row; see `crucial.kernels.hinge.HingeSums.at`."""
    out[:] = 0.0
    for hi, lo, short, factor in _blocks(scores, margins, power, cut, levels):
        above, below = factor * weight[lo], factor * weight[hi, None]
        out[hi, 0] += above.sum(axis=1)
        out[hi, 1] += (above * short).sum(axis=1)
        out[hi, 2] += (above * short * short).sum(axis=1)
        out[lo, 3] += below.sum(axis=0)
        out[lo, 4] += (below * short).sum(axis=0)


def hinge_moved(
    scores: Floats,
    values: Floats,
    margins: Floats,
    power: int,
    cut: float,
    levels: Levels,
    out: Floats,
) -> None:
    """Write the sums of values over partners; see `crucial.kernels.hinge.HingeSums.moved`."""
    out[:] = 0.0
    for hi, lo, _, factor in _blocks(scores, margins, power, cut, levels):
        out[hi] += (factor * values[lo]).sum(axis=1)
        out[lo] += (values[hi][:, None] * factor).sum(axis=0)

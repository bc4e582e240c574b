"""Sums of the logistic loss over pairs: no prefix sums, every pair is visited.

``ln(1 + e^{-(H(hi) - H(lo))})`` does not fall apart into a factor for hi and one for lo, as the
exponential does, so a pass costs O(pairs). Pairs are made on the fly and never kept. Every row
is summed up for itself, so that rows can be cut into ranges anywhere. Large queries are left to
`crucial.kernels.logistic_grid`.

Scores may be any distance apart. ``shift`` is 0, or where every margin is positive a number c
that no margin is below: weights and losses come times ``e^c``, since by themselves they all
underflow once every margin is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from crucial.kernels.elementary import exp, log1p
from crucial.kernels.levels import Levels
from crucial.types import Floats

__all__ = ["logistic_along", "logistic_sums"]


_CELLS = 1 << 18  # pairs in one block of rows


def _blocks(weight: Floats, gains: Floats, levels: Levels) -> Iterator[tuple[slice, slice, Floats]]:
    """Yield rows of one level, all rows of their query below it, and weights of the latter."""
    level_start, query_first = levels.arrays
    for a, b in pairwise(query_first.tolist()):
        for s in range(a + 1, b):
            lo = slice(level_start[a], level_start[s])
            factor = weight[lo]
            if len(gains):
                sizes = np.diff(level_start[a : s + 1])
                factor = factor * np.repeat(gains[s] - gains[a:s], sizes)
            step = max(1, _CELLS // (lo.stop - lo.start))
            for begin in range(level_start[s], level_start[s + 1], step):
                hi = slice(begin, min(begin + step, level_start[s + 1]))
                yield hi, lo, factor


def logistic_sums(
    scores: Floats,
    weight: Floats,
    gains: Floats,
    shift: float,
    levels: Levels,
    positive: Floats,
    negative: Floats,
    curvature: Floats,
    loss: Floats,
) -> None:
    """Write the weight that every row has in pairs it should win and lose, its curvature and loss.

    Equivalent to: for every pair of rows (lo, hi) of one query with a higher label for hi, let
    ``w = (gain_hi - gain_lo) u_lo u_hi``, ``s = 1 / (1 + e^{H(hi) - H(lo)})`` and ``d = w s``;
    add d to ``positive[hi]`` and ``negative[lo]``, ``d (1 - s)`` to the ``curvature`` of both
    and ``w ln(1 + e^{H(lo) - H(hi)})`` to ``loss[hi]``; everything times ``e^shift``.

    Parameters
    ----------
    scores, weight : arrays of shape (n_rows,)
    gains : array of shape (n_segments,) or (0,)
        Gain of every level; empty: all pairs count the same.
    positive, negative, curvature, loss : arrays of shape (n_rows,)  # OUT
    """
    for out in (positive, negative, curvature, loss):
        out[:] = 0.0
    for hi, lo, factor in _blocks(weight, gains, levels):
        w = weight[hi, None] * factor
        margin = scores[hi, None] - scores[lo]
        tail = exp(-np.abs(margin))
        # e^shift / (1 + e^margin), without overflow on either side
        share = exp(np.minimum(0.0, -margin) + shift) / (1.0 + tail)
        d = w * share
        bend = d * np.where(margin > 0, 1.0, tail) / (1.0 + tail)
        positive[hi] += d.sum(axis=1)
        negative[lo] += d.sum(axis=0)
        curvature[hi] += bend.sum(axis=1)
        curvature[lo] += bend.sum(axis=0)
        # ln(1 + t) e^shift = (ln(1 + t) / t) e^(shift - margin) where t underflows
        small = tail < 1e-8
        ratio = np.where(small, 1.0 - tail / 2, log1p(tail) / np.where(small, 1.0, tail))
        gone = exp(shift - np.abs(margin)) * ratio
        loss[hi] += (w * (gone + np.maximum(0.0, -margin))).sum(axis=1)


def logistic_along(
    scores: Floats,
    weight: Floats,
    gains: Floats,
    shift: float,
    output: Floats,
    levels: Levels,
    out: Floats,
) -> None:
    """Write what a {0, 1} ranker gains in the pairs that each row should win.

    Equivalent to, with d and s as in `logistic_sums`: add d to ``out[hi, 0]`` where the output
    is 1 for hi and 0 for lo, to ``out[hi, 1]`` where it is the reverse, and ``d (1 - s)`` to
    ``out[hi, 2]`` in both.

    Parameters
    ----------
    out : array of shape (n_rows, 3)  # OUT
    """
    out[:] = 0.0
    for hi, lo, factor in _blocks(weight, gains, levels):
        margin = scores[hi, None] - scores[lo]
        tail = exp(-np.abs(margin))
        d = weight[hi, None] * factor * exp(np.minimum(0.0, -margin) + shift)
        d /= 1.0 + tail
        gained = output[hi, None] - output[lo]
        out[hi, 0] = (d * (gained > 0)).sum(axis=1)
        out[hi, 1] = (d * (gained < 0)).sum(axis=1)
        bend = d * np.where(margin > 0, 1.0, tail) / (1.0 + tail)
        out[hi, 2] = (bend * (gained != 0)).sum(axis=1)

"""Sums for the p-norm push, in logarithms: a p-th power overflows where nothing else does."""

from __future__ import annotations

import numpy as np

from crucial.kernels.levels import Levels
from crucial.kernels.plain.pairs import log_sums, logs_above, logs_below
from crucial.types import Bytes, Floats

__all__ = ["push_logs", "push_split"]


def push_logs(
    scores: Floats,
    log_weight: Floats,
    log_gap: Floats,
    p: float,
    levels: Levels,
    positive: Floats,
    negative: Floats,
    log_loss: Floats,
) -> None:
    """Write logarithms of both halves of the push's potentials, and of the loss of every query.

    Equivalent to, and much faster than: for every row lo let ``S = sum over the rows hi of its
    query with a higher label of (gain_hi - gain_lo) u_hi exp(H_lo - H_hi)``. Then
    ``exp(negative[lo]) = u_lo S^p``; ``exp(positive[hi])`` is the sum of
    ``u_lo S^(p-1) (gain_hi - gain_lo) u_hi exp(H_lo - H_hi)`` over the rows lo below hi; and
    ``exp(log_loss[q])`` is the sum of ``u_lo S^p`` over the query.

    Parameters
    ----------
    scores, log_weight : arrays of shape (n_rows,)
        H and ln u.
    log_gap : array of shape (n_segments,) or (0,)
        Logarithm of the gain of a level minus that of the level below it; empty: all pairs
        count the same.
    p : float
        At least 1.
    positive, negative, log_loss : arrays of shape (n_rows,), (n_rows,) and (n_queries,)  # OUT
    """
    segment = levels.segment_of_row
    level_start, query_first = levels.arrays
    above = logs_above(log_sums(log_weight - scores, level_start), log_gap, query_first)
    pushed = log_sums(log_weight + p * scores, level_start)
    # (a level with nothing above it loses nothing, and 0 times infinity is no number)
    losing = above > -np.inf
    inner = np.where(losing, (p - 1.0) * np.where(losing, above, 0.0) + pushed, -np.inf)
    below = logs_below(inner, log_gap, query_first)
    positive[:] = log_weight - scores + below[segment]
    negative[:] = log_weight + p * (scores + above[segment])
    log_loss[:] = log_sums(p * above + pushed, query_first)


def push_split(
    scores: Floats,
    log_weight: Floats,
    log_gap: Floats,
    p: float,
    output: Bytes,
    levels: Levels,
    log_above: Floats,
    log_inside: Floats,
) -> None:
    """Write the sums behind `push_logs`, apart for rows where a {0, 1} ranker scores 0 and 1.

    ``log_above[s, b]``: logarithm of the sum of ``gap u exp(-H)`` over the higher levels of the
    query, rows with output b; ``log_inside[s, b]``: of ``u exp(p H)`` over the segment itself.
    They give F along the ranker: ``F(alpha) = sum_s (C_s0 + C_s1 e^(p alpha)) (A_s0 +
    A_s1 e^(-alpha))^p``.

    Parameters
    ----------
    log_above, log_inside : arrays of shape (n_segments, 2)  # OUT
    """
    level_start, query_first = levels.arrays
    for b in (0, 1):
        kept = np.where(output == b, log_weight, -np.inf)
        sums = log_sums(kept - scores, level_start)
        log_above[:, b] = logs_above(sums, log_gap, query_first)
        log_inside[:, b] = log_sums(kept + p * scores, level_start)

"""Sums for the p-norm push, in logarithms: a p-th power overflows where nothing else does."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.compiled.logs import log_add, log_sum
from crucial.kernels.jit import kernel

__all__ = ["push_logs", "push_split"]


@kernel
def push_logs(
    scores, log_weight, log_gap, p, levels, first_query, last_query, positive, negative, log_loss
):
    """Write logarithms of both halves of the push's potentials, and of the loss per query.

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
    level_start, query_first = levels
    graded = len(log_gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        above = np.full(b - a, -np.inf)
        sum_above = -np.inf
        cumulative = -np.inf
        for s in range(b - 1, a - 1, -1):
            if graded and s < b - 1:
                sum_above = log_add(sum_above, log_gap[s + 1] + cumulative)
            above[s - a] = sum_above
            level = log_sum(scores, log_weight, -1.0, level_start[s], level_start[s + 1])
            cumulative = log_add(cumulative, level)
            if not graded:
                sum_above = cumulative
        total = -np.inf
        below = -np.inf
        cumulative = -np.inf
        for s in range(a, b):
            if graded and s > a:
                below = log_add(below, log_gap[s] + cumulative)
            at = above[s - a]
            for i in range(level_start[s], level_start[s + 1]):
                positive[i] = log_weight[i] - scores[i] + below
                negative[i] = log_weight[i] + p * (scores[i] + at)
            if at > -np.inf:
                level = log_sum(scores, log_weight, p, level_start[s], level_start[s + 1])
                total = log_add(total, p * at + level)
                cumulative = log_add(cumulative, (p - 1.0) * at + level)
            if not graded:
                below = cumulative
        log_loss[q] = total


@kernel
def _log_sum_where(scores, log_weight, factor, output, wanted, begin, end):
    """Return `log_sum` over the rows where the ranker scores ``wanted``."""
    top = -np.inf
    for i in range(begin, end):
        if output[i] == wanted:
            top = max(top, log_weight[i] + factor * scores[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(begin, end):
        if output[i] == wanted:
            total += exp(log_weight[i] + factor * scores[i] - top)
    return top + log(total)


@kernel
def push_split(
    scores, log_weight, log_gap, p, output, levels, first_query, last_query, log_above, log_inside
):
    """Write the sums behind the push, apart for rows where a {0, 1} ranker scores 0 and 1.

    ``log_above[s, b]``: logarithm of the sum of ``gap u exp(-H)`` over the higher levels of the
    query, rows with output b; ``log_inside[s, b]``: of ``u exp(p H)`` over the segment itself.
    They give F along the ranker: ``F(alpha) = sum_s (C_s0 + C_s1 e^(p alpha)) (A_s0 +
    A_s1 e^(-alpha))^p``.

    Parameters
    ----------
    log_above, log_inside : arrays of shape (n_segments, 2)  # OUT
    """
    level_start, query_first = levels
    graded = len(log_gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        for wanted in range(2):
            above = -np.inf
            cumulative = -np.inf
            for s in range(b - 1, a - 1, -1):
                begin, end = level_start[s], level_start[s + 1]
                if graded and s < b - 1:
                    above = log_add(above, log_gap[s + 1] + cumulative)
                log_above[s, wanted] = above
                level = _log_sum_where(scores, log_weight, -1.0, output, wanted, begin, end)
                cumulative = log_add(cumulative, level)
                log_inside[s, wanted] = _log_sum_where(
                    scores, log_weight, p, output, wanted, begin, end
                )
                if not graded:
                    above = cumulative

"""Sums over pairs that are never listed; twins of ``plain.pairs``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.compiled.logs import log_add
from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = [
    "advance_binary",
    "binary_weights",
    "curvature",
    "log_halves",
    "misordered",
    "moments",
    "potentials",
]


@kernel
def potentials(up, down, gap, coefficient, levels, first_query, last_query, pi, loss):
    """Write the potential of every row and the loss of every query of a range."""
    level_start, query_first = levels
    graded = len(gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        total = 0.0
        below = 0.0  # over the lower levels, times the difference of gains
        cumulative = 0.0  # over the lower levels
        for s in range(a, b):
            if graded and s > a:
                below += gap[s] * cumulative
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                positive = down[i] * below
                pi[i] = positive
                total += positive
                level += up[i]
            cumulative += level
            if not graded:
                below = cumulative
        loss[q] = total
        above = 0.0
        cumulative = 0.0
        weight = coefficient[q]
        for s in range(b - 1, a - 1, -1):
            if graded and s < b - 1:
                above += gap[s + 1] * cumulative
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                pi[i] = weight * (pi[i] - up[i] * above)
                level += down[i]
            cumulative += level
            if not graded:
                above = cumulative


@kernel
def curvature(up, down, gap, coefficient, levels, first_query, last_query, out):
    """Write the second derivative of the loss by the score of each row of a range of queries.

    Equivalent to: with d as in `potentials`, add ``coefficient * d`` to ``out[hi]`` and
    ``out[lo]``.

    Parameters
    ----------
    up, down, gap, coefficient : see `potentials`
    out : array of shape (n_rows,)  # OUT
    """
    level_start, query_first = levels
    graded = len(gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        factor = coefficient[q]
        below = 0.0
        cumulative = 0.0
        for s in range(a, b):
            if graded and s > a:
                below += gap[s] * cumulative
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                out[i] = factor * down[i] * below
                level += up[i]
            cumulative += level
            if not graded:
                below = cumulative
        above = 0.0
        cumulative = 0.0
        for s in range(b - 1, a - 1, -1):
            if graded and s < b - 1:
                above += gap[s + 1] * cumulative
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                out[i] += factor * up[i] * above
                level += down[i]
            cumulative += level
            if not graded:
                above = cumulative


@kernel
def log_halves(
    scores, log_weight, log_gap, levels, first_query, last_query, positive, negative, log_loss
):
    """Write the logarithms of both halves of the potentials and of the loss of every query."""
    level_start, query_first = levels
    graded = len(log_gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        total = -np.inf
        below = -np.inf
        cumulative = -np.inf
        for s in range(a, b):
            if graded and s > a:
                below = log_add(below, log_gap[s] + cumulative)
            top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                top = max(top, log_weight[i] + scores[i])
            level = 0.0
            row_top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                positive[i] = log_weight[i] - scores[i] + below
                row_top = max(row_top, positive[i])
                if top > -np.inf:
                    level += exp(log_weight[i] + scores[i] - top)
            if row_top > -np.inf:
                rows = 0.0
                for i in range(level_start[s], level_start[s + 1]):
                    rows += exp(positive[i] - row_top)
                total = log_add(total, row_top + log(rows))
            if top > -np.inf:
                cumulative = log_add(cumulative, top + log(level))
            if not graded:
                below = cumulative
        log_loss[q] = total
        above = -np.inf
        cumulative = -np.inf
        for s in range(b - 1, a - 1, -1):
            if graded and s < b - 1:
                above = log_add(above, log_gap[s + 1] + cumulative)
            top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                top = max(top, log_weight[i] - scores[i])
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                negative[i] = log_weight[i] + scores[i] + above
                if top > -np.inf:
                    level += exp(log_weight[i] - scores[i] - top)
            if top > -np.inf:
                cumulative = log_add(cumulative, top + log(level))
            if not graded:
                above = cumulative


@kernel
def binary_weights(up, down, gap, coefficient, output, levels, first_query, last_query, out):
    """Write the weight of the pairs ordered right and wrong by a {0, 1} ranker, per query."""
    level_start, query_first = levels
    graded = len(gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        right = 0.0
        wrong = 0.0
        zero_below = 0.0
        one_below = 0.0
        zero_sum = 0.0
        one_sum = 0.0
        for s in range(a, b):
            if graded and s > a:
                zero_below += gap[s] * zero_sum
                one_below += gap[s] * one_sum
            one_up = 0.0
            zero_up = 0.0
            one_down = 0.0
            zero_down = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                if output[i]:
                    one_up += up[i]
                    one_down += down[i]
                else:
                    zero_up += up[i]
                    zero_down += down[i]
            right += one_down * zero_below
            wrong += zero_down * one_below
            zero_sum += zero_up
            one_sum += one_up
            if not graded:
                zero_below = zero_sum
                one_below = one_sum
        out[q, 0] = coefficient[q] * right
        out[q, 1] = coefficient[q] * wrong


@kernel
def moments(up, down, gap, coefficient, output, levels, first_query, last_query, out):
    """Write the sum of d, d * m and d * m^2 over the pairs of every query.

    ``m = output[hi] - output[lo]``: the zeroth, first and second moment of the margin gained
    along a weak ranker; over all queries they add up to value, slope and curvature of Z at
    alpha = 0. Around 0, outputs lose the least to cancellation.
    """
    level_start, query_first = levels
    graded = len(gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        below = np.zeros(3)
        cumulative = np.zeros(3)
        level = np.zeros(3)
        value = 0.0
        slope = 0.0
        curvature = 0.0
        for s in range(a, b):
            if graded and s > a:
                below += gap[s] * cumulative
            level[:] = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                h = output[i]
                value += down[i] * below[0]
                slope += down[i] * (h * below[0] - below[1])
                curvature += down[i] * (h * h * below[0] - 2.0 * h * below[1] + below[2])
                level[0] += up[i]
                level[1] += up[i] * h
                level[2] += up[i] * h * h
            cumulative += level
            if not graded:
                below[:] = cumulative
        out[q, 0] = coefficient[q] * value
        out[q, 1] = coefficient[q] * slope
        out[q, 2] = coefficient[q] * curvature


@kernel
def advance_binary(output, alpha, grow, shrink, first_row, last_row, scores, up, down):
    """Add alpha to the scores of rows with output 1; multiply their ``up`` and ``down``."""
    for i in range(first_row, last_row):
        one = output[i] != 0
        scores[i] += alpha if one else 0.0
        up[i] *= grow if one else 1.0
        down[i] *= shrink if one else 1.0


@kernel
def misordered(scores, level, weight, gains, query_first, row_start, first_query, last_query, out):
    """Write the weight of pairs in the wrong order, and of tied ones, per query of a range.

    Equivalent to, and much faster than: adding ``weight[lo] * weight[hi] * (gain_hi -
    gain_lo)`` over the pairs of a query with ``scores[hi] < scores[lo]``, or equal. Rows of query
    ``q`` come in ``row_start[q]:row_start[q + 1]`` of the arrays, sorted by falling score.
    ``out[q]`` becomes (wrong, tied); O(n log levels).
    """
    graded = len(gains) > 0
    for q in range(first_query, last_query):
        base = query_first[q]
        size = query_first[q + 1] - base
        passed = np.zeros(size)  # weights of the rows with a higher score, by level
        passed_gain = np.zeros(size if graded else 0)
        block = np.zeros(size)  # weights of the rows with this score, by level
        wrong = 0.0
        tied = 0.0
        i = row_start[q]
        while i < row_start[q + 1]:
            j = i
            # (a score that is NaN differs from itself, and must not stop the loop)
            while j < row_start[q + 1] and (j == i or scores[j] == scores[i]):
                lower = tree_sum(passed, 0, level[j])
                if graded:
                    lower = gains[base + level[j]] * lower - tree_sum(passed_gain, 0, level[j])
                wrong += weight[j] * lower
                j += 1
            # The block itself: its own tree, filled, summed and emptied again.
            for k in range(i, j):
                tree_add(block, 0, size, level[k] + 1, weight[k])
            for k in range(i, j):
                lower = tree_sum(block, 0, level[k])
                if not graded:
                    tied += weight[k] * lower
                tree_add(passed, 0, size, level[k] + 1, weight[k])
            if graded:
                for k in range(i, j):
                    gain = gains[base + level[k]]
                    tied += weight[k] * gain * tree_sum(block, 0, level[k])
                    higher = tree_sum(block, 0, size) - tree_sum(block, 0, level[k] + 1)
                    tied -= weight[k] * gain * higher
                    tree_add(passed_gain, 0, size, level[k] + 1, weight[k] * gain)
            for k in range(i, j):
                place = level[k] + 1
                while place <= size:
                    block[place - 1] = 0.0
                    place += place & -place
            i = j
        out[q, 0] = wrong
        out[q, 1] = tied

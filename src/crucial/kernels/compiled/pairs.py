"""Sums over pairs that are never listed, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.compiled.sums import log_add, log_sum
from crucial.kernels.compiled.trees import tree_add, tree_sum, triple_add, triple_sum
from crucial.kernels.jit import kernel

# --- Sums over pairs that are never listed; twins of ``plain``


@kernel
def potentials(up, down, gap, coefficient, sign, levels, first_query, last_query, pi, loss):
    """Write what rows win, and lose times a sign, and the loss of every query of a range."""
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
                pi[i] = weight * (pi[i] + sign * up[i] * above)
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


# --- Weight of wrongly ordered pairs for all thresholds of a feature; twin in ``plain``


# Offsets as unsigned numbers: a signed one makes Numba test every index for its sign.
_1, _2, _3, _4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@kernel
def order_by_code(codes, n_bins, row_start, order):
    """Write the rows of every query by falling one-byte code, abstentions first.

    Parameters
    ----------
    order : unsigned array of shape (n_rows,)  # OUT
        Numbers inside the query.
    """
    top = np.uint64(n_bins)
    start = np.zeros(258, np.uint32)
    for q in range(len(row_start) - 1):
        a, b = np.uint64(row_start[q]), np.uint64(row_start[q + 1])
        start[: n_bins + 2] = 0
        for i in range(a, b):
            start[top - np.uint64(codes[i]) + _1] += np.uint32(1)
        passed = np.uint32(0)
        for c in range(n_bins + 2):
            passed += start[c]
            start[c] = passed
        for i in range(a, b):
            code = top - np.uint64(codes[i])
            place = start[code]
            order[a + np.uint64(place)] = i - a
            start[code] = place + np.uint32(1)


@kernel
def wrong_weights_few(
    up, down, gains, coefficient, inverse, codes, n_bins, missing_rank, order, row_level, level_sum,
    row_start, query_first, wrong,
):  # fmt: skip
    """Write the weight of wrongly ordered pairs per threshold; one-byte codes, up to 5 levels.

    Query after query, from the highest code to the lowest. A row that joins the ones
    makes its pairs with higher-labelled zeros wrong, and rights those with lower-labelled
    ones. ``zeros[y]`` and ``ones[4 + y]`` are the sums over both of level y; four levels of
    nothing above and below let the sum over the other levels run without a condition.

    Parameters
    ----------
    gains : array of shape (n_segments,) or (0,)
    order : unsigned array of shape (n_rows,)
        As `order_by_code` writes it.
    row_level : uint8 array of shape (n_rows,)
        Level of the row inside its query.
    level_sum : array of shape (n_segments,)
        Sum of ``down`` over the rows of a level.
    inverse : float
        Units in a weight of 1.
    wrong : int64 array of shape (n_bins + 1,)  # OUT
        Whole numbers of units.
    """
    graded = len(gains) > 0
    change = np.zeros(256, np.int64)
    zeros = np.zeros(9)
    ones = np.zeros(9)
    gain = np.zeros(13)
    for q in range(len(row_start) - 1):
        a, b = np.uint64(row_start[q]), np.uint64(row_start[q + 1])
        s = query_first[q]
        n_levels = query_first[q + 1] - s
        for y in range(5):
            zeros[y] = level_sum[s + y] if y < n_levels else 0.0
            ones[4 + y] = 0.0
            gain[4 + y] = gains[s + y] if graded and y < n_levels else 0.0
        weight = coefficient[q] * inverse
        first = a
        if missing_rank == 0:
            # Abstaining rows come first; where they rank 0 they never join the ones.
            while first < b and codes[a + np.uint64(order[first])] == n_bins:
                first += _1
        for j in range(first, b):
            row = a + np.uint64(order[j])
            level = np.uint64(row_level[row])
            won, lost = up[row], down[row]
            if graded:
                here = gain[level + _4]
                higher = (
                    zeros[level + _1] * (gain[level + _4 + _1] - here)
                    + zeros[level + _2] * (gain[level + _4 + _2] - here)
                ) + (
                    zeros[level + _3] * (gain[level + _4 + _3] - here)
                    + zeros[level + _4] * (gain[level + _4 + _4] - here)
                )
                lower = (
                    ones[level] * (here - gain[level])
                    + ones[level + _1] * (here - gain[level + _1])
                ) + (
                    ones[level + _2] * (here - gain[level + _2])
                    + ones[level + _3] * (here - gain[level + _3])
                )
            else:
                higher = (zeros[level + _1] + zeros[level + _2]) + (
                    zeros[level + _3] + zeros[level + _4]
                )
                lower = (ones[level] + ones[level + _1]) + (ones[level + _2] + ones[level + _3])
            units = np.rint(weight * (won * higher - lost * lower))
            change[np.uint64(codes[row])] += np.int64(units)
            zeros[level] -= lost
            ones[level + _4] += won
    total = np.int64(0)
    for k in range(n_bins, -1, -1):
        total += change[k]
        wrong[k] = total


@kernel
def _by_code(codes, n_bins, start):
    """Return rows by falling code, abstentions first; write where each code begins."""
    n = len(codes)
    for i in range(n):
        start[n_bins - np.int64(codes[i]) + 1] += 1
    for c in range(n_bins + 1):
        start[c + 1] += start[c]
    order = np.empty(n, np.int32)
    cursor = start.copy()
    for i in range(n):
        c = n_bins - np.int64(codes[i])
        order[cursor[c]] = i
        cursor[c] += 1
    return order


@kernel
def wrong_weights(
    up, down, gains, coefficient, inverse, codes, n_bins, missing_rank, level, query, query_first,
    wrong,
):  # fmt: skip
    """`wrong_weights_few` for many levels or wide codes, O(n log levels).

    All rows from the highest code to the lowest, the sums in Fenwick trees, one per query.
    """
    n = len(level)
    graded = len(gains) > 0
    start = np.zeros(n_bins + 2, np.int64)
    order = _by_code(codes, n_bins, start)
    n_segments = query_first[-1]
    zeros = np.zeros(n_segments)  # down of the zeros, from the top level down
    ones = np.zeros(n_segments)  # up of the ones, from the bottom level up
    zeros_gain = np.zeros(n_segments if graded else 0)
    ones_gain = np.zeros(n_segments if graded else 0)
    for i in range(n):
        base = query_first[query[i]]
        size = query_first[query[i] + 1] - base
        tree_add(zeros, base, size, size - level[i], down[i])
        if graded:
            tree_add(zeros_gain, base, size, size - level[i], down[i] * gains[base + level[i]])
    total = np.int64(0)
    for c in range(n_bins + 1):
        if c > 0 or missing_rank == 1:
            for j in range(start[c], start[c + 1]):
                i = order[j]
                base = query_first[query[i]]
                size = query_first[query[i] + 1] - base
                higher = tree_sum(zeros, base, size - level[i] - 1)
                lower = tree_sum(ones, base, level[i])
                if graded:
                    gain = gains[base + level[i]]
                    higher = tree_sum(zeros_gain, base, size - level[i] - 1) - gain * higher
                    lower = gain * lower - tree_sum(ones_gain, base, level[i])
                    tree_add(zeros_gain, base, size, size - level[i], -down[i] * gain)
                    tree_add(ones_gain, base, size, level[i] + 1, up[i] * gain)
                weight = coefficient[query[i]] * inverse
                total += np.int64(np.rint(weight * (up[i] * higher - down[i] * lower)))
                tree_add(zeros, base, size, size - level[i], -down[i])
                tree_add(ones, base, size, level[i] + 1, up[i])
        wrong[n_bins - c] = total


# --- Counting ordered pairs by Fenwick trees over the levels; twin of ``plain``


@kernel
def count_pairs(level, weight, block_starts, list_blocks, first, last, counts):
    """Add up concordant, discordant and tied pairs of a range of lists, O(n log levels)."""
    top = 0
    for i in range(block_starts[list_blocks[first]], block_starts[list_blocks[last]]):
        top = max(top, level[i])
    # Two trees, so that no sum is a difference of two: items of lower level
    # ranked before the current block, and items of higher level (levels from the top).
    lower, upper = np.zeros(top + 1), np.zeros(top + 1)
    own = np.zeros(top + 1)  # weight of the current block at each level
    for l in range(first, last):
        top = 0
        for i in range(block_starts[list_blocks[l]], block_starts[list_blocks[l + 1]]):
            top = max(top, level[i])
        size = top + 1
        lower[:size] = 0.0
        upper[:size] = 0.0
        for b in range(list_blocks[l], list_blocks[l + 1]):
            block = 0.0
            for i in range(block_starts[b], block_starts[b + 1]):
                discordant = tree_sum(lower, 0, level[i])
                concordant = tree_sum(upper, 0, top - level[i])
                counts[l, 0] += weight[i] * concordant
                counts[l, 1] += weight[i] * discordant
                counts[l, 2] += weight[i] * (block - own[level[i]])
                block += weight[i]
                own[level[i]] += weight[i]
            for i in range(block_starts[b], block_starts[b + 1]):
                own[level[i]] = 0.0
                tree_add(lower, 0, size, level[i] + 1, weight[i])
                tree_add(upper, 0, size, top - level[i] + 1, weight[i])


@kernel
def sum_higher(level, values, block_starts, list_blocks, first, last, out):
    """Write sums over items of higher level ranked before, ties half, O(n log levels)."""
    n_values = values.shape[1]
    top = 0
    for i in range(block_starts[list_blocks[first]], block_starts[list_blocks[last]]):
        top = max(top, level[i])
    trees = np.zeros(n_values * (top + 1))  # one per column, levels from the top
    for l in range(first, last):
        top = 0
        for i in range(block_starts[list_blocks[l]], block_starts[list_blocks[l + 1]]):
            top = max(top, level[i])
        size = top + 1
        trees[: n_values * size] = 0.0
        for b in range(list_blocks[l], list_blocks[l + 1]):
            tied = block_starts[b + 1] - block_starts[b] > 1
            for i in range(block_starts[b], block_starts[b + 1]):
                for v in range(n_values):
                    out[i, v] = tree_sum(trees, v * size, top - level[i])
            for i in range(block_starts[b], block_starts[b + 1]):
                for v in range(n_values):
                    tree_add(trees, v * size, size, top - level[i] + 1, values[i, v])
            if tied:  # the mean of the sums without and with the block counts its items half
                for i in range(block_starts[b], block_starts[b + 1]):
                    for v in range(n_values):
                        out[i, v] = 0.5 * (out[i, v] + tree_sum(trees, v * size, top - level[i]))


# --- Counting pairs by their margin with a Fenwick tree over levels


@kernel
def count_margins(score, level, weight, starts, thresholds, at, counts):
    """Write the weight of the pairs with a margin of at most threshold number ``at``.

    Two pointers down each list, O(n log levels).
    """
    threshold = thresholds[at]
    top = 0
    for i in range(len(level)):
        top = max(top, level[i])
    tree = np.zeros(top + 1)
    whole = 0.0
    for l in range(len(starts) - 1):
        first, last = starts[l], starts[l + 1]
        top = 0
        for i in range(first, last):
            top = max(top, level[i])
        tree[: top + 1] = 0.0
        j = first
        found = 0.0
        for i in range(first, last):
            while j < last and score[i] - score[j] <= threshold:
                tree_add(tree, 0, top + 1, level[j] + 1, weight[j])
                j += 1
            found += weight[i] * tree_sum(tree, 0, level[i])
        whole += found
    counts[at] = whole


# --- Sums for the p-norm push, in logarithms: a p-th power overflows where nothing else does


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


# --- Surrogates of the hard ranking loss, two label levels at a time


_EXP, _HINGE = 0, 1
# Where a loss has a corner, its slope at a z so close to it is that of the corner: rounding does
# not decide.
_EDGE = 1e-12


@kernel
def _pair(surrogate, width, z):
    """Return the loss of one pair and minus its derivative, as levels of one row each have."""
    if surrogate == _EXP:
        loss = exp(-z)
        return loss, loss
    if surrogate == _HINGE:
        return max(0.0, 1.0 - z), 1.0 if z < 1.0 - _EDGE else 0.0
    edge = _EDGE * width
    pull = 1.0 / width if edge < z <= width + edge else 0.0
    if z < 0.0:
        return 1.0, pull
    return (0.0 if z > width else 1.0 - z / width), pull


@kernel
def surrogate_sums(surrogate, width, f, u, values, coefficient, level_start, query_first, gradient):
    """Return the loss over all pairs; write minus its gradient by every row over its weight.

    Parameters
    ----------
    surrogate : int
        See `crucial.kernels.pairs.SURROGATES`.
    f, u : scores and weights, rising by score inside every segment
    gradient : array over the rows, zeros, or of length 0  # OUT
    """
    n = len(f)
    # Sums over a run of rows are differences of these.
    up_to = np.zeros(n + 1)
    moved = np.zeros(n + 1)
    for i in range(n):
        up_to[i + 1] = up_to[i] + u[i]
        moved[i + 1] = moved[i] + u[i] * f[i]
    total = 0.0
    for q in range(len(coefficient)):
        part = 0.0
        c = coefficient[q]
        for high in range(query_first[q] + 1, query_first[q + 1]):
            a, b = level_start[high], level_start[high + 1]
            for low in range(query_first[q], high):
                begin, end = level_start[low], level_start[low + 1]
                gap = values[high] - values[low]
                if b - a == 1 and end - begin == 1:
                    loss, pull = _pair(surrogate, width, gap * (f[a] - f[begin]))
                    part += u[a] * u[begin] * loss
                    if len(gradient):
                        gradient[a] += c * gap * u[begin] * pull
                        gradient[begin] -= c * gap * u[a] * pull
                elif surrogate == _EXP:
                    part += _exponential(gap, c, f, u, a, b, begin, end, gradient)
                elif surrogate == _HINGE:
                    part += _hinge(gap, c, f, u, up_to, moved, a, b, begin, end, gradient)
                else:
                    part += _piecewise(
                        gap, width, c, f, u, up_to, moved, a, b, begin, end, gradient
                    )
        total += c * part
    return total


@kernel
def _exponential(gap, c, f, u, a, b, begin, end, gradient):
    """The sum over i of two levels is a product of two sums, each scaled to be near 1."""
    lowest, highest = f[a], f[end - 1]
    above = 0.0
    for i in range(a, b):
        above += u[i] * exp(gap * (lowest - f[i]))
    below = 0.0
    for j in range(begin, end):
        below += u[j] * exp(gap * (f[j] - highest))
    unit = exp(gap * (highest - lowest))
    if len(gradient):
        for i in range(a, b):
            gradient[i] += c * gap * exp(gap * (lowest - f[i])) * below * unit
        for j in range(begin, end):
            gradient[j] -= c * gap * exp(gap * (f[j] - highest)) * above * unit
    return above * below * unit


@kernel
def _hinge(gap, c, f, u, up_to, moved, a, b, begin, end, gradient):
    """For a higher row, the pairs with z < 1 are those with the highest of the lower rows."""
    part = 0.0
    k = begin
    for i in range(a, b):
        while k < end and not gap * (f[i] - f[k]) < 1.0 - _EDGE:
            k += 1
        mass = up_to[end] - up_to[k]
        part += u[i] * ((1.0 - gap * f[i]) * mass + gap * (moved[end] - moved[k]))
        if len(gradient):
            gradient[i] += c * gap * mass
    if len(gradient):
        k = a
        for j in range(begin, end):
            while k < b and gap * (f[k] - f[j]) < 1.0 - _EDGE:
                k += 1
            gradient[j] -= c * gap * (up_to[k] - up_to[a])
    return part


@kernel
def _piecewise(gap, width, c, f, u, up_to, moved, a, b, begin, end, gradient):
    """Lower rows by rising score: z beyond the width, on the slope, at most 0."""
    part = 0.0
    slope = begin  # first lower row with z <= width
    flat = begin  # first with z <= 0
    wrong = begin  # first with z < 0
    edge = _EDGE * width
    for i in range(a, b):
        while slope < end and gap * (f[i] - f[slope]) > width + edge:
            slope += 1
        while flat < end and gap * (f[i] - f[flat]) > edge:
            flat += 1
        while wrong < end and not gap * (f[i] - f[wrong]) < 0.0:
            wrong += 1
        mass = up_to[wrong] - up_to[slope]
        shift = moved[wrong] - moved[slope]
        part += u[i] * (up_to[end] - up_to[wrong])
        part += u[i] * ((1.0 - gap * f[i] / width) * mass + gap / width * shift)
        if len(gradient):
            gradient[i] += c * gap / width * (up_to[flat] - up_to[slope])
    if len(gradient):
        first = a  # first higher row with z > 0
        last = a  # first with z > width
        for j in range(begin, end):
            while first < b and not gap * (f[first] - f[j]) > edge:
                first += 1
            while last < b and not gap * (f[last] - f[j]) > width + edge:
                last += 1
            gradient[j] -= c * gap / width * (up_to[last] - up_to[first])
    return part


# --- The loops of RankBoost+ over pairs and stumps; see Connamacher et al. (2019)
#
# Pairs lie by winner: those of row x are ``start[x]:start[x + 1]``, and ``low`` names their
# losers. Every thread gets a range of rows or of features.


@kernel
def pair_step(start, low, output, factors, d, e, first_row, last_row, win, lose, sums):
    """Multiply pair weights by the factors of a {0, 1} ranker, and add them up by row.

    Parameters
    ----------
    output : uint8 array of shape (n_rows,)
        The ranker.
    factors : array of shape (2, 4)
        On ``d`` and on ``e``: for a tie at 0, a wrong pair, a right one, a tie at 1.
    d, e : arrays of shape (n_pairs,)  # IN and OUT
    first_row, last_row : int
        The range of winners whose pairs are visited.
    win, lose : arrays of shape (n_rows,)  # OUT
        Weight d of the pairs that a row should win (those winners only) and lose.
    sums : array of shape (4,)  # OUT
        Of d, of e, and of d over the tied and over the right pairs.
    """
    for l in range(len(lose)):
        lose[l] = 0.0
    total = 0.0
    other_total = 0.0
    tied_total = 0.0
    right_total = 0.0
    tied, wrong, right = factors[0, 0], factors[0, 1], factors[0, 2]
    other_tied, other_wrong, other_right = factors[1, 0], factors[1, 1], factors[1, 2]
    for x in range(first_row, last_row):
        ones = 0.0
        zeros = 0.0
        other_row = 0.0
        top = output[x] != 0
        # By the winner's output only two of the three cases are left.
        if top:
            one, zero, other_one, other_zero = tied, right, other_tied, other_right
        else:
            one, zero, other_one, other_zero = wrong, tied, other_wrong, other_tied
        for k in range(start[x], start[x + 1]):
            l = low[k]
            if output[l] != 0:
                weight = d[k] * one
                other = e[k] * other_one
                ones += weight
            else:
                weight = d[k] * zero
                other = e[k] * other_zero
                zeros += weight
            d[k] = weight
            e[k] = other
            other_row += other
            lose[l] += weight
        row = ones + zeros
        win[x] = row
        total += row
        other_total += other_row
        tied_total += ones if top else zeros
        right_total += zeros if top else 0.0
    sums[0] = total
    sums[1] = other_total
    sums[2] = tied_total
    sums[3] = right_total


@kernel
def pair_ties(start, low, d, used, size, first_row, last_row, tied):
    """Write the weight of the pairs that each ranker in use ties.

    Parameters
    ----------
    used : array of shape (n_rows, at least size)
        One column per ranker, of 0 and 1.
    tied : array of shape (size,)  # OUT
    """
    ones = np.zeros(size)
    tied[:] = 0.0
    for x in range(first_row, last_row):
        a, b = start[x], start[x + 1]
        if a == b:
            continue
        ones[:] = 0.0
        whole = 0.0
        for k in range(a, b):
            weight = d[k]
            whole += weight
            row = used[low[k]]
            # Ranker by ranker at once: no sum depends on another, so this needs no fastmath.
            for j in range(size):
                ones[j] += weight * row[j]
        here = used[x]
        for j in range(size):
            tied[j] += ones[j] if here[j] != 0.0 else whole - ones[j]


@kernel
def column_sums(values, columns, out):
    """Write the sum of values over the ones of every column.

    Row after row and not by BLAS, whose order of adding depends on the machine.

    Parameters
    ----------
    columns : array of shape (n_rows, at least size)
        Of 0 and 1.
    out : array of shape (size,)  # OUT
    """
    out[:] = 0.0
    for i in range(len(values)):
        value = values[i]
        row = columns[i]
        for j in range(len(out)):
            out[j] += value * row[j]


@kernel
def stump_sums(codes, n_rows, first, features, values, offered, out, peak):
    """Write the sum of values over the ones of every stump of the features.

    With potentials for values, this is ``W+ - W-`` of every stump.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, at least n_rows)
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; the last of them are its abstentions.
    offered : bool array of shape (2 * first[-1],)
        Stumps on offer; the others get 0.
    out : array of the same shape  # OUT
        Place ``2 * (first[f] + k) + q``: ones are codes of k and more, abstentions are q.
    peak : array of shape (n_features,)  # OUT
        Largest magnitude of each of the features.
    """
    for f in features:
        a = first[f]
        n_bins = first[f + 1] - a - 1
        row = codes[f]
        hist = np.zeros(n_bins + 1)
        for i in range(n_rows):
            hist[row[i]] += values[i]
        total = 0.0
        best = 0.0
        for k in range(n_bins, -1, -1):
            if k < n_bins:
                total += hist[k]
            p = 2 * (a + k)
            low = total if offered[p] else 0.0
            high = total + hist[n_bins] if offered[p + 1] else 0.0
            out[p] = low
            out[p + 1] = high
            best = max(best, abs(low), abs(high))
        peak[f] = best


# --- Sums of hinges over pairs, which are not visited; see `crucial.kernels.pairs`
#
# Where all pairs ask for the same margin the rows of a query are sorted by score. The partners of a
# row then are those beyond a threshold that moves with it, and Fenwick trees over the levels add up
# those of a lower or a higher label: O(n log n). Sums only grow, so no digits are lost in
# differences. Where the margin depends on the labels of a pair, two pointers go through each two
# levels of a query: O(n levels).


@kernel
def sort_segments(keys, starts, first, last, order):
    """Write the rows of every segment by rising key."""
    for s in range(first, last):
        a, b = starts[s], starts[s + 1]
        order[a:b] = np.argsort(keys[a:b], kind="mergesort") + a


@kernel
def same_sums(keys, weight, level, row_start, depth, threshold, order, first, last, out):
    """Write the sums of queries ``first:last``; ``threshold`` is the margin of every pair."""
    deepest = longest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
        longest = max(longest, row_start[q + 1] - row_start[q])
    sums = np.zeros(3 * deepest)  # (weights, and those times bars and squared bars)
    key, mass, rank = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    for q in range(first, last):
        a, n = row_start[q], row_start[q + 1] - row_start[q]
        top = depth[q]
        middle = 0.5 * (keys[order[a]] + keys[order[a + n - 1]])
        for place in range(n):
            i = order[a + place]
            key[place], mass[place], rank[place] = keys[i], weight[i], level[i]
        sums[: 3 * top] = 0.0
        at = n - 1
        for place in range(n - 1, -1, -1):
            while at >= 0 and key[at] + threshold > key[place]:
                if rank[at] + 1 < top:
                    bar = key[at] - middle + threshold
                    heavy = mass[at] * bar
                    triple_add(sums, top, rank[at] + 1, mass[at], heavy, heavy * bar)
                at -= 1
            i, own = order[a + place], key[place] - middle
            found, moved, squared = triple_sum(sums, rank[place])
            out[i, 0] = found
            out[i, 1] = moved - own * found
            out[i, 2] = squared - own * (2.0 * moved - own * found)
        sums[: 3 * top] = 0.0
        at = 0
        for place in range(n):
            while at < n and key[at] < key[place] + threshold:
                if rank[at] > 0:
                    heavy = mass[at] * (key[at] - middle)
                    triple_add(sums, top, top - rank[at], mass[at], heavy, 0.0)
                at += 1
            j, bar = order[a + place], key[place] - middle + threshold
            found, moved, _ = triple_sum(sums, top - 1 - rank[place])
            out[j, 3] = found
            out[j, 4] = bar * found - moved


@kernel
def same_moved(keys, values, level, row_start, depth, threshold, order, first, last, out):
    """Write the sums of values over the partners of every row of queries ``first:last``."""
    deepest = longest = 0
    for q in range(first, last):
        deepest = max(deepest, depth[q])
        longest = max(longest, row_start[q + 1] - row_start[q])
    tree = np.zeros(deepest)
    key, value, rank = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    for q in range(first, last):
        a, n = row_start[q], row_start[q + 1] - row_start[q]
        top = depth[q]
        for place in range(n):
            i = order[a + place]
            key[place], value[place], rank[place] = keys[i], values[i], level[i]
        tree[:top] = 0.0
        at = n - 1
        for place in range(n - 1, -1, -1):
            while at >= 0 and key[at] + threshold > key[place]:
                if rank[at] + 1 < top:
                    tree_add(tree, 0, top, rank[at] + 1, value[at])
                at -= 1
            out[order[a + place]] = tree_sum(tree, 0, rank[place])
        tree[:top] = 0.0
        at = 0
        for place in range(n):
            while at < n and key[at] < key[place] + threshold:
                if rank[at] > 0:
                    tree_add(tree, 0, top, top - rank[at], value[at])
                at += 1
            out[order[a + place]] += tree_sum(tree, 0, top - 1 - rank[place])


@kernel
def graded_sums(keys, weight, values, power, cut, starts, segments, order, first, last, out):
    """Write the sums of queries ``first:last``; margins depend on the labels ``values``."""
    for q in range(first, last):
        begin, end = segments[q], segments[q + 1]
        out[starts[begin] : starts[end]] = 0.0
        for s in range(begin + 1, end):
            a, b = starts[s], starts[s + 1]
            for t in range(begin, s):
                c, d = starts[t], starts[t + 1]
                apart = values[s] - values[t]
                threshold = (1.0 - cut) / apart
                factor = apart**power
                mass = shift = square = 0.0
                middle = keys[order[c]]
                at = d - 1
                for place in range(b - 1, a - 1, -1):
                    i = order[place]
                    own = keys[i] - middle
                    while at >= c and keys[order[at]] + threshold > keys[i]:
                        j = order[at]
                        bar = keys[j] - middle + threshold
                        mass += weight[j]
                        shift += weight[j] * bar
                        square += weight[j] * bar * bar
                        at -= 1
                    out[i, 0] += factor * mass
                    out[i, 1] += factor * (shift - own * mass)
                    out[i, 2] += factor * (square - own * (2.0 * shift - own * mass))
                mass = shift = 0.0
                at = a
                for place in range(c, d):
                    j = order[place]
                    bar = keys[j] - middle + threshold
                    while at < b and keys[order[at]] < keys[j] + threshold:
                        i = order[at]
                        mass += weight[i]
                        shift += weight[i] * (keys[i] - middle)
                        at += 1
                    out[j, 3] += factor * mass
                    out[j, 4] += factor * (bar * mass - shift)


@kernel
def graded_moved(keys, moved, values, power, cut, starts, segments, order, first, last, out):
    """Write the sums of ``moved`` over the partners of every row of queries ``first:last``."""
    for q in range(first, last):
        begin, end = segments[q], segments[q + 1]
        out[starts[begin] : starts[end]] = 0.0
        for s in range(begin + 1, end):
            a, b = starts[s], starts[s + 1]
            for t in range(begin, s):
                c, d = starts[t], starts[t + 1]
                apart = values[s] - values[t]
                threshold = (1.0 - cut) / apart
                factor = apart**power
                found = 0.0
                at = d - 1
                for place in range(b - 1, a - 1, -1):
                    i = order[place]
                    while at >= c and keys[order[at]] + threshold > keys[i]:
                        found += moved[order[at]]
                        at -= 1
                    out[i] += factor * found
                found = 0.0
                at = a
                for place in range(c, d):
                    j = order[place]
                    while at < b and keys[order[at]] < keys[j] + threshold:
                        found += moved[order[at]]
                        at += 1
                    out[j] += factor * found

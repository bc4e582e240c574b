"""The training kernels in Numba; meanings, parameters and layout as in ``plain``.

Serial and without the GIL: callers give every thread a range of queries or features.
Sums never cross such a range, so the number of threads cannot change a result.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = [
    "advance_binary",
    "bin_column",
    "bin_column8",
    "binary_weights",
    "copy_ranked",
    "distance",
    "drop_bounds",
    "gather_columns",
    "histogram8",
    "histogram_wide",
    "log_potentials",
    "misordered",
    "moments",
    "potentials",
    "slopes",
    "sort_bits",
    "wrong_weights",
    "wrong_weights_few",
]


@kernel
def potentials(
    up, down, gap, coefficient, level_start, query_first, first_query, last_query, pi, loss
):
    """Potential of every row and loss of every query of a range, without pairs."""
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
def _log_add(a, b):
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@kernel
def log_potentials(
    scores,
    log_weight,
    log_gap,
    level_start,
    query_first,
    first_query,
    last_query,
    positive,
    negative,
    log_loss,
):
    """Logarithms of both halves of the potentials, and of the loss of every query."""
    graded = len(log_gap) > 0
    for q in range(first_query, last_query):
        a, b = query_first[q], query_first[q + 1]
        total = -np.inf
        below = -np.inf
        cumulative = -np.inf
        for s in range(a, b):
            if graded and s > a:
                below = _log_add(below, log_gap[s] + cumulative)
            top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                top = max(top, log_weight[i] + scores[i])
            level = 0.0
            row_top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                positive[i] = log_weight[i] - scores[i] + below
                row_top = max(row_top, positive[i])
                if top > -np.inf:
                    level += np.exp(log_weight[i] + scores[i] - top)
            if row_top > -np.inf:
                rows = 0.0
                for i in range(level_start[s], level_start[s + 1]):
                    rows += np.exp(positive[i] - row_top)
                total = _log_add(total, row_top + np.log(rows))
            if top > -np.inf:
                cumulative = _log_add(cumulative, top + np.log(level))
            if not graded:
                below = cumulative
        log_loss[q] = total
        above = -np.inf
        cumulative = -np.inf
        for s in range(b - 1, a - 1, -1):
            if graded and s < b - 1:
                above = _log_add(above, log_gap[s + 1] + cumulative)
            top = -np.inf
            for i in range(level_start[s], level_start[s + 1]):
                top = max(top, log_weight[i] - scores[i])
            level = 0.0
            for i in range(level_start[s], level_start[s + 1]):
                negative[i] = log_weight[i] + scores[i] + above
                if top > -np.inf:
                    level += np.exp(log_weight[i] - scores[i] - top)
            if top > -np.inf:
                cumulative = _log_add(cumulative, top + np.log(level))
            if not graded:
                above = cumulative


@kernel
def binary_weights(
    up, down, gap, coefficient, output, level_start, query_first, first_query, last_query, out
):
    """Weight of the pairs ordered right and wrong by a {0, 1} ranker, per query."""
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
def moments(
    up, down, gap, coefficient, output, level_start, query_first, first_query, last_query, out
):
    """Sum of d, d * m and d * m^2 over the pairs of every query."""
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


# What joining the ones at level y does to the levels below and above it: a product with
# such a row is faster than a choice.
_BELOW = np.tril(np.ones((5, 5)), -1)
_ABOVE = np.triu(np.ones((5, 5)), 1)


@kernel
def wrong_weights_few(
    up,
    down,
    gains,
    coefficient,
    codes,
    n_bins,
    missing_rank,
    row_level,
    level_sum,
    row_start,
    query_first,
    wrong,
):
    """Weight of wrongly ordered pairs for every threshold; one-byte codes, up to 5 levels.

    Query after query, from the highest code to the lowest. A row that joins the ones
    makes its pairs with higher-labelled zeros wrong, and rights those with lower-labelled
    ones; ``zeros[y]`` and ``ones[y]`` are the sums over both for a row of level y.

    Parameters
    ----------
    gains : array of shape (n_segments,) or (0,)
    row_level : uint8 array of shape (n_rows,)
        Level of the row inside its query.
    level_sum : array of shape (n_segments,)
        Sum of ``down`` over the rows of a level.
    wrong : array of shape (n_bins + 1,)  # OUT
    """
    graded = len(gains) > 0
    largest = 0
    for q in range(len(row_start) - 1):
        largest = max(largest, row_start[q + 1] - row_start[q])
    order = np.empty(largest, np.uint32)
    start = np.zeros(258, np.int32)
    change = np.zeros(n_bins + 1)
    zeros = np.zeros(5)
    ones = np.zeros(5)
    g = np.zeros(5)
    for q in range(len(row_start) - 1):
        a, b = row_start[q], row_start[q + 1]
        s = query_first[q]
        n_levels = query_first[q + 1] - s
        zeros[:] = 0.0
        ones[:] = 0.0
        for y in range(n_levels):
            g[y] = gains[s + y] if graded else 0.0
        for y in range(n_levels - 1, -1, -1):
            for k in range(y):
                zeros[k] += level_sum[s + y] * (g[y] - g[k] if graded else 1.0)
        start[: n_bins + 2] = 0
        for i in range(a, b):
            start[n_bins - codes[i] + 1] += 1
        passed = 0
        for c in range(n_bins + 2):
            passed += start[c]
            start[c] = passed
        absent = start[1]
        for i in range(a, b):
            c = n_bins - codes[i]
            order[start[c]] = i
            start[c] += 1
        weight = coefficient[q]
        # Abstaining rows come first; where they rank 0 they never join the ones.
        for j in range(absent if missing_rank == 0 else 0, b - a):
            i = order[j]
            here = np.uint32(row_level[i])
            won, lost = up[i], down[i]
            change[codes[i]] += weight * (won * zeros[here] - lost * ones[here])
            if graded:
                for k in range(5):
                    zeros[k] -= lost * _BELOW[here, k] * (g[here] - g[k])
                    ones[k] += won * _ABOVE[here, k] * (g[k] - g[here])
            else:
                z0 = zeros[0] - lost * _BELOW[here, 0]
                z1 = zeros[1] - lost * _BELOW[here, 1]
                z2 = zeros[2] - lost * _BELOW[here, 2]
                z3 = zeros[3] - lost * _BELOW[here, 3]
                o1 = ones[1] + won * _ABOVE[here, 1]
                o2 = ones[2] + won * _ABOVE[here, 2]
                o3 = ones[3] + won * _ABOVE[here, 3]
                o4 = ones[4] + won * _ABOVE[here, 4]
                zeros[0], zeros[1], zeros[2], zeros[3] = z0, z1, z2, z3
                ones[1], ones[2], ones[3], ones[4] = o1, o2, o3, o4
    total = 0.0
    for k in range(n_bins, -1, -1):
        total += change[k]
        wrong[k] = total


@kernel
def _by_code(codes, n_bins, start):
    """Rows by falling code (abstentions first); ``start`` tells where each code begins."""
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
def drop_bounds(slope, offered, drift, wrong, right, shrink, fall, first, features, reach):
    """Lower bound of the Z that the stumps of the features can reach."""
    for f in features:
        if drift[f] == np.inf:
            reach[f] = -np.inf
            continue
        least = np.inf
        for d in range(2):
            for k in range(first[f], first[f + 1]):
                if offered[d, k]:
                    w = max(wrong[d, k] * shrink[f], wrong[d, k] - fall[f], 0.0)
                    v = max(right[d, k] * shrink[f], right[d, k] - fall[f], 0.0)
                    up = slope[d, k] + drift[f]
                    z = 1.0
                    if up > 0.0:
                        low = max(w - 1e-13, v - up - 1e-13, 0.0)
                        root = np.sqrt(low + up) - np.sqrt(low)
                        z = min(z, 1.0 - root * root)
                    down = drift[f] - slope[d, k]
                    if down > 0.0:
                        low = max(v - 1e-13, w - down - 1e-13, 0.0)
                        root = np.sqrt(low + down) - np.sqrt(low)
                        z = min(z, 1.0 - root * root)
                    least = min(least, z)
        reach[f] = least


@kernel
def _tree_add(tree, base, size, place, amount):
    while place <= size:
        tree[base + place - 1] += amount
        place += place & -place


@kernel
def _tree_sum(tree, base, place):
    total = 0.0
    while place > 0:
        total += tree[base + place - 1]
        place -= place & -place
    return total


@kernel
def wrong_weights(
    up, down, gains, coefficient, codes, n_bins, missing_rank, level, query, query_first, wrong
):
    """`wrong_weights_few` for many levels or wide codes, O(n log levels).

    All rows from the highest code to the lowest, the sums in Fenwick trees, one a query.
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
        _tree_add(zeros, base, size, size - level[i], down[i])
        if graded:
            _tree_add(zeros_gain, base, size, size - level[i], down[i] * gains[base + level[i]])
    total = 0.0
    for c in range(n_bins + 1):
        if c > 0 or missing_rank == 1:
            for j in range(start[c], start[c + 1]):
                i = order[j]
                base = query_first[query[i]]
                size = query_first[query[i] + 1] - base
                higher = _tree_sum(zeros, base, size - level[i] - 1)
                lower = _tree_sum(ones, base, level[i])
                if graded:
                    gain = gains[base + level[i]]
                    higher = _tree_sum(zeros_gain, base, size - level[i] - 1) - gain * higher
                    lower = gain * lower - _tree_sum(ones_gain, base, level[i])
                    _tree_add(zeros_gain, base, size, size - level[i], -down[i] * gain)
                    _tree_add(ones_gain, base, size, level[i] + 1, up[i] * gain)
                total += coefficient[query[i]] * (up[i] * higher - down[i] * lower)
                _tree_add(zeros, base, size, size - level[i], -down[i])
                _tree_add(ones, base, size, level[i] + 1, up[i])
        wrong[n_bins - c] = total


@kernel
def histogram8(words, one, two, pi, first, out):
    """Sum of potentials per bin of two features with one-byte codes, eight rows at a time.

    Four interleaved parts a feature break the chain from store to load, and rows of 264
    numbers keep the parts from sharing cache sets.

    Parameters
    ----------
    words : uint64 array of shape (n_features, n_padded / 8)
        The codes; padding rows have a potential of 0.
    one, two : int
        The features; the same number twice scans one.
    first : int64 array of shape (n_features + 1,)
        Where the bins of a feature begin in ``out``.
    """
    h = np.zeros((8, 264))
    a = words[one]
    b = words[two]
    byte = np.uint64(255)
    s1, s2, s3, s4 = np.uint64(8), np.uint64(16), np.uint64(24), np.uint64(32)
    s5, s6, s7 = np.uint64(40), np.uint64(48), np.uint64(56)
    for j in range(len(a)):
        x = a[j]
        z = b[j]
        i = 8 * j
        h[0, x & byte] += pi[i]
        h[4, z & byte] += pi[i]
        h[1, (x >> s1) & byte] += pi[i + 1]
        h[5, (z >> s1) & byte] += pi[i + 1]
        h[2, (x >> s2) & byte] += pi[i + 2]
        h[6, (z >> s2) & byte] += pi[i + 2]
        h[3, (x >> s3) & byte] += pi[i + 3]
        h[7, (z >> s3) & byte] += pi[i + 3]
        h[0, (x >> s4) & byte] += pi[i + 4]
        h[4, (z >> s4) & byte] += pi[i + 4]
        h[1, (x >> s5) & byte] += pi[i + 5]
        h[5, (z >> s5) & byte] += pi[i + 5]
        h[2, (x >> s6) & byte] += pi[i + 6]
        h[6, (z >> s6) & byte] += pi[i + 6]
        h[3, (x >> s7) & byte] += pi[i + 7]
        h[7, (z >> s7) & byte] += pi[i + 7]
    for c in range(first[one + 1] - first[one]):
        out[first[one] + c] = h[0, c] + h[1, c] + h[2, c] + h[3, c]
    for c in range(first[two + 1] - first[two]):
        out[first[two] + c] = h[4, c] + h[5, c] + h[6, c] + h[7, c]


@kernel
def histogram_wide(codes, pi, out):
    """Sum of potentials per bin of one feature with codes of two or four bytes."""
    out[:] = 0.0
    for i in range(len(codes)):
        out[codes[i]] += pi[i]


@kernel
def advance_binary(output, alpha, grow, shrink, first_row, last_row, scores, up, down):
    """Rows with output 1: add alpha to the score, multiply ``up`` and ``down``."""
    for i in range(first_row, last_row):
        one = output[i] != 0
        scores[i] += alpha if one else 0.0
        up[i] *= grow if one else 1.0
        down[i] *= shrink if one else 1.0


@kernel
def distance(pi, scale, before, first_row, last_row):
    """Sum of |scale * pi - before|; ``before`` becomes ``scale * pi``."""
    total = 0.0
    for i in range(first_row, last_row):
        now = scale * pi[i]
        total += abs(now - before[i])
        before[i] = now
    return total


@kernel
def misordered(scores, level, weight, gains, query_first, row_start, first_query, last_query, out):
    """Weight of pairs in the wrong order, and of tied ones, for a range of queries.

    Rows of query ``q`` come in ``row_start[q]:row_start[q + 1]`` of the arrays, sorted by
    falling score. ``out[q]`` becomes (wrong, tied); O(n log levels).
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
            while j < row_start[q + 1] and scores[j] == scores[i]:
                lower = _tree_sum(passed, 0, level[j])
                if graded:
                    lower = gains[base + level[j]] * lower - _tree_sum(passed_gain, 0, level[j])
                wrong += weight[j] * lower
                j += 1
            # The block itself: its own tree, filled, asked and emptied again.
            for k in range(i, j):
                _tree_add(block, 0, size, level[k] + 1, weight[k])
            for k in range(i, j):
                lower = _tree_sum(block, 0, level[k])
                if not graded:
                    tied += weight[k] * lower
                _tree_add(passed, 0, size, level[k] + 1, weight[k])
            if graded:
                for k in range(i, j):
                    gain = gains[base + level[k]]
                    tied += weight[k] * gain * _tree_sum(block, 0, level[k])
                    higher = _tree_sum(block, 0, size) - _tree_sum(block, 0, level[k] + 1)
                    tied -= weight[k] * gain * higher
                    _tree_add(passed_gain, 0, size, level[k] + 1, weight[k] * gain)
            for k in range(i, j):
                place = level[k] + 1
                while place <= size:
                    block[place - 1] = 0.0
                    place += place & -place
            i = j
        out[q, 0] = wrong
        out[q, 1] = tied


@kernel
def gather_columns(table, rows, first, out):
    """Neighbouring columns of some rows: ``out[c, i] = table[rows[i], first + c]``."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(out.shape[0]):
            out[c, i] = table[r, first + c]


@kernel
def copy_ranked(values, out):
    """Copy what is not NaN; how many there are, or minus one if one is infinite."""
    count = 0
    finite = True
    for i in range(len(values)):
        x = values[i]
        if x == x:
            out[count] = x
            count += 1
            finite &= x - x == 0.0
    return count if finite else -1


@kernel
def bin_column(values, thresholds, n_bins, codes):
    """Code of every value: how many thresholds are below it; NaN gets ``n_bins``."""
    for i in range(len(values)):
        x = values[i]
        if x != x:
            codes[i] = n_bins
        else:
            low = 0
            high = len(thresholds)
            while low < high:
                middle = (low + high) >> 1
                if thresholds[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            codes[i] = low


@kernel
def bin_column8(values, thresholds, n_bins, codes):
    """`bin_column` for 255 thresholds (padded with inf): eight steps and no branch."""
    for i in range(len(values)):
        x = np.float64(values[i])
        at = 128 * (thresholds[127] < x)
        at += 64 * (thresholds[at + 63] < x)
        at += 32 * (thresholds[at + 31] < x)
        at += 16 * (thresholds[at + 15] < x)
        at += 8 * (thresholds[at + 7] < x)
        at += 4 * (thresholds[at + 3] < x)
        at += 2 * (thresholds[at + 1] < x)
        at += 1 * (thresholds[at] < x)
        codes[i] = n_bins if x != x else at


@kernel
def sort_bits(bits, spare, sign, mask, shift):
    """Sort floats without NaN in place, seen as unsigned integers of the same size.

    A radix sort, 11 bits at a time. As integers, positive floats rise with their value
    and negative ones fall: flipping the sign bit, or all bits, puts them in order.

    Parameters
    ----------
    bits, spare : unsigned arrays of shape (n,)
    sign : the sign bit, as a scalar of the same type
    mask : 2047, of the same type
    shift : array of the shifts (0, 11, 22, ...), of the same type
    """
    n = len(bits)
    passes = len(shift)
    counts = np.zeros((passes, 2048), np.int64)
    for i in range(n):
        b = bits[i]
        b = ~b if b & sign else b | sign
        bits[i] = b
        for p in range(passes):
            counts[p, (b >> shift[p]) & mask] += 1
    for p in range(passes):
        total = 0
        for d in range(2048):
            here = counts[p, d]
            counts[p, d] = total
            total += here
    source = bits
    target = spare
    for p in range(passes):
        for i in range(n):
            b = source[i]
            d = (b >> shift[p]) & mask
            target[counts[p, d]] = b
            counts[p, d] += 1
        source, target = target, source
    for i in range(n):
        b = source[i]
        bits[i] = b & ~sign if b & sign else ~b


@kernel
def slopes(hist, first, has_missing, features, fixed_default, signed, slope, peak):
    """Slope r of every candidate stump of the features, and the best of each feature."""
    for f in features:
        a = first[f]
        n_bins = first[f + 1] - a - 1
        missing = has_missing[f]
        zeros = fixed_default != 1 or not missing
        ones = fixed_default != 0 and missing
        total = 0.0
        best = 0.0
        for k in range(n_bins, -1, -1):
            if k < n_bins:
                total += hist[a + k]
            low = 0.0
            high = 0.0
            if zeros and k < n_bins and (k > 0 or missing):
                low = total
            if ones and k > 0:
                high = total + hist[a + n_bins]
            slope[0, a + k] = low
            slope[1, a + k] = high
            if signed:
                best = max(best, low, high)
            else:
                best = max(best, abs(low), abs(high))
        peak[f] = best

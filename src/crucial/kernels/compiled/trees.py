"""Grow trees on binned features, in Numba; and Fenwick trees, for changing prefix sums."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel
from crucial.kernels.trees import CHUNK, WIDE

# --- Growing trees on binned features
#
# Features come in blocks of eight: a word has the codes of one row in the eight features of a
# block. A pass over a leaf reads one word per row and block, and the sums of the row once for all
# eight. Gradient and curvature are whole numbers in one word too, the gradient in its upper half:
# one addition adds both, and no order of rows or threads changes a sum.
#
# Loops are spelled out, without slices and array functions: those take longer to compile than all
# the rest. Indices are unsigned where a sign would cost a test.


_HALF = 256  # gains of one side
_DENSE = 5  # a leaf is dense if it has more than one row in so many
_LOOK = 128  # rows whose words stay in the first cache
_LOW = 0xFFFFFFFF


@kernel
def pack(codes, begin, end, by_block, by_row):
    """Write the codes of eight features per row into one word, for a range of rows, twice."""
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        for b in range(len(by_block)):
            for i in range(start, stop):
                by_block[b, i] = 0
            for f in range(8 * b, min(8 * b + 8, len(codes))):
                shift = np.uint64(8 * (f - 8 * b))
                for i in range(start, stop):
                    by_block[b, i] |= np.uint64(codes[f, i]) << shift
            for i in range(start, stop):
                by_row[i, b] = by_block[b, i]


@kernel
def quantise(gradient, curvature, unit_g, unit_c, begin, end, sums):
    """Write gradient and curvature in whole units into one word, for a range of rows."""
    for i in range(np.uint64(begin), np.uint64(end)):
        g = np.int64(np.rint(gradient[i] / unit_g))
        sums[i] = (g << 32) + np.int64(np.rint(curvature[i] / unit_c))


@kernel
def add_rows(by_block, by_row, blocks, rows, sums, begin, end, whole, near, out):
    """Write the sums per bin of the rows of a leaf, for some blocks of features.

    Parameters
    ----------
    by_block : uint64 array of shape (n_blocks, n_rows)
    by_row : uint64 array of shape (n_rows, n_blocks)
        The same words. Where the rows of a leaf are far apart, all words of a row come from one
        place; where they are close, those of a block come faster one after the other.
    whole : bool
        Whether the leaf is all rows in their order, so that words come one after the other.
    near : uint64 array of shape (n_blocks, NEAR)
        Is overwritten.
    out : int64 array of shape (n_blocks, 8 * WIDE)
        Is overwritten where blocks say so.
    """
    if begin >= end:
        for b in blocks:
            for c in range(8 * WIDE):
                out[b, c] = 0
    byte = np.uint64(255)
    dense = not whole and _DENSE * (end - begin) > by_block.shape[1]
    direct = whole or dense
    chunk = max(end - begin, 1) if direct else CHUNK
    for start in range(begin, end, chunk):
        m = np.uint64(min(chunk, end - start))
        first_row = np.uint64(start)
        if not direct:
            _fetch(by_row, blocks, rows, first_row, m, near)
        for t in range(len(blocks)):
            h = out[blocks[t]]
            if start == begin:
                for c in range(8 * WIDE):
                    h[c] = 0
            words = by_block[blocks[t]] if direct else near[t]
            for j in range(m):
                w = words[np.uint64(rows[first_row + j]) if dense else j]
                value = sums[first_row + j]
                for k in range(8):
                    h[np.uint64(WIDE * k) + ((w >> np.uint64(8 * k)) & byte)] += value


@kernel
def _fetch(by_row, blocks, rows, first_row, m, near):
    """Write the words of some rows, block after block.

    A first look at every line of the memory of a few rows, without writing, has many of them on
    their way at a time.
    """
    n_blocks = np.uint64(len(blocks))
    last = np.uint64(blocks[len(blocks) - 1])
    seen = np.uint64(0)
    for begin in range(np.uint64(0), m, np.uint64(_LOOK)):
        end = min(begin + np.uint64(_LOOK), m)
        for j in range(begin, end):
            i = np.uint64(rows[first_row + j])
            for t in range(np.uint64(0), n_blocks, np.uint64(8)):
                seen ^= by_row[i, np.uint64(blocks[t])]
            seen ^= by_row[i, last]
        for j in range(begin, end):
            i = np.uint64(rows[first_row + j])
            for t in range(n_blocks):
                near[t, j] = by_row[i, np.uint64(blocks[t])]
    near[0, CHUNK] = seen  # (unused: so that the compiler does not leave the look out)


@kernel
def _sum_below(hist, less, subtract, f, n, room):
    """Write the sums of the bins below each, after subtracting other histograms if wanted."""
    if subtract:
        for k in range(n + 1):
            hist[f, k] -= less[f, k]
    passed = 0
    for k in range(n):
        room[k] = passed
        passed += hist[f, k]
    room[n] = passed


@kernel
def _gain(g, c, l2, low, high):
    """Return twice the drop of the quadratic loss at the best value within bounds."""
    value = g / (c + l2)
    if value < low:
        value = low
    elif value > high:
        value = high
    return value * (2.0 * g - (c + l2) * value)


@kernel
def scan(
    hist, less, subtract, features, n_bins, has_missing, signs, limits, counts, target, room,
    gains, bits, peaks,
):  # fmt: skip
    """Write the largest gain of some features in a leaf, or find the first place of enough gain.

    A place is ``2 k + side``: codes below k go left, abstentions left (side 0) or right (1).

    Parameters
    ----------
    less : int64 array like hist
        If ``subtract``, is subtracted from ``hist`` before.
    counts : float64 array
        Weight of the rows per bin of the only feature, to respect the least weight of a leaf; or
        empty.
    target : float
        If above 0, return the first place of such a gain in the order of places.
    room : int64 array of length 256
        Is overwritten.
    gains : float64 array of length 512
        Is overwritten.
    bits : int64 array
        The same memory: numbers of 0 and more have the order of their bits, and whole numbers
        are compared several at a time.
    """
    total, total_w, unit_g, unit_c, l2, low, high, least_c, least_w = limits
    total_g = unit_g * (total >> 32)
    total_c = unit_c * (total & _LOW)
    counted = len(counts) > 0
    free = low == -np.inf and high == np.inf
    for f in features:
        n = n_bins[f]
        sides = 2 if has_missing[f] else 1
        sign = signs[f]
        _sum_below(hist, less, subtract, f, n, room)
        for side in range(sides):
            lost = hist[f, n] if side + 1 < sides else 0
            at = np.uint64(_HALF * side)
            for k in range(np.uint64(n + 1)):
                left = room[k] + lost
                g = unit_g * (left >> 32)
                c = unit_c * (left & _LOW)
                other = total_g - g
                d = total_c - c
                gain = g * g / (c + l2) + other * other / (d + l2)
                gains[at + k] = gain if (c >= least_c) & (d >= least_c) else 0.0
            if not free or sign != 0 or counted:
                w = counts[n] if counted and side + 1 < sides else 0.0
                for k in range(1, n + 1):
                    left = room[k] + lost
                    g = unit_g * (left >> 32)
                    c = unit_c * (left & _LOW)
                    other = total_g - g
                    d = total_c - c
                    at = np.uint64(_HALF * side + k)
                    if counted:
                        w += counts[k - 1]
                        if w < least_w or total_w - w < least_w:
                            gains[at] = 0.0
                    if sign != 0 and k < n and sign * (other * (c + l2) - g * (d + l2)) < 0.0:
                        gains[at] = 0.0
                    if not free and gains[at] != 0.0:
                        gains[at] = _gain(g, c, l2, low, high) + _gain(other, d, l2, low, high)
            gains[_HALF * side] = 0.0
        gains[n] = 0.0  # (all rows on one side)
        if target > 0.0:
            for k in range(1, n + 1):
                for side in range(sides):
                    if gains[_HALF * side + k] >= target:
                        return 2 * k + side
        best = 0  # (gains below 0 have bits below 0)
        for side in range(sides):
            for k in range(np.uint64(_HALF * side), np.uint64(_HALF * side + n + 1)):
                best = max(best, bits[k])
        bits[0] = best
        peaks[f] = gains[0]
    return -1


@kernel
def level_gains(
    hist, less, subtract, features, n_bins, has_missing, signs, limits, counts, base, room, totals
):  # fmt: skip
    """Add what every split of a leaf gains to the gains of the same splits of other leaves.

    Parameters
    ----------
    less : int64 array like hist
        If ``subtract``, is subtracted from ``hist`` before.
    counts : float64 array
        Weight of the rows per bin of the only feature, to respect the least weight of a leaf; or
        empty.
    base : float
        What the leaf is worth unsplit.
    room : int64 array of length 256
        Is overwritten.
    totals : float64 array of shape (n_features, 512)
        Places as in `scan`, those of side 1 in the upper half. A split that loses, or that leaves
        too little on a side, adds nothing: the leaf stays as it is.
    """
    total, total_w, unit_g, unit_c, l2, low, high, least_c, least_w = limits
    total_g = unit_g * (total >> 32)
    total_c = unit_c * (total & _LOW)
    counted = len(counts) > 0
    free = low == -np.inf and high == np.inf
    for f in features:
        n = n_bins[f]
        sides = 2 if has_missing[f] else 1
        sign = signs[f]
        _sum_below(hist, less, subtract, f, n, room)
        for side in range(sides):
            lost = hist[f, n] if side + 1 < sides else 0
            w = counts[n] if counted and side + 1 < sides else 0.0
            at = np.uint64(_HALF * side)
            last = n + 1 if side == 1 else n
            for k in range(np.uint64(1), np.uint64(last)):
                left = room[k] + lost
                g = unit_g * (left >> 32)
                c = unit_c * (left & _LOW)
                other = total_g - g
                d = total_c - c
                if free and sign == 0:
                    gain = g * g / (c + l2) + other * other / (d + l2) - base
                else:
                    gain = _gain(g, c, l2, low, high) + _gain(other, d, l2, low, high) - base
                    if sign != 0 and k < n and sign * (other * (c + l2) - g * (d + l2)) < 0.0:
                        gain = 0.0
                if counted:
                    w += counts[k - np.uint64(1)]
                    if w < least_w or total_w - w < least_w:
                        gain = 0.0
                totals[f, at + k] += gain if (c >= least_c) & (d >= least_c) & (gain > 0.0) else 0.0


@kernel
def partition(codes, feature, n_bins, place, begin, end, rows, sums, spare_rows, spare_sums):
    """Move the rows of a leaf that go left before the others, in order; return their number."""
    column = codes[feature]
    k = np.uint64(place // 2)
    lost = np.uint64(n_bins)
    lost_left = np.uint64(1 - place % 2)
    left = np.uint64(begin)
    right = np.uint64(0)
    for j in range(np.uint64(begin), np.uint64(end)):
        i = rows[j]
        value = sums[j]
        code = np.uint64(column[np.uint64(i)])
        goes = np.uint64(code < k) | (lost_left & np.uint64(code == lost))
        # Both are written, and one of them counts: no branch to guess.
        rows[left] = i
        sums[left] = value
        spare_rows[right] = i
        spare_sums[right] = value
        left += goes
        right += np.uint64(1) - goes
    for j in range(right):
        rows[left + j] = spare_rows[j]
        sums[left + j] = spare_sums[j]
    return np.int64(left) - begin


@kernel
def leaf_sums(rows, starts, first, last, gradient, curvature, per_g, per_c, sums):
    """Write gradient and curvature of a range of leaves, as whole numbers of units.

    Parameters
    ----------
    rows, starts : int arrays
        Leaf ``k`` has the rows ``rows[starts[k]:starts[k + 1]]``.
    per_g, per_c : float
        Units in 1 of either, powers of two.
    """
    for leaf in range(first, last):
        g = np.int64(0)
        c = np.int64(0)
        for j in range(starts[leaf], starts[leaf + 1]):
            i = np.uint64(rows[j])
            g += np.int64(np.rint(gradient[i] * per_g))
            c += np.int64(np.rint(curvature[i] * per_c))
        sums[leaf, 0] = g
        sums[leaf, 1] = c


@kernel
def spread(rows, starts, first, last, values, outputs):
    """Write the values of a range of leaves to their rows."""
    for leaf in range(first, last):
        value = values[leaf]
        for j in range(starts[leaf], starts[leaf + 1]):
            outputs[np.uint64(rows[j])] = value


# --- Fenwick trees: sums over a prefix that change one place at a time
#
# Indices are unsigned numbers: a signed one makes Numba test it for its sign.


@kernel
def tree_add(tree, base, size, place, amount):
    """Add to a place (from 1) of the tree of ``size`` places that begins at ``base``."""
    while place <= size:
        tree[np.uint64(base + place - 1)] += amount
        place += place & -place


@kernel
def tree_sum(tree, base, place):
    """Return the sum of the places 1 to ``place``."""
    total = 0.0
    while place > 0:
        total += tree[np.uint64(base + place - 1)]
        place -= place & -place
    return total


@kernel
def triple_add(tree, size, place, first, second, third):
    """Add to a place (from 1) of three trees whose numbers lie side by side.

    One line of the cache then serves all three.
    """
    while place <= size:
        at = np.uint64(3 * (place - 1))
        tree[at] += first
        tree[at + np.uint64(1)] += second
        tree[at + np.uint64(2)] += third
        place += place & -place


@kernel
def triple_sum(tree, place):
    """Return the sums of the places 1 to ``place`` of three trees side by side."""
    first = second = third = 0.0
    while place > 0:
        at = np.uint64(3 * (place - 1))
        first += tree[at]
        second += tree[at + np.uint64(1)]
        third += tree[at + np.uint64(2)]
        place -= place & -place
    return first, second, third


# --- The best split of every cell of a tree


@kernel
def _fill(codes, rows, good, weight, begin, end, n_bins, hist):
    """Add up the weights per side and code of one feature."""
    for k in range(n_bins + 1):
        hist[0, k] = 0.0
        hist[1, k] = 0.0
    for i in range(np.uint64(begin), np.uint64(end)):
        hist[np.uint64(good[i]), np.uint64(codes[np.uint64(rows[i])])] += weight[i]


@kernel
def _impurity(bad, good):
    bad = max(bad, 0.0)
    good = max(good, 0.0)
    total = bad + good
    return bad * good / total if total > 0.0 else 0.0


@kernel
def _decrease(parent, bad, good, all_bad, all_good):
    return parent - _impurity(bad, good) - _impurity(all_bad - bad, all_good - good)


@kernel
def peaks(
    codes, n_bins, rows, starts, good, weight, scale, features, gini, learned, begin, end, peak,
):  # fmt: skip
    """Write the largest criterion of the splits of each cell by each of its features.

    A split cuts a feature between two bins; abstentions go to either side. Its criterion is
    ``|TPR - FPR|`` of one side, or the decrease of the Gini impurity.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
        Code ``n_bins[f]`` is an abstention.
    n_bins : int array of shape (n_features,)
    rows : uint32 array
        The rows of all cells, cell by cell.
    starts : int array of shape (n_cells + 1,)
    good : uint8 array like rows
        1 where the row should be on the left.
    weight : array like rows
        0 for rows that do not count.
    scale : array of shape (n_cells, 2)
        Factors on the weights of the rows that are not good, and of those that are.
    features : int array of shape (n_cells, n_slots)
        Features to try, ascending.
    gini : bool
        Which criterion.
    learned : bool
        Whether abstentions may go to either side; else they are below every threshold.
    begin, end : int
        Slots to work on.
    peak : array of shape (n_cells, n_slots)  # OUT
    """
    widest = 0
    for f in range(len(n_bins)):
        widest = max(widest, n_bins[f] + 1)
    hist = np.empty((2, widest))
    for cell in range(len(starts) - 1):
        s0 = scale[cell, 0]
        s1 = scale[cell, 1]
        for slot in range(begin, end):
            f = features[cell, slot]
            bins = n_bins[f]
            _fill(codes[f], rows, good, weight, starts[cell], starts[cell + 1], bins, hist)
            bad_absent = hist[0, bins] * s0
            good_absent = hist[1, bins] * s1
            bad = 0.0
            up = 0.0
            best = 0.0
            if gini:
                for k in range(bins):
                    bad += hist[0, bins - 1 - k]
                    up += hist[1, bins - 1 - k]
                all_bad = bad * s0 + bad_absent
                all_good = up * s1 + good_absent
                parent = _impurity(all_bad, all_good)
                bad = 0.0
                up = 0.0
                for j in range(bins):
                    bad += hist[0, bins - 1 - j]
                    up += hist[1, bins - 1 - j]
                    b = bad * s0
                    g = up * s1
                    best = max(best, _decrease(parent, b, g, all_bad, all_good))
                    if learned:
                        b += bad_absent
                        g += good_absent
                        best = max(best, _decrease(parent, b, g, all_bad, all_good))
            else:
                for j in range(bins):
                    bad += hist[0, bins - 1 - j]
                    up += hist[1, bins - 1 - j]
                    b = bad * s0
                    g = up * s1
                    best = max(best, abs(g - b))
                    if learned:
                        best = max(best, abs((g + good_absent) - (b + bad_absent)))
            peak[cell, slot] = best


@kernel
def places(
    codes, n_bins, rows, starts, good, weight, scale, chosen, least, gini, learned,
    place, above, missing,  # OUT
):  # fmt: skip
    """Write the first split of each cell, by its chosen feature, that reaches ``least``.

    Splits are in the order of thresholds; of one threshold, the values above it come first as
    the left side, and abstentions on the right side come before those on the left.

    Parameters
    ----------
    chosen : int array of shape (n_cells,)
        -1 where a cell is not split.
    least : array of shape (n_cells,)
    place : int array of shape (n_cells,)  # OUT
        The left or right side begins with this code; 0 splits present values from abstentions.
    above : bool array of shape (n_cells,)  # OUT
        Whether the codes from ``place`` on are the left side.
    missing : bool array of shape (n_cells,)  # OUT
        Whether abstentions are on the left side.
    """
    widest = 0
    for f in range(len(n_bins)):
        widest = max(widest, n_bins[f] + 1)
    hist = np.empty((2, widest))
    for cell in range(len(starts) - 1):
        f = chosen[cell]
        if f < 0:
            continue
        bins = n_bins[f]
        _fill(codes[f], rows, good, weight, starts[cell], starts[cell + 1], bins, hist)
        s0 = scale[cell, 0]
        s1 = scale[cell, 1]
        for k in range(bins - 2, -1, -1):
            hist[0, k] += hist[0, k + 1]
            hist[1, k] += hist[1, k + 1]
        bad_absent = hist[0, bins] * s0
        good_absent = hist[1, bins] * s1
        all_bad = hist[0, 0] * s0 + bad_absent
        all_good = hist[1, 0] * s1 + good_absent
        parent = _impurity(all_bad, all_good)
        enough = least[cell]
        for k in range(bins):
            b = hist[0, k] * s0
            g = hist[1, k] * s1
            kind = -1
            if gini:
                if _decrease(parent, b, g, all_bad, all_good) >= enough:
                    kind = 0
                elif learned and (
                    _decrease(parent, b + bad_absent, g + good_absent, all_bad, all_good) >= enough
                ):
                    kind = 1
            else:
                first = g - b
                second = (g + good_absent) - (b + bad_absent)
                if first >= enough:
                    kind = 0
                elif learned and second >= enough:
                    kind = 1
                elif learned and -second >= enough:
                    kind = 2
                elif -first >= enough:
                    kind = 3
            if kind >= 0:
                place[cell] = k
                above[cell] = kind < 2
                missing[cell] = kind % 2 == 1
                break


# --- The leaf of every row in a tree of tests; see `crucial.kernels.trees`


@kernel
def find_leaves(X, first, feature, threshold, missing, yes, no, roots, out):  # OUT
    """Write the leaves of the rows ``first`` to ``first + len(out)`` of X in every tree."""
    for tree in range(len(roots)):
        for i in range(len(out)):
            at = roots[tree]
            while at >= 0:
                value = X[first + i, feature[at]]
                if value != value:
                    answer = missing[at]
                else:
                    answer = value > threshold[at]
                at = yes[at] if answer else no[at]
            out[i, tree] = ~at

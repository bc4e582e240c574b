"""Growing trees on binned features; twins in ``plain.gradient_trees``.

Features come in blocks of eight: a word has the codes of one row in the eight features of a
block. A pass over a leaf reads one word per row and block, and the sums of the row once for all
eight. Gradient and curvature are whole numbers in one word too, the gradient in its upper half:
one addition adds both, and no order of rows or threads changes a sum.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["add_rows", "choose", "pack", "partition", "scan"]

_CHUNK = 512  # words that are fetched at a time


@kernel
def pack(codes, first_block, last_block, words):
    """Write the codes of eight features per row into one word."""
    for b in range(first_block, last_block):
        own = words[b]
        for k in range(min(8, len(codes) - 8 * b)):
            column = codes[8 * b + k]
            shift = np.uint64(8 * k)
            for i in range(len(own)):
                own[i] |= np.uint64(column[i]) << shift


@kernel
def add_rows(words, blocks, rows, sums, begin, end, out):
    """Write the sums per bin of the rows of a leaf, for some blocks of features."""
    byte = np.uint64(255)
    h = np.zeros((8, 264), np.int64)  # (a local array: its strides are known to the compiler)
    near = np.empty(_CHUNK, np.uint64)
    part = sums[begin:end]
    own_rows = rows[begin:end]
    for b in blocks:
        own = words[b]
        h[:] = 0
        for start in range(0, len(own_rows), _CHUNK):
            n = min(_CHUNK, len(own_rows) - start)
            # Words far apart come faster in a loop that does nothing else.
            for j in range(n):
                near[j] = own[np.uint64(own_rows[start + j])]
            for j in range(n):
                w = near[j]
                value = part[start + j]
                for k in range(8):
                    h[k, (w >> np.uint64(8 * k)) & byte] += value
        out[8 * b : 8 * b + 8] = h[:, :256]


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
def _scan_one(h, n_bins, missing, sign, limits, counts, target):
    """Return the largest gain of a feature and its place, or the first place with a gain.

    A place is ``2 k + side``: codes below k go left, abstentions left (0) or right (1).
    """
    total, total_w, unit_g, unit_c, l2, low, high, least_c, least_w = limits
    total_g = unit_g * (total >> 32)
    total_c = unit_c * (total & 0xFFFFFFFF)
    best = 0.0
    place = -1
    counted = len(counts) > 0
    lost = h[n_bins] if missing else 0
    lost_w = counts[n_bins] if missing and counted else 0.0
    passed = 0
    passed_w = 0.0
    free = low == -np.inf and high == np.inf
    for k in range(1, n_bins + 1 if missing else n_bins):
        passed += h[k - 1]
        if counted:
            passed_w += counts[k - 1]
        for side in range(1 if k == n_bins else 0, 2 if missing else 1):
            left = passed + (lost if side == 0 else 0)
            g = unit_g * (left >> 32)
            c = unit_c * (left & 0xFFFFFFFF)
            other = total_g - g
            d = total_c - c
            if c < least_c or d < least_c:
                continue
            if counted:
                w = passed_w + (lost_w if side == 0 else 0.0)
                if w < least_w or total_w - w < least_w:
                    continue
            if sign != 0 and k < n_bins and sign * (other * (c + l2) - g * (d + l2)) < 0.0:
                continue
            if free:
                gain = g * g / (c + l2) + other * other / (d + l2)
            else:
                gain = _gain(g, c, l2, low, high) + _gain(other, d, l2, low, high)
            if target > 0.0:
                if gain >= target:
                    return gain, 2 * k + side
            elif gain > best:
                best = gain
                place = 2 * k + side
    return best, place


@kernel
def scan(hist, features, n_bins, has_missing, signs, limits, peaks):
    """Write the largest gain of every feature."""
    none = np.zeros(0)
    for f in features:
        peaks[f] = _scan_one(hist[f], n_bins[f], has_missing[f], signs[f], limits, none, 0.0)[0]


@kernel
def _count(codes, weight, rows, begin, end, out):
    """Add up the weight of the rows of a leaf per bin of one feature."""
    out[:] = 0.0
    for j in range(begin, end):
        i = np.uint64(rows[j])
        out[codes[i]] += weight[i]


@kernel
def choose(
    hist, codes, weight, rows, begin, end, n_bins, has_missing, signs, limits, tie, counted, peaks
):
    """Return feature, place and gain of the best split by the tie rule; feature -1 for none.

    Peaks were scanned without regard to the weight of rows. If weights are counted, peaks are
    verified, best first, until no unverified feature can win.
    """
    total, _, unit_g, unit_c, l2, low, high, _, _ = limits
    base = _gain(unit_g * (total >> 32), unit_c * (total & 0xFFFFFFFF), l2, low, high)
    verified = np.zeros(len(peaks), np.bool_)
    counts = np.zeros(256 if counted else 0)
    while True:
        best = peaks.max()
        # (under monotone bounds the leaf may be worth less than the 0 of what is not on offer)
        if not best > 0.0 or not best - base > tie * best:
            return -1, -1, 0.0
        worst = best - tie * (best - base)
        f = np.argmax(peaks >= worst)
        if counted:
            _count(codes[f], weight, rows, begin, end, counts)
        facts = (hist[f], n_bins[f], has_missing[f], signs[f], limits, counts)
        if verified[f] or not counted:
            return f, _scan_one(*facts, worst)[1], best - base
        peaks[f] = _scan_one(*facts, 0.0)[0]
        verified[f] = True


@kernel
def partition(codes, n_bins, place, begin, end, rows, sums, spare_rows, spare_sums):
    """Move the rows of a leaf that go left before the others, in order; return their number."""
    k = place // 2
    lost_left = place % 2 == 0
    left = begin
    right = 0
    for j in range(begin, end):
        i = rows[j]
        value = sums[j]
        code = codes[np.uint64(i)]
        goes = lost_left if code == n_bins else code < k
        # Both are written, and one of them counts: no branch to guess.
        rows[left] = i
        sums[left] = value
        spare_rows[right] = i
        spare_sums[right] = value
        left += goes
        right += not goes
    for j in range(right):
        rows[left + j] = spare_rows[j]
        sums[left + j] = spare_sums[j]
    return left - begin

"""Searching sparse features, over their stored entries alone; `stored_codes` says how they lie."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.trees import tree_add, tree_sum
from crucial.kernels.jit import kernel

__all__ = [
    "change_of",
    "feature_slopes",
    "feature_wrong",
    "segment_sides",
    "stored_drop_bounds",
    "stored_drops",
    "stored_fits",
    "stored_peaks",
]


# -- slopes ---------------------------------------------------------------------------------------


@kernel
def change_of(pi, scale, before, first_row, last_row):
    """Return sum and largest of |scale * pi - before|; ``before`` becomes ``scale * pi``."""
    total = 0.0
    largest = 0.0
    for i in range(first_row, last_row):
        now = scale * pi[i]
        change = abs(now - before[i])
        total += change
        largest = max(largest, change)
        before[i] = now
    return total, largest


@kernel
def feature_slopes(place, code, a, b, rest, n_bins, missing, fixed, units, factor, total, slope):
    """Write the slope r of every stump of a feature; see ``plain.features.FeatureSums.slopes``.

    Stumps above the code of the rest are sums over entries. The others are what is left of the
    sum over all rows, ``total``. Sums are whole numbers of a unit, which is worth ``factor``.
    """
    zeros = fixed != 1 or not missing
    ones = fixed != 0 and missing
    e = a
    absent = np.int64(0)
    while e < b and code[e] == n_bins:
        absent += units[place[e]]
        e += 1
    slope[0, n_bins] = 0.0
    slope[1, n_bins] = absent * factor if ones else 0.0
    above = np.int64(0)
    for k in range(n_bins - 1, rest, -1):
        while e < b and code[e] == k:
            above += units[place[e]]
            e += 1
        slope[0, k] = above * factor if zeros else 0.0
        slope[1, k] = (above + absent) * factor if ones else 0.0
    e = b - 1
    left = total
    for k in range(rest + 1):
        slope[0, k] = (left - absent) * factor if zeros and (k > 0 or missing) else 0.0
        slope[1, k] = left * factor if ones and k > 0 else 0.0
        while e >= a and code[e] == k:
            left -= units[place[e]]
            e -= 1


@kernel
def _is_offered(d, k, n_bins, missing, fixed):
    if d == 0:
        return (fixed != 1 or not missing) and k < n_bins and (k > 0 or missing)
    return fixed != 0 and missing and k > 0


@kernel
def _counts(r, k, n_bins, sign, signed):
    """Return whether constraints allow a stump of this slope."""
    if signed and not r > 0.0:
        return False
    return sign == 0.0 or k == 0 or k == n_bins or sign * r > 0.0


@kernel
def stored_peaks(
    start, stop, place, code, rest, first, has_missing, fixed, sign, signed, times, shift,
    units, factor, total, features, peak,
):  # fmt: skip
    """Write the largest criterion of the stumps of each feature, at least 0.

    Parameters
    ----------
    sign : float array over the features
        Stumps at a threshold count only where the slope has this sign; 0 for either.
    signed : bool
        Whether the criterion is ``times * r + shift`` or its magnitude.
    units, total : int64 array over the rows, int
        Potentials as whole numbers of a unit, and their sum.
    factor : float
        What a unit is worth.
    peak : array over all features  # OUT
    """
    widest = 0
    for f in features:
        widest = max(widest, first[f + 1] - first[f])
    slope = np.empty((2, widest))
    for f in features:
        n_bins = first[f + 1] - first[f] - 1
        missing = has_missing[f]
        feature_slopes(
            place, code, start[f], stop[f], rest[f], n_bins, missing, fixed, units, factor,
            total, slope,
        )  # fmt: skip
        best = 0.0
        for d in range(2 if missing else 1):
            for k in range(n_bins + 1):
                if not _is_offered(d, k, n_bins, missing, fixed):
                    continue
                r = slope[d, k]
                if not _counts(r, k, n_bins, sign[f], False):
                    continue
                value = times * r + shift
                best = max(best, value if signed else abs(value))
        peak[f] = best


# -- weights of pairs -----------------------------------------------------------------------------


@kernel
def segment_sides(weights, gap, level_start, query_first, above, below):
    """Write what the levels above and below every level of a query add up to.

    Parameters
    ----------
    weights : array of shape (n_rows, 2)
        ``up`` and ``down`` of every row: a pair weighs ``up`` of its lower row times ``down`` of
        its higher row.
    gap : array over the segments, or of length 0
        Gain of a level minus that of the level below it.
    above, below : arrays over the segments  # OUT
        Sums of ``down`` over higher levels, and of ``up`` over lower ones, each times the
        difference of the gains, if there are any.
    """
    graded = len(gap) > 0
    for q in range(len(query_first) - 1):
        a, b = query_first[q], query_first[q + 1]
        passed = 0.0
        gained = 0.0
        for s in range(a, b):
            if graded:
                gained += gap[s] * passed
            below[s] = gained if graded else passed
            for i in range(level_start[s], level_start[s + 1]):
                passed += weights[i, 0]
        passed = 0.0
        gained = 0.0
        for s in range(b - 1, a - 1, -1):
            if graded and s + 1 < b:
                gained += gap[s + 1] * passed
            above[s] = gained if graded else passed
            for i in range(level_start[s], level_start[s + 1]):
                passed += weights[i, 1]


@kernel
def _tree_sides(s, first, last, up, down, gains, sums):
    """Return what the moved rows above and below a level weigh, by Fenwick trees; move a row."""
    size, level = last - first, s - first
    high = tree_sum(sums[1], first, size - level - 1)
    low = tree_sum(sums[0], first, level)
    if len(gains) > 0:
        high = tree_sum(sums[3], first, size - level - 1) - gains[s] * high
        low = gains[s] * low - tree_sum(sums[2], first, level)
        tree_add(sums[2], first, size, level + 1, up * gains[s])
        tree_add(sums[3], first, size, size - level, down * gains[s])
    tree_add(sums[0], first, size, level + 1, up)
    tree_add(sums[1], first, size, size - level, down)
    return high, low


@kernel
def _clear(place, a, b, segment, bounds, few, sums):
    """Set what moving some entries has changed back to 0."""
    for e in range(a, b):
        s = segment[place[e]]
        if few:
            sums[s, 0] = 0.0
            sums[s, 1] = 0.0
            continue
        first, last = bounds[s, 0], bounds[s, 1]
        size = last - first
        for part in range(len(sums)):
            at = s - first + 1 if part % 2 == 0 else size - (s - first)
            while at <= size:
                sums[part, first + at - 1] = 0.0
                at += at & -at


@kernel
def _move_entries(
    place, code, before, absent, e, count, k, last_k, leaving, weights, gains, segment, bounds,
    above, below, few, sums, wrong,
):  # fmt: skip
    """Let entries join the ones from the highest code down, or leave them from the lowest up.

    Parameters
    ----------
    before, absent : int
        Entries from ``before`` to ``absent`` move first of all.
    e, count : int
        The first of the others, and their number.
    k, last_k : int
        Stumps whose weight of wrong pairs is written, first and last.
    """
    graded = len(gains) > 0
    step = -1 if leaving else 1
    next_k = 1 if leaving else -1
    total = 0.0
    while True:
        if before < absent:
            row = place[before]
            before += 1
        elif count > 0 and code[e] == k - leaving:
            row = place[e]
            e += step
            count -= 1
        else:
            wrong[k] = max(total, 0.0)
            if k == last_k:
                return e
            k += next_k
            continue
        up, down = weights[row, 0], weights[row, 1]
        s = segment[row]
        high = 0.0
        low = 0.0
        if few:
            for t in range(s + 1, bounds[s, 1]):
                high += sums[t, 1] * (gains[t] - gains[s] if graded else 1.0)
            for t in range(bounds[s, 0], s):
                low += sums[t, 0] * (gains[s] - gains[t] if graded else 1.0)
            sums[s, 0] += up
            sums[s, 1] += down
        else:
            high, low = _tree_sides(s, bounds[s, 0], bounds[s, 1], up, down, gains, sums)
        if leaving:
            total += down * (below[s] - low) - up * high
        else:
            total += up * (above[s] - high) - down * low


@kernel
def feature_wrong(
    place, code, a, b, rest, n_bins, default, weights, gains, segment, bounds, above, below, few,
    sums, wrong,
):  # fmt: skip
    """Write the weight of wrongly ordered pairs of every stump of a feature.

    A pair is wrong whose lower row is a one and whose higher row is a zero. Above the code of the
    rest, entries join the ones from the highest code down; below it they leave them, from the
    lowest up. Other rows enter through what their levels add up to.

    Parameters
    ----------
    default : int
        Rank of abstentions.
    weights : array of shape (n_rows, 2)
        As in `segment_sides`.
    segment : int32 array over the rows
    bounds : int32 array of shape (n_segments, 2)
        First segment of the query of a segment, and the one after its last.
    above, below : arrays over the segments
        As `segment_sides` writes them.
    few : bool
        Whether queries have so few levels that sums over them need no trees.
    sums : array of shape (n_segments, 2), or (4, n_segments) for trees
        Zeros, also afterwards.
    wrong : array of shape (n_bins + 1,)  # OUT
    """
    absent = a
    while absent < b and code[absent] == n_bins:
        absent += 1
    pairs = (weights, gains, segment, bounds, above, below, few, sums)
    e = a if default == 1 else absent
    end = _move_entries(place, code, e, e, e, b - e, n_bins, rest + 1, False, *pairs, wrong)
    _clear(place, e, end, segment, bounds, few, sums)
    stay = absent if default == 0 else a
    end = _move_entries(place, code, a, stay, b - 1, b - absent, 0, rest, True, *pairs, wrong)
    _clear(place, a, stay, segment, bounds, few, sums)
    _clear(place, end + 1, b, segment, bounds, few, sums)


@kernel
def stored_drops(
    start, stop, place, code, rest, first, has_missing, fixed, sign, signed, units, factor, total,
    weights, gains, segment, bounds, above, below, few, snap, slot, apart, features, lowest,
):  # fmt: skip
    """Write the lowest Z of the stumps of each feature, 1 where none is on offer.

    Parameters
    ----------
    weights : array of shape (n_rows, 2)
        Under which all pairs weigh 1; the others as in `feature_wrong`.
    sign, signed : which stumps are on offer
        As in `stored_peaks`; with ``signed``, those of positive slope.
    slot : int array over all features
        Where ``apart`` has a place for it; -1 for none.
    apart : float32 array of shape (n_slots, 2, at least the most bins + 1)  # OUT
        At most the weight of the pairs that each stump parts, ``W+ + W-``.
    lowest : array over all features  # OUT
    """
    widest = 0
    for f in features:
        widest = max(widest, first[f + 1] - first[f])
    slope = np.empty((2, widest))
    wrong = np.empty(widest)
    n_segments = len(bounds)
    sums = np.zeros((n_segments, 2)) if few else np.zeros((4, n_segments))
    for f in features:
        n_bins = first[f + 1] - first[f] - 1
        missing = has_missing[f]
        a, b = start[f], stop[f]
        feature_slopes(
            place, code, a, b, rest[f], n_bins, missing, fixed, units, factor, total, slope
        )
        best = 1.0
        for d in range(2 if missing else 1):
            if missing and fixed == 1 - d:
                continue
            feature_wrong(
                place, code, a, b, rest[f], n_bins, d, weights, gains, segment, bounds, above,
                below, few, sums, wrong,
            )  # fmt: skip
            for k in range(n_bins + 1):
                if not _is_offered(d, k, n_bins, missing, fixed):
                    continue
                r = slope[d, k]
                w = wrong[k] if wrong[k] >= snap else 0.0
                v = w + r
                if v < snap:
                    v = 0.0
                    w = -r if r < 0.0 else 0.0
                if slot[f] >= 0:
                    apart[slot[f], d, k] = (v + w) * (1.0 - 1e-6)
                if _counts(r, k, n_bins, sign[f], signed):
                    best = min(best, max(1.0 - v - w + 2.0 * np.sqrt(v * w), 0.0))
        lowest[f] = best


@kernel
def stored_drop_bounds(
    start, stop, place, code, rest, first, has_missing, fixed, sign, signed, units, factor, total,
    slot, apart, change, features, reach,
):  # fmt: skip
    """Write a bound on ``1 - Z`` of the stumps of features that have a slot.

    With ``s = W+ + W-``, ``1 - Z = s - sqrt(s^2 - r^2)`` falls with s. What the steps since the
    last scan can have taken from s is known.

    Parameters
    ----------
    change : array of shape (2, n_slots)
        The weight W of any pairs is at least ``change[0] W - change[1]`` now.
    reach : array over all features  # OUT
    """
    widest = 0
    for f in features:
        widest = max(widest, first[f + 1] - first[f])
    slope = np.empty((2, widest))
    for f in features:
        n_bins = first[f + 1] - first[f] - 1
        missing = has_missing[f]
        at = slot[f]
        feature_slopes(
            place, code, start[f], stop[f], rest[f], n_bins, missing, fixed, units, factor,
            total, slope,
        )  # fmt: skip
        best = 0.0
        for d in range(2 if missing else 1):
            for k in range(n_bins + 1):
                if not _is_offered(d, k, n_bins, missing, fixed):
                    continue
                r = slope[d, k]
                if r != 0.0 and _counts(r, k, n_bins, sign[f], signed):
                    r = abs(r)
                    s = max(apart[at, d, k] * change[0, at] - change[1, at] - 1e-12, r)
                    best = max(best, r * r / (s + np.sqrt((s - r) * (s + r))))
        reach[f] = best


# -- least squares --------------------------------------------------------------------------------


@kernel
def stored_fits(
    start, stop, place, code, rest, first, has_missing, fixed, units, factor, total, bent,
    bend, whole, light, features, peak,
):  # fmt: skip
    """Write the largest sum of squares that a stump of each feature explains.

    With g and h the sums of ``pi`` and ``curvature`` over a side, that is the sum of ``g^2 / h``
    over both sides. A side with less weight than ``light`` explains nothing.

    Parameters
    ----------
    units, factor, total : potentials as whole numbers
        As in `stored_peaks`.
    bent, bend, whole : curvatures as whole numbers
        In the same way.
    """
    widest = 0
    for f in features:
        widest = max(widest, first[f + 1] - first[f])
    whole_g, whole_h = total * factor, whole * bend
    high_g = np.empty((2, widest))
    high_h = np.empty((2, widest))
    for f in features:
        n_bins = first[f + 1] - first[f] - 1
        missing = has_missing[f]
        a, b = start[f], stop[f]
        feature_slopes(
            place, code, a, b, rest[f], n_bins, missing, fixed, units, factor, total, high_g
        )
        feature_slopes(
            place, code, a, b, rest[f], n_bins, missing, fixed, bent, bend, whole, high_h
        )
        best = 0.0
        for d in range(2 if missing else 1):
            for k in range(n_bins + 1):
                if not _is_offered(d, k, n_bins, missing, fixed):
                    continue
                g, h = high_g[d, k], high_h[d, k]
                if h > light and whole_h - h > light:
                    left = whole_g - g
                    best = max(best, g * g / h + left * left / (whole_h - h))
        peak[f] = best

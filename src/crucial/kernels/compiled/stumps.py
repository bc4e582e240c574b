"""Search the stumps of binned features, and cut features into bins, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

# --- Searching the stumps of binned features; twins in ``plain``


@kernel
def drop_bounds(slope, offered, drift, wrong, right, change, first, features, reach):
    """Write a lower bound of the Z that the stumps of each feature can reach."""
    for f in features:
        if drift[f] == np.inf:
            reach[f] = -np.inf
            continue
        shrink, grow, scale, lost, won = change[:, f]
        largest = -np.inf
        for d in range(len(slope)):
            for k in range(first[f], first[f + 1]):
                if not offered[d, k]:
                    continue
                old_wrong, old_right = wrong[d, k] + 1e-13, right[d, k] + 1e-13
                w = max((old_wrong - 1e-13) * shrink - 1e-13, 0.0)
                v = max((old_right - 1e-13) * shrink - 1e-13, 0.0)
                up = slope[d, k] + drift[f]
                down = drift[f] - slope[d, k]
                if drift[f] > 0.0 and won < np.inf:
                    most = min(old_right * grow, old_right * scale + won)
                    up = min(up, most - w + 1e-13)
                    most = min(old_wrong * grow, old_wrong * scale + won)
                    down = min(down, most - v + 1e-13)
                apart = (old_wrong + old_right - 2e-13) * scale - lost - 1e-13
                for r, other in ((up, w), (down, v)):
                    drop = 0.0
                    if r > 0.0:
                        s = max(apart, 2.0 * other + r)
                        drop = r * r / (s + np.sqrt((s - r) * (s + r)))
                    largest = max(largest, drop)
        reach[f] = 1.0 - largest


@kernel
def drops(slope, offered, snap, wrong, right, z):
    """Write Z of the stumps of a feature from their slopes and W-; return the lowest."""
    lowest = np.inf
    for k in range(len(wrong)):
        w = wrong[k] if wrong[k] >= snap else 0.0
        v = w + slope[k]
        if v < snap:
            v = 0.0
            w = -slope[k] if slope[k] < 0.0 else 0.0
        wrong[k] = w
        right[k] = v
        if offered[k]:
            z[k] = max(1.0 - v - w + 2.0 * np.sqrt(v * w), 0.0)
            lowest = min(lowest, z[k])
    return lowest


@kernel
def histogram8(words, one, two, fixed, first, out):
    """Add up potentials per bin of two features with one-byte codes, eight rows at a time.

    Four interleaved parts per feature break the chain from store to load, and rows of 264
    numbers keep the parts from sharing cache sets.

    Parameters
    ----------
    words : uint64 array of shape (n_features, n_padded / 8)
        The codes; padding rows have a potential of 0.
    one, two : int
        The features; the same number twice scans one.
    first : int64 array of shape (n_features + 1,)
        Where the bins of a feature begin in ``out``.
    fixed, out : int64 arrays
        Potentials as whole numbers of a unit, and their sums.
    """
    h = np.zeros((8, 264), np.int64)
    a = words[one]
    b = words[two]
    byte = np.uint64(255)
    s1, s2, s3, s4 = np.uint64(8), np.uint64(16), np.uint64(24), np.uint64(32)
    s5, s6, s7 = np.uint64(40), np.uint64(48), np.uint64(56)
    for j in range(len(a)):
        x = a[j]
        z = b[j]
        i = 8 * j
        h[0, x & byte] += fixed[i]
        h[4, z & byte] += fixed[i]
        h[1, (x >> s1) & byte] += fixed[i + 1]
        h[5, (z >> s1) & byte] += fixed[i + 1]
        h[2, (x >> s2) & byte] += fixed[i + 2]
        h[6, (z >> s2) & byte] += fixed[i + 2]
        h[3, (x >> s3) & byte] += fixed[i + 3]
        h[7, (z >> s3) & byte] += fixed[i + 3]
        h[0, (x >> s4) & byte] += fixed[i + 4]
        h[4, (z >> s4) & byte] += fixed[i + 4]
        h[1, (x >> s5) & byte] += fixed[i + 5]
        h[5, (z >> s5) & byte] += fixed[i + 5]
        h[2, (x >> s6) & byte] += fixed[i + 6]
        h[6, (z >> s6) & byte] += fixed[i + 6]
        h[3, (x >> s7) & byte] += fixed[i + 7]
        h[7, (z >> s7) & byte] += fixed[i + 7]
    for c in range(first[one + 1] - first[one]):
        out[first[one] + c] = h[0, c] + h[1, c] + h[2, c] + h[3, c]
    for c in range(first[two + 1] - first[two]):
        out[first[two] + c] = h[4, c] + h[5, c] + h[6, c] + h[7, c]


@kernel
def histogram_wide(codes, fixed, out):
    """Add up potentials per bin of one feature with codes of two or four bytes."""
    out[:] = 0
    for i in range(len(codes)):
        out[codes[i]] += fixed[i]


@kernel
def distance_between(pi, scale, before, scale_before, first_row, last_row):
    """Return the sum of |scale * pi - scale_before * before|."""
    total = 0.0
    for i in range(first_row, last_row):
        total += abs(scale * pi[i] - scale_before * before[i])
    return total


@kernel
def slopes(hist, factor, first, has_missing, features, fixed_default, signed, slope, peak):
    """Write the slope r of every candidate stump, and the best of each feature."""
    for f in features:
        a = first[f]
        n_bins = first[f + 1] - a - 1
        missing = has_missing[f]
        zeros = fixed_default != 1 or not missing
        ones = fixed_default != 0 and missing
        total = np.int64(0)
        best = 0.0
        for k in range(n_bins, -1, -1):
            if k < n_bins:
                total += hist[a + k]
            low = 0.0
            high = 0.0
            if zeros and k < n_bins and (k > 0 or missing):
                low = total * factor
            if ones and k > 0:
                high = (total + hist[a + n_bins]) * factor
            slope[0, a + k] = low
            slope[1, a + k] = high
            if signed:
                best = max(best, low, high)
            else:
                best = max(best, abs(low), abs(high))
        peak[f] = best


# --- Searching the stumps of one feature for many labels at once


@kernel
def label_histogram(codes, pi, hist):
    """Write the weight of right and of wrong labels, by bin and label.

    Parameters
    ----------
    codes : unsigned array of shape (n_rows,)
        Bin of every row.
    pi : array of shape (n_rows, n_labels)
        Weight of (row, label), negative where the label is wrong for the row.
    hist : array of shape (n_bins + 1, 2 * n_labels)  # OUT
        Right labels first, then wrong ones; the last bin is for abstentions.
    """
    n_labels = pi.shape[1]
    hist[:] = 0.0
    for i in range(len(codes)):
        row = hist[codes[i]]
        for label in range(n_labels):
            # (both sums take a number, mostly 0: a choice between them would be slower)
            value = pi[i, label]
            row[label] += max(value, 0.0)
            row[n_labels + label] += max(-value, 0.0)


@kernel
def _add_criterion(weights, discrete, n_labels):
    total = 0.0
    for label in range(n_labels):
        right = weights[label]
        wrong = weights[n_labels + label]
        total += abs(right - wrong) if discrete else np.sqrt(right * wrong)
    return total


@kernel
def label_criteria(codes, pi, discrete, hist, out):
    """Write how well every threshold of a feature parts right labels from wrong ones.

    Threshold k parts rows into codes up to k - 1, codes of k and more, and abstentions. With
    W+ and W- the weights of right and wrong labels in a part, ``out[k]`` is the sum over
    parts and labels of ``sqrt(W+ W-)`` (the smaller the better) or, for discrete predictions,
    of ``|W+ - W-|`` (the larger the better).

    Parameters
    ----------
    codes, pi, hist : see `label_histogram`; hist is room for it  # OUT
    out : array of shape (n_bins,)  # OUT
    """
    label_histogram(codes, pi, hist)
    n_bins = len(out)
    n_labels = pi.shape[1]
    part = np.zeros(2 * n_labels)
    absent = _add_criterion(hist[n_bins], discrete, n_labels)
    for k in range(n_bins):
        out[k] = absent + _add_criterion(part, discrete, n_labels)
        part += hist[k]
    part[:] = 0.0
    for k in range(n_bins - 1, -1, -1):
        part += hist[k]
        out[k] += _add_criterion(part, discrete, n_labels)


# --- Sorting and coding the values of features


@kernel
def gather_columns(table, rows, first, out):
    """Copy neighbouring columns of some rows: ``out[c, i] = table[rows[i], first + c]``."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(out.shape[0]):
            out[c, i] = table[r, first + c]


@kernel
def copy_ranked(values, out):
    """Copy the values that are not NaN; return their number, or -1 if one is infinite."""
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
    """Write the code of every value: how many thresholds are below it; NaN gets ``n_bins``."""
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
    """Fill codes for 255 thresholds (padded with inf), in eight steps without a branch."""
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
    """Sort floats without NaN in place, viewed as unsigned integers of the same size.

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
    same = np.zeros(passes, np.bool_)
    for p in range(passes):
        total = 0
        for d in range(2048):
            same[p] |= counts[p, d] == n
            here = counts[p, d]
            counts[p, d] = total
            total += here
    source = bits
    target = spare
    for p in range(passes):
        if same[p]:  # (as the last bits of what was a float of half the size)
            continue
        for i in range(n):
            b = source[i]
            d = (b >> shift[p]) & mask
            target[counts[p, d]] = b
            counts[p, d] += 1
        source, target = target, source
    for i in range(n):
        b = source[i]
        bits[i] = b & ~sign if b & sign else ~b


# --- Summaries of sorted values: few of them, each with the mass that it stands for


# --- Searching sparse features, over their stored entries alone


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
    """Write the slope r of every stump of a feature; see ``plain.FeatureSums.slopes``.

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
def sparse_peaks(
    start, stop, place, code, rest, first, has_missing, fixed, sign, signed, times, shift,
    units, factor, total, table, features, peak,
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
    table : array of shape (1 or 2, first[-1] or 0)  # OUT
        The slopes, if there is room for them; one row where no feature abstains.
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
        if table.shape[1] > 0:
            for d in range(len(table)):
                for k in range(n_bins + 1):
                    table[d, first[f] + k] = slope[d, k]
        best = 0.0
        for d in range(2 if missing else 1):
            for k in range(n_bins + 1):
                if not _is_offered(d, k, n_bins, missing, fixed):
                    continue
                r = slope[d, k]
                if 0 < k < n_bins and sign[f] != 0.0 and not sign[f] * r > 0.0:
                    continue
                value = times * r + shift
                best = max(best, value if signed else abs(value))
        peak[f] = best


# -- least squares --------------------------------------------------------------------------------


@kernel
def sparse_fits(
    start, stop, place, code, rest, first, has_missing, fixed, units, factor, total, bent,
    bend, whole, light, features, peak,
):  # fmt: skip
    """Write the largest sum of squares that a stump of each feature explains.

    With g and h the sums of ``pi`` and ``curvature`` over a side, that is the sum of ``g^2 / h``
    over both sides. A side with less weight than ``light`` explains nothing.

    Parameters
    ----------
    units, factor, total : potentials as whole numbers
        As in `sparse_peaks`.
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


# --- Cutting and coding sparse features, over their stored entries alone
#
# The entries of a feature are kept by falling code, abstentions first, and inside a code by rising
# row. Rows without an entry have one code, ``rest``; entries of that code are left out.


@kernel
def cut_sparse(indptr, indices, data, features, counts, n_rows, max_bins, offset, cuts, found):
    """Write the thresholds between all values of features that have at most ``max_bins``.

    Parameters
    ----------
    indptr, indices, data : arrays of a table in compressed sparse columns
    features : int array
        The columns to cut.
    counts : int array over the rows of the table
        How often each occurs among the ``n_rows`` rows.
    offset : int array over the features
        Where their thresholds begin in ``cuts``.
    cuts : float64 array  # OUT
    found : int64 array of shape (2, n_features)  # OUT
        Number of thresholds, or -1 where there are more values; number of abstentions.
    """
    for at in range(len(features)):
        a, b = indptr[features[at]], indptr[features[at] + 1]
        values = np.empty(b - a + 1)
        size = 0
        rows = 0
        missing = 0
        for e in range(a, b):
            times = counts[indices[e]]
            if times == 0:
                continue
            rows += times
            x = np.float64(data[e])
            if x != x:
                missing += times
            else:
                values[size] = x
                size += 1
        if rows < n_rows:
            values[size] = 0.0
            size += 1
        values = np.sort(values[:size])
        distinct = min(size, 1)
        for i in range(1, size):
            distinct += values[i] != values[i - 1]
        found[1, at] = missing
        found[0, at] = -1
        if distinct > max_bins:
            continue
        found[0, at] = max(distinct - 1, 0)
        k = offset[at]
        for i in range(1, size):
            low, high = values[i - 1], values[i]
            if low != high:
                # (as in `crucial.data.bins.between`)
                middle = low / 2 + high / 2
                cuts[k] = middle if low <= middle < high else low
                k += 1


@kernel
def _code_of(x, cuts, low, high):
    """Return how many of the thresholds from ``low`` to ``high`` are below x."""
    first = low
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def code_sparse(
    indptr, indices, data, features, row_start, places, offset, n_cuts, cuts, start, place, code,
    rest, stop,
):  # fmt: skip
    """Write the entries of some features: their places and codes.

    Parameters
    ----------
    row_start, places : int arrays
        The places of row r of the table are ``places[row_start[r]:row_start[r + 1]]``.
    offset, n_cuts, cuts : the thresholds of each feature
    start : int array over the features
        Where their entries begin.
    place, code : arrays over the entries  # OUT
    rest, stop : int arrays over the features  # OUT
        The code of rows without an entry; where the entries end.
    """
    for at in range(len(features)):
        a, b = indptr[features[at]], indptr[features[at] + 1]
        low = offset[at]
        high = low + n_cuts[at]
        absent = n_cuts[at] + 1
        zero = _code_of(0.0, cuts, low, high)
        rest[at] = zero
        most = 0
        for e in range(a, b):
            most += row_start[indices[e] + 1] - row_start[indices[e]]
        keys = np.empty(most, np.int64)
        size = 0
        for e in range(a, b):
            x = np.float64(data[e])
            one = absent if x != x else _code_of(x, cuts, low, high)
            if one == zero:
                continue
            for j in range(row_start[indices[e]], row_start[indices[e] + 1]):
                keys[size] = ((absent - one) << 32) | places[j]
                size += 1
        keys = np.sort(keys[:size])
        k = start[at]
        for i in range(size):
            place[k + i] = keys[i] & 0xFFFFFFFF
            code[k + i] = absent - (keys[i] >> 32)
        stop[at] = k + size

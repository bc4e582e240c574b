"""Search the stumps of binned features, and cut features into bins, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

# --- Searching the stumps of binned features; twins in ``plain.features``


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
def distance(pi, scale, before, first_row, last_row):
    """Return the sum of |scale * pi - before|; ``before`` becomes ``scale * pi``."""
    total = 0.0
    for i in range(first_row, last_row):
        now = scale * pi[i]
        total += abs(now - before[i])
        before[i] = now
    return total


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
    """Do the same for 255 thresholds (padded with inf), in eight steps without a branch."""
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

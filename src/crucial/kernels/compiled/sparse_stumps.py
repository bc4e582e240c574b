"""Cut, code and search sparse features over their stored entries alone, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

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

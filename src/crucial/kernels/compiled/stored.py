"""Searching sparse features, over their stored entries alone; `stored_codes` says how they lie."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = [
    "change_of",
    "feature_slopes",
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
def stored_peaks(
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

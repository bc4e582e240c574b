"""Searching the stumps of binned features; twins in ``plain.features``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = [
    "distance",
    "distance_between",
    "drop_bounds",
    "drops",
    "histogram8",
    "histogram_wide",
    "slopes",
]


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

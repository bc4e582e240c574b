"""Cutting and coding sparse features, over their stored entries alone.

The entries of a feature are kept by falling code, abstentions first, and inside a code by rising
row. Rows without an entry have one code, ``rest``; entries of that code are left out.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["code_stored", "cut_stored"]


@kernel
def cut_stored(indptr, indices, data, features, counts, n_rows, max_bins, offset, cuts, found):
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
                # (as in `crucial.data.quantiles.between`)
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
def code_stored(
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

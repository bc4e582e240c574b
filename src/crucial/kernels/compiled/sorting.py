"""Sorting the rows of a query by falling key, rows of equal keys in their own order."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["order_falling"]

# Up to this size a row's position is counted: comparisons without branches, many at a time.
_COUNTED = 200

# Blocks of this length are sorted by insertion, then merged.
_BLOCK = 16


@kernel
def order_falling(values, begin, size, key, row, spare_key, spare_row):
    """Write the rows ``begin`` to ``begin + size`` and their values, highest value first.

    Rows of equal values keep their order. The spare arrays are as long as the others.
    """
    if size > _COUNTED:
        for p in range(size):
            key[p] = values[begin + p]
            row[p] = begin + p
        _sort_falling(key, row, spare_key, spare_row, size)
        return
    first, m = np.uint64(begin), np.uint64(size)
    for i in range(m):
        own = values[first + i]
        below = np.int64(0)
        for j in range(i):
            less = np.int64(values[first + j] < own)
            spare_row[j] += less
            below += less
        spare_row[i] = np.int64(i) - below
        row[i] = first + i  # (with NaN among the values two may count the same position)
    for i in range(m):
        to = np.uint64(spare_row[i])
        key[to] = values[first + i]
        row[to] = first + i


@kernel
def _sort_falling(key, place, spare_key, spare_place, size):
    """Sort ``key[:size]`` and carry ``place`` along; stable. The spare arrays are as long.

    Runs that are in order already are not merged, so that an order that hardly changed costs
    little more than a pass.
    """
    for begin in range(0, size, _BLOCK):
        end = min(begin + _BLOCK, size)
        for i in range(begin + 1, end):
            k = key[i]
            p = place[i]
            j = i
            while j > begin and key[j - 1] < k:
                key[j] = key[j - 1]
                place[j] = place[j - 1]
                j -= 1
            key[j] = k
            place[j] = p
    width = _BLOCK
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle = begin + width
            end = min(middle + width, size)
            if key[middle - 1] >= key[middle]:
                continue
            # Only the left run moves aside.
            for i in range(begin, middle):
                spare_key[i] = key[i]
                spare_place[i] = place[i]
            left = begin
            right = middle
            out = begin
            while left < middle:
                if right < end and key[right] > spare_key[left]:
                    key[out] = key[right]
                    place[out] = place[right]
                    right += 1
                else:
                    key[out] = spare_key[left]
                    place[out] = spare_place[left]
                    left += 1
                out += 1
        width *= 2

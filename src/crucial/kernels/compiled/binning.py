"""Sorting and coding the values of features."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["bin_column", "bin_column8", "copy_ranked", "gather_columns", "sort_bits"]


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

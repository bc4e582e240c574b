"""Products of matrices in one order of sums; the same bytes as ``kernels.products``."""

from __future__ import annotations

from crucial.kernels.jit import kernel

__all__ = ["matrix_product", "row_sums"]

_WIDTH = 512  # columns of a block
_DEPTH = 64  # rows of a block, which stays in the second cache; a multiple of 4


@kernel
def matrix_product(a, b, out):
    """Add ``a @ b``, the rows of b one after the other."""
    n, width = b.shape
    for begin in range(0, width, _WIDTH):
        end = min(begin + _WIDTH, width)
        for first in range(0, n, _DEPTH):
            last = min(first + _DEPTH, n)
            whole = last - (last - first) % 4
            for i in range(len(a)):
                row = out[i, begin:end]
                for k in range(first, whole, 4):
                    f0, f1, f2, f3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                    b0, b1 = b[k, begin:end], b[k + 1, begin:end]
                    b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
                    for j in range(len(row)):
                        row[j] = (((row[j] + f0 * b0[j]) + f1 * b1[j]) + f2 * b2[j]) + f3 * b3[j]
                for k in range(whole, last):
                    factor, rest = a[i, k], b[k, begin:end]
                    for j in range(len(row)):
                        row[j] += factor * rest[j]


@kernel
def row_sums(table, weights, out):
    """Write ``table @ weights``, eight rows at a time: their sums do not wait for each other."""
    n, width = table.shape
    whole = n // 8 * 8
    for i in range(0, whole, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for k in range(width):
            weight = weights[k]
            s0 += table[i, k] * weight
            s1 += table[i + 1, k] * weight
            s2 += table[i + 2, k] * weight
            s3 += table[i + 3, k] * weight
            s4 += table[i + 4, k] * weight
            s5 += table[i + 5, k] * weight
            s6 += table[i + 6, k] * weight
            s7 += table[i + 7, k] * weight
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
    for i in range(whole, n):
        total = 0.0
        for k in range(width):
            total += table[i, k] * weights[k]
        out[i] = total

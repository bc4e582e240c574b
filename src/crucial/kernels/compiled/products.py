"""Products of matrices in one order of sums; the same bytes as ``kernels.products``."""

from __future__ import annotations

from crucial.kernels.jit import kernel

__all__ = ["matrix_product", "row_sums"]

_WIDTH = 512  # columns of a block, which stay in the first cache


@kernel
def matrix_product(a, b, out):
    """Add ``a @ b``, the rows of b one after the other."""
    n, width = b.shape
    whole = n // 4 * 4
    for begin in range(0, width, _WIDTH):
        end = min(begin + _WIDTH, width)
        for i in range(len(a)):
            row = out[i, begin:end]
            for k in range(0, whole, 4):
                f0, f1, f2, f3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                b0, b1 = b[k, begin:end], b[k + 1, begin:end]
                b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
                for j in range(len(row)):
                    row[j] = (((row[j] + f0 * b0[j]) + f1 * b1[j]) + f2 * b2[j]) + f3 * b3[j]
            for k in range(whole, n):
                factor = a[i, k]
                last = b[k, begin:end]
                for j in range(len(row)):
                    row[j] += factor * last[j]


@kernel
def row_sums(table, weights, out):
    """Write ``table @ weights``, four rows at a time: their sums do not wait for each other."""
    n, width = table.shape
    whole = n // 4 * 4
    for i in range(0, whole, 4):
        s0 = s1 = s2 = s3 = 0.0
        for k in range(width):
            weight = weights[k]
            s0 += table[i, k] * weight
            s1 += table[i + 1, k] * weight
            s2 += table[i + 2, k] * weight
            s3 += table[i + 3, k] * weight
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
    for i in range(whole, n):
        total = 0.0
        for k in range(width):
            total += table[i, k] * weights[k]
        out[i] = total

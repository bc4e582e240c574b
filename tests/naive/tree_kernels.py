"""The kernels of ``compiled.gradient_trees`` in NumPy, as their meaning reads."""

import math

import numpy as np

from crucial.kernels.trees import WIDE
from crucial.types import Floats

__all__ = [
    "add_rows", "leaf_sums", "level_gains", "pack", "partition", "quantise", "scan", "spread",
]  # fmt: skip

_LOW = 0xFFFFFFFF


def pack(codes, begin, end, by_block, by_row):
    """Write the codes of eight features per row into one word, for a range of rows, twice."""
    by_block[:, begin:end] = 0
    for f, column in enumerate(codes):
        word = column[begin:end].astype(np.uint64) << np.uint64(8 * (f % 8))
        by_block[f // 8, begin:end] |= word
    by_row[begin:end] = by_block[:, begin:end].T


def quantise(gradient, curvature, unit_g, unit_c, begin, end, sums):
    """Write gradient and curvature in whole units into one word, for a range of rows."""
    g, c = np.rint(gradient[begin:end] / unit_g), np.rint(curvature[begin:end] / unit_c)
    sums[begin:end] = (g.astype(np.int64) << 32) + c.astype(np.int64)


def add_rows(by_block, by_row, blocks, rows, sums, begin, end, whole, near, out):
    """Write the sums per bin of the rows of a leaf, for some blocks of features."""
    for b in blocks.tolist():
        own = np.ascontiguousarray(by_row[rows[begin:end], b]).view(np.uint8).reshape(-1, 8)
        out[b] = 0
        for k in range(8):
            np.add.at(out[b], WIDE * k + own[:, k].astype(np.int64), sums[begin:end])


def _gain(g: Floats, c: Floats, l2: float, low: float, high: float) -> Floats:
    value = np.clip(g / (c + l2), low, high)
    return np.asarray(value * (2.0 * g - (c + l2) * value))


def _gains(h, n_bins, missing, sign, limits, counts):
    """Return the gain of every place of a feature, 0 where it is not on offer.

    A place is ``2 k + side``: codes below k go left, abstentions left (0) or right (1).
    """
    total, total_w, unit_g, unit_c, l2, low, high, least_c, least_w = limits
    k = np.arange(n_bins + 1)[:, None]
    left = np.concatenate(([0], np.cumsum(h[:n_bins])))[:, None] + np.array([h[n_bins], 0])
    g, c = unit_g * (left >> 32), unit_c * (left & _LOW)
    other, d = unit_g * (total >> 32) - g, unit_c * (total & _LOW) - c
    offered = (k > 0) & (c >= least_c) & (d >= least_c)
    offered[:, 0] &= k[:, 0] < n_bins
    offered[:, 1] &= missing
    if counts is not None:
        w = np.concatenate(([0.0], np.cumsum(counts[:n_bins])))[:, None]
        w = w + np.array([counts[n_bins] if missing else 0.0, 0.0])
        offered &= (w >= least_w) & (total_w - w >= least_w)
    if sign:
        offered &= (k == n_bins) | (sign * (other * (c + l2) - g * (d + l2)) >= 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if math.isinf(low) and math.isinf(high):
            gain = g * g / (c + l2) + other * other / (d + l2)
        else:
            gain = _gain(g, c, l2, low, high) + _gain(other, d, l2, low, high)
    return np.where(offered, gain, 0.0).ravel()


def scan(
    hist,
    less,
    subtract,
    features,
    n_bins,
    has_missing,
    signs,
    limits,
    counts,
    target,
    room,
    gains,
    bits,
    peaks,
):
    """Write the largest gain of some features in a leaf, or find the first place of enough gain."""
    for f in features.tolist():
        if subtract:
            hist[f] -= less[f]
        facts = (hist[f], int(n_bins[f]), bool(has_missing[f]), int(signs[f]), limits)
        every = _gains(*facts, counts if len(counts) else None)
        if target > 0.0 and (every >= target).any():
            return int(np.argmax(every >= target))
        peaks[f] = every.max()
    return -1


def level_gains(
    hist, less, subtract, features, n_bins, has_missing, signs, limits, counts, base, room, totals
):
    """Add what every split of a leaf gains to the gains of the same splits of other leaves."""
    for f in features.tolist():
        if subtract:
            hist[f] -= less[f]
        n = int(n_bins[f])
        facts = (hist[f], n, bool(has_missing[f]), int(signs[f]), limits)
        every = _gains(*facts, counts if len(counts) else None)
        better = np.maximum(every - base, 0.0)
        # (0 stands for what is not on offer, which under bounds may be worth more than the leaf)
        better[every == 0.0] = 0.0
        for side in (0, 1):
            totals[f, 256 * side : 256 * side + n + 1] += better[side::2]


def partition(codes, feature, n_bins, place, begin, end, rows, sums, spare_rows, spare_sums):
    """Move the rows of a leaf that go left before the others, in order; return their number."""
    own = codes[feature, rows[begin:end]]
    left = np.where(own == n_bins, place % 2 == 0, own < place // 2)
    for array in (rows, sums):
        array[begin:end] = np.concatenate((array[begin:end][left], array[begin:end][~left]))
    return int(left.sum())


def leaf_sums(rows, starts, first, last, gradient, curvature, per_g, per_c, sums):
    """Write gradient and curvature of a range of leaves, as whole numbers of units."""
    for leaf in range(first, last):
        part = rows[starts[leaf] : starts[leaf + 1]]
        for side, values in enumerate((gradient[part] * per_g, curvature[part] * per_c)):
            sums[leaf, side] = np.rint(values).astype(np.int64).sum()


def spread(rows, starts, first, last, values, outputs):
    """Write the values of a range of leaves to their rows."""
    for leaf in range(first, last):
        outputs[rows[starts[leaf] : starts[leaf + 1]]] = values[leaf]

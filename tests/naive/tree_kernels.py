"""The kernels of ``compiled.gradient_trees`` in NumPy, as their meaning reads."""

import math

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.trees import WIDE
from crucial.types import Bools, Codes, Floats, Ints

__all__ = [
    "add_rows", "leaf_sums", "level_gains", "pack", "partition", "quantise", "scan", "spread",
]  # fmt: skip

_LOW = 0xFFFFFFFF
Limits = tuple[int, float, float, float, float, float, float, float, float]


def pack(
    codes: Codes, begin: int, end: int, by_block: NDArray[np.uint64], by_row: NDArray[np.uint64]
) -> None:
    """Write the codes of eight features per row into one word, for a range of rows, twice."""
    by_block[:, begin:end] = 0
    for f, column in enumerate(codes):
        word = column[begin:end].astype(np.uint64) << np.uint64(8 * (f % 8))
        by_block[f // 8, begin:end] |= word
    by_row[begin:end] = by_block[:, begin:end].T


def quantise(
    gradient: Floats,
    curvature: Floats,
    unit_g: float,
    unit_c: float,
    begin: int,
    end: int,
    sums: NDArray[np.int64],
) -> None:
    """Write gradient and curvature in whole units into one word, for a range of rows."""
    g, c = np.rint(gradient[begin:end] / unit_g), np.rint(curvature[begin:end] / unit_c)
    sums[begin:end] = (g.astype(np.int64) << 32) + c.astype(np.int64)


def add_rows(
    by_block: NDArray[np.uint64],
    by_row: NDArray[np.uint64],
    blocks: Ints,
    rows: NDArray[np.int32],
    sums: NDArray[np.int64],
    begin: int,
    end: int,
    whole: bool,
    near: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Write the sums per bin of the rows of a leaf, for some blocks of features."""
    for b in blocks.tolist():
        own = np.ascontiguousarray(by_row[rows[begin:end], b]).view(np.uint8).reshape(-1, 8)
        out[b] = 0
        for k in range(8):
            np.add.at(out[b], WIDE * k + own[:, k].astype(np.int64), sums[begin:end])


def _gain(g: Floats, c: Floats, l2: float, low: float, high: float) -> Floats:
    value = np.clip(g / (c + l2), low, high)
    return np.asarray(value * (2.0 * g - (c + l2) * value))


def _gains(
    h: NDArray[np.int64],
    n_bins: int,
    missing: bool,
    sign: int,
    limits: Limits,
    counts: Floats | None,
) -> Floats:
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
    hist: NDArray[np.int64],
    less: NDArray[np.int64],
    subtract: bool,
    features: Ints,
    n_bins: Ints,
    has_missing: Bools,
    signs: Ints,
    limits: Limits,
    counts: Floats,
    target: float,
    room: NDArray[np.int64],
    gains: Floats,
    bits: NDArray[np.int64],
    peaks: Floats,
) -> int:
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
    hist: NDArray[np.int64],
    less: NDArray[np.int64],
    subtract: bool,
    features: Ints,
    n_bins: Ints,
    has_missing: Bools,
    signs: Ints,
    limits: Limits,
    counts: Floats,
    base: float,
    room: NDArray[np.int64],
    totals: Floats,
) -> None:
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


def partition(
    codes: Codes,
    feature: int,
    n_bins: int,
    place: int,
    begin: int,
    end: int,
    rows: NDArray[np.int32],
    sums: NDArray[np.int64],
    spare_rows: NDArray[np.int32],
    spare_sums: NDArray[np.int64],
) -> int:
    """Move the rows of a leaf that go left before the others, in order; return their number."""
    own = codes[feature, rows[begin:end]]
    left = np.where(own == n_bins, place % 2 == 0, own < place // 2)
    for array in (rows, sums):
        array[begin:end] = np.concatenate((array[begin:end][left], array[begin:end][~left]))
    return int(left.sum())


def leaf_sums(
    rows: NDArray[np.int32],
    starts: Ints,
    first: int,
    last: int,
    gradient: Floats,
    curvature: Floats,
    per_g: float,
    per_c: float,
    sums: NDArray[np.int64],
) -> None:
    """Write gradient and curvature of a range of leaves, as whole numbers of units."""
    for leaf in range(first, last):
        part = rows[starts[leaf] : starts[leaf + 1]]
        for side, values in enumerate((gradient[part] * per_g, curvature[part] * per_c)):
            sums[leaf, side] = np.rint(values).astype(np.int64).sum()


def spread(
    rows: NDArray[np.int32], starts: Ints, first: int, last: int, values: Floats, outputs: Floats
) -> None:
    """Write the values of a range of leaves to their rows."""
    for leaf in range(first, last):
        outputs[rows[starts[leaf] : starts[leaf + 1]]] = values[leaf]

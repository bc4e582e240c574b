"""NumPy twins of ``compiled.gradient_trees``, for problems too small to be worth compiling."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["add_rows", "choose", "pack", "partition", "scan"]

_LOW = 0xFFFFFFFF
Limits = tuple[int, float, float, float, float, float, float, float, float]


def pack(codes: Codes, first_block: int, last_block: int, words: NDArray[np.uint64]) -> None:
    """Write the codes of eight features per row into one word."""
    for b in range(first_block, last_block):
        for k, column in enumerate(codes[8 * b : 8 * b + 8]):
            words[b] |= column[: words.shape[1]].astype(np.uint64) << np.uint64(8 * k)


def add_rows(
    words: NDArray[np.uint64],
    blocks: Ints,
    rows: NDArray[np.int32],
    sums: NDArray[np.int64],
    begin: int,
    end: int,
    out: NDArray[np.int64],
) -> None:
    """Write the sums per bin of the rows of a leaf, for some blocks of features."""
    for b in blocks.tolist():
        own = np.ascontiguousarray(words[b, rows[begin:end]]).view(np.uint8).reshape(-1, 8)
        out[8 * b : 8 * b + 8] = 0
        for k in range(8):
            np.add.at(out[8 * b + k], own[:, k], sums[begin:end])


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
    features: Ints,
    n_bins: Ints,
    has_missing: Bools,
    signs: Ints,
    limits: Limits,
    peaks: Floats,
) -> None:
    """Write the largest gain of every feature."""
    for f in features.tolist():
        facts = (hist[f], int(n_bins[f]), bool(has_missing[f]), int(signs[f]), limits)
        peaks[f] = _gains(*facts, None).max()


def choose(
    hist: NDArray[np.int64],
    codes: Codes,
    weight: Floats,
    rows: NDArray[np.int32],
    begin: int,
    end: int,
    n_bins: Ints,
    has_missing: Bools,
    signs: Ints,
    limits: Limits,
    tie: float,
    counted: bool,
    peaks: Floats,
) -> tuple[int, int, float]:
    """Return feature, place and gain of the best split by the tie rule; feature -1 for none."""
    total, _, unit_g, unit_c, l2, low, high, _, _ = limits
    own = np.array(unit_g * (total >> 32)), np.array(unit_c * (total & _LOW))
    base = float(_gain(*own, l2, low, high))
    verified: set[int] = set()
    part = rows[begin:end]
    while True:
        best = float(peaks.max())
        # (under monotone bounds the leaf may be worth less than the 0 of what is not on offer)
        if not best > 0.0 or not best - base > tie * best:
            return -1, -1, 0.0
        worst = best - tie * (best - base)
        f = int(np.argmax(peaks >= worst))
        counts: Floats | None = None
        if counted:
            counts = np.bincount(codes[f, part], weight[part], 256).astype(np.float64)
        gains = _gains(hist[f], int(n_bins[f]), bool(has_missing[f]), int(signs[f]), limits, counts)
        if f in verified or not counted:
            return f, int(np.argmax(gains >= worst)), best - base
        peaks[f] = gains.max()
        verified.add(f)


def partition(
    codes: Codes,
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
    own = codes[rows[begin:end]]
    left = np.where(own == n_bins, place % 2 == 0, own < place // 2)
    for array in (rows, sums):
        array[begin:end] = np.concatenate((array[begin:end][left], array[begin:end][~left]))
    return int(left.sum())

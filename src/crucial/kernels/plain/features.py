"""Searching the stumps of binned features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

__all__ = [
    "drop_bounds",
    "drops",
    "histogram",
    "slopes",
]


def histogram(
    codes: NDArray[np.unsignedinteger],
    features: Ints,
    pi: Floats,
    first: Ints,
    out: Floats,
) -> None:
    """Sum of potentials per bin, for the features asked for.

    ``out[first[f] + b]`` becomes the sum of ``pi`` over rows with code ``b`` in feature
    ``f``. One-byte codes are added up in four interleaved parts, as in ``compiled``.
    """
    n = codes.shape[1]
    parts = 4 if codes.dtype == np.uint8 else 1
    widths = first[features + 1] - first[features]
    starts = np.append(0, np.cumsum(widths))
    size = int(starts[-1])
    # All features in one count, each in its own stretch; rows are still added in their order.
    place = codes[features] + starts[:-1, None]
    place += np.arange(n) % parts * size
    values = np.broadcast_to(pi[:n], place.shape)
    table = np.bincount(place.ravel(), values.ravel(), parts * size).reshape(parts, size)
    total = table[0]
    for other in table[1:]:
        total = total + other
    out[np.arange(size) + np.repeat(first[features] - starts[:-1], widths)] = total


def slopes(
    hist: Floats,
    first: Ints,
    has_missing: NDArray[np.bool_],
    features: Ints,
    fixed_default: int,
    signed: bool,
    slope: Floats,
    peak: Floats,
) -> None:
    """Slope r of every candidate stump of the features, and the best of each feature.

    Parameters
    ----------
    hist : array of shape (first[-1],)
        Normalised potentials per bin; the last bin of a feature holds its abstentions.
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 where both are to be tried.
    signed : bool
        Whether only the largest r counts, or the largest magnitude.
    slope : array of shape (2, first[-1])  # OUT
        ``slope[d, first[f] + k]``: ones are codes of k and more, abstentions rank d.
        0 where that stump is constant or not asked for. A feature that never abstains
        has its stumps in row 0.
    peak : array of shape (n_features,)  # OUT
        At least 0.
    """
    # One row a feature, as wide as the widest; what is beyond its bins is 0 and adds nothing.
    start = first[features][:, None]
    n_bins = first[features + 1][:, None] - start - 1
    missing = has_missing[features][:, None]
    k = np.arange(int(n_bins.max(initial=0)) + 1)
    inside, ranked = k <= n_bins, k < n_bins
    at = np.where(inside, start + k, 0)
    total = np.where(ranked, hist[at], 0.0)
    total = np.cumsum(total[:, ::-1], axis=1)[:, ::-1]
    zeros = ranked & ((k > 0) | missing) & (~missing | (fixed_default != 1))
    ones = inside & (k > 0) & missing & (fixed_default != 0)
    low = np.where(zeros, total, 0.0)
    high = np.where(ones, total + hist[start + n_bins], 0.0)
    slope[0, at[inside]], slope[1, at[inside]] = low[inside], high[inside]
    if not signed:
        low, high = np.abs(low), np.abs(high)
    peak[features] = np.maximum(low.max(axis=1), high.max(axis=1)).clip(min=0.0)


def drop_bounds(
    slope: Floats,
    offered: NDArray[np.bool_],
    drift: Floats,
    wrong: Floats,
    right: Floats,
    shrink: Floats,
    fall: Floats,
    first: Ints,
    features: Ints,
    reach: Floats,
) -> None:
    """Lower bound of the Z that the stumps of the features can reach.

    ``Z = 1 - (sqrt(W+) - sqrt(W-))^2`` with ``W+ - W- = r``: it is smallest where r is as
    large and the smaller of the two weights as small as they may be. r may be off by
    ``drift``; W- and W+ were ``wrong`` and ``right`` when the feature was last scanned,
    and can since have fallen neither below ``shrink`` times that nor by more than
    ``fall``.

    Parameters
    ----------
    slope, offered, wrong, right : arrays of shape (2, first[-1])
    drift, shrink, fall : arrays of shape (n_features,)
        An infinite drift says that nothing is known.
    reach : array of shape (n_features,)  # OUT
        Infinite where the feature has no stump on offer.
    """
    for f in features:
        part = np.s_[:, first[f] : first[f + 1]]
        if np.isinf(drift[f]):
            reach[f] = -np.inf
            continue
        w = np.maximum(np.maximum(wrong[part] * shrink[f], wrong[part] - fall[f]), 0.0)
        v = np.maximum(np.maximum(right[part] * shrink[f], right[part] - fall[f]), 0.0)
        z = np.ones_like(w)
        for least, other, gain in (
            (w, v, drift[f] + slope[part]),
            (v, w, drift[f] - slope[part]),
        ):
            # A root makes 1e-8 of a rounding of 1e-16: stay clear of it.
            low = np.maximum(np.maximum(least, other - gain) - 1e-13, 0.0)
            root = np.sqrt(low + np.maximum(gain, 0.0)) - np.sqrt(low)
            z = np.where(gain > 0.0, np.minimum(z, 1.0 - root * root), z)
        reach[f] = np.where(offered[part], z, np.inf).min()


def drops(
    slope: Floats,
    offered: NDArray[np.bool_],
    snap: float,
    wrong: Floats,
    right: Floats,
    z: Floats,
) -> float:
    """Z of the stumps of a feature from their slopes and W-; the lowest.

    Parameters
    ----------
    slope, offered : arrays over the stumps
    snap : float
        Weights below are 0.
    wrong : array over the stumps
        W-  # IN and OUT
    right, z : arrays over the stumps
        W+, and Z where the stump is on offer  # OUT
    """
    wrong[wrong < snap] = 0.0
    right[:] = wrong + slope
    none_right = right < snap
    right[none_right] = 0.0
    wrong[none_right] = np.maximum(-slope[none_right], 0.0)
    z[offered] = np.maximum(1.0 - right - wrong + 2.0 * np.sqrt(right * wrong), 0.0)[offered]
    return float(z[offered].min(initial=np.inf))

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
    part = np.arange(n) % parts
    for f in features:
        a, b = first[f], first[f + 1]
        width = int(b - a)
        table = np.bincount(part * width + codes[f], pi[:n], parts * width).reshape(parts, width)
        total = table[0]
        for other in table[1:]:
            total = total + other
        out[a:b] = total


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
    for f in features:
        a, b = int(first[f]), int(first[f + 1])
        missing = bool(has_missing[f])
        slope[:, a:b] = 0.0
        total = np.cumsum(hist[a : b - 1][::-1])[::-1]
        if fixed_default != 1 or not missing:
            start = 0 if missing else 1
            slope[0, a + start : b - 1] = total[start:]
        if fixed_default != 0 and missing:
            slope[1, a + 1 : b] = np.append(total[1:], 0.0) + hist[b - 1]
        at = slope[:, a:b]
        peak[f] = max(0.0, float(at.max() if signed else np.abs(at).max()))


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

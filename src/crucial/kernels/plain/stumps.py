"""Searching the stumps of binned features."""

from __future__ import annotations

import numpy as np

from crucial.types import Bools, Codes, Floats, Ints


class FeatureSums:
    """Histograms and slopes of the same features, round after round.

    Parameters
    ----------
    codes : array of shape (n_features, n_rows)
    features : int array
        The features to scan.
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    has_missing : bool array of shape (n_features,)
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 where both are to be tried.
    """

    def __init__(
        self, codes: Codes, features: Ints, first: Ints, has_missing: Bools, fixed_default: int
    ) -> None:
        self._features = features
        self._plan_histogram(codes, features, first)
        # One row per feature, as wide as the widest; places beyond its bins are 0.
        start = first[features][:, None]
        n_bins = first[features + 1][:, None] - start - 1
        missing = has_missing[features][:, None]
        k = np.arange(int(n_bins.max(initial=0)) + 1)
        self._inside, self._ranked = k <= n_bins, k < n_bins
        self._at = np.where(self._inside, start + k, 0)
        self._absent = (start + n_bins)[:, 0]
        self._low = self._ranked & ((k > 0) | missing) & (~missing | (fixed_default != 1))
        self._high = self._inside & (k > 0) & missing & (fixed_default != 0)
        self._written = self._at[self._inside]

    def _plan_histogram(self, codes: Codes, features: Ints, first: Ints) -> None:
        """Order the rows of every feature by code: a bin is then one stretch of them."""
        place = codes[features].astype(np.int64) + first[features][:, None]
        order = np.argsort(place, axis=1, kind="stable")
        placed = np.take_along_axis(place, order, axis=1).ravel()
        self._order = order.ravel()
        begins = np.flatnonzero(np.diff(placed, prepend=-1))
        self._begins, self._filled = begins, placed[begins]
        widths = first[features + 1] - first[features]
        inside = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
        self._out = np.repeat(first[features], widths) + inside

    def histogram(self, fixed: Ints, out: Ints) -> None:
        """Write the sum of potentials per bin, both whole numbers of a unit.

        ``out[first[f] + b]`` becomes the sum of ``fixed`` over rows with code ``b`` in feature
        ``f``.
        """
        out[self._out] = 0
        if len(self._begins):
            out[self._filled] = np.add.reduceat(fixed[self._order], self._begins)

    def slopes(self, hist: Ints, factor: float, signed: bool, slope: Floats, peak: Floats) -> None:
        """Write the slope r of every candidate stump, and the best of each feature.

        Parameters
        ----------
        hist : int64 array of shape (first[-1],)
            Potentials per bin, as whole numbers of a unit.
        factor : float
            What a unit is worth.
        signed : bool
            Whether only the largest r counts, or the largest magnitude.
        slope : array of shape (2, first[-1])  # OUT
            ``slope[d, first[f] + k]``: ones are codes of k and more, abstentions rank d.
            0 where that stump is constant or has another default. A feature that never abstains
            has its stumps in row 0.
        peak : array of shape (n_features,)  # OUT
            At least 0.
        """
        values = np.where(self._ranked, hist[self._at], 0)
        total = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
        low = np.where(self._low, total * factor, 0.0)
        high = np.where(self._high, (total + hist[self._absent][:, None]) * factor, 0.0)
        slope[0, self._written], slope[1, self._written] = low[self._inside], high[self._inside]
        if not signed:
            low, high = np.abs(low), np.abs(high)
        best = np.maximum(low.max(axis=1, initial=0.0), high.max(axis=1, initial=0.0))
        peak[self._features] = best


def drop_bounds(
    slope: Floats,
    offered: Bools,
    drift: Floats,
    wrong: Floats,
    right: Floats,
    change: Floats,
    first: Ints,
    features: Ints,
    reach: Floats,
) -> None:
    """Write a lower bound of the Z that the stumps of each feature can reach.

    With ``s = W+ + W-``, ``Z = 1 - s + sqrt(s^2 - r^2)``: it is smallest where r is as large
    and s as small as they may be. r may be off by ``drift``, but by no more than W+ and W-
    are. These were ``right`` and ``wrong`` when the feature was last scanned, and ``change``
    says what the steps since then can have made of them.

    Parameters
    ----------
    slope, offered, wrong, right : arrays of shape (2, first[-1])
    drift : array of shape (n_features,)
        Infinite where nothing is known.
    change : array of shape (5, n_features)
        Of any weight W since the scan, a sum over some pairs: it is now at least
        ``change[0] W`` and ``change[2] W - change[3]``, and at most ``change[1] W`` and
        ``change[2] W + change[4]``.
    reach : array of shape (n_features,)  # OUT
        Infinite where the feature has no stump on offer.
    """
    for f in features:
        part = np.s_[:, first[f] : first[f + 1]]
        if np.isinf(drift[f]):
            reach[f] = -np.inf
            continue
        shrink, grow, scale, lost, won = change[:, f]
        w = np.maximum(wrong[part] * shrink - 1e-13, 0.0)
        v = np.maximum(right[part] * shrink - 1e-13, 0.0)
        up, down = drift[f] + slope[part], drift[f] - slope[part]
        if drift[f] > 0.0 and won < np.inf:
            # (a weight that was taken for 0 may have been a little more)
            most = right[part] + 1e-13
            up = np.minimum(up, np.minimum(most * grow, most * scale + won) - w + 1e-13)
            most = wrong[part] + 1e-13
            down = np.minimum(down, np.minimum(most * grow, most * scale + won) - v + 1e-13)
        apart = (wrong[part] + right[part]) * scale - lost - 1e-13
        largest = np.zeros_like(w)
        for other, gain in ((w, up), (v, down)):
            r = np.maximum(gain, 0.0)
            s = np.maximum(apart, 2.0 * other + r)
            drop = np.divide(
                r * r, s + np.sqrt((s - r) * (s + r)), out=np.zeros_like(r), where=r > 0
            )
            largest = np.maximum(largest, drop)
        reach[f] = np.where(offered[part], 1.0 - largest, np.inf).min()


def drops(
    slope: Floats, offered: Bools, snap: float, wrong: Floats, right: Floats, z: Floats
) -> float:
    """Write Z of the stumps of a feature from their slopes and W-; return the lowest.

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

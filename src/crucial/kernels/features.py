"""Slopes and Z of all stumps of binned features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np

from crucial.kernels.plain import features as plain
from crucial.kernels.sizes import in_all, is_small
from crucial.kernels.threads import cut_evenly, over_ranges, run_all
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["StumpSums"]

# Potentials are compared in so many blocks, whatever the number of threads: sums stay fixed.
_BLOCKS = 8


class StumpSums:
    """Sums over the ones of every stump, feature after feature.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
        Padding rows have a potential of 0.
    n_rows : int
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    has_missing : bool array of shape (n_features,)
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 where both are to be tried.
    signed : bool
        Whether only the largest slope counts, or the largest magnitude.
    threads : int

    Attributes
    ----------
    at_once : bool
        Whether a scan renews all features: in NumPy all of them cost hardly more than one.
    n_stumps : int
        Of all features and thresholds.
    drop_bounds, drops : functions
        See `crucial.kernels.plain.features`.
    """

    def __init__(
        self,
        codes: Codes,
        n_rows: int,
        first: Ints,
        has_missing: Bools,
        fixed_default: int,
        signed: bool,
        threads: int,
    ) -> None:
        n_features = len(codes)
        self._codes, self._first, self._missing = codes[:, :n_rows], first, has_missing
        self._fixed, self._signed, self._threads = fixed_default, signed, threads
        self.n_stumps = int(first[-1])
        self._hist = np.zeros(self.n_stumps, np.int64)
        self._everything = np.arange(n_features)
        self.at_once = is_small(in_all("rows", n_rows), n_features)
        self._kernels: ModuleType = plain
        if self.at_once:
            self._all_sums = plain.FeatureSums(
                self._codes, self._everything, first, has_missing, fixed_default
            )
        else:
            from crucial.kernels.compiled import features as compiled

            self._kernels = compiled
            self._before = np.zeros(codes.shape[1])
            self._words = codes.view(np.uint64) if codes.dtype == np.uint8 else None
        self.drop_bounds: Callable[..., None] = self._kernels.drop_bounds
        self.drops: Callable[..., float] = self._kernels.drops

    def drift(self, pi: Floats, scale: float, unit: float) -> float:
        """Return how far any slope can have moved since the potentials of the last call.

        Since potentials sum to 0, that is half the sum of their absolute changes; rounding to
        units moves a slope by half a unit per row.
        """
        if self.at_once:
            return np.inf
        bounds = cut_evenly(0, len(self._before), _BLOCKS)
        distance: Callable[..., float] = partial(self._kernels.distance, pi, scale, self._before)
        rounding = scale * unit * len(self._before) + 1e-15
        return 0.5 * sum(over_ranges(bounds, self._threads, distance)) + rounding

    def distance(self, pi: Floats, scale: float, before: Floats, scale_before: float) -> float:
        """Return the sum of |scale * pi - scale_before * before|, up to rounding."""
        if self.at_once:
            return float(np.abs(scale * pi - scale_before * before).sum())
        bounds = cut_evenly(0, len(pi), self._threads)
        between = self._kernels.distance_between
        call: Callable[..., float] = partial(between, pi, scale, before, scale_before)
        return sum(over_ranges(bounds, self._threads, call))

    def scan(self, features: Ints, fixed: Ints, factor: float, slope: Floats, peak: Floats) -> Ints:
        """Renew the slopes and peaks of the features; return those that were renewed.

        Parameters
        ----------
        fixed : int64 array of shape (n_padded,)
            Potentials as whole numbers of a unit, whose magnitudes add up to less than 2^63.
        factor : float
            What a unit is worth in a slope.
        slope : array of shape (2, first[-1])  # OUT
            See `crucial.kernels.plain.features.FeatureSums.slopes`.
        peak : array of shape (n_features,)  # OUT
        """
        if self.at_once:
            self._all_sums.histogram(fixed, self._hist)
            self._all_sums.slopes(self._hist, factor, self._signed, slope, peak)
            return self._everything
        scan, hist = self._scan, self._hist
        self._over(features, lambda part: scan(part, fixed, hist, factor, slope, peak))
        return features

    def histogram(self, features: Ints, fixed: Ints) -> Ints:
        """Return the sums of potentials per bin, of shape (first[-1],); 0 for other features.

        They are whole numbers: those of parts of the rows add up to those of all rows.
        """
        hist = np.zeros(self.n_stumps, np.int64)
        if self.at_once:
            self._all_sums.histogram(fixed, hist)
        else:
            self._over(features, lambda part: self._add_up(part, fixed, hist))
        return hist

    def slopes(
        self, features: Ints, hist: Ints, factor: float, slope: Floats, peak: Floats
    ) -> Ints:
        """Do as `scan` does, from a histogram, which may be the sum of those of several parts."""
        if self.at_once:
            self._all_sums.slopes(hist, factor, self._signed, slope, peak)
            return self._everything
        inputs = (self._first, self._missing, features, self._fixed, self._signed)
        self._kernels.slopes(hist, factor, *inputs, slope, peak)
        return features

    def _over(self, features: Ints, call: Callable[[Ints], None]) -> None:
        """Call a function of one feature, or of two neighbours of one-byte codes, on threads."""
        step = 1 if self._words is None else 2
        parts = [features[i : i + step] for i in range(0, len(features), step)]
        run_all(self._threads, [partial(call, part) for part in parts])

    def _add_up(self, features: Ints, fixed: Ints, hist: Ints) -> None:
        """Write the histograms of one feature, or of two of one-byte codes."""
        one, two, first = int(features[0]), int(features[-1]), self._first
        if self._words is None:
            own = hist[first[one] : first[one + 1]]
            self._kernels.histogram_wide(self._codes[one], fixed, own)
        else:
            self._kernels.histogram8(self._words, one, two, fixed, first, hist)

    def _scan(
        self,
        features: Ints,
        fixed: Ints,
        hist: Ints,
        factor: float,
        slope: Floats,
        peak: Floats,
    ) -> None:
        self._add_up(features, fixed, hist)
        self.slopes(features, hist, factor, slope, peak)

"""Criteria of all splits of the cells of a tree, one scan of the binned features per level."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import cut_evenly, over_ranges
from crucial.types import Bools, Bytes, Codes, Floats, Ints

__all__ = ["SplitSums"]


class SplitSums:
    """Criteria of splits; see `crucial.kernels.compiled.splits` for the arrays.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
    n_bins : int array of shape (n_features,)
    threads : int
    learned : bool
        Whether abstentions may go to either side; else they are below every threshold.
    """

    def __init__(self, codes: Codes, n_bins: Ints, threads: int = 1, learned: bool = True) -> None:
        self._codes, self._n_bins, self._threads = codes, n_bins, threads
        self._learned = learned

    def peaks(
        self,
        rows: NDArray[np.uint32],
        starts: Ints,
        good: Bytes,
        weight: Floats,
        scale: Floats,
        features: Ints,
        gini: bool,
    ) -> Floats:
        """Return the largest criterion per cell and slot of its features."""
        from crucial.kernels.compiled import splits

        n_slots = features.shape[1]
        peak = np.zeros(features.shape)
        inputs = (self._codes, self._n_bins, rows, starts, good, weight, scale, features)
        work = partial(splits.peaks, *inputs, gini, self._learned)
        bounds = cut_evenly(0, n_slots, max(1, min(self._threads, n_slots)))
        over_ranges(bounds, self._threads, lambda begin, end: work(begin, end, peak))
        return peak

    def places(
        self,
        rows: NDArray[np.uint32],
        starts: Ints,
        good: Bytes,
        weight: Floats,
        scale: Floats,
        chosen: Ints,
        least: Floats,
        gini: bool,
    ) -> tuple[Ints, Bools, Bools]:
        """Return place, side and side of abstentions of the first split that reaches ``least``."""
        from crucial.kernels.compiled import splits

        place = np.zeros(len(chosen), np.int64)
        above, missing = np.zeros(len(chosen), bool), np.zeros(len(chosen), bool)
        inputs = (self._codes, self._n_bins, rows, starts, good, weight, scale)
        splits.places(*inputs, chosen, least, gini, self._learned, place, above, missing)
        return place, above, missing

"""Searching stumps that predict many labels at once."""

from __future__ import annotations

import numpy as np

from crucial.kernels.threads import cut_evenly, over_ranges
from crucial.types import Codes, Floats, Ints

__all__ = ["LabelSums"]


class LabelSums:
    """Weights of right and wrong labels, and how well thresholds part them.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_rows)
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    n_labels : int
    threads : int
    """

    def __init__(self, codes: Codes, first: Ints, n_labels: int, threads: int) -> None:
        self._codes, self._first, self._n_labels = codes, first, n_labels
        self._threads, self._parts = threads, min(len(codes), 4 * threads)

    def _empty(self, feature: int) -> Floats:
        return np.empty((self._first[feature + 1] - self._first[feature], 2 * self._n_labels))

    def histogram(self, feature: int, pi: Floats) -> Floats:
        """Return the weight of right and of wrong labels of a feature, by bin and label.

        ``hist`` of `crucial.kernels.compiled.labels.label_histogram`.
        """
        from crucial.kernels.compiled.labels import label_histogram

        hist = self._empty(feature)
        label_histogram(self._codes[feature], pi, hist)
        return hist

    def criteria(self, pi: Floats, discrete: bool, out: Floats) -> None:
        """Write how well every threshold of every feature parts right labels from wrong ones.

        ``out[first[f] + k]`` becomes ``out[k]`` of
        `crucial.kernels.compiled.labels.label_criteria` for feature f.
        """
        from crucial.kernels.compiled.labels import label_criteria

        first = self._first

        def scan(begin: int, end: int) -> None:
            for f in range(begin, end):
                part = out[first[f] : first[f + 1] - 1]
                label_criteria(self._codes[f], pi, discrete, self._empty(f), part)

        over_ranges(cut_evenly(0, len(self._codes), self._parts), self._threads, scan)

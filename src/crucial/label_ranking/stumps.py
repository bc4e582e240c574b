"""Search the stump whose predictions for all labels lower the loss most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crucial.boosting.stump_search import SNAP, first_best
from crucial.data.bins import Bins
from crucial.kernels.stumps import LabelSums
from crucial.types import Floats, Ints

__all__ = ["LabelStumpSearch", "PartedRows"]


# Added to a factor, so that rounding near 1 stays below the tolerance of ties.
_FLOOR = 1e-5


@dataclass(frozen=True, eq=False)
class PartedRows:
    """A chosen stump, and the rows by its three parts: abstentions, low and high values.

    Attributes
    ----------
    feature : int
        Column of the feature in the input.
    threshold : float or None
    part : int array of shape (n_rows,)
        0 for abstentions, 1 up to the threshold, 2 above it.
    right, wrong : arrays of shape (3, n_labels)
        W+ and W- of every part and label.
    """

    feature: int
    threshold: float | None
    part: Ints
    right: Floats
    wrong: Floats


class LabelStumpSearch:
    """Search of every threshold of every feature: O(n x features x labels).

    Parameters
    ----------
    bins : Bins
    n_labels : int
    discrete : bool
        Whether predictions are 1 or -1 times one weight, or real numbers.
    threads : int
    """

    def __init__(self, bins: Bins, n_labels: int, discrete: bool, threads: int) -> None:
        self._bins, self._discrete = bins, discrete
        self._first = bins.first
        self._n_labels = n_labels
        self._criterion = np.zeros(int(self._first[-1]))
        self._offered = np.ones(len(self._criterion), bool)
        for f, missing in enumerate(bins.has_missing):
            self._offered[self._first[f]] = missing  # (all values against abstentions)
            self._offered[self._first[f + 1] - 1] = False
        self._sums = LabelSums(bins.codes[:, : bins.n_rows], self._first, n_labels, threads)

    def best(self, pi: Floats, factor: Callable[[Floats], Floats]) -> PartedRows | None:
        """Return the best stump for these weights; None if none lowers the loss.

        Parameters
        ----------
        pi : array of shape (n_rows, n_labels)
            Weights of right labels and, negative, of wrong ones.
        factor : function
            Factor by which real predictions change the loss, from their criterion.
        """
        if not len(self._bins.features):
            return None
        self._sums.criteria(pi, self._discrete, self._criterion)
        if self._discrete:
            value = np.where(self._offered, self._criterion, 0.0)
        else:
            z = np.where(self._offered, factor(self._criterion), 1.0)
            # The tie rule takes the largest; equal Z are equal here.
            value = np.where(z < 1.0 - SNAP, 1.0 / (z + _FLOOR), 0.0)
        at = first_best(value, np.ones(len(value)))
        return None if at is None else self._parted(at, pi)

    def _parted(self, position: int, pi: Floats) -> PartedRows:
        """Return the stump at a position of the criterion, with its rows and their weights."""
        f = int(np.searchsorted(self._first, position, "right")) - 1
        k = position - int(self._first[f])
        n_bins = int(self._first[f + 1] - self._first[f]) - 1
        codes = self._bins.codes[f, : self._bins.n_rows]
        hist = self._sums.histogram(f, pi)
        parts = np.array([hist[n_bins], hist[:k].sum(axis=0), hist[k:n_bins].sum(axis=0)])
        part = np.where(codes == n_bins, 0, np.where(codes >= k, 2, 1))
        threshold = None if k == 0 else float(self._bins.thresholds[f][k - 1])
        right, wrong = parts[:, : self._n_labels], parts[:, self._n_labels :]
        return PartedRows(int(self._bins.features[f]), threshold, part, right, wrong)

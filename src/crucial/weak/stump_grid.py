"""All stumps over binned features, by number."""

from __future__ import annotations

import numpy as np

from crucial.data.bins import Bins
from crucial.model.weak import Presence, Stump
from crucial.types import Bools, Bytes

__all__ = ["StumpGrid"]


class StumpGrid:
    """The stumps of every feature, threshold and rank of abstentions.

    A stump at ``position = first[f] + k`` is 1 where the code of feature f is k or more; it
    ranks abstentions at ``default``. Its number is ``2 * position + default``, so that
    numbers rise by feature, threshold and default.

    Parameters
    ----------
    bins : Bins
    default_rank : {"learned", 0, 1}
        Rank of abstentions; "learned" offers both.

    Attributes
    ----------
    first : int array of shape (n_features + 1,)
        Position of the first stump of every feature.
    fixed : int
        The one rank of abstentions, or -1 for both.
    """

    def __init__(self, bins: Bins, default_rank: str | int) -> None:
        self.bins, self.first = bins, bins.first
        self.fixed = -1 if default_rank == "learned" else int(default_rank)

    def offered(self) -> Bools:
        """Return which stumps are not constant and have the default: shape (2, first[-1])."""
        offered = np.zeros((2, int(self.first[-1])), bool)
        for f in range(len(self.bins.has_missing)):
            offered[:, self.first[f] : self.first[f + 1]] = self.offered_of(f)
        return offered

    def offered_of(self, feature: int) -> Bools:
        """Return the same for the stumps of one feature: shape (2, n_bins + 1)."""
        missing = bool(self.bins.has_missing[feature])
        offered = np.zeros((2, int(self.first[feature + 1] - self.first[feature])), bool)
        offered[0, 0 if missing else 1 : -1] = not missing or self.fixed != 1
        offered[1, 1:] = missing and self.fixed != 0
        return offered

    def where(self, position: int) -> tuple[int, int]:
        """Return the feature of a position, among those binned, and k."""
        feature = int(np.searchsorted(self.first, position, "right")) - 1
        return feature, position - int(self.first[feature])

    def output(self, position: int, default: int) -> Bytes:
        """Return the scores of a stump on the rows."""
        feature, k = self.where(position)
        codes = self.bins.column(feature)[: self.bins.n_rows]
        ones = codes >= k
        if not default and self.bins.has_missing[feature]:
            ones &= codes != len(self.bins.thresholds[feature]) + 1
        return ones.view(np.uint8)

    def shown_default(self, feature: int, default: int) -> int:
        """Return the rank of abstentions that a model states; free where there are none."""
        return default if self.bins.has_missing[feature] else max(self.fixed, 0)

    def ranker(self, position: int, default: int) -> Stump | Presence:
        """Return a stump as it goes into a model."""
        feature, k = self.where(position)
        number, thresholds = int(self.bins.features[feature]), self.bins.thresholds[feature]
        if k in (0, len(thresholds) + 1):
            return Presence(number, default)
        return Stump(number, float(thresholds[k - 1]), self.shown_default(feature, default))

    def find(self, ranker: Stump | Presence) -> tuple[int, int]:
        """Return the position and default of a stump of a model."""
        feature = int(np.searchsorted(self.bins.features, ranker.feature))
        thresholds = self.bins.thresholds[feature]
        if isinstance(ranker, Presence):
            k = 0 if ranker.default == 0 else len(thresholds) + 1
        else:
            k = int(np.searchsorted(thresholds, ranker.threshold)) + 1
        default = ranker.default if self.bins.has_missing[feature] else 0
        return int(self.first[feature]) + k, default

"""The best tree of two levels, by trying every pair of splits.

A box is split by a first test, and both halves by one test each, so that the sum of the positive
surpluses of the four parts is largest; the surplus of a part is TPR - FPR of its rows. Greedy
trees can miss it: the best first test alone need not be the first of the best two levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.stump_search import NOISE, TIE
from crucial.trees.scan import NodeRows
from crucial.types import Bools, Floats, Ints

__all__ = ["Cut", "TwoLevels", "best_two_levels"]


@dataclass(frozen=True)
class Cut:
    """A test on the bins of one feature.

    Attributes
    ----------
    slot : int
        The feature among those of the bins.
    place : int
        Codes from this one on are above.
    missing : bool
        Whether abstentions are above.
    """

    slot: int
    place: int
    missing: bool

    def above(self, rows: NodeRows, places: NDArray[np.uint32]) -> Bools:
        """Return which rows are above."""
        codes = rows.bins.codes[self.slot, places]
        absent = codes == rows.bins.n_bins[self.slot]
        return np.where(absent, self.missing, codes >= self.place)


@dataclass(frozen=True)
class TwoLevels:
    """The best tests of a box; None where a half is better left whole.

    Attributes
    ----------
    first : Cut
    above, below : Cut or None
    """

    first: Cut
    above: Cut | None
    below: Cut | None


@dataclass
class _Half:
    """The best test of one half, for every first test of one feature.

    Attributes
    ----------
    gain : array of shape (2, n_bins)
        By the side of abstentions (below, above) and the place of the first test.
    whole : array like gain
        The gain of the half without a test.
    cut : int array of shape (2, n_bins, 3)
        Slot, place and side of abstentions; slot -1 where there is no test.
    """

    gain: Floats
    whole: Floats
    cut: Ints

    @classmethod
    def of(cls, surplus: Floats) -> _Half:
        whole = np.maximum(surplus, 0.0)
        return cls(whole.copy(), whole, np.full((*surplus.shape, 3), -1, np.int64))

    def try_feature(self, table: Floats, slot: int, bins: int, learned: bool) -> None:
        """Look at all tests of a feature; ``table`` has the surplus per code in the last axis."""
        absent = table[..., bins]
        up = np.cumsum(table[..., :bins][..., ::-1], axis=-1)[..., ::-1]
        total = up[..., :1] + absent[..., None]
        # In the order of thresholds, and abstentions below before above.
        other = up + absent[..., None] if learned else up  # (the same again never wins)
        both = np.stack([up, other], axis=-1).reshape(*up.shape[:-1], -1)
        gain = np.maximum(both, 0.0) + np.maximum(total - both, 0.0)
        best = gain.max(axis=-1)
        at = np.argmax(gain >= best[..., None] * (1 - TIE), axis=-1)
        better = best > self.gain + TIE * np.maximum(self.gain, 1e-4)
        self.gain[better] = best[better]
        self.cut[better] = np.stack([np.full_like(at, slot), at // 2, at % 2], axis=-1)[better]

    def found(self, missing: int, place: int) -> Cut | None:
        """Return the test for one first test."""
        slot, at, side = self.cut[missing, place].tolist()
        return None if slot < 0 else Cut(slot, at, bool(side))


def best_two_levels(
    rows: NodeRows, places: NDArray[np.uint32], surplus: Floats, slots: Ints
) -> TwoLevels | None:
    """Return the best tests of a box, the first of equal ones; None if no test gains anything.

    Parameters
    ----------
    rows : TreeRows
    places : uint32 array
        The rows of the box.
    surplus : array like ``places``
        What each row adds to TPR - FPR of its part: positive for good rows.
    slots : int array
        The features to try, ascending.
    """
    codes = rows.bins.codes[:, places].astype(np.int64)
    n_bins = rows.bins.n_bins
    best, found = max(float(surplus.sum()), 0.0) + NOISE, None
    for slot in slots.tolist():
        bins = int(n_bins[slot])
        single = np.bincount(codes[slot], surplus, bins + 1)
        up = np.cumsum(single[:bins][::-1])[::-1]
        above = np.stack([up, up + single[bins]])
        halves = (_Half.of(above), _Half.of(float(surplus.sum()) - above))
        for other in slots.tolist():
            width = int(n_bins[other]) + 1
            at = codes[slot] * width + codes[other]
            table = np.bincount(at, surplus, (bins + 1) * width).reshape(bins + 1, width)
            rising = np.cumsum(table[:bins][::-1], axis=0)[::-1]
            sides = np.stack([rising, rising + table[bins]])
            halves[0].try_feature(sides, other, width - 1, rows.learned)
            halves[1].try_feature(table.sum(axis=0) - sides, other, width - 1, rows.learned)
        # In the order of thresholds, and abstentions below before above.
        total = halves[0].gain + halves[1].gain
        if not rows.learned:
            total[1] = total[0]
        gain = total.T.ravel()
        if gain.max() > best + TIE * max(best, 1e-4):
            best = float(gain.max())
            place, missing = divmod(int(np.argmax(gain >= best * (1 - TIE))), 2)
            first = Cut(slot, place, bool(missing))
            found = TwoLevels(first, *(half.found(missing, place) for half in halves))
    return found

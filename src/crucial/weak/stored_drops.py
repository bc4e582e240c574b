"""What earlier scans of sparse features say about the Z that their stumps can reach now."""

from __future__ import annotations

import numpy as np

from crucial.feedback.potentials import Potentials
from crucial.kernels.elementary import exp, expm1
from crucial.kernels.stored import StoredSums
from crucial.types import Floats, Ints, Singles

__all__ = ["PartedPairs"]

# Features whose stumps are remembered, and numbers for all of them at most.
_SLOTS, _NUMBERS = 4000, 4_000_000
# What is known of weights is dropped when they may have grown by this factor since.
_LARGEST = 1e6


class PartedPairs:
    """The weight of the pairs that stumps part, ``W+ + W-``, when their feature was last scanned.

    No step takes more from the weight of any pairs than is known, so that it bounds Z.

    Parameters
    ----------
    n_features : int
    widest : int
        Most stumps of a feature, for one rank of abstentions.

    Attributes
    ----------
    slot : int array over the features
        -1 where nothing is known.
    apart : float32 array of shape (n_slots, 2, widest)
    """

    def __init__(self, n_features: int, widest: int) -> None:
        self.slot = np.full(n_features, -1)
        n_slots = max(1, min(_SLOTS, _NUMBERS // (2 * widest), n_features))
        self.apart: Singles = np.zeros((n_slots, 2, widest), np.float32)
        self._change = np.zeros((2, n_slots))
        self._used = 0

    @property
    def slots(self) -> tuple[Ints, Singles]:
        """Slot of every feature, and what the stumps of each slot part."""
        return self.slot, self.apart

    def scanned(self, features: Ints) -> None:
        """Give features that are about to be scanned a slot, as long as there are some."""
        new = features[self.slot[features] < 0][: len(self.apart) - self._used]
        self.slot[new] = self._used + np.arange(len(new))
        self._used += len(new)
        known = self.slot[features]
        self._change[:, known[known >= 0]] = [[1.0], [0.0]]

    def forget(self) -> None:
        """Drop everything: other pairs count from now on."""
        self._change[:] = 0.0

    def stepped(self, weights: tuple[float, float], alpha: float) -> None:
        """Widen the bounds by what a step can have taken from any weight."""
        right, wrong = weights
        tied = max(0.0, 1.0 - right - wrong)
        z = right * exp(-alpha) + tied + wrong * exp(alpha)
        lost = -expm1(-abs(alpha)) * (right if alpha > 0.0 else wrong)
        scale, taken = self._change
        scale /= z
        taken[:] = (taken + lost) / z * (1.0 + 1e-12) + 1e-15
        scale *= 1.0 - 1e-12
        scale[scale > _LARGEST] = 0.0

    def bound(
        self,
        sums: StoredSums,
        features: Ints,
        potentials: Potentials,
        sign: Floats,
        signed: bool,
        reach: Floats,
    ) -> None:
        """Lower the bounds on 1 - Z of features that were scanned before."""
        known = features[self.slot[features] >= 0]
        if len(known):
            rules = (potentials.fixed, potentials.factor, sign, signed, self.slots, self._change)
            sums.drop_bounds(known, *rules, reach)

"""Splits of a leaf, and what its children must respect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crucial.types import Floats

__all__ = ["CHUNK", "NEAR", "NO_COUNTS", "NO_SPLIT", "TIE", "WIDE", "LeafLimits", "LeafSplit"]

#: Gains that agree to this share of what the leaf is worth are equal: sums have 32 bits, so that
#: a row twice and a row of weight 2 may differ in the eighth digit.
TIE = 1e-6

NO_COUNTS = np.zeros(0)

#: Rows whose words stay in the second cache.
CHUNK = 2048
#: Words from one block to the next, and sums from one feature to the next: no powers of two,
#: which would put all of them into the same few places of the cache.
NEAR, WIDE = CHUNK + 8, 264


@dataclass(frozen=True, eq=False)
class LeafSplit:
    """A split of a leaf.

    Attributes
    ----------
    feature : int
        -1 if there is none.
    gain : float
        What it takes off the quadratic loss, twice.
    least : float
        Its place is the first whose children are worth as much.
    counts : float64 array
        Weight of the rows of the leaf per bin, where the least weight of a leaf decides about
        the place; else empty.
    """

    feature: int
    gain: float
    least: float
    counts: Floats


NO_SPLIT = LeafSplit(-1, 0.0, 0.0, NO_COUNTS)


class LeafLimits(NamedTuple):
    """What the children of a leaf must respect.

    Attributes
    ----------
    total : int
        Sum of gradient and curvature over the rows of the leaf, in one word.
    weight : float
        Summed weight of the rows.
    unit_gradient, unit_curvature : float
        What 1 stands for in either half of the word.
    l2 : float
        Added to the curvature of a leaf.
    low, high : float
        Bounds on the values of the children, from monotone splits above.
    least_curvature, least_weight : float
        What either child must have.
    """

    total: int
    weight: float
    unit_gradient: float
    unit_curvature: float
    l2: float
    low: float
    high: float
    least_curvature: float
    least_weight: float

    @property
    def numbers(self) -> tuple[int, float, float, float, float, float, float, float, float]:
        """The numbers in the order in which kernels take them."""
        return (
            self.total, self.weight, self.unit_gradient, self.unit_curvature, self.l2, self.low,
            self.high, self.least_curvature, self.least_weight,
        )  # fmt: skip

    @property
    def gradient(self) -> float:
        """Summed gradient of the rows."""
        return self.unit_gradient * (self.total >> 32)

    @property
    def curvature(self) -> float:
        """Summed curvature of the rows."""
        return self.unit_curvature * (self.total & 0xFFFFFFFF)

    @property
    def value(self) -> float:
        """The best value of the leaf within its bounds."""
        return min(max(self.gradient / (self.curvature + self.l2), self.low), self.high)

    @property
    def gain(self) -> float:
        """Twice the drop of the quadratic loss at the best value."""
        value = self.value
        return value * (2.0 * self.gradient - (self.curvature + self.l2) * value)

    @property
    def too_small(self) -> bool:
        """Whether no split can leave enough on both sides."""
        return self.curvature < 2 * self.least_curvature or self.weight < 2 * self.least_weight

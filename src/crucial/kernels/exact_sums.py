"""Sums of floats without rounding: the same bytes for any order, and for any cut into parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from crucial.kernels.plain import exact_sums as plain
from crucial.kernels.sizes import is_small
from crucial.kernels.threads import cut_evenly, run_all
from crucial.types import Floats

__all__ = ["ExactSum", "exact_dot", "exact_sum"]

# Every finite double is a whole number of these: the smallest positive one is 2^-1074.
_UNITS_IN_ONE = 1 << 1074
# Numbers of 32 bits that hold any sum of doubles, with their sign.
_LIMBS = 68
# Up to so many, Python adds up faster than NumPy.
_FSUM = 600


@dataclass(frozen=True, slots=True)
class ExactSum:
    """A sum of floats that has not been rounded.

    Every finite float64 is a whole number of the smallest positive one, so that sums of them are
    sums of whole numbers (the long accumulator of Kulisch): they do not depend on the order, nor
    on which parts were added up first.

    Attributes
    ----------
    units : int
        The sum of the finite terms, as a multiple of ``2 ** -1074``.
    infinite : float
        The sum of the terms that are not finite, 0 if there is none.

    Examples
    --------
    >>> ExactSum.of(np.array([1e16, 1.0, -1e16])).value
    1.0
    >>> parts = ExactSum.of(np.array([1e16, 1.0])) + ExactSum.of(np.array([-1e16]))
    >>> parts == ExactSum.of(np.array([1e16, 1.0, -1e16]))
    True
    """

    units: int = 0
    infinite: float = 0.0

    @classmethod
    def of(cls, values: Floats, threads: int = 1, among: int = 0) -> ExactSum:
        """Return the sum of an array.

        Parameters
        ----------
        among : int
            Rows of the problem that the array is from: if they are many, compiled kernels are
            loaded anyhow, and are faster for a few rows as well.
        """
        values = np.ravel(np.asarray(values, np.float64))
        if is_small(max(among, len(values))):
            return cls(*plain.exact_units(values))
        if threads == 1:
            return cls(*_of_many(values))
        bounds = cut_evenly(0, len(values), threads)
        parts = [values[a:b] for a, b in pairwise(bounds)]
        sums = run_all(threads, [partial(_of_many, part) for part in parts])
        return sum((cls(*one) for one in sums), cls())

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.units + other.units, self.infinite + other.infinite)

    def merge(self, other: ExactSum) -> ExactSum:
        """Return the sum of the terms of both."""
        return self + other

    @property
    def value(self) -> float:
        """The sum, rounded once: the float nearest to it."""
        if self.infinite != 0.0:  # (NaN as well)
            return self.infinite
        try:
            return self.units / _UNITS_IN_ONE
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def _of_many(values: Floats) -> tuple[int, float]:
    from crucial.kernels.compiled.exact_sums import exact_limbs

    limbs = np.zeros(_LIMBS, np.int64)
    infinite = exact_limbs(values, limbs)
    return int.from_bytes(limbs.astype("<u4").tobytes(), "little", signed=True), infinite


def exact_sum(values: Floats, threads: int = 1) -> float:
    """Return the sum of an array, rounded once, as ``math.fsum`` does.

    >>> exact_sum(np.full(10, 0.1))
    1.0
    """
    if values.size <= _FSUM:
        try:
            return math.fsum(values.ravel().tolist())
        except (OverflowError, ValueError):  # (on the way, or infinities of both signs)
            pass
    return ExactSum.of(values, threads).value


def exact_dot(one: Floats, other: Floats, threads: int = 1) -> float:
    """Return the sum of products, each rounded, and their sum rounded once.

    >>> exact_dot(np.array([1e16, 1.0, -1e16]), np.ones(3))
    1.0
    """
    return exact_sum(one * other, threads)

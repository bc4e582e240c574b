"""Sums and random numbers that depend neither on the order of the rows nor on threads and parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError
from crucial.kernels.elementary import log2
from crucial.kernels.plain import pairs as plain
from crucial.kernels.runtime import cut_evenly, cut_lists, is_small, over_ranges, run_all
from crucial.types import Floats, Ints

# --- Sums of floats without rounding: the same bytes for any order, and for any cut into parts


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
    from crucial.kernels.compiled.sums import exact_limbs

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


# --- Floats as whole numbers of a unit: their sums are exact, at any cut and in any order


# Numbers that add up to the whole, with their signs or without, make at most 2^59 units.
_BITS = 59
# A unit stays in use while they make no more than 2^62 units, and no fewer than 2^52.
_MOST, _FEWEST = 62, 52
# Units are powers of two whose inverses are floats as well.
_LARGEST_EXPONENT = 1000


def _exponent(whole: float) -> int:
    """Return the exponent of the lowest power of two that is not below a positive number."""
    fraction, exponent = math.frexp(whole)
    return exponent - 1 if fraction == 0.5 else exponent


def unit_for(whole: float) -> float:
    """Return a unit for numbers whose magnitudes add up to at most ``whole``.

    Rounding to it costs a number less than ``2 ** -59`` of the whole.

    Examples
    --------
    >>> unit_for(1.0) == 2.0**-59
    True
    >>> unit_for(0.0)
    1.0
    """
    if not 0.0 < whole < math.inf:
        return 1.0
    exponent = _exponent(whole) - _BITS
    return math.ldexp(1.0, min(max(exponent, -_LARGEST_EXPONENT), _LARGEST_EXPONENT))


def round_unit(before: float | None, now: float) -> float:
    """Return the unit of a round, which mostly follows from the round before.

    So those who add up parts of the numbers of a round can begin before its whole is known.

    Parameters
    ----------
    before : float or None
        What the magnitudes added up to, at most, in the round before.
    now : float
        The same in this round: `unit_for` gives the unit where the one from the round before is
        too coarse or too fine for it.

    Examples
    --------
    >>> round_unit(8.0, 7.0) == unit_for(8.0)
    True
    >>> round_unit(8.0, 1000.0) == round_unit(None, 1000.0) == unit_for(1000.0)
    True
    """
    if before is not None and 0.0 < before < math.inf and 0.0 < now < math.inf:
        unit = unit_for(before)
        if _FEWEST <= log2(now / unit) <= _MOST:
            return unit
    return unit_for(now)


def to_fixed(values: Floats, unit: float, threads: int = 1, out: Ints | None = None) -> Ints:
    """Return every number as the nearest whole number of units, ties to the even one.

    Parameters
    ----------
    values : float64 array
    unit : float
    threads : int
    out : int64 array of the same length, optional
        Where to write them.

    Raises
    ------
    DataError
        Where the magnitudes do not add up to less than 2^63 units.

    Examples
    --------
    >>> to_fixed(np.array([0.75, -2.0, 0.0]), 0.5).tolist()
    [2, -4, 0]
    """
    out = np.empty(len(values), np.int64) if out is None else out
    if is_small(len(values)):
        size = plain.fill_fixed(values, 1.0 / unit, 0, len(values), out)
    else:
        from crucial.kernels.compiled.sums import fill_fixed

        bounds = cut_evenly(0, len(values), threads)

        def fill(begin: int, end: int) -> float:
            return float(fill_fixed(values, 1.0 / unit, begin, end, out))

        size = sum(over_ranges(bounds, threads, fill))
    if not size < 2.0**63:
        raise DataError(
            "potentials are larger than their scale says: scale * pi must belong to pair weights "
            f"that sum to 1, so that its magnitudes add up to 2 at most. They make {size:.3g} "
            f"units of {unit:.3g}."
        )
    return out


# --- Random numbers that depend on a seed, the round, the query and the row, and on nothing else
#
# Each number is a hash of its place (SplitMix64, Steele, Lea & Flood 2014), so that threads, the
# order of the queries and earlier rounds change nothing.


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_A, _B, _C = np.uint64(30), np.uint64(27), np.uint64(31)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of every number (the finaliser of SplitMix64)."""
    z = (values ^ (values >> _A)) * _FIRST
    z = (z ^ (z >> _B)) * _SECOND
    return z ^ (z >> _C)


class QueryNoise:
    """Uniform numbers for the rows of queries, anew in every round.

    Parameters
    ----------
    seed : int
    numbers : int array of shape (n_queries,)
        A number of its own for each query.
    row_start : int array of shape (n_queries + 1,)
    threads : int

    Examples
    --------
    >>> noise = QueryNoise(0, np.array([5]), np.array([0, 3]), 1)
    >>> bool(((noise.uniforms(1) >= 0) & (noise.uniforms(1) < 1)).all())
    True
    >>> bool((noise.uniforms(1) == noise.uniforms(2)).any())
    False
    """

    def __init__(self, seed: int, numbers: Ints, row_start: Ints, threads: int) -> None:
        self._seed, self._numbers = seed, numbers
        self._row_start, self._threads = row_start, threads
        self._bounds = cut_lists(row_start, threads)

    def keys(self, number: int) -> NDArray[np.uint64]:
        """Return the key of every query in a round."""
        first = _mix(np.array([self._seed % 2**64], np.uint64) + _GOLDEN)
        second = _mix(first + _GOLDEN * np.array([number + 1], np.uint64))
        return _mix(second + _GOLDEN * (self._numbers.astype(np.uint64) + np.uint64(1)))

    def uniforms(self, number: int) -> Floats:
        """Return one number in [0, 1) per row for a round."""
        from crucial.kernels.compiled.sums import uniforms

        out = np.empty(int(self._row_start[-1]))
        keys = self.keys(number)

        def fill(begin: int, end: int) -> None:
            with np.errstate(over="ignore"):  # (without the JIT, NumPy warns of wrapping around)
                uniforms(keys, self._row_start, begin, end, out)

        over_ranges(self._bounds, self._threads, fill)
        return out

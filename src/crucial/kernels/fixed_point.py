"""Floats as whole numbers of a unit: their sums are exact, at any cut and in any order."""

from __future__ import annotations

import math

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import log2
from crucial.kernels.plain import fixed_point as plain
from crucial.kernels.sizes import is_small
from crucial.kernels.threads import cut_evenly, over_ranges
from crucial.types import Floats, Ints

__all__ = ["round_unit", "to_fixed", "unit_for"]

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
        from crucial.kernels.compiled.fixed_point import fill_fixed

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

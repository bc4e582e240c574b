"""Sums of floats without rounding; twin in ``plain.exact_sums``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["exact_limbs"]

# So many significands of 53 bits fit into 63 bits.
_TOGETHER = 1023
_LIMB, _PLACES = 32, 2048
# So many whole numbers of 42 bits fit into the significand of a float.
_MANY = 1024
_FEW = 64
_SIZE = np.int64((1 << 63) - 1)


@kernel
def exact_limbs(values, limbs):
    """Add floats to a whole number; return the sum of those that are not finite.

    Parameters
    ----------
    limbs : int64 array  # IN and OUT
        The number in units of 2^-1074, from its lowest 32 bits up. All limbs but the last are
        within [0, 2^32).
    """
    infinite = 0.0
    sums = np.zeros(_PLACES, np.int64)
    high = np.empty(_MANY)
    low = np.empty(_MANY)
    few = np.empty(2 * _FEW)
    n_few = 0
    for begin in range(0, len(values), _MANY):
        end = min(begin + _MANY, len(values))
        if _halves(values, begin, end, high, low):
            few[n_few] = high[0]
            few[n_few + 1] = low[0]
            n_few += 2
        else:
            infinite += _add_limbs(values, begin, end, sums, limbs)
        if n_few == len(few):
            _add_limbs(few, 0, n_few, sums, limbs)
            n_few = 0
    _add_limbs(few, 0, n_few, sums, limbs)
    return infinite


@kernel
def _halves(values, begin, end, high, low):
    """Write two floats whose sum is that of some floats; return whether that was possible.

    Adding a large number and subtracting it again rounds a float to a multiple of a unit (Rump,
    Ogita & Oishi 2008). The upper halves of floats, which are whole numbers of 42 bits then, have
    sums without rounding in any order, and so have the rests, if they are as short.
    """
    bits = values.view(np.int64)
    n = np.uint64(end - begin)
    first = np.uint64(begin)
    top = np.int64(0)
    for i in range(n):
        top = max(top, bits[first + i] & _SIZE)
    exponent = (top >> 52) - 1023
    if exponent < -800 or exponent > 900:  # (or not finite)
        return False
    # 1.5 * 2^52 units, where 2^42 of them are above all floats
    large = 1.5 * _power(exponent + 11)
    small = large * _power(-42)
    left = np.int64(0)
    for i in range(n):
        x = values[first + i]
        upper = (x + large) - large
        rest = x - upper
        lower = (rest + small) - small
        high[i] = upper
        low[i] = lower
        left |= np.int64(rest != lower)
    for i in range(n, np.uint64(_MANY)):
        high[i] = 0.0
        low[i] = 0.0
    width = np.uint64(_MANY // 2)
    while width > 0:
        for i in range(width):
            high[i] += high[i + width]
            low[i] += low[i + width]
        width >>= np.uint64(1)
    return left == 0


@kernel
def _power(exponent):
    """Return 2 to the power of a whole number within the exponents of floats."""
    return np.int64((exponent + 1023) << 52).view(np.float64)


@kernel
def _add_limbs(values, first, last, sums, limbs):
    """Add any floats.

    Significands are added up by exponent; before such a sum can overflow, it is moved to where
    it belongs.

    Parameters
    ----------
    sums : int64 array of length _PLACES
        Zeros, before and after.
    """
    bits = values.view(np.int64)
    mask = (np.int64(1) << _LIMB) - 1
    hidden = np.int64(1) << 52
    infinite = 0.0
    for begin in range(first, last, _TOGETHER):
        end = min(begin + _TOGETHER, last)
        low, high = _PLACES, 0
        for i in range(begin, end):
            b = bits[i]
            if b << 1 == 0:
                continue
            e = (b >> 52) & (_PLACES - 1)
            significand = b & (hidden - 1)
            if e > 0:
                significand |= hidden
            sign = b >> 63
            sums[e] += (significand ^ sign) - sign
            low = min(low, e)
            high = max(high, e)
        if high == _PLACES - 1:
            for i in range(begin, end):
                if not np.isfinite(values[i]):
                    infinite += values[i]
            sums[high] = 0
        for e in range(low, high + 1):
            v = sums[e]
            if v == 0:
                continue
            sums[e] = 0
            place = max(e - 1, 0)  # (subnormal numbers have the exponent of the smallest others)
            k, shift = place >> 5, place & 31
            lower = (v & mask) << shift
            upper = (v >> _LIMB) << shift
            limbs[k] += lower & mask
            limbs[k + 1] += (lower >> _LIMB) + (upper & mask)
            limbs[k + 2] += upper >> _LIMB
        for k in range(len(limbs) - 1):
            limbs[k + 1] += limbs[k] >> _LIMB
            limbs[k] &= mask
    return infinite

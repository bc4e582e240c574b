"""Sums of floats without rounding; twin in ``plain.exact_sums``."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["exact_limbs"]

# So many significands of 53 bits fit into 63 bits.
_TOGETHER = 1023
_LIMB, _PLACES = 32, 2048


@kernel
def exact_limbs(values, limbs):
    """Add floats to a whole number; return the sum of those that are not finite.

    Significands are added up by exponent; before such a sum can overflow, it is moved to where
    it belongs.

    Parameters
    ----------
    limbs : int64 array  # IN and OUT
        The number in units of 2^-1074, from its lowest 32 bits up. All limbs but the last are
        within [0, 2^32).
    """
    bits = values.view(np.int64)
    sums = np.zeros(_PLACES, np.int64)
    mask = (np.int64(1) << _LIMB) - 1
    hidden = np.int64(1) << 52
    infinite = 0.0
    for begin in range(0, len(bits), _TOGETHER):
        end = min(begin + _TOGETHER, len(bits))
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

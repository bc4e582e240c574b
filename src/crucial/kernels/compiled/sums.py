"""Exact sums, hashed random numbers, sorting and sums of exponentials, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log, log1p
from crucial.kernels.elementary import GOLDEN
from crucial.kernels.elementary import mix as plain_mix
from crucial.kernels.jit import kernel

# --- Sums of floats without rounding; twin in ``plain``


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


# --- Floats as whole numbers of a unit; twin in ``plain``


@kernel
def fill_fixed(values, inverse, first, last, out):
    """Write values times ``inverse`` as whole numbers; return the sum of their magnitudes."""
    size = 0.0
    for i in range(first, last):
        units = np.rint(values[i] * inverse)
        out[i] = np.int64(units)
        size += abs(units)
    return size


# --- Uniform numbers by hashing places


DROPPED, UNIT = np.uint64(11), 2.0**-53

mix = kernel(plain_mix)


@kernel
def uniform(key, place):
    """Return the number in [0, 1) of a place under a key."""
    return (mix(key + GOLDEN * np.uint64(place + 1)) >> DROPPED) * UNIT


@kernel
def uniforms(keys, row_start, first_query, last_query, out):
    """Write one number in [0, 1) per row of a range of queries.

    Row i of a query gets the upper 53 bits of ``mix(key + (i + 1) * GOLDEN)``.

    Parameters
    ----------
    keys : uint64 array of shape (n_queries,)
    row_start : int array of shape (n_queries + 1,)
    out : array of shape (n_rows,)  # OUT
    """
    for q in range(first_query, last_query):
        begin = row_start[q]
        for i in range(begin, row_start[q + 1]):
            out[i] = uniform(keys[q], i - begin)


# --- Sums of exponentials, as logarithms


@kernel
def log_add(a, b):
    """Return log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + log1p(exp(b - a))


@kernel
def log_sum(scores, log_weight, factor, begin, end):
    """Return the logarithm of the sum of u e^(factor * H) over rows."""
    top = -np.inf
    for i in range(begin, end):
        top = max(top, log_weight[i] + factor * scores[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(begin, end):
        total += exp(log_weight[i] + factor * scores[i] - top)
    return top + log(total)


# --- Sorting the rows of a query by falling key, rows of equal keys in their own order


# Up to this size a row's position is counted: comparisons without branches, many at a time.
_COUNTED = 200

# Blocks of this length are sorted by insertion, then merged.
_BLOCK = 16


@kernel
def order_falling(values, begin, size, key, row, spare_key, spare_row):
    """Write the rows ``begin`` to ``begin + size`` and their values, highest value first.

    Rows of equal values keep their order. The spare arrays are as long as the others.
    """
    if size > _COUNTED:
        for p in range(size):
            key[p] = values[begin + p]
            row[p] = begin + p
        _sort_falling(key, row, spare_key, spare_row, size)
        return
    first, m = np.uint64(begin), np.uint64(size)
    for i in range(m):
        own = values[first + i]
        below = np.int64(0)
        for j in range(i):
            less = np.int64(values[first + j] < own)
            spare_row[j] += less
            below += less
        spare_row[i] = np.int64(i) - below
        row[i] = first + i  # (with NaN among the values two may count the same position)
    for i in range(m):
        to = np.uint64(spare_row[i])
        key[to] = values[first + i]
        row[to] = first + i


@kernel
def _sort_falling(key, place, spare_key, spare_place, size):
    """Sort ``key[:size]`` and carry ``place`` along; stable. The spare arrays are as long.

    Runs that are in order already are not merged, so that an order that hardly changed costs
    little more than a pass.
    """
    for begin in range(0, size, _BLOCK):
        end = min(begin + _BLOCK, size)
        for i in range(begin + 1, end):
            k = key[i]
            p = place[i]
            j = i
            while j > begin and key[j - 1] < k:
                key[j] = key[j - 1]
                place[j] = place[j - 1]
                j -= 1
            key[j] = k
            place[j] = p
    width = _BLOCK
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle = begin + width
            end = min(middle + width, size)
            if key[middle - 1] >= key[middle]:
                continue
            # Only the left run moves aside.
            for i in range(begin, middle):
                spare_key[i] = key[i]
                spare_place[i] = place[i]
            left = begin
            right = middle
            out = begin
            while left < middle:
                if right < end and key[right] > spare_key[left]:
                    key[out] = key[right]
                    place[out] = place[right]
                    right += 1
                else:
                    key[out] = spare_key[left]
                    place[out] = spare_place[left]
                    left += 1
                out += 1
        width *= 2

"""Decimal numbers in text, read as Python's ``float()`` reads them, to the last bit.

A decimal number is ``w * 10**q`` with a whole ``w``. Where ``w`` and ``10**|q|`` are doubles
without error, one multiplication or division rounds once, hence correctly (Clinger 1990).
Else ``w * 10**q`` is bracketed between two neighbours of 64 bits, in the manner of Lemire,
"Number parsing at a gigabyte per second" (2021), and taken where both ends of the bracket
round to the same double. The few tokens left over are handed back for ``float()`` itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.jit import kernel
from crucial.types import Ints

__all__ = ["BROKEN", "EXACT", "FOR_PYTHON", "MISSING", "parse_number"]

# How parse_number ended.
EXACT, FOR_PYTHON, MISSING, BROKEN = 0, 1, 2, 3

_PLUS, _MINUS, _POINT = 43, 45, 46

_EXACT_POWERS = 10.0 ** np.arange(23)  # every one a double without error
_WHOLE = np.uint64(2**53)  # up to here every whole number is a double

# 10**q = (_TEN[q + _Q] + less than 1) * 2**_TEN_SHIFT[q + _Q], with 2**63 <= _TEN < 2**64.
# With |q| <= 64 and w < 10**19 no result is near the ends of the doubles' range.
_Q = 64


def _powers_of_ten() -> tuple[NDArray[np.uint64], Ints]:
    heads, shifts = [], []
    for q in range(-_Q, _Q + 1):
        if q >= 0:
            shift = (10**q).bit_length() - 64
            head = 10**q >> shift if shift > 0 else 10**q << -shift
        else:
            shift = -63 - (10**-q).bit_length()
            head = (1 << -shift) // 10**-q
        heads.append(head)
        shifts.append(shift)
    return np.array(heads, np.uint64), np.array(shifts, np.int64)


_TEN, _TEN_SHIFT = _powers_of_ten()
_B = 512
_TWO = np.ldexp(1.0, np.arange(-_B, _B + 1))

_U0, _U1, _U10, _U32 = np.uint64(0), np.uint64(1), np.uint64(10), np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
_TOP = np.uint64(1 << 63)


@kernel
def _high_product(a, b):
    """Upper 64 bits of the product of two numbers of 64 bits."""
    a_low, a_high = a & _LOW32, a >> _U32
    b_low, b_high = b & _LOW32, b >> _U32
    middle = a_high * b_low + (a_low * b_low >> _U32)
    other = a_low * b_high + (middle & _LOW32)
    return a_high * b_high + (middle >> _U32) + (other >> _U32)


@kernel
def _bracket(w, q):
    """Round ``w * 10**q`` to a double; False where 64 bits are too few."""
    shift = _TEN_SHIFT[q + _Q] + 64
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _U0:
            w = w << np.uint64(step)
            shift -= step
    # The true product lies in [high, high + 2), counted in 2**shift.
    high = _high_product(w, _TEN[q + _Q])
    drop = 10 + np.int64(high >> np.uint64(63))
    low = np.int64(high & ((_U1 << np.uint64(drop)) - _U1))
    half = 1 << (drop - 1)
    mantissa = np.int64(high >> np.uint64(drop))
    sure = bool(low + 2 <= half or low > half)
    return np.float64(mantissa + (low > half)) * _TWO[shift + drop + _B], sure


@kernel
def _word_for_missing(text, at):
    """Return the length of "nan" or "null" (in any case) at this place, 0 if neither is there."""
    # Each look goes one byte on only where the one before was a letter: a line end stops it.
    if text[at] | 32 != 110:
        return 0
    second = text[at + 1] | 32
    if second == 97:
        return 3 if text[at + 2] | 32 == 110 else 0
    if second == 117 and text[at + 2] | 32 == 108 and text[at + 3] | 32 == 108:
        return 4
    return 0


@kernel
def parse_number(text, at):
    """Read the number that begins at ``text[at]``; somewhere after it there is a line end.

    ``[+-] digits [. digits] [e [+-] digits]`` with a digit before or after the point; or
    ``[+-] nan`` or ``[+-] null``, in any case, for a missing value.

    Returns
    -------
    value : float
    end : int
        First position after the number; the caller looks whether the token ends there.
    state : int
        EXACT, FOR_PYTHON (well formed, value to be read by ``float()``), MISSING or BROKEN.
    """
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    first = at
    w = _U0
    while text[at] == 48:
        at += 1
    digits = 0
    while 48 <= text[at] <= 57:
        if digits < 19:
            w = w * _U10 + np.uint64(text[at] - 48)
        digits += 1
        at += 1
    whole = at - first
    q = np.int64(0)
    if text[at] == _POINT:
        at += 1
        begin = at
        if digits == 0:
            while text[at] == 48:
                at += 1
        while 48 <= text[at] <= 57:
            if digits < 19:
                w = w * _U10 + np.uint64(text[at] - 48)
            digits += 1
            at += 1
        q = np.int64(begin - at)
    if whole - q == 0:
        word = _word_for_missing(text, at) if at == first else 0
        return np.nan, at + word, MISSING if word > 0 else BROKEN
    if text[at] | 32 == 101:  # e
        at += 1
        down = text[at] == _MINUS
        if down or text[at] == _PLUS:
            at += 1
        begin = at
        power = np.int64(0)
        while 48 <= text[at] <= 57:
            if power < 1_000_000:
                power = power * 10 + np.int64(text[at] - 48)
            at += 1
        if at == begin:
            return np.nan, at, BROKEN
        q += -power if down else power
    value, sure = 0.0, digits <= 19
    if sure and w > _U0:
        if w <= _WHOLE and -22 <= q <= 22:
            value = np.float64(w)
            value = value / _EXACT_POWERS[-q] if q < 0 else value * _EXACT_POWERS[q]
        elif -_Q <= q <= _Q:
            value, sure = _bracket(w, q)
        else:
            sure = False
    return -value if negative else value, at, EXACT if sure else FOR_PYTHON

"""Text to arrays, in Numba: svmlight lines and decimal numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.jit import kernel
from crucial.kernels.text import (
    FEATURE,
    FINE,
    INDEX,
    LABEL,
    ORDER,
    QID_EMPTY,
    QID_MISSING,
    QID_UNEXPECTED,
    VALUE,
)
from crucial.types import Ints

# --- Decimal numbers in text, read as Python's ``float()`` reads them, to the last bit
#
# A decimal number is ``w * 10**q`` with a whole ``w``. Where ``w`` and ``10**|q|`` are doubles
# without error, one multiplication or division rounds once, hence correctly (Clinger 1990).
# Else ``w * 10**q`` is bracketed between two neighbours of 64 bits, in the manner of Lemire,
# "Number parsing at a gigabyte per second" (2021), and taken where both ends of the bracket
# round to the same double. The few tokens left over are handed back for ``float()`` itself.


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


# --- Text to arrays: lines of ``label [qid:Q] index:value ... [# comment]``


_NEWLINE, _SPACE, _HASH, _COLON, _EQUALS = 10, 32, 35, 58, 61
_QID = tuple(b"qid:")
_DOCID = tuple(b"docid")


@kernel
def count_marks(text, start, stop):
    """Count the line ends and the colons of ``text[start:stop]``."""
    lines, colons = 0, 0
    for i in range(start, stop):
        lines += text[i] == _NEWLINE
        colons += text[i] == _COLON
    return lines, colons


@kernel
def is_space(byte):
    """Return whether a byte is a space or a line end."""
    return byte == _SPACE or 9 <= byte <= 13


@kernel
def _skip_spaces(text, at):
    """Go to the next byte that is not a space inside a line."""
    while is_space(text[at]) and text[at] != _NEWLINE:
        at += 1
    return at


@kernel
def _ends_token(byte):
    return is_space(byte) or byte == _HASH


@kernel
def _begins(text, at, stop, word):
    """Return whether ``text[at:stop]`` begins with these bytes."""
    for byte in word:
        if at >= stop or text[at] != byte:
            return False
        at += 1
    return True


@kernel
def _item_place(text, start, stop):
    """Find the item id in the comment ``text[start:stop]``.

    TOKEN of ``docid = TOKEN ...``, else the whole comment without the spaces around it.
    """
    while start < stop and is_space(text[start]):
        start += 1
    while start < stop and is_space(text[stop - 1]):
        stop -= 1
    if _begins(text, start, stop, _DOCID):
        at = start + len(_DOCID)
        while at < stop and is_space(text[at]):
            at += 1
        if at < stop and text[at] == _EQUALS:
            at += 1
            while at < stop and is_space(text[at]):
                at += 1
            end = at
            while end < stop and not is_space(text[end]):
                end += 1
            if end > at:
                return at, end
    return start, stop


@kernel
def _parse_features(text, at, bounds, limit, entries, indices, values):
    """Parse ``index:value ...`` up to a comment or the line end.

    Returns where it ended, the number of entries after it, and FINE; or the place and
    the code of an error.
    """
    low, high = bounds
    previous = np.int64(-1)
    while True:
        at = _skip_spaces(text, at)
        if text[at] == _NEWLINE or text[at] == _HASH:
            return at, entries, FINE
        token = at
        index = np.int64(0)
        while 48 <= text[at] <= 57:
            if index <= high:
                index = index * 10 + np.int64(text[at] - 48)
            at += 1
        if at == token or text[at] != _COLON:
            return token, entries, FEATURE
        if index < low or index > high:
            return token, entries, INDEX
        if index <= previous:
            return token, entries, ORDER
        previous = index
        token = at + 1
        value, at, state = parse_number(text, token)
        if state == BROKEN or not _ends_token(text[at]) or abs(value) >= limit:
            return token, entries, VALUE
        indices[entries] = index
        values[entries] = value
        if state == FOR_PYTHON:
            indices[entries] = -1 - index
            values[entries] = token
        entries += 1


@kernel
def parse_lines(
    text, start, stop, with_qid, bounds, limit, labels, row_starts, indices, values, qids, places
):
    """Parse the lines ``text[start:stop]``, the last of which ends in a line end.

    Equivalent to the plain parser of the svmlight reader, and much faster.

    Parameters
    ----------
    with_qid : bool
        Whether every row must have a qid, or none may.
    bounds : (int, int)
        Smallest and largest index allowed.
    limit : float
        Values of this size or more are refused (infinity, or what a float32 rounds to it).
    labels : float64 array, one for every line
        # OUT
    row_starts : int64 array, one more than lines
        # OUT, where the row's entries begin
    indices, values : int32 and float64 arrays, one for every colon
        # OUT; ``float()`` must finish an entry whose index came out as ``-1 - index``,
        from the text at the place that is its value
    qids : int64 array of shape (lines, 3)
        # OUT, (row, start, stop) wherever the qid differs from the row before
    places : int64 array of shape (lines, 3)
        # OUT, start and stop of the item id (the same where there is none), and where the
        label is that ``float()`` must finish, else -1

    Returns
    -------
    rows, entries, runs : int
        Rows parsed, entries (those of a bad row too, up to where it is bad), and places
        where the qid changed.
    code, place : int
        FINE, or what is wrong with the first bad line and where.
    """
    rows, entries, runs = 0, 0, 0
    qid_start, qid_length = start, -1
    row_starts[0] = 0
    at = start
    while at < stop:
        at = _skip_spaces(text, at)
        if text[at] == _HASH:
            while text[at] != _NEWLINE:
                at += 1
        if text[at] == _NEWLINE:
            at += 1
            continue
        label = at
        places[rows, 2] = -1
        value, at, state = parse_number(text, label)
        if state >= MISSING or not _ends_token(text[at]):
            return rows, entries, runs, LABEL, label
        labels[rows] = value
        places[rows, 2] = label if state == FOR_PYTHON else -1
        after_label = at
        at = _skip_spaces(text, at)
        if _begins(text, at, stop, _QID):
            begin = at + len(_QID)
            if not with_qid:
                return rows, entries, runs, QID_UNEXPECTED, at
            if _ends_token(text[begin]):
                return rows, entries, runs, QID_EMPTY, at
            at = begin
            same = True
            while not _ends_token(text[at]):
                same = same and text[at] == text[qid_start + at - begin]
                at += 1
            if not same or at - begin != qid_length:
                qid_start, qid_length = begin, at - begin
                qids[runs, 0] = rows
                qids[runs, 1] = begin
                qids[runs, 2] = at
                runs += 1
        elif with_qid:
            return rows, entries, runs, QID_MISSING, after_label
        at, entries, code = _parse_features(text, at, bounds, limit, entries, indices, values)
        if code != FINE:
            return rows, entries, runs, code, at
        item, item_end = at, at
        if text[at] == _HASH:
            comment = at + 1
            while text[at] != _NEWLINE:
                at += 1
            item, item_end = _item_place(text, comment, at)
        places[rows, 0] = item
        places[rows, 1] = item_end
        at += 1
        rows += 1
        row_starts[rows] = entries
    return rows, entries, runs, FINE, stop


@kernel
def fill_dense(row_starts, indices, values, base, table):
    """Write the entries of a piece into its rows of the table (# OUT).

    Equivalent to ``table[row, indices[k] - base] = values[k]`` for the entries k of each row.
    """
    for row in range(len(row_starts) - 1):
        for k in range(row_starts[row], row_starts[row + 1]):
            table[row, indices[k] - base] = values[k]

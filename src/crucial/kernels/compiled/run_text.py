"""Lines of a run to arrays, and words to numbers."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.decimals import EXACT, FOR_PYTHON, parse_number
from crucial.kernels.compiled.text import is_space
from crucial.kernels.jit import kernel
from crucial.kernels.run_text import FIELDS

__all__ = ["number_words", "place_words", "split_lines"]

_NEWLINE = 10
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


@kernel
def split_lines(text, places, scores, odd):
    """Find the fields of every line, and read its score.

    Parameters
    ----------
    text : array of bytes
        Whole lines; the last byte is a line end.
    places : int64 array of shape (n_lines, 2 * FIELDS)
        Where each field begins and ends.  # OUT
    scores : float64 array of shape (n_lines,)
        # OUT
    odd : int64 array of shape (n_lines,)
        Rows whose score is a number that ``float()`` must read.  # OUT

    Returns
    -------
    n_rows : int
        Lines that are not blank; -1 if a line is malformed.
    n_odd : int
        Rows in ``odd``.
    """
    at, row, n_odd = 0, 0, 0
    while at < len(text):
        field = 0
        while True:
            while is_space(text[at]) and text[at] != _NEWLINE:
                at += 1
            if text[at] == _NEWLINE:
                break
            if field == FIELDS:
                return -1, 0
            places[row, 2 * field] = at
            while not is_space(text[at]):
                if text[at] == 0:
                    return -1, 0
                at += 1
            places[row, 2 * field + 1] = at
            field += 1
        at += 1
        if field == 0:
            continue
        if field != FIELDS:
            return -1, 0
        value, end, state = parse_number(text, places[row, 8])
        if end != places[row, 9] or (state != EXACT and state != FOR_PYTHON):
            return -1, 0
        scores[row] = value
        if state == FOR_PYTHON:
            odd[n_odd] = row
            n_odd += 1
        row += 1
    return row, n_odd


@kernel
def _hash(text, begin, end):
    """Return the FNV-1a hash, with its bits mixed once more at the end."""
    value = _BASIS
    for at in range(begin, end):
        value = (value ^ np.uint64(text[at])) * _PRIME
    value ^= value >> np.uint64(29)
    return value * np.uint64(0x9E3779B97F4A7C15)


@kernel
def _same(text, begin, end, other, other_begin, other_end):
    """Return whether two words have the same bytes."""
    if end - begin != other_end - other_begin:
        return False
    for step in range(end - begin - 1, -1, -1):  # (ids differ at their ends)
        if text[begin + step] != other[other_begin + step]:
            return False
    return True


@kernel
def place_words(hashes, n_words, slots):
    """Put known words into an empty table of slots (a power of two; -1 is empty)."""
    mask = np.uint64(len(slots) - 1)
    for word in range(n_words):
        at = hashes[word] >> np.uint64(32) & mask
        while slots[at] >= 0:
            at = (at + _ONE) & mask
        slots[at] = word


@kernel
def number_words(text, places, field, codes, slots, arena, starts, hashes, n_words):
    """Number words: the same for the same bytes, new ones from ``n_words`` on.

    Equivalent to, and much faster than, ``table.setdefault(word, len(table))`` with a dict.

    Parameters
    ----------
    text : array of bytes
    places : int64 array of shape (n_rows, 2 * FIELDS)
    field : int
        Which field of the lines.
    codes : int32 array of shape (n_rows,)
        # OUT
    slots, arena, starts, hashes : arrays
        The table; word ``w`` is ``arena[starts[w]:starts[w + 1]]``. There must be room for
        all words to be new, with less than half of the slots in use.  # OUT
    n_words : int
        Words in the table.

    Returns
    -------
    int
        Words in the table afterwards.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(codes)):
        begin, end = places[row, 2 * field], places[row, 2 * field + 1]
        if row > 0 and _same(
            text, begin, end, text, places[row - 1, 2 * field], places[row - 1, 2 * field + 1]
        ):
            codes[row] = codes[row - 1]
            continue
        value = _hash(text, begin, end)
        at = value >> np.uint64(32) & mask
        found = -1
        while slots[at] >= 0:
            word = slots[at]
            if hashes[word] == value and _same(
                text, begin, end, arena, starts[word], starts[word + 1]
            ):
                found = word
                break
            at = (at + _ONE) & mask
        if found < 0:
            found = n_words
            slots[at] = found
            hashes[found] = value
            for step in range(end - begin):
                arena[starts[found] + step] = text[begin + step]
            starts[found + 1] = starts[found] + end - begin
            n_words += 1
        codes[row] = found
    return n_words

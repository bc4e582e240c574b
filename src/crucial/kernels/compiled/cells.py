"""Text to arrays: lines of cells with one byte between them."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.decimals import BROKEN, FOR_PYTHON, parse_number
from crucial.kernels.jit import kernel

__all__ = ["parse_cells"]

_TAB, _NEWLINE, _RETURN, _SPACE = 9, 10, 13, 32


@kernel
def parse_cells(text, start, stop, sep, slots, numbers, places, left_over):
    """Parse lines of cells ``text[start:stop]``, none of them quoted.

    Equivalent to the plain parser of the table reader where a file is simple, and much
    faster; it stops at whatever is not.

    Parameters
    ----------
    sep : int
        The byte between cells.
    slots : int64 array, one for every column
        Column ``k >= 0`` of ``numbers`` for a number, ``-1`` to skip the cell, ``-2 - k``
        for column ``k`` of ``places``.
    numbers : float64 array of shape (lines, number columns)
        # OUT, NaN for an empty cell
    places : int64 array of shape (lines, text columns, 2)
        # OUT, start and stop of the cell, without spaces around it
    left_over : int64 array of shape (m, 3)
        # OUT, (row, column, start) of numbers for ``float()`` to make

    Returns
    -------
    rows : int
        Rows parsed, or -1 if something is not simple.
    left : int
        Rows used of ``left_over``.
    """
    rows, left, at = 0, 0, start
    columns = len(slots)
    while at < stop:
        if text[at] == _NEWLINE or (text[at] == _RETURN and text[at + 1] == _NEWLINE):
            at += 1 + (text[at] == _RETURN)
            continue
        for column in range(columns):
            slot = slots[column]
            while text[at] != sep and (text[at] == _SPACE or text[at] == _TAB):
                at += 1
            begin = at
            ends = text[at] == sep or text[at] == _NEWLINE or text[at] == _RETURN
            if slot >= 0 and not ends:
                value, at, state = parse_number(text, begin)
                if state == BROKEN:
                    return -1, left
                numbers[rows, slot] = value
                if state == FOR_PYTHON:
                    if left == len(left_over):
                        return -1, left
                    left_over[left, 0] = rows
                    left_over[left, 1] = slot
                    left_over[left, 2] = begin
                    left += 1
                while text[at] != sep and (text[at] == _SPACE or text[at] == _TAB):
                    at += 1
            elif slot >= 0:
                numbers[rows, slot] = np.nan
            else:
                while text[at] != sep and text[at] != _NEWLINE and text[at] != _RETURN:
                    at += 1
                if slot <= -2:
                    end = at
                    while end > begin and (text[end - 1] == _SPACE or text[end - 1] == _TAB):
                        end -= 1
                    places[rows, -2 - slot, 0] = begin
                    places[rows, -2 - slot, 1] = end
            if column < columns - 1:
                if text[at] != sep:
                    return -1, left
                at += 1
        if text[at] == _RETURN:
            at += 1
        if text[at] != _NEWLINE:
            return -1, left
        at += 1
        rows += 1
    return rows, left

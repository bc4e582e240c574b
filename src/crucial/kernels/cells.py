"""Text to arrays: lines of cells with one byte between them.

The parser in Python, which also reads quoted cells, is in `crucial.data.formats`.
"""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["parse_cells"]


def parse_cells(
    text: bytes, start: int, stop: int, sep: str, slots: Ints, n_left_over: int
) -> tuple[Floats, Ints, Ints] | None:
    """Parse lines of cells ``text[start:stop]``, always compiled; None if one is not simple.

    Parameters
    ----------
    sep : str
        The character between cells.
    slots : int64 array, one per column
        Column ``k >= 0`` of ``numbers`` for a number, ``-1`` to skip the cell, ``-2 - k``
        for column ``k`` of ``places``.
    n_left_over : int
        At most so many numbers may be left to ``float()``.

    Returns
    -------
    numbers : float64 array of shape (rows, number columns)
        NaN for an empty cell.
    places : int64 array of shape (rows, text columns, 2)
        Start and stop of the cell, without spaces around it.
    left_over : int64 array of shape (numbers left over, 3)
        (row, column, start) of numbers for ``float()`` to read.
    """
    from crucial.kernels.compiled.cells import parse_cells as compiled

    lines = text.count(b"\n", start, stop)
    numbers = np.empty((lines, np.count_nonzero(slots >= 0)))
    places = np.empty((lines, np.count_nonzero(slots <= -2), 2), np.int64)
    left_over = np.empty((n_left_over, 3), np.int64)
    raw = np.frombuffer(text, np.uint8)
    rows, left = compiled(raw, start, stop, ord(sep), slots, numbers, places, left_over)
    return None if rows < 0 else (numbers[:rows], places[:rows], left_over[:left])

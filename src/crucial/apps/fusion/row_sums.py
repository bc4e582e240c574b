"""Add the values that runs give to the rows of a pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["Adder", "sum_exactly", "sum_in_order"]

#: Returns the sum of every row, from the number of rows and, per run, rows and their values.
Adder: TypeAlias = Callable[[int, Sequence[tuple[Ints, Floats]]], Floats]


def sum_in_order(n_rows: int, parts: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Add one run after the other."""
    out = np.zeros(n_rows)
    for rows, values in parts:
        out[rows] += values
    return out


def sum_exactly(n_rows: int, parts: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Round the sum of every row once, so that the order of the runs changes nothing.

    Parameters
    ----------
    n_rows : int
    parts : sequence of (rows, values)
        One per run; no row occurs twice in a part.

    Examples
    --------
    >>> row = np.array([0])
    >>> sum_exactly(1, [(row, np.array([value])) for value in (1e16, 1.0, -1e16)]).tolist()
    [1.0]
    """
    if len(parts) < 3:  # (the sum of two is rounded once anyway)
        return sum_in_order(n_rows, parts)
    total, rest, lossy = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows, bool)
    for rows, values in parts:
        total[rows], error = _two_sum(total[rows], values)
        rest[rows], lost = _two_sum(rest[rows], error)
        lossy[rows] |= lost != 0.0
    out: Floats = total + rest
    if lossy.any():  # (terms of very different sizes)
        terms: dict[int, list[float]] = {row: [] for row in np.flatnonzero(lossy).tolist()}
        for rows, values in parts:
            mine = lossy[rows]
            for row, value in zip(rows[mine].tolist(), values[mine].tolist()):
                terms[row].append(value)
        out[list(terms)] = [math.fsum(one) for one in terms.values()]
    return out


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and its rounding error, which is exact (Knuth)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, error

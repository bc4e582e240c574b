"""Merge neighbouring cells into few bins, and find short numbers for the edges between them."""

from __future__ import annotations

import math

import numpy as np

from crucial.types import Floats

__all__ = ["merge_cells", "short_edge"]

_EMPTY = 1e-9  # weight of a cell without rows, as a share of all rows
_SAME = 1e-12  # share of the spread that is rounding error


def merge_cells(weight: Floats, value: Floats, max_bins: int, min_weight: float) -> list[int]:
    """Merge neighbouring cells into bins whose values differ least from those of their cells.

    Minimises the sum over cells of ``weight * (value - mean of the bin) ** 2`` exactly, by the
    dynamic programme of Fisher (1958).

    Parameters
    ----------
    weight : array of shape (n_cells,)
        Weight of the rows in each cell.
    value : array of shape (n_cells,)
        What a cell adds.
    max_bins : int
        Most bins.
    min_weight : float
        Least weight of a bin, unless there is only one.

    Returns
    -------
    list of int
        First cell of each bin; no more bins than the least error needs.

    Examples
    --------
    >>> merge_cells(np.ones(5), np.array([0.0, 0.1, 2.0, 2.1, 9.0]), 3, 0.0)
    [0, 2, 4]
    >>> merge_cells(np.ones(5), np.array([0.0, 0.1, 2.0, 2.1, 9.0]), 3, 2.0)
    [0, 3]
    """
    n_cells = len(weight)
    counted = weight + _EMPTY * max(float(weight.sum()), 1.0)
    centred = value - np.average(value, weights=counted)
    sums = [
        np.concatenate([[0.0], np.cumsum(part)])
        for part in (counted, counted * centred, counted * centred**2, weight)
    ]
    mass, first, second, rows = (one[None, :] - one[:, None] for one in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.maximum(second - first**2 / mass, 0.0)
    allowed = np.triu(np.ones((n_cells + 1, n_cells + 1), bool), 1)
    allowed &= rows >= min_weight * (1.0 - 1e-9)
    allowed[0, n_cells] = True
    error = np.where(allowed, error, np.inf)
    total = np.full(n_cells + 1, np.inf)
    total[0] = 0.0
    errors, begins = [], []
    for _ in range(min(max_bins, n_cells)):
        by_begin = total[:, None] + error
        begin = by_begin.argmin(axis=0)
        total = by_begin[begin, np.arange(n_cells + 1)]
        errors.append(float(total[n_cells]))
        begins.append(begin)
    least = min(errors) + _SAME * errors[0]
    count = next(number for number, one in enumerate(errors) if one <= least) + 1
    found, end = [], n_cells
    for begin in reversed(begins[:count]):
        end = int(begin[end])
        found.append(end)
    return found[::-1]


def short_edge(low: float, high: float, near: float, unit: int = 17) -> float:
    """Return the number in ``[low, high)`` with the fewest decimal places, close to another one.

    Parameters
    ----------
    low, high : float
        ``low < high``.
    near : float
        Of several such numbers, the one that is closest to this is returned.
    unit : int
        Most digits before the decimal point that may be rounded away.

    Examples
    --------
    >>> short_edge(11.0, 12.0, 11.5), short_edge(0.0871, 0.0902, 0.0889), short_edge(-3.0, 5.0, 0.2)
    (11.0, 0.09, 0.0)
    """
    near = min(max(near, low), high)
    if low <= 0.0 < high:
        return 0.0
    top = math.floor(math.log10(max(abs(low), abs(high))))
    for place in range(min(top, unit), top - 18, -1):
        middle = near / 10.0**place
        if not math.isfinite(middle):
            break
        found = [float(f"{int(k)}e{place}") for k in (math.floor(middle), math.ceil(middle))]
        inside = [one for one in found if low <= one < high]
        if inside:
            return min(inside, key=lambda one: (abs(one - near), one))
    return low

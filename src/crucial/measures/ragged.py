"""Batches of lists of similar length."""

from __future__ import annotations

import numpy as np

from crucial.types import Bools, Ints

__all__ = ["runs", "size_classes", "slots"]


def size_classes(sizes: Ints) -> list[Ints]:
    """Group lists so that padding each to the longest of its class at most doubles it.

    Lists of length 0 are in no class.

    Examples
    --------
    >>> [members.tolist() for members in size_classes(np.array([3, 9, 0, 2, 8]))]
    [[0, 3], [1, 4]]
    """
    if len(sizes) and 0 < sizes.max() <= 2 * sizes.min():
        return [np.arange(len(sizes))]
    power = np.frexp(sizes.astype(float))[1]  # (2^(power-1) <= size < 2^power)
    return [np.flatnonzero((power == p) & (sizes > 0)) for p in np.unique(power[sizes > 0])]


def slots(sizes: Ints) -> tuple[Ints, Bools]:
    """Return the column numbers of a padded batch, and which cells are filled.

    Examples
    --------
    >>> slots(np.array([1, 2]))[1].tolist()
    [[True, False], [True, True]]
    """
    columns = np.arange(sizes.max(initial=0))
    return columns, columns < sizes[:, None]


def runs(keys: Ints) -> Ints:
    """Return the index at which each run of equal keys begins.

    Examples
    --------
    >>> runs(np.array([4, 4, 2])).tolist()
    [0, 2]
    """
    if len(keys) == 0:
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))

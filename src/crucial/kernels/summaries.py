"""Summaries of sorted values: few of them, each with the mass that it stands for."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Reals

__all__ = ["compressed", "distinct", "summarised"]


def distinct(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, with the mass of each."""
    if len(values) < 2:
        return values, mass
    first = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
    return values[first], np.add.reduceat(mass, first)


def compressed(values: Floats, mass: Floats, size: int) -> tuple[Floats, Floats, float]:
    """Return at most ``size`` of ascending distinct values: neighbours move up to the last of them.

    The mass in a group before its last value is less than ``1 / size`` of the whole, and only
    that mass moves. Few values stay as they are.

    Returns
    -------
    values, mass : float64 arrays
    moved : float
        The most mass that moves past any number.
    """
    if len(values) <= size:
        return values, mass, 0.0
    upto = np.cumsum(mass)
    before, total = upto - mass, float(upto[-1])
    group = np.minimum((before * (size / total)).astype(np.int64), size - 1)
    first = np.concatenate(([0], np.flatnonzero(group[1:] != group[:-1]) + 1))
    last = np.append(first[1:], len(group)) - 1
    moved = float((before[last] - before[first]).max())
    return values[last], np.add.reduceat(mass, first), moved


def summarised(ranked: Reals, size: int) -> tuple[Floats, Floats, float]:
    """Return at most ``size`` of ascending values, each counting 1; see `compressed`.

    Examples
    --------
    >>> [part.tolist() for part in summarised(np.array([1.0, 1.0, 2.0, 5.0]), 2)[:2]]
    [[1.0, 5.0], [2.0, 2.0]]
    """
    from crucial.kernels.compiled.summaries import summarise

    values, mass = np.empty((2, min(size, len(ranked))))
    count, moved = summarise(ranked, size, values, mass)
    return values[:count].copy(), mass[:count].copy(), float(moved)

"""Ranking inside queries, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.types import Floats, Ints

__all__ = ["interval_sums", "order_rows", "rank_rows", "run_starts"]


def run_starts(*keys: NDArray[np.generic]) -> Ints:
    """Return where each run of equal keys begins."""
    new = np.ones(len(keys[0]), bool)
    new[1:] = False
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def rank_rows(
    values: Floats,
    weight: Floats,
    regions: tuple[Floats, Ints, Floats],
    starts: Ints,
    first_query: int,
    last_query: int,
    out: Floats,
) -> None:
    """Write the middle of the positions that every row takes in its query, bottom first.

    The line of values is cut into regions; region ``g`` has the values greater than
    exactly ``g`` of the cuts. Equivalent to, and much faster than::

        key(x) = (place of the region of x in by_interval, direction[region] * values[x])
        below, same = weight of the rows of the query with a smaller key, and with an equal one
        out[x] = below + same / 2

    where rows without a value are left out first. They then go into the middle of the
    others: rows above the middle of those move up by their weight, equal rows across the
    middle by the share of them that is above, and they themselves get the middle of the
    query.

    Parameters
    ----------
    values : array over the rows, query after query; NaN where there is none
    weight : array like values, or of length 0 where all weigh 1
    regions : (cuts, by_interval, direction)
        Ascending cuts; the regions, lowest ranked first; and for each region 1 where larger
        values rank higher, -1 where smaller ones do, 0 where all are equal.
    starts : int array
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    first_query, last_query : int
        The range of queries to rank.
    out : array like values
        Filled in for the rows of these queries.
    """
    cuts, by_interval, direction = regions
    begin, end = int(starts[first_query]), int(starts[last_query])
    sizes = np.diff(starts[first_query : last_query + 1])
    query = np.repeat(np.arange(len(sizes)), sizes)
    x = values[begin:end]
    mass = np.ones(end - begin) if len(weight) == 0 else weight[begin:end]
    absent = np.isnan(x)
    there = np.flatnonzero(~absent)
    missing = np.bincount(query, mass * absent, len(sizes))
    present = np.bincount(query, mass * ~absent, len(sizes))
    place = np.empty(len(by_interval), np.int64)
    place[by_interval] = np.arange(len(by_interval))
    region = np.searchsorted(cuts, x[there])
    signed, place, query_there = x[there] * direction[region], place[region], query[there]
    order = np.lexsort((signed, place, query_there))
    middle = np.empty(end - begin)
    if len(there):
        first = run_starts(query_there[order], place[order], signed[order])
        same = np.add.reduceat(mass[there[order]], first)
        owner = query_there[order][first]
        before = np.cumsum(same) - same
        before -= before[run_starts(owner)][np.cumsum(np.diff(owner, prepend=owner[:1]) != 0)]
        above = np.clip((before + same - present[owner] / 2.0) / same, 0.0, 1.0)
        lengths = np.diff(np.append(first, len(order)))
        found = before + same / 2.0 + missing[owner] * above
        middle[there[order]] = np.repeat(found, lengths)
    out[begin:end] = np.where(absent, ((present + missing) / 2.0)[query], middle)


def order_rows(scores: Floats, starts: Ints, first_query: int, last_query: int, out: Ints) -> None:
    """Write the rows of every query by falling score, equal ones in any order."""
    begin, end = int(starts[first_query]), int(starts[last_query])
    sizes = np.diff(starts[first_query : last_query + 1])
    query = np.repeat(np.arange(len(sizes)), sizes)
    out[begin:end] = begin + np.lexsort((-scores[begin:end], query))


def interval_sums(
    values: Floats, codes: Ints, weight: Floats, scale: float, sums: Floats, counts: Floats
) -> float:
    """Add up values and weights of every interval; return the largest absolute value added.

    Equivalent to: for every row with a value and a code that is not negative, add
    ``weight * value * scale`` to ``sums[code]`` and ``weight`` to ``counts[code]``.
    """
    rows = np.flatnonzero((codes >= 0) & ~np.isnan(values))
    mass = np.ones(len(rows)) if len(weight) == 0 else weight[rows]
    found = values[rows] * mass
    sums += np.bincount(codes[rows], found * scale, len(sums))
    counts += np.bincount(codes[rows], mass, len(counts))
    return float(np.abs(found).max(initial=0.0))

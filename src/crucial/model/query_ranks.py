"""Ranks inside queries, of values as they are or cut into regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crucial.kernels.predict import rank_rows
from crucial.types import Floats, Ints

__all__ = ["UPWARD", "Regions", "middle_positions"]

# Values this close to the half way between two centres, as a share of the centres' distance and of
# their size, are halfway.
_HALFWAY = 1e-10
_ROUNDING = 4 * 2.0**-52


@dataclass(frozen=True, eq=False)
class Regions:
    """The real line, cut into regions that are ranked one above the other.

    Attributes
    ----------
    cuts : ascending float64 array
        Region ``g`` has the values that are greater than exactly ``g`` of them.
    by_interval : int64 array
        The regions, lowest ranked first.
    direction : float64 array over the regions
        1 where larger values rank higher inside it, -1 where smaller do, 0 where none does.
    """

    cuts: Floats
    by_interval: Ints
    direction: Floats

    @classmethod
    def around(cls, centres: Sequence[float | None]) -> Regions:
        """Return the regions of the values nearest to each centre (Wang et al., equations 6-8).

        The later a centre is in the list, the higher its region ranks. Inside a region, values
        rank in the direction from the previous centre to its own; in the first, from its own
        to the next different one. A value halfway between two centres belongs to the
        earlier one, and so does everything where two centres are equal. Halfway are the values
        that are halfway but for rounding, 1e-10 of the distance of the centres.

        Examples
        --------
        >>> regions = Regions.around([0.6, 0.3])
        >>> regions.by_interval.tolist(), regions.direction.tolist()
        ([1, 0], [-1.0, -1.0])
        """
        known = [(k, c) for k, c in enumerate(centres) if c is not None]
        if not known:
            raise ValueError("there is no centre")
        values = [c for _, c in known]
        steps = [float(np.sign(b - a)) for a, b in pairwise(values)]
        first = next((step for step in steps if step != 0.0), 0.0)
        toward = [first, *steps]
        # Equal centres: a sort that keeps the order leaves the earliest in front.
        order = sorted(range(len(known)), key=lambda at: values[at])
        kept = [
            at
            for place, at in enumerate(order)
            if place == 0 or values[at] != values[order[place - 1]]
        ]
        cuts = []
        for left, right in pairwise(kept):
            cuts.append(_cut(values[left], values[right], left < right))
        return cls(
            np.array(cuts, np.float64),
            np.argsort(kept, kind="stable").astype(np.int64),
            np.array([toward[at] for at in kept]),
        )


def _cut(left: float, right: float, left_is_earlier: bool) -> float:
    """Return what values nearer to the right centre are greater than; the half is the earlier's."""
    half = left / 2 + right / 2  # (their sum could overflow)
    slack = _HALFWAY * (right / 2 - left / 2) + _ROUNDING * max(abs(left), abs(right))
    if left_is_earlier:
        return min(half + slack, float(np.nextafter(right, -np.inf)))
    return max(half - slack, left)


#: No cuts: larger values rank higher.
UPWARD = Regions(np.zeros(0), np.zeros(1, np.int64), np.ones(1))


def middle_positions(
    values: Floats,
    starts: Ints,
    regions: Regions = UPWARD,
    weight: Floats | None = None,
    threads: int = 1,
) -> Floats:
    """Return the middle of the positions of every row in its query; 0.5 for the lowest.

    Parameters
    ----------
    values : float64 array, rows query after query
        NaN where a row is not ranked: such rows are at the middle of their query.
    starts : int64 array of shape (n_queries + 1,)
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    regions : Regions
    weight : array like values, optional
        A row of weight 2 takes two positions.
    threads : int
        They share out queries and cannot change a result.

    Examples
    --------
    >>> middle_positions(np.array([3.0, 1.0, np.nan, 2.0, 2.0]), np.array([0, 3, 5])).tolist()
    [2.5, 0.5, 1.5, 1.0, 1.0]
    """
    weight = np.zeros(0) if weight is None else weight
    cuts = (regions.cuts, regions.by_interval, regions.direction)
    with np.errstate(over="ignore"):  # (shares of rows of hardly any weight are cut off at 1)
        return rank_rows(values, weight, cuts, starts, threads)

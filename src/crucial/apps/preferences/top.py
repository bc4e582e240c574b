"""Whether the first places of a ranking are settled: by the answers themselves, or by the model."""

from __future__ import annotations

import numpy as np

from crucial.types import Bools, Floats, Ints

__all__ = ["reached", "settled_by"]

#: Chance at which the model settles places that the answers alone leave open.
SURE = 0.9


def reached(beats: Bools, start: int) -> Bools:
    """Return which items a chain of wins leads to from one item.

    Examples
    --------
    >>> beats = np.zeros((4, 4), bool)
    >>> beats[0, 1] = beats[1, 2] = True
    >>> reached(beats, 0).tolist()
    [False, True, True, False]
    """
    found: Bools = beats[start].copy()
    edge: Bools = found.copy()
    while edge.any():
        edge = beats[edge].any(axis=0) & ~found
        found = found | edge
    return found


def settled_by(order: Ints, won: Floats, tied: Floats, places: Ints, top: int) -> str | None:
    """Return what settles the first places, in their order; None if something is open.

    The answers do if each of these items is above everything after it, directly or through a chain
    of answers that follows the order, and none is for a later item over one of them. Where the
    answers to a pair contradict each other, most of them count, and as many for each item are none.
    Items called equal are each at least as good as the other. Where something is missing or
    contradicts, the model decides.

    Parameters
    ----------
    order : int array of shape (n_items,)
        The items, best first.
    won, tied : float arrays of shape (n_items, n_items)
        How often each item won against each other one, and how often they were called equal.
    places : int array of shape (n_draws, n_items)
        Ranks of the items in draws of the strengths.
    top : int
        Number of first places.

    Returns
    -------
    {"answers", "model"} or None
    """
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    against = won > won.T
    equal = (tied > 0) & (won == 0) & (won.T == 0)
    beats = (against | equal) & (place[:, None] < place[None, :])
    by = "answers"
    for first in range(1, min(top, len(order) - 1) + 1):
        head, tail = order[:first], order[first:]
        if (
            all(reached(beats, k)[tail].all() for k in head)
            and not against[np.ix_(tail, head)].any()
        ):
            continue
        if (places[:, head] <= first).all(axis=1).mean() < SURE:
            return None
        by = "model"
    return by

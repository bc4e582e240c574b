"""Greedy orders of a preference graph (Cohen, Schapire & Singer 1999).

The graph has a weight for every ordered pair of items: how much says that the first is better.
The best order, which agrees with the most weight, is hard to find. Both orders here take O(n^2)
time and agree with at least half of all weight, and so with at least half of what the best order
does.
"""

from __future__ import annotations

import numpy as np

from crucial.apps.preferences.graph import strong_parts
from crucial.boosting.stump_search import TIE
from crucial.data.arrays import as_reals
from crucial.errors import DataError
from crucial.types import Floats, Ints, TableLike

__all__ = ["greedy_order"]


def greedy_order(preference: TableLike, *, components: bool = True) -> Ints:
    """Order items so that they agree with much of the weight of a preference graph.

    The item with the largest potential, the weight of its preferences over the others minus theirs
    over it, comes first; it is taken out of the graph, and so on.

    Parameters
    ----------
    preference : array of shape (n_items, n_items)
        ``preference[i, j]``: the weight of "i is better than j"; the diagonal is not read.
    components : bool
        First divide the items into strongly connected components of the majorities. All majorities
        between two components point one way, and the order follows them; only inside a component
        it is greedy (the improved algorithm of the paper, exact where no majorities form a circle).

    Returns
    -------
    int array of shape (n_items,)
        The items, best first. Of items with equal potentials, the first comes first.

    Examples
    --------
    >>> greedy_order([[0, 3, 1], [1, 0, 3], [3, 1, 0]]).tolist()  # (a circle)
    [0, 1, 2]
    >>> greedy_order([[0, 1, 0], [2, 0, 5], [2, 1, 0]]).tolist()
    [1, 2, 0]
    """
    above = _checked(preference)
    n = len(above)
    if not components:
        return np.array(_greedy(above), np.int64)
    high, low = np.nonzero(above > above.T)
    component = strong_parts(n, high, low)
    order: list[int] = []
    for one in _sorted_components(above, component):
        inside = np.flatnonzero(component == one)
        order += inside[_greedy(above[np.ix_(inside, inside)])].tolist()
    return np.array(order, np.int64)


def _checked(preference: TableLike) -> Floats:
    """Return the weights as a square table with an empty diagonal."""
    try:
        above = as_reals(preference, "preference").copy()
    except (TypeError, ValueError):
        raise DataError("preference must be a table of numbers.", parameter="preference") from None
    if above.ndim != 2 or above.shape[0] != above.shape[1] or not len(above):
        raise DataError(
            "preference must have a row and a column for every item. "
            f"Got an array of shape {above.shape}.",
            parameter="preference",
        )
    np.fill_diagonal(above, 0.0)
    wrong = np.argwhere(~(np.isfinite(above) & (above >= 0.0)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise DataError(
            f"preference must be finite and not negative. That of {i} over {j} is {above[i, j]}.",
            parameter="preference",
        )
    # (by a power of 2, which is exact, so that no sum overflows)
    return above * 2.0**-600 if above.max() > 1e150 else above


def _greedy(above: Floats) -> list[int]:
    """Return the items by falling potential, each computed among those that are left."""
    net = above - above.T
    potential = net.sum(axis=1)
    # Potentials that differ by rounding alone are equal.
    slack = TIE * float(above.sum(axis=1).max(initial=0.0) + above.sum(axis=0).max(initial=0.0))
    left = np.ones(len(above), bool)
    order = []
    for _ in range(len(above)):
        best = float(potential[left].max())
        chosen = int(np.flatnonzero(left & (potential >= best - slack))[0])
        order.append(chosen)
        left[chosen] = False
        potential += net[chosen]  # (less by what each had over the chosen one)
    return order


def _sorted_components(above: Floats, component: Ints) -> list[int]:
    """Return the components so that none has a majority over an earlier one.

    Among those that may come next, the one with the largest potential does.
    """
    n_components = int(component.max()) + 1
    table = np.zeros((n_components, n_components))
    np.add.at(table, (component[:, None], component[None, :]), above)
    np.fill_diagonal(table, 0.0)
    beats = np.zeros((n_components, n_components), bool)
    high, low = np.nonzero(above > above.T)
    beats[component[high], component[low]] = True
    np.fill_diagonal(beats, False)
    net = table - table.T
    potential, slack = net.sum(axis=1), TIE * float(table.sum())
    first = np.full(n_components, len(component))
    np.minimum.at(first, component, np.arange(len(component)))
    losses = beats.sum(axis=0)
    left = np.ones(n_components, bool)
    order = []
    for _ in range(n_components):
        ready = np.flatnonzero(left & (losses == 0))
        best = float(potential[ready].max())
        tied = ready[potential[ready] >= best - slack]
        chosen = int(tied[np.argmin(first[tied])])
        order.append(chosen)
        left[chosen] = False
        losses -= beats[chosen]
        potential += net[chosen]
    return order

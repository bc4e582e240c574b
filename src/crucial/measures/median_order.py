"""The order with the least summed Kendall distance to given ones."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["kemeny_order"]

_EXACT = 15  # up to so many items of a circle are ordered by trying every subset


def kemeny_order(above: Floats, start: Ints) -> tuple[Ints, bool]:
    """Order the items of a matrix of wins; also return whether no order is better."""
    n = len(above)
    # In a best order, i is below j only if a majority of j reaches i: groups that lose to no other
    # come first.
    high, low = np.nonzero((above >= above.T) & ~np.eye(n, dtype=bool))
    group = _strong_parts(n, high, low)
    reach = np.zeros(int(group.max()) + 1, np.int64)
    for k in range(len(reach)):
        # (between two groups all majorities point one way, so that one member decides)
        member = int(np.flatnonzero(group == k)[0])
        reach[k] = int((above[member] > above[:, member])[group != k].sum())
    place = np.empty(n, np.int64)
    place[start] = np.arange(n)
    out: list[Ints] = []
    exact = True
    for k in np.argsort(-reach, kind="stable").tolist():
        inside = np.flatnonzero(group == k)
        inside = inside[np.argsort(place[inside], kind="stable")]
        block = above[np.ix_(inside, inside)]
        if len(inside) <= _EXACT:
            out.append(inside[_by_subsets(block)])
        else:
            out.append(inside[_by_moves(block)])
            exact = False
    return np.concatenate(out), exact


def _by_subsets(above: Floats) -> Ints:
    """Return the best order by dynamic programming over the subsets that come first."""
    n = len(above)
    if n == 1:
        return np.zeros(1, np.int64)
    masks = np.arange(1 << n)
    # against[i][mask]: weight of item i above members of the mask
    against = np.zeros((n, 1 << n))
    for j in range(n):
        against[:, (masks >> j & 1) == 1] += above[:, j, None]
    cost = np.zeros(1 << n)
    last = np.zeros(1 << n, np.int8)
    size = np.zeros(1 << n, np.int64)
    for j in range(n):
        size += masks >> j & 1
    for count in range(1, n + 1):
        some = masks[size == count]
        best = np.full(len(some), np.inf)
        pick = np.zeros(len(some), np.int8)
        for j in range(n):
            has = (some >> j & 1) == 1
            rest = some[has] & ~(1 << j)
            value = cost[rest] + against[j, rest]
            better = value < best[has]
            where = np.flatnonzero(has)[better]
            best[where], pick[where] = value[better], j
        cost[some], last[some] = best, pick
    order = []
    mask = (1 << n) - 1
    while mask:
        order.append(int(last[mask]))
        mask &= ~(1 << order[-1])
    return np.array(order[::-1], np.int64)


def _by_moves(above: Floats) -> Ints:
    """Return an order in which no move of a single item helps."""
    net = above.T - above  # net[i, j] > 0: the majority has j above i
    order = np.arange(len(above))
    smallest = 1e-9 * float(np.abs(net).max(initial=1.0))
    improved = True
    while improved:
        improved = False
        for item in range(len(above)):
            at = int(np.flatnonzero(order == item)[0])
            rest = np.delete(order, at)
            # cost of a place before rest[k:], less that of the first place
            gains = np.concatenate(([0.0], np.cumsum(-net[item, rest])))
            target = int(np.argmin(gains))
            if gains[target] < gains[at] - smallest:
                order = np.insert(rest, target, item)
                improved = True
    return order


def _strong_parts(n_items: int, high: Ints, low: Ints) -> Ints:
    """Return the strongly connected part of each item."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(high)), (high, low)), shape=(n_items, n_items))
    part: Ints = connected_components(edges, connection="strong")[1].astype(np.int64)
    return part

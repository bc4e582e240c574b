"""One order from many: Mallows' centre, which is Kemeny's ranking, and greedy orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.boosting.stumps import TIE
from crucial.data.arrays import as_reals
from crucial.data.comparisons import Comparisons, Rankings
from crucial.errors import DataError
from crucial.measures.pairs import kemeny_order, strong_parts
from crucial.parameters import check, one_of
from crucial.preferences.likelihood import COMPARISONS_OR_RANKINGS, rankings_of_one_form
from crucial.results import Frame, Result, as_frame
from crucial.types import Floats, Ints, TableLike
from crucial.wording import printable

# --- Greedy orders of a preference graph (Cohen, Schapire & Singer 1999)
#
# The graph has a weight for every ordered pair of items: how much says that the first is better.
# The best order, which agrees with the most weight, is hard to find. Both orders here take O(n^2)
# time and agree with at least half of all weight, and so with at least half of what the best order
# does.


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


# --- Consensus of rankings: the centre of Mallows' model, which is Kemeny's ranking
#
# Mallows (1957): a ranking at Kendall distance d from the centre has probability proportional to
# e^(-theta d). The most likely centre has the least summed distance, whatever theta is. Finding it
# is hard in general; the result is exact if the circles among the majorities are small.


_MOST_ITEMS = 5000
_MOST_THETA = 50.0


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(Result):
    """Result of `consensus`.

    Attributes
    ----------
    items : tuple of str
        The ranking, best first.
    distance : float
        Weight of all (voter, pair) that disagree with the ranking; ties and unranked items
        count for neither side.
    lower_bound : float
        No ranking has a smaller distance; circles make the bound unreachable.
    exact : bool
        Whether it is proven that no ranking has a smaller distance; else, with method "kemeny",
        moving single items finds no better.
    share : float
        The distance as a share of all weight on pairs.
    theta : float or None
        Most likely concentration of Mallows' model: 0 is chance, infinity unanimity. None for
        comparisons, and for rankings with ties other than at their end.
    borda : tuple of str
        The order of Borda's points, where the search starts.
    method : {"kemeny", "greedy", "greedy-components"}
        How the ranking was found.
    """

    items: tuple[str, ...]
    distance: float
    lower_bound: float
    exact: bool
    share: float
    theta: float | None
    borda: tuple[str, ...]
    method: str = "kemeny"

    def to_frame(self) -> Frame:
        """Return the columns rank, item and borda_rank."""
        place = {item: k + 1 for k, item in enumerate(self.borda)}
        ranks, by_borda = range(1, len(self.items) + 1), [place[item] for item in self.items]
        return as_frame({"rank": ranks, "item": self.items, "borda_rank": by_borda})

    def text(self, top: int | None = None) -> str:
        """Return the distance and the first items of the ranking as lines of text."""
        how = "the least found" if self.method == "kemeny" else "found greedily"
        how = "no ranking has less" if self.exact else how
        lines = [
            f"distance {self.distance:g} ({how}; lower bound {self.lower_bound:g}): "
            f"{self.share:.1%} of the opinions on pairs are against it"
        ]
        if self.theta is not None:
            lines.append(f"Mallows: theta {self.theta:.3f} (0 is chance)")
        lines += [f"{k:>4}  {printable(item, 80)}" for k, item in enumerate(self.items[:top], 1)]
        if top is not None and top < len(self.items):
            lines.append(f"and {len(self.items) - top:,} more")
        return "\n".join(lines)


#: How to find a consensus.
METHODS = ("kemeny", "greedy", "greedy-components")


def consensus(data: Rankings | Comparisons, method: str = "kemeny") -> Consensus:
    """Return the ranking with the least summed Kendall distance to all.

    Items are divided into groups each of which beats the next by majority in every pair, which
    every best ranking respects. A group of up to 15 items is ordered exactly by dynamic
    programming over its subsets; a larger one by moving single items, from Borda's order,
    until no move helps.

    Parameters
    ----------
    data : Rankings or Comparisons
        Full or partial rankings, or comparisons (a tie is half an opinion each way).
    method : {"kemeny", "greedy", "greedy-components"}
        As above; or the greedy orders of Cohen, Schapire & Singer (1999), which are quick for
        thousands of items in one circle and leave at most half of the opinions against them: see
        `crucial.preferences.greedy_order`.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> from crucial.data.comparisons import Rankings
    >>> found = consensus(Rankings.from_orders([["a", "b", "c"], ["b", "a"], ["b", "c", "a"]]))
    >>> found.items, found.distance, found.exact
    (('b', 'c', 'a'), 2.0, True)
    """
    check("consensus", "data", data, COMPARISONS_OR_RANKINGS)
    check("consensus", "method", method, one_of(*METHODS))
    if len(data.items) > _MOST_ITEMS:
        raise DataError(f"a consensus of at most {_MOST_ITEMS} items can be found. "
                        f"Got {len(data.items)}.")  # fmt: skip
    above = data.above()
    borda = np.argsort(above.sum(axis=0) - above.sum(axis=1), kind="stable")
    if method == "kemeny":
        order, exact = kemeny_order(above, borda)
    else:
        order, exact = greedy_order(above, components=method == "greedy-components"), False
    distance = float(np.triu(above[np.ix_(order, order)].T, 1).sum())
    bound = float(np.triu(np.minimum(above, above.T), 1).sum())
    total = float(above.sum())
    theta = mallows_theta(data, order) if isinstance(data, Rankings) else None
    ranked, by_borda = (tuple(data.items[k] for k in one) for one in (order, borda))
    exact, share = bool(exact or distance <= bound), distance / total if total else 0.0
    return Consensus(ranked, distance, bound, exact, share, theta, by_borda, method)


def mallows_theta(rankings: Rankings, centre: Ints) -> float | None:
    """Return the most likely concentration around a centre; infinite if all agree with it.

    A ranking chooses one item after another from those it ranks; the item chosen from m is v
    places below the best of them in the centre, with probability proportional to e^(-theta v)
    (Fligner & Verducci 1986). So the ties of a last group need no order. Partial rankings count
    as rankings of their own items.
    """
    from scipy.optimize import brentq

    if any(len(group) > 1 for order in rankings.orders for group in order[:-1]):
        return None
    place = np.empty(len(centre), np.int64)
    place[centre] = np.arange(len(centre))
    left_counts = np.zeros(len(centre) + 1)
    distance = 0.0
    for form in rankings_of_one_form(rankings, least=1):
        count = rankings.count[form.numbers]
        places = place[form.items]
        size = places.shape[1]
        chosen = size if form.group[-1] == size - 1 else int(form.group[-1])
        left_counts[size - np.arange(chosen)] += count.sum()
        for k in range(chosen):
            distance += float(count @ (places[:, k + 1 :] < places[:, k : k + 1]).sum(axis=1))
    m = np.flatnonzero(left_counts)
    m = m[m > 1]
    counts = left_counts[m]
    if not len(m):
        return None
    if distance == 0:
        return float("inf")

    def excess(theta: float) -> float:
        return float(counts @ _expected(theta, m)) - distance

    if excess(0.0) <= 0:
        return 0.0
    if excess(_MOST_THETA) >= 0:
        return _MOST_THETA
    return float(brentq(excess, 0.0, _MOST_THETA, xtol=1e-12))


def _expected(theta: float, m: Ints) -> Floats:
    """Return the mean of v in 0..m-1 with weights e^(-theta v)."""
    if theta < 1e-6:  # (where the formula below loses all its digits)
        return np.asarray((m - 1) / 2 - theta * (m**2 - 1) / 12)
    return np.asarray(1 / np.expm1(theta) - m / np.expm1(np.minimum(theta * m, 700)))

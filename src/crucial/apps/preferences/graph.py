"""The graph of comparisons: connected parts, items that always win, circles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from crucial.data.comparisons import Comparisons

__all__ = [
    "Circles",
    "always_winning",
    "centred",
    "circles",
    "circles_of_matrix",
    "parts_of",
    "strong_parts",
]


def _components(n: int, high: Ints, low: Ints, connection: Literal["weak", "strong"]) -> Ints:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(high)), (high, low)), shape=(n, n))
    _, labels = connected_components(graph, directed=True, connection=connection)
    return np.asarray(labels, np.int64)


def parts_of(n_items: int, high: Ints, low: Ints) -> Ints:
    """Return the connected part of each item; the largest part is number 0.

    Items of different parts were not compared, not even through others.

    Examples
    --------
    >>> parts_of(5, np.array([0, 2, 3]), np.array([1, 3, 4])).tolist()
    [1, 1, 0, 0, 0]
    """
    labels = _components(n_items, high, low, "weak")
    sizes = np.bincount(labels)
    first = np.full(len(sizes), n_items)
    np.minimum.at(first, labels, np.arange(n_items))
    order = np.lexsort((first, -sizes))
    place = np.empty(len(sizes), np.int64)
    place[order] = np.arange(len(sizes))
    return place[labels]


def centred(s: Floats, part: Ints) -> Floats:
    """Return strengths of mean 0 in each part."""
    sizes = np.bincount(part)
    return np.asarray(s - (np.bincount(part, s) / sizes)[part])


def strong_parts(n_items: int, high: Ints, low: Ints) -> Ints:
    """Return the strongly connected part of each item.

    Within a part, every item has beaten every other through others; between two parts all wins go
    one way.
    """
    return _components(n_items, high, low, "strong")


def always_winning(n_items: int, high: Ints, low: Ints, part: Ints) -> bool:
    """Return whether in some part a group of items always won against the rest."""
    return bool(strong_parts(n_items, high, low).max() > part.max())


@dataclass(frozen=True)
class Circles(HtmlResult):
    """Contradictions among comparisons.

    Attributes
    ----------
    pairs : int
        Number of different pairs of items compared.
    contradicted : int
        Pairs that both items won (without ties).
    triads : int
        Triples of items with a majority in each of their three pairs.
    cyclic : int
        Triples in which a beats b, b beats c and c beats a.
    """

    pairs: int
    contradicted: int
    triads: int
    cyclic: int

    def __str__(self) -> str:
        share = f" ({self.cyclic / self.triads:.1%})" if self.triads else ""
        return (
            f"{self.cyclic:,} of {self.triads:,} triples run in circles{share}; "
            f"{self.contradicted:,} of {self.pairs:,} pairs were won by both sides"
        )

    def _html_title(self) -> str:
        return "Contradictions among comparisons"

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "": ["triples in circles", "pairs won by both sides"],
            "number": [self.cyclic, self.contradicted],
            "of": [self.triads, self.pairs],
            "share": [
                self.cyclic / self.triads if self.triads else None,
                self.contradicted / self.pairs if self.pairs else None,
            ],
        }
        return [HtmlTable(columns, {"share": 1.0})]


def circles(comparisons: Comparisons) -> Circles:
    """Count the circles of three, and the contradicted pairs.

    Examples
    --------
    >>> from crucial.data.comparisons import Comparisons
    >>> circles(Comparisons.from_columns(["a", "b", "c"], ["b", "c", "a"]))
    Circles(pairs=3, contradicted=0, triads=1, cyclic=1)
    """
    from scipy.sparse import csr_array

    n = len(comparisons.items)
    high, low, weight, row = comparisons.directed()
    decided = ~comparisons.tie[row] & (weight > 0)
    # (added up first where that is quick: a sparse matrix sorts a million entries)
    if n * n <= 4 * len(high) + 1000:
        at = high * n + low
        both = np.bincount(at, weight, minlength=n * n).reshape(n, n)
        alone = np.bincount(at[decided], weight[decided], minlength=n * n).reshape(n, n)
        return circles_of_matrix(csr_array(alone), csr_array(both))
    won = csr_array((weight[decided], (high[decided], low[decided])), shape=(n, n))
    all_ = csr_array((weight, (high, low)), shape=(n, n))
    return circles_of_matrix(won, all_)


def circles_of_matrix(won: csr_array, compared: csr_array | None = None) -> Circles:
    """Do the same for a sparse matrix of wins, and one of all comparisons."""
    net = (won - won.T).tocsr()
    ahead = (net > 0).astype(np.int64)
    either = ahead + ahead.T
    cyclic = int((ahead @ ahead).multiply(ahead.T).sum()) // 3
    triads = int((either @ either).multiply(either).sum()) // 6
    both = ((won > 0).multiply(won.T > 0)).sum()
    compared = won if compared is None else compared
    pairs = ((compared > 0) + (compared.T > 0)).sum()
    return Circles(int(pairs) // 2, int(both) // 2, triads, cyclic)

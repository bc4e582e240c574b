"""The agreement of a ranking with the labels, query by query."""

from __future__ import annotations

import numpy as np

from crucial.feedback.layout import Layout
from crucial.kernels.pairs import count_pairs
from crucial.kernels.predict import order_rows
from crucial.types import Floats

__all__ = ["Agreement"]


class Agreement:
    """Counts, for any scores, the pairs of different labels in the right and wrong order.

    Parameters
    ----------
    layout : Layout
        The rows, by query and label.
    weight : array over the rows of the layout, or None
        A pair weighs the product.
    threads : int
        Threads share the queries; the result does not depend on them.
    """

    def __init__(self, layout: Layout, weight: Floats | None = None, threads: int = 1) -> None:
        self._starts, self._threads = layout.row_start, threads
        self._level = layout.level_of_row().astype(np.int64)
        self._query = layout.query_of_row()
        self._weight = weight

    def counts(self, scores: Floats) -> Floats:
        """Return the weight of right, wrong and tied pairs per query: shape (n_queries, 3)."""
        order = order_rows(scores, self._starts, self._threads)
        ranked = scores[order]
        new = np.ones(len(order), bool)
        new[1:] = (ranked[1:] != ranked[:-1]) | (self._query[1:] != self._query[:-1])
        blocks = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
        lists = np.searchsorted(blocks, self._starts)
        weight = None if self._weight is None else self._weight[order]
        return count_pairs(self._level[order], weight, blocks, lists, self._threads)

    def of(self, scores: Floats) -> Floats:
        """Return ``E = 1 - 2 T`` per query, T being the Kendall distance with ties counted half.

        A ranking of ties only has 0, the right one 1 and its opposite -1 (Wang et al.,
        equation 9, where no ranks tie).
        """
        net, pairs = self.net(scores)
        return np.asarray(net / pairs)

    def net(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the weight of right minus wrong pairs, and of all pairs, per query."""
        right, wrong, tied = self.counts(scores).T
        return right - wrong, right + wrong + tied

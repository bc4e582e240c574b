"""The loss of RSRank (Sun et al. 2009): pairs weigh what their exchange would cost in NDCG.

A pair of rows of one query, with labels y_i > y_j and positions k_i and k_j, weighs ::

    (2^y_i - 2^y_j) |d_i - d_j| / (ideal DCG of the query),  d = 1 / log2(1 + k)

All weights sum to 1. The loss of a margin z is the modified Huber loss: ``(1 - z)^2`` in [-1, 1],
0 above and ``-4 z`` below, which is ``[1 - z]_+^2 - [-1 - z]_+^2``. In the ideal order d rises with
the label, so that the weight of a pair is a sum of four products of something of i with something
of j: sums over pairs are four sums of hinges each, and no pair is listed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import dot, exp2, log2
from crucial.kernels.pairs import HingeSums, ShortPairs
from crucial.types import Floats

__all__ = ["DiscountedPairs", "HuberLoss", "ideal_discounts"]

# Rows that the weights of a query may add up to: positions beyond are not computed.
_MOST_ROWS = 1e7
_LEAST_ROWS = 1e-290  # (a share of less has no digits)
_HIGHEST_LABEL = 64.0


class DiscountedPairs:
    """Pairs of labels, and all of their weight but the discounts.

    Parameters
    ----------
    feedback : LabelFeedback
    threads : int

    Attributes
    ----------
    gain : array over the rows
        ``2^y``, less that of the lowest label of the query.
    weight : array over the rows
        Weight of the row, as it was passed in.
    """

    def __init__(self, feedback: LabelFeedback, threads: int) -> None:
        rows = feedback.labelled()
        self.layout, self._threads = rows.layout, threads
        labels, query = rows.labels, rows.layout.query_of_row()
        _check_labels(labels)
        self.query = query
        lowest = rows.layout.values[rows.layout.query_first[:-1]]
        self.gain = exp2(labels) - exp2(lowest)[query]
        n_rows = len(labels)
        self.weight = np.ones(n_rows) if feedback.weight is None else feedback.weight
        self.scaled = np.ones(n_rows) if rows.weight is None else rows.weight
        heaviest = np.bincount(query, self.weight).max()
        if heaviest > _MOST_ROWS:
            raise DataError(
                f"RSRank: sample_weight adds up to {heaviest:g} rows in a query, and positions are "
                f"counted one by one, up to {_MOST_ROWS:g}. Use smaller weights, or "
                "SparseRankingSVM.",
                parameter="sample_weight",
            )
        if heaviest < _LEAST_ROWS:
            raise DataError(
                f"RSRank: sample_weight adds up to {heaviest:g} rows in a query, too few to take "
                "a share of. Multiply all weights by the same number.",
                parameter="sample_weight",
            )
        worth = self.weight * (exp2(labels) - 1.0) * self.discounts(-labels)
        best = np.bincount(query, worth, rows.layout.n_queries)
        if not (best > 0.0).all():
            raise DataError(
                "RSRank: labels are so small that 2^y - 1 of all labels of a query rounds to 0. "
                f"The largest is {labels.max():g}: multiply them, or use SparseRankingSVM.",
                parameter="y",
            )
        self._share = rows.coefficient / best

    def discounts(self, falling: Floats, ties: str = "mean") -> Floats:
        """Return the discount of every row at its position by a rising key.

        Parameters
        ----------
        falling : array over the rows
            The lowest is at the first position of its query. A row of weight 2 is at two
            positions, whose mean discount it gets.
        ties : {"mean", "first"}
            Rows of equal keys get the mean discount of their positions, or stand in the order of
            the layout.
        """
        order = np.lexsort((np.arange(len(falling)), falling, self.query))
        query, key, mass = self.query[order], falling[order], self.weight[order]
        new = np.ones(len(order), bool)
        if ties == "mean":
            new[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
        first = np.flatnonzero(new)
        block = np.add.reduceat(mass, first)
        begin = _running(block, query[first])
        table = np.concatenate(
            ([0.0], np.cumsum(1.0 / log2(2.0 + np.arange(int(np.ceil((begin + block).max()))))))
        )
        inside = _between(table, begin + block) - _between(table, begin)
        out = np.empty(len(order))
        out[order] = np.repeat(inside / block, np.diff(np.append(first, len(order))))
        return out

    def sums(self, weight: Floats) -> HingeSums:
        """Return sums over the pairs of a row, the others weighted."""
        return HingeSums(self.layout, weight, self.layout.values, "sign", self._threads)

    def scale(self) -> Floats:
        """Return the factor of every row on its side of a pair."""
        scale: Floats = self._share[self.query] * self.scaled
        return scale


def _check_labels(labels: Floats) -> None:
    if labels.min() < 0.0 or labels.max() > _HIGHEST_LABEL:
        raise DataError(
            "RSRank: labels must be grades from 0 on, since a label y is worth 2^y - 1 in NDCG, "
            f"and at most {_HIGHEST_LABEL:g}. Got labels from {labels.min():g} to "
            f"{labels.max():g}. Move or rescale them, or use SparseRankingSVM, for which only "
            "their order counts.",
            parameter="y",
        )


def _between(table: Floats, at: Floats) -> Floats:
    """Return a table at places that need not be whole, on lines between its entries."""
    low = at.astype(np.int64)
    rise = table[np.minimum(low + 1, len(table) - 1)] - table[low]
    return np.asarray(table[low] + (at - low) * rise)


def _running(values: Floats, groups: NDArray[np.integer]) -> Floats:
    """Return the sum of the earlier values of the same group, which are next to each other."""
    before = np.cumsum(values) - values
    starts = np.concatenate(([0], np.flatnonzero(groups[1:] != groups[:-1]) + 1))
    sizes = np.diff(np.append(starts, len(groups)))
    return np.asarray(before - np.repeat(before[starts], sizes))


def ideal_discounts(pairs: DiscountedPairs, ties: str) -> Floats:
    """Return the discounts of the order of the labels."""
    labels = np.repeat(pairs.layout.values, np.diff(pairs.layout.level_start))
    return pairs.discounts(-labels, ties)


class _Factored:
    """Sums over pairs that weigh ``(gain_i - gain_j) (discount_i - discount_j)``."""

    def __init__(self, pairs: DiscountedPairs, discount: Floats) -> None:
        gain, mass = pairs.gain, pairs.scaled
        self._terms = [
            (gain * discount, pairs.sums(mass)),
            (-gain, pairs.sums(mass * discount)),
            (-discount, pairs.sums(mass * gain)),
            (np.ones(len(gain)), pairs.sums(mass * gain * discount)),
        ]

    def at(self, scores: Floats, cut: float) -> ShortPairs:
        """Return the sums over the pairs that fall short of ``1 - cut``."""
        wins, losses = np.zeros((len(scores), 3)), np.zeros((len(scores), 2))
        for own, others in self._terms:
            found = others.at(scores, cut)
            wins += own[:, None] * found.wins
            losses += own[:, None] * found.losses
        return ShortPairs(wins, losses)

    def moved(self, scores: Floats, move: Floats, cut: float) -> Floats:
        """Return the sum of a move over the partners of every row."""
        out = np.zeros(len(scores))
        for own, others in self._terms:
            out += own * others.moved(scores, move, cut)
        return out


class HuberLoss:
    """The loss with the positions of the ideal order; a `BoundedLoss`.

    Parameters
    ----------
    pairs : DiscountedPairs
    discount : array over the rows
        Rises with the label.
    """

    def __init__(self, pairs: DiscountedPairs, discount: Floats) -> None:
        self._sums = _Factored(pairs, discount)
        scale = pairs.scale()
        everything = self._sums.at(np.zeros(len(discount)), 0.0).wins[:, 0]
        self._scale = scale / dot(scale, everything)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        near, far = (self._sums.at(scores, cut) for cut in (0.0, 2.0))
        value = dot(self._scale, near.wins[:, 2] - far.wins[:, 2])
        pull = (near.losses - far.losses)[:, 1] - (near.wins - far.wins)[:, 1]
        return value, 2.0 * self._scale * pull

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""
        near, far = (self._sums.at(scores, cut) for cut in (0.0, 2.0))
        partners = near.wins[:, 0] - far.wins[:, 0] + near.losses[:, 0] - far.losses[:, 0]

        def product(move: Floats) -> Floats:
            others = self._sums.moved(scores, move, 0.0) - self._sums.moved(scores, move, 2.0)
            return np.asarray(2.0 * self._scale * (partners * move - others))

        return product

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below the loss; see `BoundedLoss`.

        The loss of a margin is at least ``p (1 - z) - p^2 / 4`` for any p in [0, 4], and equal at
        ``p = 2 ([1 - z]_+ - [-1 - z]_+)``.
        """
        near, far = (self._sums.at(scores, cut).wins[:, 1] for cut in (0.0, 2.0))
        pull = 2.0 * dot(self._scale, near - far)
        return pull, pull + dot(by_score, scores) - value

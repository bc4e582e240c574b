"""The margins ``H(hi) - H(lo)`` of all pairs of a feedback, as a distribution."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.margins import count_margins
from crucial.types import Floats, Ints

__all__ = ["LabelMargins", "MarginCounts", "PairMargins", "quantiles"]

# Sums of weights that are no whole numbers round: a share within this of q has reached q.
_ROUNDING = 1e-12


class MarginCounts(Protocol):
    """Margins of pairs, to be counted.

    Attributes
    ----------
    minimum, maximum : float
        The extreme margins.
    total : float
        Weight of all pairs.
    whole : bool
        Whether all weights are whole numbers, so that counts are exact.
    """

    minimum: float
    maximum: float
    total: float
    whole: bool

    def at_most(self, thresholds: Floats) -> Floats:
        """Weight of the pairs with a margin of at most each threshold."""


class LabelMargins:
    """Margins of the pairs that labels imply, which are not listed.

    Parameters
    ----------
    feedback : LabelFeedback
        Without gains and balance: a pair weighs the product of its rows' weights.
    scores : array over all rows
    threads : int
    """

    def __init__(self, feedback: LabelFeedback, scores: Floats, threads: int = 1) -> None:
        layout, self._threads = feedback._layout, threads
        own = scores[layout.rows]
        self.minimum, self.maximum = feedback.margin_range(own)
        query = layout.query_of_row()
        order = np.lexsort((-own, query))
        self._score = own[order]
        self._level = layout.level_of_row()[order].astype(np.int64)
        scaled = feedback._scaled
        self._weight = np.ones(len(order)) if scaled is None else scaled[order]
        self._starts = layout.row_start
        self.whole = scaled is None
        self.total = float(self._count(np.array([self.maximum]))[0])

    def _count(self, thresholds: Floats) -> Floats:
        given = (self._score, self._level, self._weight, self._starts)
        return count_margins(*given, thresholds, self._threads)

    def at_most(self, thresholds: Floats) -> Floats:
        """Weight of the pairs with a margin of at most each threshold."""
        return self._count(thresholds)


class PairMargins:
    """Margins of explicit pairs.

    Parameters
    ----------
    feedback : PairFeedback
    scores : array over all rows
    """

    def __init__(self, feedback: PairFeedback, scores: Floats) -> None:
        margin = feedback.margins(scores[feedback.rows])
        order = np.argsort(margin, kind="stable")
        self._margin = margin[order]
        weight = feedback.pair_weight[order]
        self.whole = bool((weight == weight[0]).all())
        weight = np.ones(len(weight)) if self.whole else weight
        self._upto = np.concatenate(([0.0], np.cumsum(weight)))
        self.minimum, self.maximum = float(self._margin[0]), float(self._margin[-1])
        self.total = float(self._upto[-1])

    def at_most(self, thresholds: Floats) -> Floats:
        """Weight of the pairs with a margin of at most each threshold."""
        return self._upto[np.searchsorted(self._margin, thresholds, "right")]


def quantiles(counts: MarginCounts, q: Floats) -> Floats:
    """The smallest margin at or below which a share q of the weight lies, for every q.

    Exact: bisection goes on until two neighbouring floating point numbers are left.
    """
    need = q * counts.total - (0.0 if counts.whole else _ROUNDING * counts.total)
    low = np.full(len(q), _place(np.array([counts.minimum]))[0] - 1)
    high = np.full(len(q), _place(np.array([counts.maximum]))[0])
    while True:
        open_ = np.flatnonzero(low + 1 < high)
        if not len(open_):
            break
        below, above = low[open_], high[open_]
        middle = (below & above) + ((below ^ above) >> 1)  # (their mean: the sum may overflow)
        distinct, again = np.unique(middle, return_inverse=True)
        reached = counts.at_most(_number(distinct))[again] >= need[open_]
        high[open_] = np.where(reached, middle, high[open_])
        low[open_] = np.where(reached, low[open_], middle)
    return _number(high) + 0.0  # (no negative zero)


def _place(values: Floats) -> Ints:
    """Whole numbers in the order of the floating point numbers, next to next."""
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits, bits)


def _number(places: Ints) -> Floats:
    """The inverse of `_place`."""
    bits = np.where(places < 0, np.int64(np.iinfo(np.int64).min) - places, places)
    return bits.view(np.float64)

"""The margins ``H(hi) - H(lo)`` of all pairs of a feedback, as a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from crucial.feedback.extremes import margin_range
from crucial.feedback.layout import LabelledRows
from crucial.feedback.listed import ListedPairs
from crucial.kernels.pairs import count_margins
from crucial.types import Floats, Ints

__all__ = [
    "LabelMargins",
    "MarginCounts",
    "PairMargins",
    "SumMargins",
    "quantiles",
    "shares_at_most",
]

# Sums of weights that are no whole numbers round: a share within this of q has reached q.
_ROUNDING = 1e-12


class MarginCounts(Protocol):
    """Counts the pairs by margin.

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
        """Return the weight of the pairs with a margin of at most each threshold."""


class LabelMargins:
    """Margins of the pairs that labels imply, which are not listed.

    Parameters
    ----------
    rows : LabelledRows
        A pair weighs the product of its rows' weights; gains and balance are ignored.
    scores : array over the rows
    threads : int
    """

    def __init__(self, rows: LabelledRows, scores: Floats, threads: int = 1) -> None:
        layout, self._threads = rows.layout, threads
        self.minimum, self.maximum = margin_range(layout, scores)
        order = np.lexsort((-scores, layout.query_of_row()))
        self._score = scores[order]
        self._level = layout.level_of_row()[order].astype(np.int64)
        self._weight = np.ones(len(order)) if rows.weight is None else rows.weight[order]
        self._starts = layout.row_start
        self.whole = rows.weight is None
        self.total = float(self.at_most(np.array([self.maximum]))[0])

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        rows = (self._score, self._level, self._weight, self._starts)
        return count_margins(*rows, thresholds, self._threads)


class PairMargins:
    """Margins of explicit pairs.

    Parameters
    ----------
    pairs : ListedPairs
    scores : array over the rows
    """

    def __init__(self, pairs: ListedPairs, scores: Floats) -> None:
        margin = pairs.margins(scores)
        order = np.argsort(margin, kind="stable")
        self._margin = margin[order]
        weight = pairs.weight[order]
        self.whole = bool((weight == weight[0]).all())
        weight = np.ones(len(weight)) if self.whole else weight
        self._upto = np.concatenate(([0.0], np.cumsum(weight)))
        self.minimum, self.maximum = float(self._margin[0]), float(self._margin[-1])
        self.total = float(self._upto[-1])

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        return self._upto[np.searchsorted(self._margin, thresholds, "right")]


class SumMargins:
    """Margins of several feedbacks, each with the weight of its pairs."""

    whole = False

    def __init__(self, parts: Sequence[tuple[MarginCounts, float]]) -> None:
        self._parts = parts
        self.minimum = min(part.minimum for part, _ in parts)
        self.maximum = max(part.maximum for part, _ in parts)
        self.total = sum(weight for _, weight in parts)

    def at_most(self, thresholds: Floats) -> Floats:
        """Return the weight of the pairs with a margin of at most each threshold."""
        found = np.zeros(len(thresholds))
        for part, weight in self._parts:
            found += shares_at_most(part, thresholds) * weight
        return found


def shares_at_most(counts: MarginCounts, thresholds: Floats) -> Floats:
    """Return the share of the weight at or below each threshold, 1 from the largest margin on."""
    share = np.minimum(counts.at_most(thresholds) / counts.total, 1.0)
    return np.where(thresholds >= counts.maximum, 1.0, share)


def quantiles(counts: MarginCounts, q: Floats) -> Floats:
    """Return the smallest margin at or below which a share q of the weight lies, for every q.

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
    """Return whole numbers in the order of the floating point numbers, next to next."""
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits, bits)


def _number(places: Ints) -> Floats:
    """Return the inverse of `_place`."""
    bits = np.where(places < 0, np.int64(np.iinfo(np.int64).min) - places, places)
    return bits.view(np.float64)

"""Feedback from explicit pairs: contradictions and cycles allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.arrays import as_array
from crucial.errors import DataError
from crucial.feedback.base import Feedback, finite_total, power_of_two_scale
from crucial.feedback.explicit_state import ExplicitState
from crucial.feedback.labels import check_weights
from crucial.feedback.listed import ListedPairs
from crucial.feedback.margins import PairMargins
from crucial.feedback.states import PairState
from crucial.kernels.elementary import log
from crucial.kernels.sums import exact_sum
from crucial.parameters import check, one_of
from crucial.types import Floats, Ints, VectorLike

__all__ = ["PairFeedback", "add_up"]

# Weights of opposite pairs that differ by less than this share are equal.
_ROUNDING = 1e-12


class PairFeedback(Feedback):
    """Weighted pairs (winner, loser) of row numbers.

    Parameters
    ----------
    pairs : int array of shape (n_pairs, 2)
        Row numbers, from 0: the winner, then the loser.
    n_rows : int
        Rows of the instances.
    weight : array of shape (n_pairs,), optional
        Importance of each pair; the weights of a repeated pair add up.
    contradictions : {"keep", "net"}
        If both (a, b) and (b, a) occur: keep both (Freund et al. 2003, footnote 1), or only
        the difference of their weights (the antisymmetric feedback of its text).

    Examples
    --------
    >>> feedback = PairFeedback([(0, 1), (1, 2), (0, 1)], 3)
    >>> feedback.n_pairs, feedback.total
    (2, 3.0)
    """

    def __init__(
        self,
        pairs: ArrayLike,
        n_rows: int,
        *,
        weight: VectorLike | None = None,
        contradictions: str = "keep",
    ) -> None:
        check("PairFeedback", "contradictions", contradictions, one_of("keep", "net"))
        table = _check_pairs(pairs, n_rows)
        weights = check_weights(weight, len(table), "pair_weight")
        w = np.ones(len(table)) if weights is None else weights
        high, low, w = add_up(table, w, n_rows, contradictions)
        if not len(w):
            raise DataError(
                "No comparable pair: every pair is contradicted with the same weight, or has "
                "weight 0."
            )
        self.n_rows = n_rows
        self.weight = None
        self.n_pairs = len(w)
        self.n_queries, self.n_skipped = 0, 0  # (pairs belong to none)
        self.rows = np.unique(np.concatenate((high, low)))
        scale = power_of_two_scale(float(w.max()))
        places = (np.searchsorted(self.rows, high), np.searchsorted(self.rows, low))
        self._pairs = ListedPairs(*places, w * scale)
        self.total = finite_total(exact_sum(self._pairs.weight) / scale)

    def _state(self, threads: int) -> PairState:
        return ExplicitState(self._pairs, len(self.rows))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers."""
        high, low, weight = self._pairs
        return ListedPairs(high[numbers], low[numbers], weight[numbers] / weight.sum())

    def listed(self) -> ListedPairs:
        """Return the distinct pairs; their weights are correct up to a common factor."""
        return self._pairs

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        weight = self._pairs.weight
        return log(float(weight[weight > 0].min())) - log(float(weight.sum()))

    def margins(self, scores: Floats) -> Floats:
        """Return the margin of every distinct pair, for scores like ``rows``."""
        return self._pairs.margins(scores)

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``."""
        margins = self.margins(scores)
        return float(margins.min()), float(margins.max())

    def margin_counts(self, scores: Floats, threads: int = 1) -> PairMargins:
        """Return the distribution of the margins."""
        return PairMargins(self._pairs, scores)


def _check_pairs(pairs: ArrayLike, n_rows: int) -> Ints:
    """Return pairs of row numbers as a table of two columns."""
    table = as_array(pairs, "pairs")
    if table.size == 0:
        raise DataError("pairs is empty: give at least one (winner, loser) pair of row numbers.")
    if table.ndim != 2 or table.shape[1] != 2:
        raise DataError(
            f"pairs must have two columns (winner, loser). Got an array of shape {table.shape}."
        )
    if table.dtype.kind not in "iu":
        try:
            if table.dtype.kind == "c":
                raise TypeError
            with np.errstate(invalid="ignore"):
                whole = table.astype(np.int64)
            same = bool((whole == table.astype(np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            same = False
        if not same:
            raise DataError(
                f"pairs must be row numbers (integers from 0). Got values of type {table.dtype}."
            )
        table = whole
    outside = (table < 0) | (table >= n_rows)
    if outside.any():
        at = int(np.flatnonzero(outside.any(axis=1))[0])
        raise DataError(
            f"pair {at} is ({table[at, 0]}, {table[at, 1]}), but rows go from 0 to {n_rows - 1}."
        )
    selfish = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(selfish):
        raise DataError(f"pair {selfish[0]} compares row {table[selfish[0], 0]} with itself.")
    return table.astype(np.int64)


def add_up(
    table: Ints, weight: Floats, n_rows: int, contradictions: str
) -> tuple[Ints, Ints, Floats]:
    """Return winner, loser and summed weight of the distinct pairs, contradictions resolved.

    Parameters
    ----------
    table : int array of shape (n_pairs, 2)
    weight : array of shape (n_pairs,)
    n_rows : int
    contradictions : {"keep", "net"}
    """
    key, inverse = np.unique(table[:, 0] * n_rows + table[:, 1], return_inverse=True)
    with np.errstate(over="ignore"):
        summed = np.bincount(inverse, weight, len(key)).astype(np.float64)
    if not np.isfinite(summed).all():
        raise DataError("pair_weight: the weights of a repeated pair add up to infinity.")
    high, low = np.divmod(key, n_rows)
    if contradictions == "net":
        reverse = low * n_rows + high
        at = np.minimum(np.searchsorted(key, reverse), len(key) - 1)
        against = np.where(key[at] == reverse, summed[at], 0.0)
        # Weights that differ by rounding are equal: .1 + .2 against .3 leaves nothing.
        summed = np.where(summed - against > _ROUNDING * against, summed - against, 0.0)
    kept = summed > 0
    return high[kept], low[kept], summed[kept]

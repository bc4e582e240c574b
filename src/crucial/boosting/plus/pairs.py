"""The pairs of a problem, listed for RankBoost+: by winner, in blocks, within memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import free_memory
from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.types import Floats, Ints

__all__ = ["BYTES_PER_PAIR", "PairList", "list_pairs", "sample_numbers"]


# Two row numbers, the weight given and the two that are learned, and what finding the
# connected components takes for a moment.
BYTES_PER_PAIR = 40
# Pairs that are made at a time.
_PAIR_BLOCK = 1 << 19


@dataclass(frozen=True)
class PairList:
    """Pairs of rows, sorted by winner.

    Attributes
    ----------
    start : int64 array of shape (n_rows + 1,)
        The pairs that row x should win are ``start[x]:start[x + 1]``.
    high, low : int32 arrays of shape (n_pairs,)
        Winner and loser.
    weight : array of shape (n_pairs,)
        Sums to 1.
    component : int array of shape (n_rows,)
        Number of the row's connected component of the comparison graph.
    """

    start: Ints
    high: NDArray[np.int32]
    low: NDArray[np.int32]
    weight: Floats
    component: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.weight)


def list_pairs(feedback: Feedback, max_pairs: int | None, seed: int) -> PairList:
    """List the pairs of a feedback, or a random sample of them.

    Parameters
    ----------
    max_pairs : int or None
        If there are more pairs, this many are drawn, all equally likely and the same for
        the same seed; their weights stay in proportion.

    Raises
    ------
    DataError
        If they would take more than half of the free memory, before anything is allocated.
    """
    whole = feedback.n_pairs
    chosen: Ints | None = None
    count = whole
    if max_pairs is not None and max_pairs < whole:
        count = max_pairs
    _check_pair_memory(whole, count)
    if count < whole:
        chosen = sample_numbers(whole, count, np.random.default_rng([seed, 1]))
    n = len(feedback.rows)
    high, low = np.empty(count, np.int32), np.empty(count, np.int32)
    weight = np.empty(count)
    for begin in range(0, count, _PAIR_BLOCK):
        end = min(begin + _PAIR_BLOCK, count)
        numbers = np.arange(begin, end) if chosen is None else chosen[begin:end]
        high[begin:end], low[begin:end], weight[begin:end] = feedback.pairs_at(numbers)
    if np.any(high[1:] < high[:-1]):  # (feedbacks that were added up come one after the other)
        order = np.argsort(high, kind="stable")
        high, low, weight = high[order], low[order], weight[order]
    total = float(weight.sum())
    if not total > 0.0:
        raise DataError(
            f"the {count:,} pairs that were drawn weigh nothing beside the others; use a larger "
            "max_pairs or weights of a similar size."
        )
    weight /= total
    start = np.concatenate(([0], np.cumsum(np.bincount(high, minlength=n)))).astype(np.int64)
    return PairList(start, high, low, weight, _components(start, low, n))


def sample_numbers(whole: int, count: int, random: np.random.Generator) -> Ints:
    """Draw different numbers below ``whole``, rising; memory grows with the count alone.

    Examples
    --------
    >>> drawn = sample_numbers(10**15, 3, np.random.default_rng(0))
    >>> len(drawn), bool((np.diff(drawn) > 0).all())
    (3, True)
    """
    if 3 * count > whole:
        return np.sort(random.permutation(whole)[:count])
    drawn = np.unique(random.integers(0, whole, count + count // 8 + 16))
    while len(drawn) < count:
        drawn = np.union1d(drawn, random.integers(0, whole, count))
    # The surplus is dropped at random: the first ones would be the smallest numbers.
    return np.sort(random.permutation(drawn)[:count])


def _check_pair_memory(whole: int, count: int) -> None:
    """Refuse pairs that would take more than half of the free memory."""
    there = free_memory()
    needed = count * BYTES_PER_PAIR
    if there is None or needed <= there // 2:
        return
    fits = 10 ** (len(str(max(1, there // 2 // BYTES_PER_PAIR))) - 1)
    raise DataError(
        f"RankBoost+ keeps a weight for every pair, and there are {whole:,} pairs: {count:,} of "
        f"them would take about {needed / 2**30:.1f} GiB, more than half of the "
        f"{there / 2**30:.1f} GiB of free memory. Learn from a sample of them "
        f"(max_pairs={fits:,}, say), or use RankBoost, which never lists pairs."
    )


def _components(start: Ints, low: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Return the connected components of the comparison graph; a row without pair is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(low), np.int8), low, start), shape=(n, n))
    found: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return found

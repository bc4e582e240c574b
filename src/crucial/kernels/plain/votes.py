"""Sorting documents by majority, for Condorcet fusion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crucial.types import Ints

__all__ = ["NOT_RETURNED", "sort_by_majority"]

#: Position of a document that a run did not return: behind every other.
NOT_RETURNED = np.iinfo(np.int32).max


def sort_by_majority(positions: NDArray[np.int32], starts: Ints, order: Ints) -> None:
    """Merge sort every query by majority of the runs; where votes are even, the order stays.

    A run votes for the document it puts first, and abstains where it returned neither. A
    majority need not be transitive; the result is then one of many.

    Parameters
    ----------
    positions : int32 array of shape (n_rows, n_runs)
        `NOT_RETURNED` where a run does not have the document.
    starts : array of shape (n_queries + 1,)
        Where the queries begin in ``order``.
    order : array of shape (n_rows,)
        Rows, query by query, in the order they start from.  # OUT: best first
    """
    votes: dict[tuple[int, int], int] = {}

    def behind(left: int, right: int) -> bool:
        key = (left, right)
        if key not in votes:
            here, there = positions[right], positions[left]
            votes[key] = int((here < there).sum()) - int((here > there).sum())
        return votes[key] > 0

    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist()):
        votes.clear()
        parts = [[row] for row in order[begin:end].tolist()]
        while len(parts) > 1:
            parts = [_merged(*parts[i : i + 2], behind=behind) for i in range(0, len(parts), 2)]
        if parts:
            order[begin:end] = parts[0]


def _merged(
    left: list[int], right: list[int] | None = None, *, behind: Callable[[int, int], bool]
) -> list[int]:
    """Merge two sorted lists; the left one's item goes first unless it is behind."""
    if right is None:
        return left
    out, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if behind(left[i], right[j]):
            out.append(right[j])
            j += 1
        else:
            out.append(left[i])
            i += 1
    return out + left[i:] + right[j:]

"""Sorting documents by majority."""

from __future__ import annotations

from crucial.kernels.jit import kernel

__all__ = ["sort_by_majority"]


@kernel
def _preferred(positions, first, second):
    """Return the votes for the first minus those for the second; a run with neither abstains."""
    votes = 0
    for run in range(positions.shape[1]):
        here, there = positions[first, run], positions[second, run]
        if here < there:
            votes += 1
        elif here > there:
            votes -= 1
    return votes


@kernel
def sort_by_majority(positions, starts, order, spare):
    """Merge sort every query by majority of the runs, from the bottom up.

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
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        width = 1
        while width < high - low:
            begin = low
            while begin < high:
                middle = min(begin + width, high)
                end = min(begin + 2 * width, high)
                left, right = begin, middle
                for at in range(begin, end):
                    if left < middle and (
                        right >= end or _preferred(positions, order[right], order[left]) <= 0
                    ):
                        spare[at] = order[left]
                        left += 1
                    else:
                        spare[at] = order[right]
                        right += 1
                begin = end
            for at in range(low, high):
                order[at] = spare[at]
            width *= 2

"""How alike features order the rows of queries."""

from __future__ import annotations

import numpy as np

from crucial.data.groups import Groups
from crucial.kernels.pairs import count_pairs
from crucial.kernels.predict import run_starts
from crucial.types import Floats, Ints

__all__ = ["order_agreement"]


def order_agreement(columns: Floats, groups: Groups, threads: int = 1) -> Floats:
    """Return, for every two columns, the share of pairs of rows that both order alike.

    All pairs of rows of a query count, whatever their labels are; a pair that is tied in either
    column counts half. The share is the mean over queries, as in Geng et al. (2007), and is 1/2
    where no query has two rows. It takes O(n log n) per two columns.

    Parameters
    ----------
    columns : array of shape (n_rows, n_columns)
        No value is NaN.
    groups : Groups
    threads : int
        They share out queries and cannot change a result.

    Returns
    -------
    array of shape (n_columns, n_columns)
        Symmetric.

    Examples
    --------
    >>> columns = np.array([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
    >>> order_agreement(columns, Groups.single(3)).round(3).tolist()
    [[1.0, 0.667, 0.0], [0.667, 1.0, 0.333], [0.0, 0.333, 1.0]]
    """
    n_columns = columns.shape[1]
    rows = groups.order[np.repeat(groups.sizes > 1, groups.sizes)]
    sizes = groups.sizes[groups.sizes > 1]
    alike = np.full((n_columns, n_columns), 0.5)
    if not len(rows):
        return alike
    query = np.repeat(np.arange(len(sizes)), sizes)
    all_pairs = sizes * (sizes - 1) / 2.0
    sorted_rows, blocks = zip(*(_falling(columns[rows, j], query) for j in range(n_columns)))
    levels = [_levels(order, starts, query) for order, starts in zip(sorted_rows, blocks)]
    for j in range(n_columns):
        lists = np.append(run_starts(query[blocks[j]]), len(blocks[j]))
        starts = np.append(blocks[j], len(rows))
        for k in range(j, n_columns):
            counts = count_pairs(levels[k][sorted_rows[j]], None, starts, lists, threads)
            share = 0.5 + 0.5 * (counts[:, 0] - counts[:, 1]) / all_pairs
            alike[j, k] = alike[k, j] = float(share.mean())
    return alike


def _falling(values: Floats, query: Ints) -> tuple[Ints, Ints]:
    """Return the order of the values inside every query, the largest first, and where equal ones
    start.
    """
    order = np.lexsort((-values, query))
    return order, run_starts(query[order], values[order])


def _levels(order: Ints, starts: Ints, query: Ints) -> Ints:
    """Return the values of every query as whole numbers from 0, in the same order."""
    of_block = query[order[starts]]
    ends = np.append(run_starts(of_block)[1:], len(starts)) - 1
    last = np.repeat(ends, np.diff(np.append(run_starts(of_block), len(starts))))
    level = np.empty(len(order), np.int64)
    level[order] = np.repeat(last - np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    return level

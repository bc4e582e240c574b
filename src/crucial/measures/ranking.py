"""Lists in ranked order, cut into blocks of tied items.

Every measure reads a ranking through its blocks: the items of a block may be in any
order, each as likely as the others, so a measure's exact expectation over random tie
order is a sum over blocks. Where ties are broken, every item is a separate block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crucial.measures.ragged import runs, slots
from crucial.types import Bools, Floats, Ints

__all__ = ["Table", "TieBlocks", "sort_into_blocks"]

#: Lists at least this many times as long as the depth are cut before they are sorted.
_CUT_FROM = 4


@dataclass(frozen=True)
class Table:
    """Lists of similar length as the rows of one matrix.

    Attributes
    ----------
    lists : int array of shape (n_lists,)
        Number of each list.
    cells : int array of shape (n_lists, longest)
        Row of the data in each cell; among equal keys the earlier cell is ranked first.
    filled : bool array of the same shape, or None
        Which cells have a row; None is all of them.
    in_order : bool
        The cells are 0, 1, 2, ...: no gathering needed.
    """

    lists: Ints
    cells: Ints
    filled: Bools | None
    in_order: bool

    def gather(self, keys: Floats, fill: float) -> Floats:
        """Return the values of the rows, and ``fill`` in empty cells."""
        if self.in_order:
            return keys.reshape(self.cells.shape)
        values = keys[self.cells]
        return values if self.filled is None else np.where(self.filled, values, fill)


@dataclass(frozen=True)
class TieBlocks:
    """Items in ranked order and the blocks they are tied in, list after list.

    Attributes
    ----------
    items : int array of shape (n_items,)
        Row of the data, best rank first.
    position : int array of shape (n_items,)
        Position in its list from 1; inside a block the items may change places.
    starts : int array of shape (n_blocks + 1,)
        Block ``b`` is ``items[starts[b]:starts[b + 1]]``.
    query : int array of shape (n_blocks,)
        Number of its query. Blocks of one query are adjacent, best first.
    """

    items: Ints
    position: Ints
    starts: Ints
    query: Ints

    @property
    def tied(self) -> bool:
        """Whether any block has more than one item."""
        return len(self.query) < len(self.items)

    @cached_property
    def sizes(self) -> Ints:
        """Items in each block: Q in Freund et al. (2003), appendix A."""
        return np.diff(self.starts)

    @cached_property
    def before(self) -> Ints:
        """Items ranked before each block in any order: R there."""
        return self.position[self.starts[:-1]] - 1

    def sums(self, values: NDArray[np.generic]) -> Floats:
        """Return the sum over the items of each block, of values of all rows."""
        return self.totals(np.asarray(values[self.items], np.float64))

    def totals(self, values: Floats) -> Floats:
        """Return the sum over the items of each block, of values of the items."""
        return np.add.reduceat(values, self.starts[:-1]) if self.tied else values

    def earlier(self, counts: Floats) -> Floats:
        """Return the sum over the better blocks of the same query, of whole numbers per block."""
        before = np.cumsum(counts) - counts  # (differences of whole numbers lose nothing)
        first = runs(self.query)
        lengths = np.diff(np.append(first, len(self.query)))
        return np.asarray(before - np.repeat(before[first], lengths))

    def per_query(self, values: Floats, n_queries: int) -> Floats:
        """Return the sum over the blocks of each query."""
        return np.bincount(self.query, values, minlength=n_queries).astype(np.float64, copy=False)


def _keep_best(keys: Floats, depth: int, fill: float) -> tuple[Floats, Ints] | None:
    """Return the columns whose key is among the ``depth`` least of its row, ties included.

    Rows are padded with ``fill``. None where so many keys are tied that sorting everything is
    as fast.
    """
    limit = np.partition(keys, depth - 1, axis=1)[:, depth - 1]
    keep = keys <= limit[:, None]
    counts = np.count_nonzero(keep, axis=1)
    if 2 * counts.max() > keys.shape[1]:
        return None
    row_columns = np.nonzero(keep)[1]
    if counts.min() == counts.max():
        columns = row_columns.reshape(len(keys), -1)
        return np.take_along_axis(keys, columns, axis=1), columns
    _, filled = slots(counts)
    columns = np.zeros(filled.shape, np.int64)
    columns[filled] = row_columns
    return np.where(filled, np.take_along_axis(keys, columns, axis=1), fill), columns


def _sorted(sheet: Floats) -> tuple[Ints, Floats]:
    """Return the columns of every row by rising key, equal keys by column, and the keys.

    A sort that is not stable, after which the columns of equal keys are put in order, takes a
    third of the time of a stable one where NumPy has vector instructions for it.
    """
    order = np.argsort(sheet, axis=1)
    ranked = np.take_along_axis(sheet, order, axis=1)
    equal = ranked[:, 1:] == ranked[:, :-1]
    if equal.any():
        tied = np.flatnonzero(equal.any(axis=1))
        block = np.zeros((len(tied), sheet.shape[1]), np.int64)
        np.cumsum(~equal[tied], axis=1, out=block[:, 1:])
        block *= sheet.shape[1]
        order[tied] = np.sort(block + order[tied], axis=1) - block
    return order, ranked


def _sort_table(
    table: Table, keys: Floats, depth: int | None, keep_hidden: bool
) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the items of one table, their keys, positions and lists, in ranked order."""
    # Hidden rows have the key inf. Padding must come after them.
    fill = np.nan if keep_hidden else np.inf
    sheet = table.gather(keys, fill)
    columns: Ints | None = None
    if depth is not None and sheet.shape[1] >= _CUT_FROM * depth:
        best = _keep_best(sheet, depth, fill)
        if best is not None:
            sheet, columns = best
    order, ranked = _sorted(sheet)
    if columns is not None:
        order = np.take_along_axis(columns, order, axis=1)
    items = np.take_along_axis(table.cells, order, axis=1)
    there = ~np.isnan(ranked) if keep_hidden else ranked < np.inf
    position = np.broadcast_to(np.arange(1, items.shape[1] + 1), items.shape)
    lists = np.broadcast_to(table.lists[:, None], items.shape)
    if there.all():  # (most often; copying is dear on millions of items)
        return items.ravel(), ranked.ravel(), position.ravel(), lists.ravel()
    return items[there], ranked[there], position[there], lists[there]


def sort_into_blocks(
    tables: Sequence[Table],
    keys: Floats,
    *,
    depth: int | None = None,
    break_ties: bool = False,
    keep_hidden: bool = False,
) -> TieBlocks:
    """Sort every list by ascending key and cut it where the key changes.

    Parameters
    ----------
    tables : sequence of Table
        The lists.
    keys : array of shape (n_rows,)
        Finite; inf marks a row that is in no position (judged, not retrieved).
    depth : int, optional
        Only blocks that begin within the first ``depth`` positions are needed; more may
        come.
    break_ties : bool
        Equal keys are ranked in the order of their cells, each item in its own block.
    keep_hidden : bool
        Rows with the key inf form a last block instead of being dropped.
    """
    parts = [_sort_table(t, keys, depth, keep_hidden) for t in tables]
    if len(parts) == 1:
        items, ranked, position, lists = parts[0]
    elif parts:
        items, position, lists = (np.concatenate([p[i] for p in parts]) for i in (0, 2, 3))
        ranked = np.concatenate([p[1] for p in parts])
    else:
        items, position, lists = (np.zeros(0, np.int64) for _ in range(3))
        ranked = np.zeros(0)
    if break_ties:
        starts = np.arange(len(items) + 1)
    else:
        new = position == 1
        new[1:] |= ranked[1:] != ranked[:-1]
        starts = np.append(np.flatnonzero(new), len(items)).astype(np.int64)
    query = lists if len(starts) == len(items) + 1 else lists[starts[:-1]]
    return TieBlocks(items, position, starts, query)

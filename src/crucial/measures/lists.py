"""Lists with labels: checked once, ranked, cut into blocks of ties, batched by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, as_reals, check_sum
from crucial.data.groups import Groups
from crucial.data.words import name_places
from crucial.errors import DataError, DataTypeError
from crucial.kernels.predict import run_starts
from crucial.types import Bools, Floats, Ints, VectorLike

# --- Batches of lists of similar length


def size_classes(sizes: Ints) -> list[Ints]:
    """Group lists so that padding each to the longest of its class at most doubles it.

    Lists of length 0 are in no class.

    Examples
    --------
    >>> [members.tolist() for members in size_classes(np.array([3, 9, 0, 2, 8]))]
    [[0, 3], [1, 4]]
    """
    if len(sizes) and 0 < sizes.max() <= 2 * sizes.min():
        return [np.arange(len(sizes))]
    power = np.frexp(sizes.astype(float))[1]  # (2^(power-1) <= size < 2^power)
    return [np.flatnonzero((power == p) & (sizes > 0)) for p in np.unique(power[sizes > 0])]


def slots(sizes: Ints) -> tuple[Ints, Bools]:
    """Return the column numbers of a padded batch, and which cells are filled.

    Examples
    --------
    >>> slots(np.array([1, 2]))[1].tolist()
    [[True, False], [True, True]]
    """
    columns = np.arange(sizes.max(initial=0))
    return columns, columns < sizes[:, None]


# --- Lists in ranked order, cut into blocks of tied items
#
# Every measure reads a ranking through its blocks: the items of a block may be in any
# order, each as likely as the others, so a measure's exact expectation over random tie
# order is a sum over blocks. Where ties are broken, every item is a separate block.


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

    @cached_property
    def lists(self) -> Ints:
        """Where the blocks of each query begin, and where the last ends."""
        return np.append(run_starts(self.query), len(self.query))

    def sums(self, values: NDArray[np.generic]) -> Floats:
        """Return the sum over the items of each block, of values of all rows."""
        return self.totals(np.asarray(values[self.items], np.float64))

    def totals(self, values: Floats) -> Floats:
        """Return the sum over the items of each block, of values of the items."""
        return np.add.reduceat(values, self.starts[:-1]) if self.tied else values

    def earlier(self, counts: Floats) -> Floats:
        """Return the sum over the better blocks of the same query, of whole numbers per block."""
        before = np.cumsum(counts) - counts  # (differences of whole numbers lose nothing)
        return np.asarray(before - np.repeat(before[self.lists[:-1]], np.diff(self.lists)))

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


# --- The labels a ranking is measured against, in lists and checked once


#: How tied scores are treated; see `crucial.evaluate`.
TIES = ("expected", "trec")


def as_numbers(values: VectorLike, name: str, n_rows: int | None = None) -> Floats:
    """Return one finite number per row as float64; errors name the row."""
    array = as_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(
            f"{name} must be one number per row (1 dimension). Got an array of shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        if array.dtype.kind != "O":
            raise DataTypeError(
                f"{name} must be numbers. Got {array.dtype} values such as {array[:1].tolist()}."
            )
        array = as_reals(array, name)
    array = np.ascontiguousarray(array, np.float64) + 0.0  # (one zero: see `crucial.data.arrays`)
    if n_rows is not None and len(array) != n_rows:
        raise DataError(f"{name} must have one value for each of the {n_rows} rows of y. "
                        f"Got {len(array)}.")  # fmt: skip
    fine = np.isfinite(array)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise DataError(f"{name} must be finite. Got {array[row]} in row {row}.")
    return array


@dataclass(frozen=True)
class JudgedLists:
    """Labels in lists, with everything about them that does not depend on scores.

    Attributes
    ----------
    y : array of shape (n_rows,)
        Labels, higher is more relevant.
    groups : Groups
        The lists.
    weight : array of shape (n_rows,) or None
        Weights of rows, for measures over pairs.
    ids : array of shape (n_rows,) or None
        Names of the items, by which ``ties="trec"`` breaks ties.
    retrieved : bool array of shape (n_rows,) or None
        Which rows the run returned; the others are judged and have no position. None: all
        rows are ranked, and there are no other items.
    judged : bool array of shape (n_rows,) or None
        Which rows have a judgement.
    """

    y: Floats
    groups: Groups
    weight: Floats | None = None
    ids: NDArray[Any] | None = None
    retrieved: Bools | None = None
    judged: Bools | None = None

    @classmethod
    def from_labels(
        cls,
        y: VectorLike,
        groups: Groups | VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        ids: VectorLike | None = None,
    ) -> JudgedLists:
        """Check labels, query ids (or `Groups`), weights and names."""
        labels = as_numbers(y, "y")
        n = len(labels)
        if not isinstance(groups, Groups):
            groups = Groups.from_qid(groups, n)
        elif groups.n_rows != n:
            raise DataError(f"groups is made for {groups.n_rows} rows. y has {n}.")
        if n == 0:
            raise DataError("y is empty: there is nothing to measure.")
        weight = None
        if sample_weight is not None:
            weight = as_numbers(sample_weight, "sample_weight", n)
            if weight.min() < 0:
                row = int(np.flatnonzero(weight < 0)[0])
                raise DataError(
                    f"sample_weight must not be negative. Got {weight[row]} in row {row}."
                )
            check_sum(weight, "sample_weight")
        # (a list of text as objects: an array of text is as wide as the longest for every row)
        kind = object if isinstance(ids, list | tuple) else None
        names = None if ids is None else np.asarray(ids, kind)
        if names is not None and names.shape != (n,):
            raise DataError(f"ids must have one value for each of the {n} rows of y. "
                            f"Got an array of shape {names.shape}.")  # fmt: skip
        return cls(labels, groups, weight, names)

    @property
    def n_queries(self) -> int:
        """Number of lists."""
        return self.groups.n_groups

    @cached_property
    def codes(self) -> Ints:
        """Number of the list of every row."""
        return self.groups.codes

    @cached_property
    def longest(self) -> int:
        """Items in the longest list."""
        return int(self.groups.sizes.max(initial=0))

    def per_query(self, values: NDArray[np.generic]) -> Floats:
        """Return the sum over the rows of each list."""
        sums = np.bincount(self.codes, np.asarray(values, float), minlength=self.n_queries)
        return sums.astype(np.float64, copy=False)

    def _tables(self, order: Ints) -> list[Table]:
        """Return lists of similar length as tables, cells in the given order of rows."""
        starts, sizes = self.groups.starts, self.groups.sizes
        in_order = bool(np.array_equal(order, np.arange(len(order))))
        tables = []
        for lists in size_classes(sizes):
            columns, filled = slots(sizes[lists])
            whole = bool(filled.all())
            cells = order[np.where(filled, starts[lists, None] + columns, 0)]
            as_it_is = in_order and whole and len(lists) == len(sizes)
            tables.append(Table(lists, cells, None if whole else filled, as_it_is))
        return tables

    @cached_property
    def _plain_tables(self) -> list[Table]:
        return self._tables(self.groups.order)

    @cached_property
    def _trec_tables(self) -> list[Table]:
        """Cells in the order in which trec_eval lists equal scores: last name first."""
        if self.ids is None:
            return self._plain_tables
        ids = self.ids if self.ids.dtype.kind == "O" else self.ids.astype(str)
        place = name_places(list(map(str, ids.tolist())))
        order = self.groups.order
        return self._tables(order[np.lexsort((-place[order], self.codes[order]))])

    def sort(
        self, keys: Floats, *, depth: int | None = None, keep_hidden: bool = False
    ) -> TieBlocks:
        """Sort by ascending key (see `sort_into_blocks`), ties kept."""
        return sort_into_blocks(self._plain_tables, keys, depth=depth, keep_hidden=keep_hidden)

    def sort_by_name(self, keys: Floats, *, depth: int | None = None) -> TieBlocks:
        """Sort by ascending key, ties broken as trec_eval does."""
        return sort_into_blocks(self._trec_tables, keys, depth=depth, break_ties=True)


class Ranking:
    """One vector of scores on the judged lists, sorted when a measure needs it.

    Parameters
    ----------
    judged : JudgedLists
        The lists.
    scores : array of shape (n_rows,)
        Higher is ranked first. Scores of rows that were not retrieved are ignored.
    ties : {"expected", "trec"}
        "trec" compares scores in single precision and puts the greater name first among
        equals (the earlier row where there are no names), as trec_eval does.
    """

    def __init__(self, judged: JudgedLists, scores: Floats, ties: str = "expected") -> None:
        self.judged, self.scores, self.ties = judged, scores, ties
        self._cut: dict[int | None, TieBlocks] = {}

    def _keys(self, scores: Floats) -> Floats:
        hidden = self.judged.retrieved
        return -scores if hidden is None else np.where(hidden, -scores, np.inf)

    def blocks(self, depth: int | None = None) -> TieBlocks:
        """Return the blocks of the retrieved items that begin in the first ``depth``, or more."""
        for known, blocks in self._cut.items():
            if known is None or (depth is not None and known >= depth):
                return blocks
        if self.ties == "trec":
            far = float(np.finfo(np.float32).max)
            single = np.clip(self.scores, -far, far).astype(np.float32).astype(np.float64)
            blocks = self.judged.sort_by_name(self._keys(single), depth=depth)
        else:
            blocks = self.judged.sort(self._keys(self.scores), depth=depth)
        self._cut[depth] = blocks
        return blocks

    @cached_property
    def all_blocks(self) -> TieBlocks:
        """Blocks of equal scores of all items; items not retrieved are tied at the end."""
        if self.ties == "expected" and self.judged.retrieved is None:
            return self.blocks()
        return self.judged.sort(self._keys(self.scores), keep_hidden=True)

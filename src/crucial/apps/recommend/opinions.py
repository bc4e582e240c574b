"""Ratings of many users for few of many items: a table in which most cells abstain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crucial.data.ratings import Ratings
from crucial.errors import DataError
from crucial.types import Floats, Ints, TableLike
from crucial.wording import counted

__all__ = ["DistinctValues", "Opinions"]

# Cells of a dense table that are in memory at once.
_CELLS = 1 << 21


@dataclass(frozen=True, eq=False, repr=False)
class Opinions:
    """A table stored by column, in which a cell that is not stored abstains.

    `crucial.data.instances.Instances` is for tables that are mostly filled. (In scipy's sparse
    matrices a cell that is not stored is 0.)

    Attributes
    ----------
    n_rows : int
    start : int64 array of shape (n_columns + 1,)
        Column j has entries ``start[j]:start[j + 1]``.
    row : int64 array
        Rows of the entries, ascending in a column.
    value : float64 array
        Finite.

    Examples
    --------
    >>> some = Opinions.from_dense([[4.0, np.nan], [np.nan, 2.0], [5.0, 1.0]])
    >>> some, some.mean.tolist()
    (Opinions(3 rows x 2 columns, 4 values), [4.5, 1.5])
    """

    n_rows: int
    start: Ints
    row: Ints
    value: Floats

    def __repr__(self) -> str:
        shape = f"{counted(self.n_rows, 'row')} x {counted(self.n_columns, 'column')}"
        return f"Opinions({shape}, {counted(len(self.value), 'value')})"

    @classmethod
    def from_entries(
        cls, row: Ints, column: Ints, value: Floats, n_rows: int, n_columns: int
    ) -> Opinions:
        """Sort entries, each cell at most once, into columns."""
        order = np.argsort(column * n_rows + row, kind="stable")
        start = np.zeros(n_columns + 1, np.int64)
        np.cumsum(np.bincount(column, minlength=n_columns), out=start[1:])
        return cls(n_rows, start, row[order], np.asarray(value, np.float64)[order])

    @classmethod
    def from_dense(cls, X: TableLike) -> Opinions:
        """Return the numbers of an array; NaN abstains."""
        table = np.asarray(X, np.float64)
        if table.ndim != 2:
            raise DataError(f"Expected 2D array, got {table.ndim}D array instead.")
        if np.isinf(table).any():
            raise DataError("Input X contains infinity; use NaN where there is no opinion.")
        column, row = np.nonzero(~np.isnan(table.T))
        return cls.from_entries(row, column, table[row, column], *table.shape)

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Opinions:
        """Return ratings with items as rows and users as columns."""
        shape = len(ratings.items), len(ratings.users)
        return cls.from_entries(ratings.item_code, ratings.user_code, ratings.rating, *shape)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.start) - 1

    @cached_property
    def column(self) -> Ints:
        """Column of every entry."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.start))

    @cached_property
    def count(self) -> Ints:
        """Number of opinions in every column."""
        return np.diff(self.start)

    @cached_property
    def row_count(self) -> Ints:
        """Number of opinions in every row."""
        return np.bincount(self.row, minlength=self.n_rows)

    @cached_property
    def mean(self) -> Floats:
        """Mean of every column; 0 for an empty one."""
        return self.sums(self.value) / np.maximum(self.count, 1)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of every column; 0 for an empty one."""
        apart = self.value - self.mean[self.column]
        return np.asarray(np.sqrt(self.sums(apart * apart) / np.maximum(self.count, 1)))

    @cached_property
    def distinct(self) -> DistinctValues:
        """The distinct values of every column."""
        order = np.lexsort((self.value, self.column))
        column, value = self.column[order], self.value[order]
        new = np.ones(len(value), bool)
        new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
        begins = np.flatnonzero(new)
        first = np.searchsorted(column[begins], np.arange(self.n_columns + 1))
        return DistinctValues(order, np.append(begins, len(value)), first, value[begins])

    def sums(self, value: Floats) -> Floats:
        """Return the sum by column of one number per entry."""
        sums: Floats = np.bincount(self.column, value, self.n_columns).astype(np.float64)
        return sums

    def other_sums(self, value: Floats) -> Floats:
        """Return for every entry the sum over the other entries of its column, without subtracting.

        Examples
        --------
        >>> some = Opinions.from_dense([[4.0, np.nan], [np.nan, 2.0], [5.0, 1.0]])
        >>> some.other_sums(some.value).tolist()
        [5.0, 4.0, 1.0, 2.0]
        """
        place = np.arange(len(value)) - self.start[self.column]
        before = _sums_before(value, place)
        after = _sums_before(value[::-1], (self.count[self.column] - 1 - place)[::-1])[::-1]
        return np.asarray(before + after)

    def filled_row_sums(self, value: Floats, empty: Floats) -> Floats:
        """Return the sum by row of one number per entry, and of its column's for a missing one."""
        at = np.argsort(self.row, kind="stable")
        row, column, value = self.row[at], self.column[at], value[at]
        first = np.searchsorted(row, np.arange(self.n_rows + 1))
        step = max(1, _CELLS // max(self.n_columns, 1))
        sums = np.empty(self.n_rows)
        for begin in range(0, self.n_rows, step):
            end = min(begin + step, self.n_rows)
            table = np.tile(empty, (end - begin, 1))
            own = slice(first[begin], first[end])
            table[row[own] - begin, column[own]] = value[own]
            sums[begin:end] = table.sum(axis=1)
        return sums

    def row_sums(self, value: Floats) -> Floats:
        """Return the sum by row of one number per entry."""
        sums: Floats = np.bincount(self.row, value, self.n_rows).astype(np.float64)
        return sums

    def of_column(self, column: int) -> tuple[Ints, Floats]:
        """Return the rows and the values of the entries of a column."""
        entries = slice(self.start[column], self.start[column + 1])
        return self.row[entries], self.value[entries]

    def take_columns(self, columns: Ints) -> Opinions:
        """Return some columns, in the order given."""
        lengths = self.count[columns]
        start = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[columns], lengths)
        return Opinions(self.n_rows, start, self.row[at], self.value[at])

    def take_rows(self, rows: Ints) -> Opinions:
        """Return some rows, each at most once, numbered in the order given."""
        place = np.full(self.n_rows, -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return Opinions.from_entries(
            place[self.row[kept]], self.column[kept], self.value[kept], len(rows), self.n_columns
        )

    def transposed(self) -> Opinions:
        """Return the table with rows as columns."""
        return Opinions.from_entries(self.column, self.row, self.value, self.n_columns, self.n_rows)

    def with_column(self, values: Floats) -> Opinions:
        """Return the table with one more column at the end; NaN abstains."""
        there = np.flatnonzero(~np.isnan(values))
        return Opinions(
            self.n_rows,
            np.append(self.start, self.start[-1] + len(there)),
            np.concatenate((self.row, there)),
            np.concatenate((self.value, values[there])),
        )

    def to_dense(self) -> Floats:
        """Return the table as an array, with NaN."""
        table = np.full((self.n_rows, self.n_columns), np.nan)
        table[self.row, self.column] = self.value
        return table


def _sums_before(value: Floats, place: Ints) -> Floats:
    """Return the sum of the entries before each one in its column; ``place`` counts them.

    Sums of 1, 2, 4, ... entries are added up, so that no sum reaches into another column.
    """
    sums = np.where(place > 0, np.concatenate(([0.0], value[:-1])), 0.0) if len(value) else value
    step, longest = 1, int(place.max(initial=0))
    while step <= longest:
        earlier = np.concatenate((np.zeros(step), sums[:-step]))
        sums = sums + np.where(place >= step, earlier, 0.0)
        step *= 2
    return sums


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The distinct values of every column of `Opinions`, ascending in a column.

    Attributes
    ----------
    order : int array of shape (n_entries,)
        The entries by column and value.
    begins : int array of shape (n_values + 1,)
        Where the entries of each value begin in ``order``, and where the last ones end.
    first : int array of shape (n_columns + 1,)
        Where the values of each column begin, and where the last ones end.
    value : float64 array of shape (n_values,)
    """

    order: Ints
    begins: Ints
    first: Ints
    value: Floats

    @cached_property
    def column(self) -> Ints:
        """Column of every value."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

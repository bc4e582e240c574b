"""Opinions of many on few of many things: columns of which most cells abstain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from crucial.errors import DataError
from crucial.types import Floats, Ints

__all__ = ["Opinions"]


@dataclass(frozen=True, eq=False, repr=False)
class Opinions:
    """A table by column, in which a cell that is not stored abstains.

    What `crucial.data.instances.Instances` is for tables that are mostly filled. (In scipy's
    sparse matrices a cell that is not stored is 0.)

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
        shape = f"{self.n_rows} rows x {self.n_columns} columns"
        return f"Opinions({shape}, {len(self.value)} values)"

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
    def from_dense(cls, X: Any) -> Opinions:
        """Take the numbers of an array; NaN abstains."""
        table = np.asarray(X, np.float64)
        if table.ndim != 2:
            raise DataError(f"Expected 2D array, got {table.ndim}D array instead.")
        if np.isinf(table).any():
            raise DataError("Input X contains infinity; use NaN where there is no opinion.")
        column, row = np.nonzero(~np.isnan(table.T))
        return cls.from_entries(row, column, table[row, column], *table.shape)

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
    def mean(self) -> Floats:
        """Mean of every column; 0 of an empty one."""
        return self.sums(self.value) / np.maximum(self.count, 1)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of every column; 0 of an empty one."""
        apart = self.value - self.mean[self.column]
        return np.asarray(np.sqrt(self.sums(apart * apart) / np.maximum(self.count, 1)))

    def sums(self, value: Floats) -> Floats:
        """Sum by column of a number an entry."""
        sums: Floats = np.bincount(self.column, value, self.n_columns).astype(np.float64)
        return sums

    def take_columns(self, columns: Ints) -> Opinions:
        """Some columns, in the order given."""
        lengths = self.count[columns]
        start = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[columns], lengths)
        return Opinions(self.n_rows, start, self.row[at], self.value[at])

    def take_rows(self, rows: Ints) -> Opinions:
        """Some rows, each at most once, numbered anew in the order given."""
        place = np.full(self.n_rows, -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return Opinions.from_entries(
            place[self.row[kept]], self.column[kept], self.value[kept], len(rows), self.n_columns
        )

    def transposed(self) -> Opinions:
        """Rows as columns."""
        return Opinions.from_entries(self.column, self.row, self.value, self.n_columns, self.n_rows)

    def with_column(self, values: Floats) -> Opinions:
        """One more column, the last; NaN abstains."""
        there = np.flatnonzero(~np.isnan(values))
        return Opinions(
            self.n_rows,
            np.append(self.start, self.start[-1] + len(there)),
            np.concatenate((self.row, there)),
            np.concatenate((self.value, values[there])),
        )

    def to_dense(self) -> Floats:
        """As an array, with NaN."""
        table = np.full((self.n_rows, self.n_columns), np.nan)
        table[self.row, self.column] = self.value
        return table

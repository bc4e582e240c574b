"""Rows of a table in the form in which a caller passed it, for rankers that are not ours."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.data.frames import whole_table
from crucial.data.instances import Instances
from crucial.data.sparse_checks import check_structure
from crucial.types import Ints, TableLike

__all__ = ["Table", "as_table", "take_rows", "with_shuffled", "with_sparse_column"]

#: An array, a sparse matrix, a frame or Instances.
Table: TypeAlias = Any


def as_table(X: TableLike) -> Table:
    """Return X as a table whose rows can be selected."""
    if isinstance(X, Instances):
        return X
    if hasattr(X, "tocsr"):
        check_structure(X)  # (rows are taken by scipy, which trusts it)
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def take_rows(X: Table, rows: Ints) -> Table:
    """Return rows of an array, a sparse matrix, or a frame, which stays a frame."""
    if isinstance(X, Instances):
        return X.take_rows(rows)
    if not _is_frame(X):
        return X[rows]
    import narwhals as nw

    return nw.from_native(whole_table(X), eager_only=True)[rows].to_native()


def with_shuffled(X: Table, feature: int, order: Ints) -> Table:
    """Return the same table with the values of one column in another order; X stays as it is.

    Examples
    --------
    >>> with_shuffled(np.array([[1, 5], [2, 6]]), 1, np.array([1, 0])).tolist()
    [[1, 6], [2, 5]]
    """
    if hasattr(X, "isetitem"):  # (pandas, whose columns may have any names, also twice)
        frame = X.copy(deep=False)
        frame.isetitem(feature, X.iloc[order, feature].array)
        return frame
    if _is_frame(X):
        import narwhals as nw

        table = nw.from_native(whole_table(X), eager_only=True)
        name = table.columns[feature]
        # (a column of pyarrow is not indexed by an array up to narwhals 1.35; a table is)
        return table.with_columns(table.select(name)[order][name]).to_native()
    if hasattr(X, "tocsr"):
        columns = X.tocsc(copy=True)
        columns.sum_duplicates()
        values = columns[:, [feature]].toarray()[order, 0]
        return with_sparse_column(columns, feature, values).asformat(X.format)
    copy = X.copy()
    copy[:, feature] = X[order, feature]
    return copy


def with_sparse_column(table: Table, feature: int, column: NDArray[np.generic]) -> Table:
    """Return a scipy CSC table with other values of one column."""
    rows = np.flatnonzero(column != 0)  # (a NaN is not)
    first, last = int(table.indptr[feature]), int(table.indptr[feature + 1])
    data = np.concatenate([table.data[:first], column[rows], table.data[last:]])
    indices = np.concatenate([table.indices[:first], rows, table.indices[last:]])
    ends = table.indptr
    if first + len(rows) != last:  # (values that only change places leave it as it is)
        ends = ends.copy()
        ends[feature + 1 :] += first + len(rows) - last
    return type(table)((data, indices.astype(table.indices.dtype), ends), shape=table.shape)


def _is_frame(X: Table) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")

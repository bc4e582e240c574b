"""Checks of scipy sparse input, before compiled code walks through its arrays."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from crucial.data.arrays import NUMBERS, complex_error
from crucial.data.memory import MAX_FEATURES, check_room
from crucial.errors import DataError, DataTypeError

__all__ = ["check_structure", "checked_columns"]

# Memory of a feature of sparse input without any entry.
_BYTES_PER_FEATURE = 64


def checked_columns(X: Any) -> Any:
    """Return a scipy matrix as compressed sparse columns without duplicates.

    The structure is checked once, here: scipy and the kernels trust it, and an index outside the
    matrix would end the process.

    Parameters
    ----------
    X : scipy sparse matrix or array
        Of two dimensions.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> checked_columns(csr_array([[0.0, 2.0], [1.0, 0.0]])).indices.tolist()
    [1, 0]
    """
    from scipy.sparse import csc_array

    if X.dtype.kind == "c":
        raise complex_error("features")
    if X.dtype.kind not in NUMBERS:
        raise DataTypeError(f"Input X: a sparse matrix of {X.dtype} cannot be read as numbers.")
    remedy = "Is an index mistyped? Otherwise number the features without gaps."
    if X.shape[1] > MAX_FEATURES:
        raise DataError(
            f"Sparse input may have at most {MAX_FEATURES:,} features. Got {X.shape[1]:,}. {remedy}"
        )
    check_room(
        int(X.shape[1]) * _BYTES_PER_FEATURE,
        f"Sparse input of {X.shape[1]:,} features, even if they were empty,",
        remedy,
    )
    check_structure(X)
    table = csc_array(_narrow(X))
    if table.dtype.kind == "f" and table.dtype.itemsize not in (4, 8):
        table = table.astype(np.float64)
    if not table.has_canonical_format:
        if np.shares_memory(table.data, X.data) if X.format == "csc" else False:
            table = table.copy()  # (it shares its arrays with the user's)
        table.sum_duplicates()
    return table


def check_structure(X: Any) -> None:
    """Refuse a scipy matrix whose indices lead out of it, before anybody walks through them.

    A matrix of diagonals passes: those outside of it are empty.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> wrong = csr_array([[0.0, 2.0], [1.0, 0.0]])
    >>> wrong.indices[0] = 7
    >>> check_structure(wrong)
    Traceback (most recent call last):
    ...
    crucial.errors.DataError: Input X: the sparse matrix is malformed: column index 7 in row 0 ...
    """
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X)
    elif X.format == "coo":
        _check_coordinates(X)
    elif X.format == "lil":
        _check_lists(X)
    elif X.format == "dok":
        for row, column in X.keys():  # noqa: SIM118 (a matrix yields its rows)
            _check_place(row, X.shape[0], "row")
            _check_place(column, X.shape[1], "column")


def _narrow(X: Any) -> Any:
    """Return a compressed matrix with indices of four bytes, where they fit."""
    wide = X.format in ("csr", "csc") and X.indices.dtype.itemsize > 4
    if not wide or max(*X.shape, int(X.indptr[-1])) >= 2**31:
        return X
    narrow = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(narrow, shape=X.shape)


def _refuse(what: str) -> NoReturn:
    raise DataError(
        f"Input X: the sparse matrix is malformed: {what}. Build it again, for example by "
        "scipy.sparse.coo_array((values, (rows, columns)), shape)."
    )


def _check_compressed(X: Any) -> None:
    """Refuse pointers and indices that lead out of the arrays or out of the matrix."""
    along, across = ("column", "row") if X.format == "csc" else ("row", "column")
    tall, wide = int(X.shape[0]), int(X.shape[1])
    if X.format == "bsr":
        tall, wide = tall // X.blocksize[0], wide // X.blocksize[1]
    n_major, n_minor = (wide, tall) if X.format == "csc" else (tall, wide)
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    if indptr.shape != (n_major + 1,):
        _refuse(f"indptr has {len(indptr):,} numbers, and {n_major:,} {along}s need one more")
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        _refuse("indptr must begin with 0 and never fall")
    stored = int(indptr[-1])
    if stored > min(len(indices), len(X.data)):
        _refuse(
            f"indptr ends at {stored:,}, and there are {len(indices):,} indices and "
            f"{len(X.data):,} values"
        )
    if not stored:
        return
    low, high = int(indices[:stored].min()), int(indices[:stored].max())
    if low < 0 or high >= n_minor:
        at = int(np.flatnonzero((indices[:stored] < 0) | (indices[:stored] >= n_minor))[0])
        major = int(np.searchsorted(indptr, at, "right")) - 1
        _refuse(
            f"{across} index {int(indices[at]):,} in {along} {major:,} is outside its "
            f"{n_minor:,} {across}s"
        )


def _check_coordinates(X: Any) -> None:
    """Refuse rows and columns outside the matrix."""
    if len(X.row) != len(X.data) or len(X.col) != len(X.data):
        counts = f"{len(X.row):,} rows, {len(X.col):,} columns and {len(X.data):,} values"
        _refuse(f"its entries have {counts}")
    for name, numbers, size in (("row", X.row, X.shape[0]), ("column", X.col, X.shape[1])):
        if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= size):
            wrong = numbers[(numbers < 0) | (numbers >= size)][0]
            _check_place(int(wrong), int(size), name)


def _check_lists(X: Any) -> None:
    """Refuse lists of columns that are not as long as those of values, or outside the matrix."""
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        lists = f"{len(X.rows):,} lists of columns and {len(X.data):,} of values"
        _refuse(f"there are {lists} for {X.shape[0]:,} rows")
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            _refuse(f"row {row:,} has {len(columns):,} columns and {len(values):,} values")
        for column in (min(columns), max(columns)) if columns else ():
            _check_place(column, X.shape[1], "column")


def _check_place(index: int, size: int, name: str) -> None:
    if not 0 <= index < size:
        _refuse(f"{name} index {index:,} is outside its {size:,} {name}s")

"""Tables with named columns: CSV and TSV (plain or gzip), and parquet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.files import atomic_write, open_bytes
from crucial.data.formats.cells import cell_line, separator_of
from crucial.data.formats.columns import RoleNames
from crucial.data.formats.csv_lines import read_csv
from crucial.data.words import as_objects
from crucial.errors import DataError, FileError
from crucial.parameters import refuse
from crucial.types import PathLike

__all__ = ["read_table", "write_table"]

_PARQUET = (".parquet", ".pq")


def read_table(
    path: PathLike,
    *,
    label: str | None = "label",
    qid: str | None = "qid",
    item: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    sep: str | None = None,
    n_jobs: int | None = None,
) -> Dataset:
    """Read a table whose columns have names.

    CSV and TSV: UTF-8, the first line names the columns, cells may be quoted with ``"``,
    spaces around a cell are dropped. An empty cell, ``NA``, ``nan`` or ``null`` is a
    missing value; ``true`` and ``false`` are 1 and 0. Parquet is recognised by its content
    and needs ``pip install crucial[parquet]``.

    Parameters
    ----------
    path : str or path
        The file; gzip is recognised by its content.
    label, qid, item, weight : str or None
        Names of the columns with the labels, query ids, item names and row weights.
        A file without a column ``label`` or ``qid`` is read without labels or queries,
        and the notes say so; any other name must be there.
    features : sequence of str, optional
        Names of the feature columns, in the order wanted; by default all that are left.
    ignore : sequence of str
        Columns to leave out.
    sep : str, optional
        One character between cells. By default a tab if the name ends in ``.tsv`` or ``.tab``
        (before ``.gz``); else whichever of comma, tab and semicolon is most frequent in
        the first line.
    n_jobs : int, optional
        Threads for text files above 1 MiB; all cores by default.

    Returns
    -------
    Dataset
        ``X`` is dense float64; ``qid`` is int64 if all ids are whole numbers, else str.

    Raises
    ------
    FileError
        Naming file, line and column (the number of the cell in its line).

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("qid,label,bm25,clicks\\nq1,2,0.5,7\\nq1,0,0.1,\\n")
    ...     data = read_table(name)
    >>> data.X
    array([[0.5, 7. ],
           [0.1, nan]])
    >>> data.y.tolist(), data.qid.tolist(), data.feature_names
    ([2.0, 0.0], ['q1', 'q1'], ['bm25', 'clicks'])
    """
    _check_sep("read_table", sep)
    for name, value in (("features", features), ("ignore", ignore)):
        if isinstance(value, str):
            raise refuse("read_table", name, "a list of column names", value)
    roles = RoleNames(label, qid, item, weight, features, ignore)
    with open_bytes(path) as source:
        if source.peek(4) != b"PAR1":
            if os.fspath(path).lower().endswith(_PARQUET):
                raise FileError(path, "this is not a parquet file: it does not begin with PAR1.")
            return read_csv(source, sep, roles, n_jobs)
    from crucial.data.formats.parquet import read_parquet

    return read_parquet(path, roles)


def _check_sep(owner: str, sep: str | None) -> None:
    if sep is not None and (len(sep) != 1 or sep in '"\r\n\0' or not sep.isascii()):
        rule = "one ASCII character other than a quote or line end, or None"
        raise refuse(owner, "sep", rule, sep)


def _columns(data: Dataset) -> dict[str, NDArray[Any]]:
    """Give the columns of a data set by name, roles first."""
    names = data.feature_names or [f"f{column}" for column in range(data.n_features)]
    roles = {"qid": data.qid, "item": data.item, "label": data.y, "weight": data.weight}
    columns = {
        name: values if isinstance(values, np.ndarray) else as_objects(values)
        for name, values in roles.items()
        if values is not None
    }
    clash = (set(columns) & set(names)) | {one for one in names if names.count(one) > 1}
    if clash or len(names) != data.n_features:
        reason = f"{sorted(clash)[0]!a} names two columns" if clash else "their number is wrong"
        raise DataError(f"the table cannot be written: use other feature names; {reason}.")
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0].tolist()
        raise DataError(f"X is infinite in row {row}, column {column}; it must be finite.")
    return columns | {name: X[:, column] for column, name in enumerate(names)}


def write_table(path: PathLike, data: Dataset, *, sep: str | None = None) -> None:
    """Write a table that `read_table` reads back the same, to the last bit.

    Columns are called ``qid``, ``item``, ``label`` and ``weight`` (those that are there),
    then come the features by name, or ``f0``, ``f1``, ... A missing value is an empty cell.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all. Parquet if the name ends in ``.parquet`` or ``.pq``;
        else text, packed with gzip if it ends in ``.gz``.
    data : Dataset
    sep : str, optional
        By default a tab if the name ends in ``.tsv`` or ``.tab`` (before ``.gz``), else a
        comma.
    """
    _check_sep("write_table", sep)
    columns = _columns(data)
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(_PARQUET):
        from crucial.data.formats.parquet import write_parquet

        write_parquet(path, columns)
        return
    sep = separator_of(path, b"") if sep is None else sep
    with atomic_write(path) as file:
        file.write(cell_line(list(columns), sep).encode())
        for row in zip(*(column.tolist() for column in columns.values())):
            file.write(cell_line(row, sep).encode())

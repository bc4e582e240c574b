"""Tables of rows: to a data frame, or to a file that other programs read."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from crucial.data.files import atomic_write
from crucial.errors import FileError
from crucial.io.text import sheet_cell
from crucial.results import Frame, as_frame, json_value
from crucial.types import PathLike

__all__ = ["Row", "columns_of", "frame_of", "write_rows"]

#: A row of a table: cells by name of the column.
Row: TypeAlias = dict[str, Any]


def columns_of(rows: Sequence[Row]) -> dict[str, list[object]]:
    """Return rows as columns; None where a row has no such value.

    Examples
    --------
    >>> columns_of([{"a": 1}, {"a": 2, "b": 3}])
    {'a': [1, 2], 'b': [None, 3]}
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def frame_of(rows: Sequence[Row]) -> Frame:
    """Return a pandas frame of the rows where pandas is installed, else their columns."""
    return as_frame(columns_of(rows))


def write_rows(path: PathLike, rows: Sequence[Row]) -> None:
    """Write rows as CSV, TSV, JSON or parquet, as the name of the file ends; atomically.

    CSV and TSV are for people (`sheet_cell`); JSON and parquet have every text as it is.

    Raises
    ------
    FileError
        The name has another ending, or the file cannot be written.
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        data = _as_csv(rows, "," if name.endswith(".csv") else "\t")
    elif name.endswith(".json"):
        data = (json.dumps(json_value(list(rows)), indent=1, allow_nan=False) + "\n").encode()
    elif name.endswith((".parquet", ".pq")):
        data = _as_parquet(path, rows)
    else:
        raise FileError(path, "the name must end in .csv, .tsv, .json or .parquet.")
    with atomic_write(path) as file:
        file.write(data)


def _as_csv(rows: Sequence[Row], mark: str) -> bytes:
    text = io.StringIO()
    columns = columns_of(rows)
    writer = csv.writer(text, delimiter=mark, lineterminator="\n")
    writer.writerow(map(sheet_cell, columns))
    for row in zip(*columns.values()):
        cells = ["" if (one := json_value(value)) is None else one for value in row]
        writer.writerow(map(sheet_cell, cells))
    return text.getvalue().encode("utf-8", "surrogateescape")


def _as_parquet(path: PathLike, rows: Sequence[Row]) -> bytes:
    """Return rows as parquet; columns of several types become text."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import write_table
    except ImportError as error:
        raise FileError(path, "parquet needs pyarrow: pip install crucial[parquet].") from error
    columns = {name: [json_value(one) for one in some] for name, some in columns_of(rows).items()}
    for name, values in columns.items():
        if len({type(one) for one in values if one is not None} - {int, float}) > 1:
            columns[name] = [None if one is None else str(one) for one in values]
    sink = io.BytesIO()
    write_table(pa.table(columns), sink)
    return sink.getvalue()

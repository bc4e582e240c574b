"""Write tables with named columns: CSV, TSV, JSON (plain or gzip) and parquet."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import NUMBERS, as_array, as_reals, is_missing
from crucial.data.dataset import Dataset
from crucial.data.files import atomic_write
from crucial.data.instances import Instances
from crucial.data.words import as_objects, is_unicode, shown, to_number
from crucial.errors import DataError, FileError
from crucial.io.options import TableOptions
from crucial.io.tables import SVMLIGHT
from crucial.io.text import EXCEL, JSON, PARQUET, CellFormat, cell_line, sheet_cell
from crucial.types import PathLike

_IDS = "Use whole numbers or text as query ids."
_NAMES = "Use other feature names."


# --- The columns of a result as a file: separators and form by the end of its name


def table_kind_of(path: PathLike) -> Literal["csv", "tsv", "json", "jsonl", "parquet"] | None:
    """Return the kind of table that the end of a name stands for; None if for none."""
    name = os.fspath(path).lower().removesuffix(".gz")
    kinds = {"tsv": (".tsv", ".tab"), "jsonl": JSON, "parquet": PARQUET, "csv": (".csv",)}
    found = (kind for kind, ends in {**kinds, "json": (".json",)}.items() if name.endswith(ends))
    return next(found, None)  # type: ignore[arg-type]


def table_lines(
    path: PathLike,
    columns: Mapping[str, Sequence[Any]],
    *,
    sep: str | None = None,
    exact: bool = False,
) -> Iterator[str]:
    """Yield columns as the text of a file of this name.

    ``.tsv`` and ``.tab`` have tabs, ``.jsonl`` one object per line, ``.json`` one list of them, all
    else commas. A missing or infinite number is an empty cell, or null.

    Parameters
    ----------
    path : str or path
    columns : mapping from name to column
    sep : str, optional
        Separator of cells, in place of the one of the name.
    exact : bool
        Leave texts as they are, for files that are read again. Else those that a spreadsheet would
        run get an apostrophe in front, in CSV and TSV (see `sheet_cell`).

    Examples
    --------
    >>> print(*table_lines("best.tsv", {"item": ["=a", "b"], "rank": [1, math.nan]}), sep="")
    item	rank
    '=a	1
    b
    >>> print(*table_lines("best.jsonl", {"item": ["=a", "b"], "rank": [1, math.nan]}), sep="")
    {"item": "=a", "rank": 1}
    {"item": "b", "rank": null}
    """
    kind = table_kind_of(path)
    rows = (
        [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row]
        for row in zip(*columns.values(), strict=True)
    )
    if kind in ("json", "jsonl"):
        begin, between, end = ("[\n", ",\n", "\n]\n") if kind == "json" else ("", "\n", "\n")
        yield begin
        for number, row in enumerate(rows):
            one = dict(zip(columns, row, strict=True))
            text = json.dumps(one, ensure_ascii=False, allow_nan=False, default=str)
            yield (between if number else "") + text
        yield end
        return
    sep = sep or ("\t" if kind == "tsv" else ",")
    head: list[Any] = list(columns)
    for cells in itertools.chain([head], rows):
        filled = ["" if cell is None else cell for cell in cells]
        yield cell_line(filled if exact else [sheet_cell(cell) for cell in filled], sep)


def write_columns(
    path: PathLike, columns: Mapping[str, Sequence[Any]], *, exact: bool = False
) -> None:
    """Write columns as `table_lines` has them, or as parquet; whole or not at all."""
    if table_kind_of(path) == "parquet":
        from crucial.io.parquet import write_parquet

        write_parquet(path, {name: _of_one_type(column) for name, column in columns.items()})
        return
    with atomic_write(path) as file:
        for line in table_lines(path, columns, exact=exact):
            file.write(line.encode("utf-8", "surrogateescape"))


def _of_one_type(column: Sequence[Any]) -> list[Any]:
    """Return a column; as text if its values are of several types."""
    values = [None if cell != cell else cell for cell in column]
    kinds = {type(one) for one in values if one is not None}
    several = len(kinds) > 1 and not kinds <= {int, float}
    return [None if one is None else str(one) for one in values] if several else values


# --- Data sets as tables that are read back the same


def write_table(path: PathLike, data: Dataset, *, sep: str | None = None) -> None:
    """Write a table that `read_table` reads back the same, to the last bit.

    Columns are called ``qid``, ``item``, ``label`` and ``weight`` (those that are there),
    then come the features by name, or ``f0``, ``f1``, ... A missing value is an empty cell, or
    null. What could not be read back is refused: names and texts that a cell cannot have, and
    query ids that are neither whole numbers nor text.

    Name ``item``, ``weight`` and features of categories when reading (``categories``); else texts
    that are numbers or dates are read as such, and texts that all differ are refused. Query ids
    of text that are all whole numbers come back as numbers, and dates as their numbers.

    Parameters
    ----------
    path : str or path
        Replaced whole or not at all; the end of its name says what is written:

        ===========================================  ============================================
        ``.parquet``, ``.pq``                        parquet, which needs
                                                     ``pip install crucial[parquet]``
        ``.jsonl``, ``.ndjson``, ``.jsonlines``      JSON lines: one object per line
        ``.json``                                    one list of such objects
        ``.xlsx``, ``.xlsm``, ``.xls``               nothing: Excel files are read only
        ``.svm``, ``.letor``, ...                    nothing: see `write_svmlight`
        all else                                     CSV
        ===========================================  ============================================

        JSON and CSV are packed with gzip if ``.gz`` follows.
    data : Dataset
    sep : str, optional
        Of CSV; by default a tab if the name ends in ``.tsv`` or ``.tab`` (before ``.gz``), else a
        comma.

    Raises
    ------
    DataError
        Naming what cannot be written.
    FileError
        The file cannot be written, or not in this format.
    """
    TableOptions.checked("write_table", {"sep": sep})
    name = os.fspath(path).lower().removesuffix(".gz")
    _check_suffix(path, name)
    columns = _written_columns(data)
    if name.endswith(PARQUET):
        from crucial.io.parquet import write_parquet

        write_parquet(path, columns)
        return
    _check_cells(columns, "json" if name.endswith((*JSON, ".json")) else "csv")
    cells = {name: column.tolist() for name, column in columns.items()}
    with atomic_write(path) as file:
        for line in table_lines(path, cells, sep=sep, exact=True):
            file.write(line.encode())


def _check_suffix(path: PathLike, name: str) -> None:
    """Refuse a file that could not be read back; ``name`` is in lower case, without ``.gz``."""
    if name.endswith((*EXCEL, ".xls")):
        problem = "Excel files are read, and cannot be written."
    elif name.endswith(SVMLIGHT):
        problem = "a file of this name is read as svmlight, which `write_svmlight` writes."
    elif name.endswith(PARQUET) and os.fspath(path).lower() != name:
        problem = "parquet files are packed already, and cannot be packed with gzip."
    else:
        return
    raise FileError(path, problem, remedy="Use a name in .csv, .tsv, .jsonl, .json or .parquet.")


def _refused(problem: str, remedy: str = "") -> DataError:
    return DataError(f"the table cannot be written: {problem}", remedy=remedy)


def _written_columns(data: Dataset) -> dict[str, NDArray[Any]]:
    """Return the columns of a data set by name, roles first; None is a missing text.

    Raises
    ------
    DataError
        A column could not be read back from any kind of table.
    """
    names = data.feature_names or [f"f{column}" for column in range(data.n_features)]
    columns: dict[str, NDArray[Any]] = {}
    if data.qid is not None:
        columns["qid"] = _query_ids(data.qid)
    if data.item is not None:
        columns["item"] = as_objects(["" if is_missing(one) else str(one) for one in data.item])
    for name, values in (("label", data.y), ("weight", data.weight)):
        if values is not None:
            columns[name] = _finite(values, name)
    _check_names(names, data.n_features, columns)
    columns |= zip(names, _features(data))
    for name, column in columns.items():
        for row, text in enumerate((name, *column) if column.dtype.kind == "O" else (name,)):
            if isinstance(text, str) and not is_unicode(text):
                where = f" of row {row - 1}" if row else ""
                raise _refused(f"{text[:40]!a}{where} has half of a surrogate pair.")
    return columns


def _check_names(names: list[str], n_features: int, roles: dict[str, NDArray[Any]]) -> None:
    """Refuse feature names that would not come back as those of features."""
    twice = [name for name, count in Counter([*roles, *names]).items() if count > 1]
    if twice:
        raise _refused(f"{shown(min(twice))} names two columns.", _NAMES)
    if len(names) != n_features:
        reason = f"the number of feature names is wrong, {len(names)} for {n_features} features."
        raise _refused(reason)
    role = next((one for one in names if one in ("label", "qid")), None)
    if role is not None:
        raise _refused(f"feature {shown(role)} would be read as the {role}.", _NAMES)
    if "" in names:
        raise _refused(f"feature {names.index('')} (from 0) has no name.", _NAMES)


def _finite(values: Any, name: str) -> NDArray[Any]:
    """Return labels or weights; readers refuse those that are missing or infinite."""
    numbers = as_reals(values, name)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        row = int(bad[0])
        raise _refused(f"the {name} of row {row} is {numbers[row]}; it must be finite.")
    return as_array(values, name)


def _query_ids(qid: Any) -> NDArray[Any]:
    """Return query ids, floats that are whole numbers as these."""
    ids = as_array(qid, "qid")
    if ids.dtype.kind in "iu":
        return ids
    if ids.dtype.kind == "f":
        bad = np.flatnonzero(~((np.abs(ids) < 2.0**53) & (ids == np.floor(ids))))
        if len(bad):
            row = int(bad[0])
            raise _refused(f"the qid of row {row} is {ids[row]}.", _IDS)
        return ids.astype(np.int64)
    for row, one in enumerate(ids):
        if is_missing(one) or str(one) == "":
            raise _refused(f"the qid of row {row} is missing.", "Every row must have one.")
    return as_objects([str(one) for one in ids])


def _features(data: Dataset) -> list[NDArray[Any]]:
    """Return the features column by column."""
    if isinstance(data.X, Instances):
        if data.X.is_coded:
            raise _refused(
                "X has the bins of its cells instead of their values (Dataset.from_parts).",
                "Write the parts one by one.",
            )
        return [_cells(data.X, feature) for feature in range(data.n_features)]
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    X = X if X.dtype.kind in NUMBERS else as_reals(X, "X")
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0].tolist()
        raise DataError(f"X is infinite in row {row}, column {column}; it must be finite.")
    return list(X.T)


def _cells(instances: Instances, feature: int) -> NDArray[Any]:
    """Return the cells of a column, texts as they were."""
    if feature not in (instances.levels or {}):
        return instances.column(feature)
    cells = np.empty(instances.n_rows, object)
    cells[:] = [instances.text(row, feature) for row in range(instances.n_rows)]
    return cells


def _check_cells(columns: dict[str, NDArray[Any]], kind: Literal["csv", "json"]) -> None:
    """Refuse names and texts that a reader of cells would change.

    Parameters
    ----------
    columns : dict from str to array
        Of `_written_columns`.
    kind : {"csv", "json"}
        Whether names are cells too.
    """
    names = list(columns)
    if kind == "csv":
        for name in names:
            if name != name.strip() or "\n" in name or "\r" in name:
                raise _refused(
                    f"the name {shown(name)} has a line end, or spaces around it.", _NAMES
                )
        if all(to_number(name) is not None for name in names):
            raise _refused("all columns are named by numbers, as if they had no names.", _NAMES)
    for name, column in columns.items():
        if column.dtype.kind == "O":
            _check_texts(name, column.tolist(), name in ("qid", "item"))


def _check_texts(name: str, texts: Sequence[str | None], is_id: bool) -> None:
    """Refuse texts that lose spaces around them or are read as missing."""
    form = CellFormat()
    for row, text in enumerate(texts):
        if text is None:
            continue
        what = name if is_id else f"value of feature {shown(name)}"
        if text != (text.strip(" \t") if is_id else text.strip()):
            raise _refused(
                f"the {what} of row {row}, {shown(text)}, would lose the spaces around it.",
                "Remove them, or write parquet.",
            )
        if not is_id and form.is_missing(text):
            raise _refused(
                f"the {what} of row {row}, {shown(text)}, would be read as missing.",
                "Use another word, or write parquet.",
            )

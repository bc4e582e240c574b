"""Tables with named columns: CSV, TSV and JSON lines (plain or gzip), parquet and Excel."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.files import ByteSource, TextSource, first_bytes, open_bytes
from crucial.data.formats.cell_format import LATIN, CellFormat
from crucial.data.formats.cells import EncodingError
from crucial.data.formats.columns import RoleNames
from crucial.data.formats.csv_lines import read_csv
from crucial.data.formats.text_encoding import as_utf8, from_utf16, is_utf16
from crucial.data.instances import Instances
from crucial.data.words import BOM
from crucial.errors import FileError
from crucial.parameters import check, one_of, refuse
from crucial.progress import reading_status
from crucial.types import PathLike

__all__ = ["EXCEL", "JSON", "PARQUET", "SVMLIGHT", "read_table"]

EXCEL = (".xlsx", ".xlsm")
JSON = (".jsonl", ".ndjson", ".jsonlines")
PARQUET = (".parquet", ".pq")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_table(
    path: PathLike,
    *,
    label: str | None = "label",
    qid: str | None = "qid",
    item: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    header: bool = True,
    sep: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    sheet: str | None = None,
    needs_label: bool = False,
    missing_features: str = "refuse",
    categories: Sequence[str] = (),
    n_jobs: int | None = None,
) -> Dataset:
    """Read a table whose columns have names.

    ===============  ======================================================================
    file             recognised by
    ===============  ======================================================================
    parquet          its content; needs ``pip install crucial[parquet]``
    Excel            a name that ends in ``.xlsx`` or ``.xlsm``; needs
                     ``pip install crucial[excel]``
    JSON lines       a ``{`` at its start: one object per line, whose keys name the columns;
                     or one list of such objects, in a file whose name ends in ``.json``
    CSV and TSV      all else: the first line names the columns, cells may be quoted with
                     ``"``, spaces around a cell are dropped
    ===============  ======================================================================

    An empty cell, ``NA``, ``N/A``, ``?``, ``nan`` or ``null`` is a missing value; ``true`` and
    ``false`` are 1 and 0. A column without any number is text, whose values are categories, or
    dates (2024-01-31, 31.1.2024, with or without a time), which become days since 1970; the
    notes say so. The columns that cannot be features are all named in one error.

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
    header : bool
        Whether the first line, or row of a sheet, names the columns. If not, columns are named
        by their numbers, from 1: ``label="1"``.
    sep : str, optional
        Of CSV: one character between cells. By default a tab if the name ends in ``.tsv`` or
        ``.tab`` (before ``.gz``); else whichever of comma, tab, semicolon and bar is most
        frequent in the first line.
    decimal : {".", ","}, optional
        The decimal sign. By default a comma if numbers of the first 1,000 rows have one and
        none has a point; the notes say so.
    missing : sequence of str
        Further cells that are missing values, such as ``-`` or ``-999``.
    encoding : str, optional
        Of CSV: any that contains ASCII, or UTF-16. By default UTF-8, or UTF-16 by the mark at its
        start, and Latin-1 (Windows-1252) where the file is neither; the notes say so.
    sheet : str, optional
        Of Excel: the sheet to read; the first by default.
    needs_label : bool
        Whether to refuse a table without a column ``label``, before its rows are read.
    missing_features : {"refuse", "allow"}
        Whether a table that lacks some of ``features`` is refused, or read with missing values
        in their place.
    categories : sequence of str
        Features to read as categories, whatever their cells are.
    n_jobs : int, optional
        Threads for text files above 1 MiB; all cores by default.

    Returns
    -------
    Dataset
        ``X`` is dense float64, or `Instances` if a feature is text or dates, which every ranker
        takes; ``qid`` is int64 if all ids are whole numbers, else str.

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
    wide = encoding if encoding is not None and is_utf16(encoding) else None
    own = "utf-8" if encoding is None or wide is not None else encoding
    form = CellFormat(header, sep, decimal, frozenset(missing), own)
    form.check("read_table")
    for name, value in (
        ("features", features), ("ignore", ignore), ("missing", missing), ("categories", categories)
    ):  # fmt: skip
        if isinstance(value, str):
            what = "cells" if name == "missing" else "column names"
            raise refuse("read_table", name, f"a list of {what}", value)
    check("read_table", "missing_features", missing_features, one_of("refuse", "allow"))
    roles = RoleNames(
        label, qid, item, weight, features, ignore, needs_label, missing_features, categories
    )
    data = _read(path, _kind(path), sheet, form, roles, n_jobs, wide, fall_back=encoding is None)
    return data if features is None else _with_features(data, list(features))


def _with_features(data: Dataset, features: list[str]) -> Dataset:
    """Add the features that a table lacks, as missing values."""
    names = data.feature_names or []
    if names == features:
        return data
    place = [features.index(name) for name in names]
    own = data.instances()
    X = np.full((data.n_rows, len(features)), np.nan)
    X[:, place] = own.table
    absent = len(features) - len(names)
    data.notes.append(f"{absent} of the {len(features)} features never occur, and abstain")
    data.feature_names = features
    data.X = X
    if own.levels or own.times:
        data.X = Instances(
            X,
            tuple(features),
            {place[j]: texts for j, texts in (own.levels or {}).items()} or None,
            {place[j]: unit for j, unit in (own.times or {}).items()} or None,
            frozenset(place[j] for j in own.declared),
        )
    return data


def _read(
    path: PathLike,
    kind: Literal["parquet", "excel", "json", "text"],
    sheet: str | None,
    form: CellFormat,
    roles: RoleNames,
    n_jobs: int | None,
    wide: str | None,
    *,
    fall_back: bool,
) -> Dataset:
    """Read a table of one kind."""
    if sheet is not None and kind != "excel":
        raise refuse("read_table", "sheet", f"None, for {os.fspath(path)} is no Excel file", sheet)
    if kind == "parquet":
        from crucial.data.formats.parquet import read_parquet

        with reading_status(path):
            return read_parquet(path, roles)
    if kind == "excel":
        from crucial.data.formats.excel import read_excel

        with reading_status(path):
            return read_excel(path, sheet, form, roles)
    if kind == "json":
        from crucial.data.formats.json_lines import read_json_lines

        return read_json_lines(path, form, roles)
    if wide is not None:
        with open_bytes(path) as source:
            text = from_utf16(path, source.read(), wide)
        return read_csv(TextSource(os.fspath(path), text), form, roles, n_jobs)
    return _read_text(path, form, roles, n_jobs, fall_back)


def _kind(path: PathLike) -> Literal["parquet", "excel", "json", "text"]:
    """Find out what kind of table a file is."""
    name = os.fspath(path).lower()
    if name.endswith(EXCEL):
        return "excel"
    start = first_bytes(path, 64).removeprefix(BOM).lstrip()
    if start.startswith(b"PAR1"):
        return "parquet"
    if name.endswith(PARQUET):
        raise FileError(path, "this is not a parquet file: it does not begin with PAR1.")
    if start.startswith(_OLD_EXCEL):
        raise FileError(path, "this is an old Excel file (.xls); save it as .xlsx or CSV.")
    listed = start.startswith(b"[") and name.removesuffix(".gz").endswith(".json")
    if name.removesuffix(".gz").endswith(JSON) or start.startswith(b"{") or listed:
        return "json"
    return "text"


def _read_text(
    path: PathLike, form: CellFormat, roles: RoleNames, n_jobs: int | None, fall_back: bool
) -> Dataset:
    """Read CSV, as Latin-1 if it is not UTF-8 and may be another encoding."""
    try:
        with open_bytes(path) as source:
            if fall_back and source.peek(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return _read_utf16(source, form, roles, n_jobs)
            return read_csv(source, form, roles, n_jobs)
    except EncodingError:
        if not (fall_back and os.path.isfile(path)):
            raise
    with open_bytes(path) as source:
        data = read_csv(source, replace(form, encoding=LATIN), roles, n_jobs)
    data.notes.append("the text is not UTF-8 and was read as Latin-1 (Windows-1252)")
    return data


def _read_utf16(
    source: ByteSource, form: CellFormat, roles: RoleNames, n_jobs: int | None
) -> Dataset:
    """Read text that begins with the mark of UTF-16, as spreadsheets write it."""
    text, note = as_utf8(source.path, source.read())
    data = read_csv(TextSource(source.path, text), form, roles, n_jobs)
    data.notes.append(note)
    return data

"""Read tables with named columns: CSV, TSV, JSON lines, parquet and Excel, plain or packed."""

from __future__ import annotations

import codecs
import datetime
import inspect
import io
import json
import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Dataset
from crucial.data.files import (
    ByteSource,
    TextSource,
    atomic_write,
    check_unpacked,
    first_bytes,
    open_bytes,
    refuse_pipe,
)
from crucial.data.instances import Instances
from crucial.data.words import BOM, keys_once, shown
from crucial.errors import Argument, CrucialError, FileError, Message, ParameterError
from crucial.io.columns import (
    SAMPLE,
    ColumnPlan,
    ParsedRows,
    Record,
    RoleNames,
    assign_roles,
    has_dates,
    parse_records,
    read_records,
    to_dataset,
)
from crucial.io.options import TableOptions, with_options
from crucial.io.svmlight import read_svmlight
from crucial.io.text import (
    LATIN,
    NO_ROW,
    CellFormat,
    CellReader,
    EncodingError,
    TextTable,
    as_utf8,
    cut_lines,
    filled_lines,
    from_utf16,
    is_utf16,
    missing_column,
    next_block,
    read_start,
    read_text_table,
    separator_of,
    text_blocks,
)
from crucial.kernels.runtime import count_threads, run_all
from crucial.kernels.text import parse_cells
from crucial.parameters import at_least, check, either, flag, one_of, refuse
from crucial.progress import reading_lines, reading_status
from crucial.types import PathLike

# --- Lines of cells: plainly through the csv module, or compiled where they are simple


_NOT_BLANK = re.compile(rb"\S")
_MOST_LEFT_OVER = 4096  # numbers of a piece that float() may make; with more it is not simple


def parse_plain(plan: ColumnPlan, lines: Iterator[bytes], lines_before: int) -> list[ParsedRows]:
    """Parse lines with everything CSV may have: quotes, line ends in cells, words for numbers."""
    reader = CellReader(
        plan.path, lines, plan.sep, decode=plan.form.decode, lines_before=lines_before
    )
    return parse_records(plan, iter(reader), reader)


def parse_compiled(plan: ColumnPlan, text: bytes, start: int, stop: int) -> ParsedRows | None:
    """Parse the whole lines ``text[start:stop]`` with the kernel; None if they are not simple."""
    number_columns, text_columns = plan.number_columns, plan.text_columns
    slots = np.full(len(plan.names), -1, np.int64)
    slots[number_columns] = np.arange(len(number_columns))
    slots[text_columns] = -2 - np.arange(len(text_columns))
    pointed = plan.form.with_points(text)
    found = parse_cells(pointed, start, stop, plan.sep, slots, _MOST_LEFT_OVER)
    if found is None:
        return None
    numbers, places, left_over = found
    part = ParsedRows(numbers, [])
    ends = (plan.sep.encode(), b"\n")
    for row, slot, begin in left_over.tolist():
        end = min(place for place in (pointed.find(byte, begin) for byte in ends) if place >= 0)
        numbers[row, slot] = float(pointed[begin:end])
    for k in range(len(text_columns)):
        part.texts.append([plan.form.decode(text[a:b]) for a, b in places[:, k].tolist()])
    numbers[:] = plan.form.without_missing(numbers)
    # Invalid values are reported by the plain parser, which knows the lines.
    extra = part.numbers[:, plan.n_number_features :]
    bad = bool(np.isinf(part.numbers).any() or np.isnan(extra).any())
    if bad or not has_dates(plan, part) or (plan.roles.qid is not None and "" in part.texts[0]):
        return None
    return part


def _parse_piece(
    plan: ColumnPlan, block: bytes, start: int, stop: int, before: int
) -> list[ParsedRows]:
    part = parse_compiled(plan, block, start, stop)
    if part is not None:
        return [part]
    before += block.count(b"\n", 0, start)
    return parse_plain(plan, iter(io.BytesIO(block[start:stop])), before)


def _decodes(plan: ColumnPlan, block: bytes) -> bool:
    try:
        return block.isascii() or bool(plan.form.decode(block))
    except UnicodeDecodeError:
        return False


def _first_cells(path: str, line: bytes, number: int, sep: str, form: CellFormat) -> list[str]:
    reader = CellReader(path, iter([line]), sep, decode=form.decode, lines_before=number - 1)
    _, cells = next(iter(reader))
    return [cell.strip() for cell in cells]


def _take_line(path: str, blocks: Iterator[bytes]) -> tuple[bytes, bytes, int]:
    """Return the first line that is not blank, what follows it, and its number."""
    lines = 0
    for block in blocks:
        found = _NOT_BLANK.search(block)
        if found is not None:
            begin = block.rfind(b"\n", 0, found.start()) + 1
            end = block.find(b"\n", begin) + 1
            return block[begin:end], block[end:], lines + block.count(b"\n", 0, end)
        lines += block.count(b"\n")
    raise FileError(path, "the file is empty: it has no line that names the columns.")


def _sample(text: bytes, blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first lines, as many as are looked at, and all blocks with them in front."""
    taken = [text] if text else []
    more: bytes | FileError = b"?"
    while isinstance(more, bytes) and more and sum(one.count(b"\n") for one in taken) < SAMPLE:
        more = next_block(blocks)
        taken += [more] if more and isinstance(more, bytes) else []
    rest = _raising(more) if isinstance(more, FileError) else blocks
    return b"".join(taken), chain(taken, rest)


def _raising(error: FileError) -> Iterator[bytes]:
    """Raise an error where the next block would come."""
    raise error
    yield b""


def _for_lines(plan: ColumnPlan, text: bytes, lines_before: int) -> ColumnPlan:
    """Return the plan with what the first lines show about how cells are written."""
    reader = CellReader(
        plan.path,
        islice(iter(io.BytesIO(text)), SAMPLE),
        plan.sep,
        quotes="lenient",
        decode=plan.form.decode,
        lines_before=lines_before,
    )
    records: list[Record] = []
    with suppress(FileError):  # (the lines are read again: it is reported there)
        records += ((line, cells) for line, cells in reader if len(cells) == len(plan.names))
    return plan.for_rows(records)


def read_csv(
    source: ByteSource | TextSource, form: CellFormat, wanted: RoleNames, n_jobs: int | None
) -> Dataset:
    """Read a table of numbers from CSV text."""
    path = source.path
    start, plain = read_start(source)
    threads = 1 if plain else count_threads(n_jobs)
    blocks = text_blocks(source, start)
    first, rest, lines = _take_line(path, blocks)
    sep = separator_of(path, first) if form.sep is None else form.sep
    cells = _first_cells(path, first, lines, sep, form)
    if form.header:
        plan = ColumnPlan(path, cells, assign_roles(path, lines, cells, wanted), sep, form)
    else:
        names = [str(number) for number in range(1, len(cells) + 1)]
        plan = ColumnPlan(path, names, assign_roles(path, None, names, wanted), sep, form)
        rest, lines = first + rest, lines - 1
    sample, blocks = _sample(rest, blocks)
    plan = _for_lines(plan, sample, lines)
    block = next_block(blocks)
    parts: list[ParsedRows] = []
    while block:
        if isinstance(block, FileError):
            raise block
        ambiguous = plan.sep == plan.form.decimal
        if plain or ambiguous or b'"' in block or not _decodes(plan, block):
            # A quoted cell may go on in the next block: from here on it is plain.
            remaining = (line for one in chain([block], blocks) for line in io.BytesIO(one))
            parts += parse_plain(plan, remaining, lines)
            break
        tasks: list[Callable[[], Any]] = [partial(next_block, blocks)]
        for cuts in cut_lines(block, 2 * threads):
            tasks.append(partial(_parse_piece, plan, block, *cuts, lines))
        results = run_all(threads, tasks)
        parts += chain.from_iterable(results[1:])
        lines += block.count(b"\n")
        block = results[0]
    return to_dataset(plan, parts)


# --- Tables with named columns: CSV, TSV and JSON lines (plain or gzip), parquet and Excel


EXCEL = (".xlsx", ".xlsm")
JSON = (".jsonl", ".ndjson", ".jsonlines")
PARQUET = (".parquet", ".pq")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".letor")
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


@with_options(TableOptions)
def read_table(path: PathLike, *, n_jobs: int | None = None, **options: Any) -> Dataset:
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
    **options
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
    chosen = TableOptions.checked("read_table", options)
    encoding = chosen.encoding
    wide = encoding if encoding is not None and is_utf16(encoding) else None
    own = "utf-8" if encoding is None or wide is not None else encoding
    form = CellFormat(chosen.header, chosen.sep, chosen.decimal, frozenset(chosen.missing), own)
    roles = RoleNames(
        chosen.label, chosen.qid, chosen.item, chosen.weight, chosen.features, chosen.ignore,
        chosen.needs_label, chosen.missing_features, chosen.categories,
    )  # fmt: skip
    fall_back = encoding is None
    data = _read(path, _kind(path), chosen.sheet, form, roles, n_jobs, wide, fall_back=fall_back)
    return data if chosen.features is None else _with_features(data, list(chosen.features))


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
        from crucial.io.parquet import read_parquet

        with reading_status(path):
            return read_parquet(path, roles)
    if kind == "excel":
        with reading_status(path):
            return read_excel(path, sheet, form, roles)
    if kind == "json":
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


# --- One reader for all files with rows to rank: the kind is seen from name and content


_TABLES = (".csv", ".tsv", ".tab", ".xls", ".json", *PARQUET, *EXCEL, *JSON)
_ROW = re.compile(rb"^[ \t]*[^\s#:,;]+(?:[ \t]+(?:qid|[0-9]+):[^\s]+)", re.MULTILINE)
_LOOK = 1 << 16  # bytes of the start that are looked at


def find_format(
    path: PathLike, otherwise: Literal["svmlight", "table"] | None = None
) -> Literal["svmlight", "table"]:
    """Find out what kind of file this is.

    By its name (before ``.gz``): .csv, .tsv, .tab, .parquet, .pq, .xlsx, .xlsm, .jsonl and .ndjson
    are tables, .svm, .svmlight, .libsvm and .letor are svmlight. Else by its start: ``PAR1`` and
    ``{`` begin a table; the first line that is neither empty nor comment is svmlight if it goes
    ``label qid:...`` or ``label index:...``, and the head of a table if it has a comma, tab or
    semicolon. What is neither is ``otherwise``, if that is given.

    Raises
    ------
    FileError
        It is neither, or cannot be read.
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(_TABLES):
        return "table"
    if name.endswith(SVMLIGHT):
        return "svmlight"
    start = first_bytes(path, _LOOK).removeprefix(BOM)
    if start.startswith((b"PAR1", b"\xff\xfe", b"\xfe\xff")) or start.lstrip().startswith(b"{"):
        return "table"
    lines = (
        line for line in start.split(b"\n") if line.strip() and not line.strip().startswith(b"#")
    )
    first = next(lines, b"")
    if not first:
        raise FileError(path, "there is no row at the start of this file.")
    if _ROW.match(first):
        return "svmlight"
    if any(mark in first.split(b"#")[0] for mark in (b",", b"\t", b";")):
        return "table"
    if otherwise is not None:
        return otherwise
    raise FileError(
        path,
        "this is neither svmlight (label qid:Q index:value ...) nor a table with named columns.",
        remedy=Message(
            "Say which it is with ",
            Argument("format", "svmlight"),
            " or ",
            Argument("format", "table"),
            ".",
        ),
    )


def read_data(
    path: PathLike,
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    verbose: int = 0,
    **options: Any,
) -> Dataset:
    """Read rows to rank from a file of any kind.

    Parameters
    ----------
    path : str or path
        The file, plain or gzip.
    format : {"auto", "svmlight", "table"}
        The kind of file; "auto" as in `find_format`.
    verbose : int
        1 or True writes lines about the progress of large files where standard error is no
        terminal; a terminal shows a bar in any case.
    **options
        Those of `read_svmlight` or `read_table`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "train.txt")
    ...     with open(name, "w") as file:
    ...         _ = file.write("1 qid:7 1:0.5\\n0 qid:7 1:0.25\\n")
    ...     data = read_data(name)
    >>> data.X.tolist(), data.y.tolist(), data.qid.tolist()
    ([[0.5], [0.25]], [1.0, 0.0], [7, 7])
    """
    check("read_data", "format", format, one_of("auto", "svmlight", "table"))
    check("read_data", "verbose", verbose, either(at_least(0), flag))
    readers: dict[str, Any] = {"svmlight": read_svmlight, "table": read_table}
    found = find_format(path) if format == "auto" else format
    known = [one for one in inspect.signature(readers[found]).parameters if one != "path"]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{os.fspath(path)} is read as {found}, which has no option {option!r}; "
                f"it has: {', '.join(known)}."
            )
    with reading_lines(bool(verbose)):
        data: Dataset = readers[found](path, **options)
    return data


# --- Read several files of rows with the same columns


def _categories(first: Instances, options: dict[str, Any]) -> list[str]:
    """Return the features that are categories in the first file, or are said to be."""
    own = [first.names[j] for j in first.levels or () if first.names is not None]
    return list(dict.fromkeys([*options.get("categories", ()), *own]))


def read_alike(
    paths: Sequence[PathLike],
    format: Literal["auto", "svmlight", "table"] = "auto",
    *,
    group_sizes: Sequence[PathLike | None] | None = None,
    **options: Any,
) -> list[Dataset]:
    """Read files of one format with the same columns.

    Parameters
    ----------
    paths : sequence of str or path
        The first of several tables determines the features. Of svmlight files the widest
        determines their number, and index 0 in any of them makes all begin at 0.
    format : {"auto", "svmlight", "table"}
        The kind of all files; "auto" as in `find_format`, of the first one.
    group_sizes : sequence of str or path, optional
        Of svmlight files: the file of group sizes of each.
    **options
        Those of `read_data`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("train.txt", "test.txt")]
    ...     for path, line in zip(paths, ["1 qid:1 1:5\\n", "0 qid:2 0:3 2:7\\n"]):
    ...         with open(path, "w") as file:
    ...             _ = file.write(line)
    ...     [data.X.tolist() for data in read_alike(paths)]
    [[[0.0, 5.0, 0.0]], [[3.0, 0.0, 7.0]]]
    """
    form = find_format(paths[0]) if format == "auto" else format
    each: list[dict[str, Any]] = [{} for _ in paths]
    if group_sizes is not None:
        each = [{"group_sizes": one} for one in group_sizes]

    def read(number: int, **columns: Any) -> Dataset:
        return read_data(paths[number], form, **{**options, **each[number], **columns})

    others = range(1, len(paths))
    data = [read(0)]
    if form == "table":
        first = data[0].instances()
        same = {"features": data[0].feature_names, "categories": _categories(first, options)}
        return data + [read(number, **same) for number in others]
    data += [read(number) for number in others]
    base = min(one.index_base or 0 for one in data)
    width = max(one.n_features + (one.index_base or 0) for one in data) - base
    return [
        one
        if (one.index_base, one.n_features) == (base, width)
        else read(number, index_base=base, n_features=width)
        for number, one in enumerate(data)
    ]


# --- Tables of text read by columns: CSV and TSV in one pass, and JSON lines


_JSON_NAMES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, eq=False)
class ColumnTable(TextTable):
    """A `TextTable` that keeps its cells by columns; ``rows`` is empty.

    Attributes
    ----------
    columns : list of list of str
    """

    columns: list[list[str]] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def column(self, place: int) -> list[str]:
        """Return the cells of a column, without the spaces around them."""
        cells = self.columns[place]
        if any(one != one.strip() for one in set(cells)):
            cells = [cell.strip() for cell in cells]
        return cells

    def error(self, row: int, place: int, problem: str, remedy: str = "") -> FileError:
        """Return the error about a cell."""
        cell = self.columns[place][row].strip()
        return FileError(self.path, problem, self.lines[row], place + 1, value=cell, remedy=remedy)


def read_column_table(path: PathLike, *, sep: str | None = None) -> ColumnTable:
    """Read a CSV, a TSV or JSON lines, plain or gzip, as columns of text.

    JSON is recognised by its first character: an object per line, or one array of objects. Names
    of columns are the keys; a missing key or null is an empty cell; lists and objects inside an
    object are left out.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "votes.jsonl")
    ...     with open(name, "w") as file:
    ...         _ = file.write('{"a": "tea", "b": "milk"}\\n{"a": "wine", "turn": 2}\\n')
    ...     table = read_column_table(name)
    >>> table.names, table.columns
    (['a', 'b', 'turn'], [['tea', 'wine'], ['milk', ''], ['', '2']])
    """
    refuse_pipe(path)
    with open_bytes(path) as source:
        start = source.peek(4096).removeprefix(BOM).lstrip()
        named = source.path.lower().removesuffix(".gz").endswith(_JSON_NAMES)
        if start.startswith(b"{") or (named and start.startswith(b"[")):
            return _json_table(source.path, source.read().removeprefix(BOM))
        plain = sep is None or len(sep) == 1
        text = source.read() if plain and not start.startswith(b"PAR1") else b""
    text, note = as_utf8(path, text)
    quick = _plain_columns(path, text, sep) if text else None
    if quick is not None:
        quick.notes.extend([note] if note else [])
        return quick
    table = read_text_table(path, sep=sep, may_be_empty=True)
    columns = [list(column) for column in zip(*table.rows)] or [[] for _ in table.names]
    return ColumnTable(table.path, table.names, [], table.lines, table.notes, columns)


def _plain_columns(path: PathLike, raw: bytes, sep: str | None) -> ColumnTable | None:
    """Cut a text whose lines all have the same number of cells, none quoted; else None.

    The whole text is cut at once, which is many times faster than line by line.
    """
    raw = raw.removeprefix(BOM).replace(b"\r\n", b"\n").rstrip(b"\n")
    if not raw or any(mark in raw for mark in (b'"', b"\0", b"\r", b"\n\n")):
        return None
    head = raw.partition(b"\n")[0]
    mark = separator_of(path, head) if sep is None else sep
    width = head.count(mark.encode()) + 1
    bytes_ = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(bytes_ == 10)
    marks = np.flatnonzero(bytes_ == ord(mark)) if mark.isascii() else np.zeros(0, np.int64)
    counts = np.diff(np.searchsorted(marks, np.concatenate(([0], ends, [len(raw)]))))
    if width < 2 or (counts != width - 1).any():
        return None
    try:
        cells = raw.decode().replace("\n", mark).split(mark)
    except UnicodeDecodeError:
        return None  # (the slow reader says in which line)
    names = [cell.strip() for cell in cells[:width]]
    columns = [cells[width + k :: width] for k in range(width)]
    n = len(columns[0])
    if any(not "".join(row).strip() for row in _blank_candidates(columns)):
        return None
    return ColumnTable(str(path), names, [], list(range(2, n + 2)), columns=columns)


def _blank_candidates(columns: list[list[str]]) -> list[list[str]]:
    """Return the rows whose first cell is blank, which may be blank altogether."""
    if all(one.strip() for one in set(columns[0])):
        return []
    rows = [k for k, cell in enumerate(columns[0]) if not cell.strip()]
    return [[column[k] for column in columns] for k in rows]


def _json_table(path: str, raw: bytes) -> ColumnTable:
    """Return the objects of JSON lines, or of an array, as columns."""
    records: list[dict[str, object]] = []
    lines: list[int] = []
    if raw.lstrip().startswith(b"["):
        found = _parsed(path, raw, None)
        for number, one in enumerate(found if isinstance(found, list) else [found], 1):
            if not isinstance(one, dict):
                raise FileError(path, f"element {number} of the array must be an object.")
            records.append(one)
            lines.append(number)
    else:
        for number, line in enumerate(raw.split(b"\n"), 1):
            if not line.strip():
                continue
            one = _parsed(path, line, number)
            if not isinstance(one, dict):
                problem = f"expected an object {{...}} per line. Got {shown(line)}."
                raise FileError(path, problem, number)
            records.append(one)
            lines.append(number)
    names = list(dict.fromkeys(name for one in records for name in one))
    usable = [
        name for name in names
        if not any(isinstance(one.get(name), list | dict) for one in records)
    ]  # fmt: skip
    columns = [[_text(one.get(name)) for one in records] for name in usable]
    return ColumnTable(path, [name.strip() for name in usable], [], lines, columns=columns)


def _parsed(path: str, raw: bytes, line: int | None) -> object:
    try:
        return json.loads(raw, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:  # (a ValueError: a number of thousands of digits)
        other = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "it cannot be parsed"
        reason = getattr(error, "msg", other)
        raise FileError(path, f"this is not JSON ({reason}).", line) from error


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


# --- JSON lines: one object per line, whose keys name the columns; or one list of such objects


def _objects(path: PathLike) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the number and the object of every line that is not blank, or of a list of objects."""
    is_list = first_bytes(path, 64).removeprefix(BOM).lstrip().startswith(b"[")
    if is_list:
        yield from _listed(path)
        return
    for number, raw in filled_lines(path):
        try:
            found = json.loads(raw, object_pairs_hook=keys_once)
        except (ValueError, RecursionError) as error:
            reason = str(error).split(":", maxsplit=1)[0]
            problem = f"every line must be one JSON object ({reason}). Got {shown(raw.strip())}."
            raise FileError(path, problem, number) from error
        if not isinstance(found, dict):
            problem = f"every line must be one JSON object. Got {shown(raw.strip())}."
            raise FileError(path, problem, number)
        yield number, found


def _listed(path: PathLike) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file that is one list of them, numbered from 1."""
    with open_bytes(path) as source:
        raw = source.read().removeprefix(BOM)
    try:
        found = json.loads(raw, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        problem = f"this is not one list of JSON objects: {error}."
        raise FileError(path, problem) from error
    for number, one in enumerate(found, 1):
        if not isinstance(one, dict):
            problem = f"entry {number} must be a JSON object. Got {shown(json.dumps(one))}."
            raise FileError(path, problem)
        yield number, one


def _json_cell(value: object) -> str:
    """Return a value as the text of a cell; lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def read_json_lines(path: PathLike, form: CellFormat, wanted: RoleNames) -> Dataset:
    """Read a table from JSON lines; a key that an object lacks is a missing value."""
    if not form.header:
        raise refuse("read_table", "header", "True for JSON lines: keys name the columns", False)
    rows = list(_objects(path))
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    if not names:
        raise FileError(path, "there is no row with a key in this file.")
    records: Iterator[Record] = (
        (number, [_json_cell(row.get(name)) for name in names]) for number, row in rows
    )
    return read_records(path, None, names, records, form, wanted)


def write_json_lines(path: PathLike, columns: dict[str, NDArray[Any]], *, as_list: bool) -> None:
    """Write columns as one object per row, or as one list of them; whole or not at all."""
    begin, between, end = ("[\n", ",\n", "\n]\n") if as_list else ("", "\n", "\n")
    with atomic_write(path) as file:
        file.write(begin.encode())
        for number, row in enumerate(zip(*(column.tolist() for column in columns.values()))):
            # (NaN is no JSON)
            cells = {name: cell if cell == cell else None for name, cell in zip(columns, row)}
            text = json.dumps(cells, ensure_ascii=False, allow_nan=False)
            file.write(((between if number else "") + text).encode())
        file.write(end.encode())


# --- Sheets of Excel files, through openpyxl


_MOST_ROWS = 1 << 20  # Excel's own bound; openpyxl fills all rows up to one of any number


def read_excel(path: PathLike, sheet: str | None, form: CellFormat, wanted: RoleNames) -> Dataset:
    """Read a table from a sheet: the values that formulas had when it was saved.

    Empty rows and the empty columns around the table are left out.
    """
    rows, note = _rows(path, sheet)
    if not rows:
        raise FileError(path, "the sheet is empty.")
    used = sorted({column for _, row in rows for column, cell in enumerate(row) if cell})
    check_unpacked(path, 8 * len(rows) * len(used))
    records: Iterator[Record] = (
        (line, [row[column] if column < len(row) else "" for column in used]) for line, row in rows
    )
    line: int | None = None
    if form.header:
        line, names = next(records)
        if len(rows) == 1:
            raise FileError(path, NO_ROW)
    else:
        names = [str(number) for number in range(1, len(used) + 1)]
    data = read_records(path, line, names, records, form, wanted)
    data.notes += [note] if note else []
    return data


@contextmanager
def _refused(path: PathLike) -> Iterator[None]:
    """Say in one line that openpyxl cannot read a file: a damaged one may raise anything."""
    try:
        yield
    except (CrucialError, MemoryError):
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(path, f"cannot be read: {reason[:1].lower()}{reason[1:]}.") from error
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        problem = "this is not an Excel file of the kind .xlsx; save it as such, or as CSV."
        raise FileError(path, problem) from error
    except Exception as error:
        kind = type(error).__name__
        problem = f"the Excel file is damaged ({kind} in openpyxl); save it again, or as CSV."
        raise FileError(path, problem) from error


def _rows(path: PathLike, sheet: str | None) -> tuple[list[Record], str]:
    """Return the rows that are not empty, and a note on other sheets."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(path, "Excel needs openpyxl: pip install crucial[excel].") from error
    with _refused(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (about styles and extensions, which are not read)
        with zipfile.ZipFile(path) as parts:
            check_unpacked(path, sum(part.file_size for part in parts.infolist()))
        book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            names: list[str] = [one.title for one in book.worksheets]
            if sheet is not None and sheet not in names:
                raise missing_column(path, None, names, sheet, "sheet")
            chosen = book.worksheets[0 if sheet is None else names.index(sheet)]
            chosen.reset_dimensions()  # (some programs write wrong ones)
            rows, size = [], 0
            for line, values in enumerate(chosen.iter_rows(values_only=True), 1):
                if line > _MOST_ROWS:
                    raise FileError(path, f"a sheet has at most {_MOST_ROWS:,} rows.", line)
                if not values:
                    continue
                # (a cell can be far away from the one before, and its text be in the file once)
                cells = [_sheet_cell(value) for value in values]
                size += sum(max(8, len(cell)) for cell in cells)
                check_unpacked(path, size)
                if any(cells):
                    rows.append((line, cells))
        finally:
            book.close()
    return rows, _other_sheets(names, chosen.title) if sheet is None else ""


def _other_sheets(names: Sequence[str], chosen: str) -> str:
    if len(names) == 1:
        return ""
    others = ", ".join(shown(name) for name in names if name != chosen)
    return Message(
        f"the sheet {shown(chosen)} was read, not {others} (", Argument("sheet"), " chooses)"
    )


def _sheet_cell(value: object) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    return str(value).strip()

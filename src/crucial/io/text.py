"""Text as tables of cells: CSV, TSV, JSON lines and Excel, in any encoding; and cells as text."""

from __future__ import annotations

import codecs
import csv
import datetime
import json
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np

from crucial.data.files import ByteSource, check_unpacked, first_bytes, open_bytes
from crucial.data.words import (
    BOM,
    CellTable,
    keys_once,
    missing_column,
    nul_error,
    place_of,
    shown,
    to_number,
)
from crucial.errors import Argument, CrucialError, DataError, FileError, Message
from crucial.types import Floats, PathLike

EXCEL = (".xlsx", ".xlsm")
JSON = (".jsonl", ".ndjson", ".jsonlines")
PARQUET = (".parquet", ".pq")

NO_ROW = "there is no row below the names of the columns."

# --- Lines of text, and cells that are written


_EMPTY_ROW = '""'  # (an empty line would be no row)


def text_lines(source: ByteSource) -> Iterator[bytes]:
    """Yield the lines of a file with their ends, without byte order mark; NUL is refused."""
    for number, raw in enumerate(source.lines(), 1):
        nul = raw.find(b"\0")
        if nul >= 0:
            raise nul_error(source.path, raw, nul, number - 1)
        yield raw.removeprefix(BOM) if number == 1 else raw


def filled_lines(path: PathLike) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of every line that is not blank."""
    with open_bytes(path) as source:
        for number, raw in enumerate(text_lines(source), 1):
            if raw and not raw.isspace():
                yield number, raw


def cell_line(cells: Sequence[object], sep: str = ",") -> str:
    """Return a line of cells that reads back the same; NaN is an empty cell."""
    return (sep.join(_cell(cell, sep) for cell in cells) or _EMPTY_ROW) + "\n"


# What a formula begins with in spreadsheets, also where they read full-width signs.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def sheet_cell(value: object) -> object:
    """Return a value as a cell of a table that people open, with texts that must not be run.

    Spreadsheets take a text that begins with ``=``, ``+``, ``-`` or ``@`` for a formula; it gets an
    apostrophe in front. Numbers stay, and so do texts that are one. Not for files that are read
    again: see `cell_line`.

    Examples
    --------
    >>> [sheet_cell(one) for one in ("=1+1", "-1.5", -1.5, "@a", "-", "a-b")]
    ["'=1+1", '-1.5', -1.5, "'@a", '-', 'a-b']
    """
    if not isinstance(value, str) or len(value) < 2 or not value.startswith(_FORMULA):
        return value
    number = to_number(value)
    return value if number is not None and number == number else f"'{value}"


def _cell(value: object, sep: str) -> str:
    if isinstance(value, float):
        return "" if value != value else float.__repr__(value)
    text = str(value)
    if "\0" in text:
        raise DataError(f"{text!a} cannot be written: it contains a NUL.")
    if any(mark in text for mark in (sep, '"', "\r", "\n")):
        text = '"' + text.replace('"', '""') + '"'
    return text


# --- Text in any encoding, as UTF-8


#: What a text that is not UTF-8 is read as: Latin-1 with the signs that Windows puts into its gaps.
_LATIN = "cp1252"
_LATIN_NOTE = "the text is not UTF-8 and was read as Latin-1 (Windows-1252)"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK = 1 << 17  # bytes of text that are cut into cells at a time: as many as caches hold


def as_utf8(path: PathLike, raw: bytes, encoding: str | None = None) -> tuple[bytes, str]:
    """Return a text as UTF-8 without byte order mark, and a note on how it was read.

    Without ``encoding``, UTF-16 is recognised by the mark at its start, and what is not UTF-8 is
    read as Latin-1 with the signs of Windows, unless it contains control characters, as texts do
    not. The note is empty for UTF-8 and for an encoding that was given.

    Raises
    ------
    FileError
        It is not text in the encoding; the line is named.

    Examples
    --------
    >>> as_utf8("x.csv", b"caf\\xe9")
    (b'caf\\xc3\\xa9', 'the text is not UTF-8 and was read as Latin-1 (Windows-1252)')
    >>> as_utf8("x.csv", b"tea")
    (b'tea', '')
    """
    if encoding is None and raw.startswith(_MARKS):
        return _from_utf16(path, raw, "utf-16"), "the text was read as UTF-16"
    name = codecs.lookup(encoding or "utf-8").name
    if name.startswith("utf-16"):
        return _from_utf16(path, raw, name), ""
    if name != "utf-8":
        return _recoded(path, raw, name), ""
    wrong = _first_wrong_byte(raw)
    if wrong < 0:
        return raw.removeprefix(BOM), ""
    if encoding is None and not any(code in raw for code in range(9)):
        return _recoded(path, raw, _LATIN), _LATIN_NOTE
    line, _ = place_of(raw, wrong)
    raise FileError(path, "this is not UTF-8 text; convert the file first.", line)


def _from_utf16(path: PathLike, raw: bytes, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        seen = ", as it begins" if raw.startswith(_MARKS) else ""
        raise FileError(path, f"this is not UTF-16 text{seen} ({error}).") from error


def _recoded(path: PathLike, raw: bytes, encoding: str) -> bytes:
    """Return text of another encoding as UTF-8; Latin-1 has bytes that Windows has not."""
    try:
        return raw.decode(encoding).encode()
    except UnicodeDecodeError as error:
        if encoding == _LATIN:
            return b"\n".join(_latin_line(line) for line in raw.split(b"\n"))
        line, _ = place_of(raw, error.start)
        problem = f"this is not text in the encoding {encoding}; convert the file first."
        raise FileError(path, problem, line) from error


def _latin_line(raw: bytes) -> bytes:
    try:
        return raw.decode(_LATIN).encode()
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode()


def _first_wrong_byte(raw: bytes) -> int:
    """Return the position of the first byte that is not UTF-8, or -1."""
    if raw.isascii():
        return -1
    begin = 0
    while begin < len(raw):  # (by blocks: the text as characters may be four times as large)
        end = raw.find(b"\n", begin + _BLOCK) + 1 or len(raw)
        try:
            raw[begin:end].decode()
        except UnicodeDecodeError as error:
            return begin + error.start
        begin = end
    return -1


# --- The cells of CSV and TSV, block by block


def separator_of(path: PathLike, line: bytes) -> str:
    """Return the separator of cells: by the file's name, else the most frequent one."""
    if str(path).lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    return max(",\t;|", key=lambda sep: line.count(sep.encode()))


class TextFile:
    """The text of a CSV or TSV, which is cut into tables of cells block by block.

    Empty lines are skipped, and blank ones too if there are several columns.

    Parameters
    ----------
    path : str or path
    header : bool
        Whether the first line names the columns; if not, they are named by numbers, from 1.
    sep : str or function of the first line, optional
        The separator of cells; of several characters where no cell is quoted.
    strict : bool
        Whether misplaced quotes are refused.
    encoding : str, optional
        As in `as_utf8`.

    Attributes
    ----------
    names : list of str
    names_line : int or None
    sep : str
    text : bytes
        All of it, as UTF-8.
    begin : int
        Where the rows begin in the text.
    is_quoted : bool
        Whether a cell of the rows may be quoted; names alone do not count.
    notes : list of str
    """

    def __init__(
        self,
        path: PathLike,
        *,
        header: bool = True,
        sep: str | Callable[[bytes], str] | None = None,
        strict: bool = True,
        encoding: str | None = None,
    ) -> None:
        self.path = os.fspath(path)
        with open_bytes(path) as source:
            text, note = as_utf8(path, source.read(), encoding)
        self.notes = [note] if note else []
        self.nul: FileError | None = None
        position = text.find(b"\0")
        if position >= 0:  # (lines before it are read first: they may have errors, too)
            self.nul = nul_error(self.path, text, position)
            text = text[: text.rfind(b"\n", 0, position) + 1]
        self.text, self._strict = text, strict
        start = re.search(rb"\S", text)
        if start is None:
            named = ": it has no line that names the columns" if header else ""
            raise self.nul or FileError(path, f"the file is empty{named}.")
        begin = text.rfind(b"\n", 0, start.start()) + 1
        end = text.find(b"\n", begin) + 1 or len(text)
        find = partial(separator_of, path) if sep is None else sep
        self.sep = find if isinstance(find, str) else find(text[begin:end])
        self._line = text.count(b"\n", 0, begin)
        self._records = self._cut(_lines(text, begin))
        line, cells = next(self._records)
        self.names_line = line if header else None
        self.names = [cell.strip() for cell in cells]
        if not header:
            self.names = [str(number) for number in range(1, len(cells) + 1)]
            self._records = chain([(line, cells)], self._records)
            end = begin
        self.begin = end  # (of a name with an end of line, the closing quote is behind it)
        self.is_quoted = len(self.sep) == 1 and text.find(b'"', end) >= 0

    def blocks(self) -> Iterator[CellTable]:
        """Yield the rows, some at a time; the first table may be empty.

        Raises
        ------
        FileError
            A line cannot be cut, or has another number of cells than the first: after the rows
            before it.
        """
        yield self._table([[] for _ in self.names], ())
        if self.is_quoted:  # (a quoted cell may go on in the next block)
            yield from self._row_blocks(self._records)
        else:
            yield from self._plain_blocks()
        if self.nul is not None:
            raise self.nul

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line in which each row begins and its cells, of which rows may have any number.

        A first line that names columns is left out.
        """
        yield from self._records
        if self.nul is not None:
            raise self.nul

    def _table(self, columns: list[Any], lines: Sequence[int]) -> CellTable:
        return CellTable(self.names, columns, self.path, lines, self.names_line, self.notes)

    def _plain_blocks(self) -> Iterator[CellTable]:
        """Yield the rows of text without quotes: whole blocks at once where lines are alike."""
        text, sep, width = self.text, self.sep, len(self.names)
        begin, line = self.begin, self.text.count(b"\n", 0, self.begin)
        while begin < len(text):
            end = text.find(b"\n", begin + _BLOCK) + 1 or len(text)
            block = text[begin:end].decode().replace("\r\n", "\n")
            lines = block.removesuffix("\n").split("\n")
            alike = width > 1 and "\r" not in block
            if alike and {one.count(sep) for one in lines} == {width - 1}:
                cells = sep.join(lines).split(sep)
                columns = [cells[k::width] for k in range(width)]
                yield self._table(columns, range(line + 1, line + 1 + len(lines)))
            else:
                self._line = line
                yield from self._row_blocks(self._cut(iter(re.findall(r"[^\n]*\n|[^\n]+", block))))
            line += len(lines)
            begin = end

    def _cut(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the line in which each record begins, and its cells."""
        if len(self.sep) > 1:
            for text in self._counted(lines):
                if not text.isspace():
                    yield self._line, text.rstrip("\r\n").split(self.sep)
            return
        records = csv.reader(self._counted(lines), delimiter=self.sep, strict=self._strict)
        line = self._line + 1
        try:
            for cells in records:
                if cells:
                    yield line, cells
                line = self._line + 1
        except csv.Error as error:
            reason = str(error).replace("\t", "\\t")
            problem = f"the line cannot be split into cells ({reason})."
            raise FileError(self.path, problem, line) from error

    def _counted(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self._line += 1
            yield line

    def _row_blocks(self, records: Iterator[tuple[int, list[str]]]) -> Iterator[CellTable]:
        """Yield tables of some records each; those before an error first."""
        width = len(self.names)
        lines: list[int] = []
        rows: list[list[str]] = []
        wrong: FileError | None = None
        try:
            for line, cells in records:
                if len(cells) != width:
                    if len(cells) == 1 and not cells[0].strip():
                        continue
                    problem = f"expected {width} cells, as in the first line. Got {len(cells)}."
                    raise FileError(self.path, problem, line)
                lines.append(line)
                rows.append(cells)
                if len(rows) == _ROWS:
                    yield self._table([list(column) for column in zip(*rows)], lines)
                    lines, rows = [], []
        except FileError as error:
            wrong = error
        if rows:
            yield self._table([list(column) for column in zip(*rows)], lines)
        if wrong is not None:
            raise wrong


_ROWS = 4096  # of a table that is cut row by row


def _lines(text: bytes, begin: int) -> Iterator[str]:
    """Yield the lines of a text from a position on, with their ends."""
    while begin < len(text):
        end = text.find(b"\n", begin) + 1 or len(text)
        yield text[begin:end].decode()
        begin = end


# --- Tables of any kind of text


def table_kind(path: PathLike) -> Literal["parquet", "excel", "json", "text"]:
    """Return the kind of a table, as its name and its start show."""
    name = os.fspath(path).lower()
    if name.endswith(EXCEL):
        return "excel"
    start = first_bytes(path, 4096).removeprefix(BOM).lstrip()
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


_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_cells(path: PathLike, *, sep: str | None = None) -> CellTable:
    """Read CSV, TSV, JSON, parquet or the first sheet of an Excel file as a table of text.

    The first line names the columns, or the keys of JSON do. There may be no rows. Keys inside
    objects have dotted names, such as ``tags.math``, and lists of other things than text are left
    out.

    Raises
    ------
    FileError
        Naming file and line.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "votes.jsonl")
    ...     with open(name, "w") as file:
    ...         _ = file.write('{"a": "tea", "b": "milk"}\\n{"a": "wine", "turn": 2}\\n')
    ...     table = read_cells(name)
    >>> table.names, table.columns
    (['a', 'b', 'turn'], [['tea', 'wine'], ['milk', ''], ['', '2']])
    """
    kind = table_kind(path)
    if kind == "parquet":
        from crucial.io.parquet import parquet_objects

        objects = parquet_objects(path)
        return _table_of_objects(path, objects, range(1, len(objects) + 1), nested=False)
    if kind == "json":
        return json_table(path, nested=False)
    if kind == "excel":
        return excel_table(path)
    blocks = list(TextFile(path, sep=sep).blocks())
    table = blocks[0]
    table.columns = [
        list(chain.from_iterable(parts)) for parts in zip(*(b.columns for b in blocks))
    ]
    table.lines = [line for block in blocks for line in block.lines]
    return table


def json_table(path: PathLike, *, encoding: str | None = None, nested: bool = True) -> CellTable:
    """Read one JSON object per line, or one list of them; a key that is absent is an empty cell.

    Parameters
    ----------
    path : str or path
    encoding : str, optional
        As in `as_utf8`.
    nested : bool
        Whether keys with lists or objects are columns, of cells in JSON. If not, lists are left
        out, and the keys inside an object are columns with dotted names, such as ``tags.math``.
    """
    with open_bytes(path) as source:
        raw, note = as_utf8(path, source.read(), encoding)
    objects: list[Any] = []
    lines: list[int] = []
    if raw.lstrip().startswith(b"["):
        try:
            objects = json.loads(raw, object_pairs_hook=keys_once)
        except (ValueError, RecursionError) as error:
            problem = f"this is not one list of JSON objects: {error}."
            raise FileError(path, problem) from error
        for number, entry in enumerate(objects, 1):
            if not isinstance(entry, dict):
                problem = f"entry {number} must be a JSON object. Got {shown(json.dumps(entry))}."
                raise FileError(path, problem)
            lines.append(number)
    else:
        for number, line in enumerate(raw.split(b"\n"), 1):
            if line.strip():
                objects.append(_json_object(path, number, line.strip()))
                lines.append(number)
    return _table_of_objects(path, objects, lines, nested=nested, note=note)


def _table_of_objects(
    path: PathLike,
    objects: list[dict[str, Any]],
    lines: Sequence[int],
    *,
    nested: bool,
    note: str = "",
) -> CellTable:
    """Return objects as a table; ``nested`` as in `json_table`."""
    if not nested:
        objects = [{**entry, **dict(_dotted(entry)), **entry} for entry in objects]
    names = list(dict.fromkeys(name for entry in objects for name in entry))
    if not nested:
        names = [
            name for name in names
            if not any(isinstance(entry.get(name), list | dict) for entry in objects)
        ]  # fmt: skip
    columns = [[_json_cell(entry.get(name)) for entry in objects] for name in names]
    return CellTable(names, columns, os.fspath(path), lines, notes=[note] if note else [])


def _dotted(entry: dict[str, Any], depth: int = 8) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object and of the objects inside it, by dotted names, tags as True."""
    for key, value in entry.items():
        if isinstance(value, dict) and depth:
            yield from ((f"{key}.{name}", leaf) for name, leaf in _dotted(value, depth - 1))
        elif isinstance(value, list) and all(isinstance(tag, str) for tag in value):
            yield from ((f"{key}.{tag}", True) for tag in value)
        else:
            yield key, value


def _json_object(path: PathLike, number: int, line: bytes) -> dict[str, object]:
    reason = ""
    try:
        entry = json.loads(line, object_pairs_hook=keys_once)
    except (ValueError, RecursionError) as error:
        reason, entry = f" ({str(error).split(':', maxsplit=1)[0]})", None
    if not isinstance(entry, dict):
        problem = f"every line must be one JSON object{reason}. Got {shown(line)}."
        raise FileError(path, problem, number)
    return entry


def _json_cell(value: object) -> str:
    """Return a value as the text of a cell; lists and objects as JSON."""
    if value is None or value != value:
        return ""
    return json.dumps(value) if isinstance(value, bool | float | list | dict) else str(value)


# --- Sheets of Excel files, through openpyxl


_MOST_ROWS = 1 << 20  # Excel's own bound; openpyxl fills all rows up to one of any number


def excel_table(path: PathLike, sheet: str | None = None, *, header: bool = True) -> CellTable:
    """Read a sheet: the values that formulas had when it was saved.

    Empty rows and the empty columns around the table are left out.
    """
    rows, note = _sheet_rows(path, sheet)
    if not rows:
        raise FileError(path, "the sheet is empty.")
    used = sorted({column for _, row in rows for column, cell in enumerate(row) if cell})
    check_unpacked(path, 8 * len(rows) * len(used))
    cells = [[row[column] if column < len(row) else "" for column in used] for _, row in rows]
    lines = [line for line, _ in rows]
    names = cells.pop(0) if header else [str(number) for number in range(1, len(used) + 1)]
    names_line = lines.pop(0) if header else None
    columns = [[row[k] for row in cells] for k in range(len(used))]
    notes = [note] if note else []
    return CellTable(names, columns, os.fspath(path), lines, names_line, notes)


@contextmanager
def _excel_errors(path: PathLike) -> Iterator[None]:
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


def _sheet_rows(path: PathLike, sheet: str | None) -> tuple[list[tuple[int, list[str]]], str]:
    """Return the rows that are not empty, and a note on other sheets."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(path, "Excel needs openpyxl: pip install crucial[excel].") from error
    with _excel_errors(path), warnings.catch_warnings():
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


# --- Cells as numbers: decimal sign and missing values


#: Cells that are a missing value in every table; ``nan`` and ``null`` are too, in any case.
MISSING_WORDS = frozenset(["", "NA", "N/A", "n/a", "#N/A", "?"])

_TRUTH = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_POINT_NUMBER = re.compile(r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_SWAP = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class CellFormat:
    """The format of numbers and missing values.

    Attributes
    ----------
    decimal : {".", ","}
    missing : frozenset of str
        Cells that are a missing value, besides those of every table.
    """

    decimal: str = "."
    missing: frozenset[str] = frozenset()

    def is_missing(self, cell: str) -> bool:
        """Return whether a cell without spaces around it is a missing value."""
        return cell in MISSING_WORDS or cell in self.missing or _is_nan(cell)

    def known(self, cells: Sequence[str]) -> list[str | None]:
        """Return cells without spaces around them, None for missing values."""
        stripped = map(str.strip, cells)
        return [None if self.is_missing(cell) else cell for cell in stripped]

    def number(self, cell: str) -> float | None:
        """Read a cell as a number: NaN if missing, None if it is none; true and false are 1 and 0.

        Examples
        --------
        >>> german = CellFormat(",")
        >>> german.number("-1,5"), german.number("?"), german.number("1.5")
        (-1.5, nan, None)
        """
        cell = cell.strip()
        if cell in MISSING_WORDS or cell in self.missing:
            return float("nan")
        if cell in _TRUTH:
            return _TRUTH[cell]
        return self._plain_number(cell)

    def _plain_number(self, cell: str) -> float | None:
        return to_number(cell.translate(_SWAP) if self.decimal == "," else cell)

    def numbers(self, cells: Sequence[str] | Floats) -> tuple[Floats, int]:
        """Read cells as numbers; the second is the place of the first that is none, or -1."""
        quick = cells if isinstance(cells, np.ndarray) else self._quick_numbers(cells)
        if quick is not None:
            marks = [mark for mark in map(self._plain_number, self.missing) if mark is not None]
            return np.where(np.isin(quick, marks), np.nan, quick) if marks else quick, -1
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            value = self.number(cell)
            if value is None or np.isinf(value):
                return values, row
            values[row] = value
        return values, -1

    def _quick_numbers(self, cells: Sequence[str]) -> Floats | None:
        """Read cells that are plain numbers; None if one is not, or may be read otherwise."""
        plain = [cell.translate(_SWAP) for cell in cells] if self.decimal == "," else cells
        try:
            values = np.fromiter(map(float, plain), np.float64, len(plain))
        except ValueError:
            return None
        text = "".join(plain)  # (of 1_000, and of digits of other scripts, `float` makes numbers)
        odd = np.isinf(values).any() or "_" in text or not text.isascii()
        return None if odd else values


def _is_nan(cell: str) -> bool:
    value = to_number(cell)
    return value is not None and value != value


def has_decimal_comma(cells: Iterable[str], sep: str) -> bool:
    """Return whether numbers among cells have a decimal comma, and none a point.

    Between commas a quoted ``1,234`` may as well be one thousand and more; such cells alone
    decide nothing.

    Examples
    --------
    >>> has_decimal_comma(["1,5", "7"], ";"), has_decimal_comma(["1,5", "1.5"], ";")
    (True, False)
    >>> has_decimal_comma(["1,234"], ","), has_decimal_comma(["1,234"], ";")
    (False, True)
    """
    found = False
    for cell in map(str.strip, cells):
        if _POINT_NUMBER.fullmatch(cell):
            return False
        if _COMMA_NUMBER.fullmatch(cell):
            found = found or sep != "," or _THOUSANDS.fullmatch(cell) is None
    return found

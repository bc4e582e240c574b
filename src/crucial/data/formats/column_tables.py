"""Tables of text read by columns: CSV and TSV in one pass, and JSON lines."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np

from crucial.data.files import open_bytes, refuse_pipe
from crucial.data.formats.cells import separator_of
from crucial.data.formats.text_encoding import as_utf8
from crucial.data.formats.text_tables import TextTable, read_text_table
from crucial.data.words import BOM, keys_once, shown
from crucial.errors import FileError
from crucial.types import PathLike

__all__ = ["ColumnTable", "read_column_table"]

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

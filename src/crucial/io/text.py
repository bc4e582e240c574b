"""Text in lines and cells: encodings, separators, decimal signs, blocks of whole lines."""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal

import numpy as np

from crucial.data.files import ByteSource, TextSource, open_bytes
from crucial.data.words import BOM, nul_error, number_rule, shown, shown_name, to_number
from crucial.errors import DataError, FileError
from crucial.kernels import runtime
from crucial.parameters import refuse
from crucial.types import Floats, PathLike

# --- Text cut into lines and cells: the reader under tables, ratings, comparisons and pairs


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


def first_line(lines: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first line that is not blank (empty if none is), and all lines again."""
    blank: list[bytes] = []
    for line in lines:
        if line.strip():
            return line, chain(blank, [line], lines)
        blank.append(line)
    return b"", iter(blank)


def separator_of(path: PathLike, line: bytes) -> str:
    """Return the separator of cells: by the file's name, else the most frequent one."""
    if str(path).lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    return max(",\t;|", key=lambda sep: line.count(sep.encode()))


class EncodingError(FileError):
    """A text is not in the encoding that it is read with."""


class CellReader:
    """Iterate over the records of a text: the line each begins in, and its cells.

    Empty lines are skipped, without quotes blank ones too. Cells keep the spaces around them.

    Parameters
    ----------
    path : str or path
        The file, for errors.
    lines : iterator of bytes
        Lines with their ends.
    sep : str
        What separates cells; several characters only without quotes.
    quotes : {"strict", "lenient", "none"}
        Whether cells may be quoted with ``"``, and then contain separators and line ends.
        "lenient" accepts misplaced quotes; with "none" they are ordinary characters.
    decode : callable, optional
        From the bytes of a line to its text; UTF-8 by default, all else is refused.
    lines_before : int
        Lines of the file that came before.

    Attributes
    ----------
    line : int
        Lines read so far, those before included.
    unusual : bool
        Whether a line had an underscore or was not ASCII: ``float`` accepts more there
        than a number may be. Set to False to watch anew.
    """

    def __init__(
        self,
        path: PathLike,
        lines: Iterator[bytes],
        sep: str,
        *,
        quotes: Literal["strict", "lenient", "none"] = "strict",
        decode: Callable[[bytes], str] = bytes.decode,
        lines_before: int = 0,
    ) -> None:
        self._path, self._lines, self._sep = path, lines, sep
        self._quotes, self._decode = quotes, decode
        self.line, self.unusual = lines_before, False

    def _texts(self) -> Iterator[str]:
        """Yield decoded lines; count them and note what needs a careful reader of numbers."""
        decode = self._decode
        try:
            for raw in self._lines:
                self.line += 1
                text = decode(raw)
                if "_" in text or not text.isascii():
                    self.unusual = True
                yield text
        except UnicodeDecodeError as error:
            problem = "this is not UTF-8 text; convert the file first."
            raise EncodingError(self._path, problem, self.line) from error

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        sep = self._sep
        if self._quotes == "none":
            for text in self._texts():
                if not text.isspace():
                    yield self.line, text.rstrip("\r\n").split(sep)
            return
        records = csv.reader(self._texts(), delimiter=sep, strict=self._quotes == "strict")
        line = self.line + 1
        try:
            for cells in records:
                if cells:
                    yield line, cells
                line = self.line + 1
        except csv.Error as error:
            reason = str(error).replace("\t", "\\t")
            problem = f"the line cannot be split into cells ({reason})."
            raise FileError(self._path, problem, line) from error


def missing_column(
    path: PathLike,
    line: int | None,
    names: Sequence[str],
    wanted: str,
    role: str = "",
    remedy: str = "",
) -> FileError:
    """Return the error for a column that the line of names does not have."""
    close = difflib.get_close_matches(wanted, names, n=3)
    known = close or list(names[:20])
    listed = ", ".join(map(shown_name, known)) + (", ..." if len(names) > len(known) else "")
    of_role = f" ({role})" if role and role != wanted else ""
    which = "close ones" if close else "columns"
    return FileError(
        path,
        f"there is no column {shown_name(wanted)}{of_role}; {which}: {listed}.",
        line,
        remedy=remedy,
        value=wanted,
    )


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


# --- How the cells of a table are written: separator, heading, decimal sign, missing values


#: Cells that are a missing value in every table; ``nan`` and ``null`` are too, in any case.
MISSING_WORDS = frozenset(["", "NA", "N/A", "n/a", "#N/A", "?"])

#: What a text that is not UTF-8 is read as: Latin-1 with the signs that Windows puts into its gaps.
LATIN = "cp1252"

DECIMAL_NOTE = "numbers have a decimal comma"
"""What the notes of a data set say where it was found out."""

_TRUTH = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_POINT_NUMBER = re.compile(r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_SWAP = bytes.maketrans(b",.", b".,")
_SWAP_TEXT = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a table are written, as in `crucial.read_table`.

    Attributes
    ----------
    header : bool
        Whether the first line names the columns.
    sep : str or None
        Between cells; None where it has yet to be found.
    decimal : str or None
        ``.`` or ``,``; None where it has yet to be found.
    missing : frozenset of str
        Cells that are a missing value, besides those of every table.
    encoding : str
        Of the text.
    """

    header: bool = True
    sep: str | None = None
    decimal: str | None = None
    missing: frozenset[str] = frozenset()
    encoding: str = "utf-8"

    def check(self, owner: str) -> None:
        """Refuse settings that no table can have."""
        sep = self.sep
        if sep is not None and (len(sep) != 1 or sep in '"\r\n\0' or not sep.isascii()):
            rule = "one ASCII character other than a quote or line end, or None"
            raise refuse(owner, "sep", rule, sep)
        if self.decimal not in (None, ".", ","):
            raise refuse(owner, "decimal", "'.', ',' or None", self.decimal)
        ascii_bytes = bytes(range(1, 128))
        try:
            extends_ascii = ascii_bytes.decode(self.encoding) == ascii_bytes.decode()
        except (LookupError, UnicodeError, ValueError):
            extends_ascii = False
        if not extends_ascii:
            rule = "UTF-16, or an encoding that contains ASCII, such as 'utf-8' or 'latin-1'"
            raise refuse(owner, "encoding", rule, self.encoding)

    @property
    def is_utf8(self) -> bool:
        """Whether the text is UTF-8."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def decode(self, raw: bytes) -> str:
        """Decode bytes; Latin-1 has a character for each, also for those that Windows has not."""
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError:
            if self.encoding != LATIN:
                raise
            return raw.decode("latin-1")

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
        >>> german = CellFormat(decimal=",")
        >>> german.number("-1,5"), german.number("?"), german.number("1.5")
        (-1.5, nan, None)
        """
        cell = cell.strip()
        if cell in MISSING_WORDS or cell in self.missing:
            return float("nan")
        if cell in _TRUTH:
            return _TRUTH[cell]
        return self._plain_number(cell)

    def without_missing(self, values: Floats) -> Floats:
        """Return numbers with NaN in place of those that stand for a missing value."""
        marks = [mark for mark in map(self._plain_number, self.missing) if mark is not None]
        return np.where(np.isin(values, marks), np.nan, values) if marks else values

    def _plain_number(self, cell: str) -> float | None:
        return to_number(cell.translate(_SWAP_TEXT) if self.decimal == "," else cell)

    def with_points(self, text: bytes) -> bytes:
        """Return text of the same length in which numbers have decimal points."""
        return text.translate(_SWAP) if self.decimal == "," else text

    def quick_numbers(self, cells: Sequence[str]) -> Iterable[str]:
        """Return cells that ``float`` reads, where they are plain numbers."""
        return [cell.translate(_SWAP_TEXT) for cell in cells] if self.decimal == "," else cells


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


# --- Text in other encodings than UTF-8


_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_utf16(encoding: str) -> bool:
    """Return whether a name means UTF-16, in any order of its bytes.

    Examples
    --------
    >>> is_utf16("UTF16"), is_utf16("utf_16_le"), is_utf16("utf-8"), is_utf16("none")
    (True, True, False, False)
    """
    try:
        return codecs.lookup(encoding).name.startswith("utf-16")
    except (LookupError, ValueError):
        return False


def from_utf16(path: PathLike, raw: bytes, encoding: str = "utf-16") -> bytes:
    """Return a text of UTF-16 as UTF-8, without the mark at its start.

    Raises
    ------
    FileError
        It is not UTF-16.
    """
    try:
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        seen = ", as it begins" if raw.startswith(_MARKS) else ""
        raise FileError(path, f"this is not UTF-16 text{seen} ({error}).") from error


def as_utf8(path: PathLike, raw: bytes) -> tuple[bytes, str]:
    """Return a text as UTF-8, and a note on how it was read; empty if it is UTF-8.

    UTF-16 is recognised by the mark at its start. What is not UTF-8 is read as Latin-1 with the
    signs of Windows, unless it contains control characters, as texts do not: that is returned as
    it is.

    Raises
    ------
    FileError
        It begins as UTF-16 and is not.

    Examples
    --------
    >>> as_utf8("x.csv", b"caf\\xe9")
    (b'caf\\xc3\\xa9', 'the text is not UTF-8 and was read as Latin-1 (Windows-1252)')
    >>> as_utf8("x.csv", b"tea")
    (b'tea', '')
    """
    if raw.startswith(_MARKS):
        return from_utf16(path, raw), "the text was read as UTF-16"
    try:
        raw.decode()
    except UnicodeDecodeError:
        if any(code in raw for code in range(9)):
            return raw, ""
        text = CellFormat(encoding=LATIN).decode(raw)
        return text.encode(), "the text is not UTF-8 and was read as Latin-1 (Windows-1252)"
    return raw, ""


# --- Tables of text: CSV and TSV whose cells are not converted


NO_ROW = "there is no row below the names of the columns."


@dataclass(frozen=True, eq=False)
class TextTable:
    """Cells as text, with the lines they came from.

    Attributes
    ----------
    path : str
    names : list of str
        The names of the columns, from the first line.
    rows : list of list of str
        Cells without the spaces around them.
    lines : list of int
        Line in which each row begins, from 1.
    notes : list of str
        How the text was read, if that is not obvious.
    """

    path: str
    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    notes: list[str] = field(default_factory=list)

    def place(self, name: str) -> int | None:
        """Return the number of a column, by its name in any case; None if there is none."""
        wanted = name.strip()
        places = [k for k, one in enumerate(self.names) if one.lower() == wanted.lower()]
        places = [k for k in places if self.names[k] == wanted] or places
        if len(places) > 1:
            raise FileError(self.path, f"two columns are called {shown(name)}.", 1)
        return places[0] if places else None

    def require(self, name: str) -> int:
        """Return the number of a column that must be there."""
        place = self.place(name)
        if place is None:
            raise missing_column(self.path, 1, self.names, name)
        return place

    def column(self, place: int) -> list[str]:
        """Return the cells of a column."""
        return [row[place] for row in self.rows]

    def error(self, row: int, place: int, problem: str) -> FileError:
        """Return the error about a cell."""
        return FileError(
            self.path, problem, self.lines[row], place + 1, value=self.rows[row][place]
        )

    def numbers(
        self,
        place: int,
        what: str,
        *,
        missing: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> list[float]:
        """Return the cells of a column as finite numbers from ``low`` to ``high``.

        With ``missing``, cells that are empty or ``NA``, ``nan`` or ``null`` are NaN.
        """
        cells = self.column(place)
        known: dict[str, float] = {}
        for cell in dict.fromkeys(cells):  # each distinct cell once, in order: the first is named
            value = math.nan if missing and cell in ("", "NA") else to_number(cell)
            fits = value is not None and low <= value <= high and math.isfinite(value)
            if value is None or not (fits or (missing and value != value)):
                problem = f"the {what} must be {number_rule(low, high)}. Got {shown(cell)}."
                raise self.error(cells.index(cell), place, problem)
            known[cell] = value
        return [known[cell] for cell in cells]


def read_text_table(
    path: PathLike, *, sep: str | None = None, may_be_empty: bool = False
) -> TextTable:
    """Read a CSV or TSV, plain or gzip, as text.

    UTF-8, or another encoding that `as_utf8` recognises; the first line that is not blank names
    the columns; cells may be quoted with ``"``; spaces around a cell are dropped; blank lines are
    skipped. A table without rows is refused unless it ``may_be_empty``.

    Raises
    ------
    FileError
        Naming file and line.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "items.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("name,text\\ntea,\\"hot, often green\\"\\n")
    ...     table = read_text_table(name)
    >>> table.names, table.rows
    (['name', 'text'], [['tea', 'hot, often green']])
    """
    refused: EncodingError | None = None
    try:
        with open_bytes(path) as source:
            if source.peek(4) == b"PAR1":
                problem = "this is parquet; read it with a frame library, or write CSV."
                raise FileError(path, problem)
            if source.peek(2) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return _table(source.path, text_lines(source), sep, may_be_empty, [])
    except EncodingError as error:
        if not os.path.isfile(path):
            raise
        refused = error
    with open_bytes(path) as source:
        text, note = as_utf8(path, source.read())
    if refused is not None and not note:
        raise refused
    lines = iter(io.BytesIO(text.removeprefix(BOM)))
    return _table(source.path, lines, sep, may_be_empty, [note])


def _table(
    path: str, lines: Iterator[bytes], sep: str | None, may_be_empty: bool, notes: list[str]
) -> TextTable:
    """Return the table of some lines."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    head, lines = first_line(lines)
    if not head:
        raise FileError(path, "the file is empty: it has no line that names the columns.")
    names: list[str] = []
    for line, cells in CellReader(path, lines, separator_of(path, head) if sep is None else sep):
        stripped = [cell.strip() for cell in cells]
        if stripped == [""] and len(names) != 1:
            continue
        if not names:
            names = stripped
        elif len(cells) != len(names):
            problem = f"expected {len(names)} cells, as in the first line. Got {len(cells)}."
            raise FileError(path, problem, line)
        else:
            rows.append(stripped)
            numbers.append(line)
    if not rows and not may_be_empty:
        raise FileError(path, NO_ROW)
    return TextTable(path, names, rows, numbers, notes)


# --- Text in blocks of whole lines, so that large files are parsed in parts and in threads


BLOCK = 16 << 20
"""Bytes read at a time from larger ones."""


def read_start(source: ByteSource | TextSource) -> tuple[bytes, bool]:
    """Read the start of a text, without byte order mark; True if that is all and it is small."""
    start = source.read(runtime.TEXT_PLAIN + 1)
    return start.removeprefix(BOM), len(start) <= runtime.TEXT_PLAIN


def text_blocks(source: ByteSource | TextSource, text: bytes) -> Iterator[bytes]:
    """Give whole lines, some at a time; at a NUL byte those before it, then its error.

    ``text`` is what was read already. The last line gets an end if it has none.
    """
    lines, known = 0, 0
    while True:
        nul = text.find(b"\0", known)
        cut = text.rfind(b"\n", 0, nul if nul >= 0 else len(text)) + 1
        if cut:
            yield text[:cut]
        if nul >= 0:
            raise nul_error(source.path, text, nul, lines)
        lines += text.count(b"\n")
        text = text[cut:]
        known = len(text)
        # A line longer than a block is read in ever larger parts, not to copy it too often.
        part = source.read(max(BLOCK, known))
        if not part:
            break
        text += part
    if text:
        yield text + b"\n"


def next_block(blocks: Iterator[bytes]) -> bytes | FileError:
    """Take the next block, or the error that ends them: lines already read come first."""
    try:
        return next(blocks, b"")
    except FileError as error:
        return error


def cut_lines(text: bytes, pieces: int) -> list[tuple[int, int]]:
    """Cut a text into about as many pieces of whole lines; starts and stops."""
    ends = [0]
    for i in range(1, pieces):
        ends.append(max(ends[-1], text.find(b"\n", len(text) * i // pieces) + 1))
    ends.append(len(text))
    return [(start, stop) for start, stop in pairwise(ends) if start < stop]

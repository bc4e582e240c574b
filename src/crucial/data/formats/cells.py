"""Text cut into lines and cells: the reader under tables, ratings, comparisons and pairs."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Literal

from crucial.data.files import ByteSource, open_bytes
from crucial.data.words import BOM, nul_error, shown_name, to_number
from crucial.errors import DataError, FileError
from crucial.types import PathLike

__all__ = [
    "CellReader",
    "EncodingError",
    "cell_line",
    "filled_lines",
    "first_line",
    "missing_column",
    "separator_of",
    "sheet_cell",
    "text_lines",
]

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

"""Tables of text: CSV and TSV whose cells are not converted."""

from __future__ import annotations

import codecs
import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from crucial.data.files import open_bytes
from crucial.data.formats.cells import (
    CellReader,
    EncodingError,
    first_line,
    missing_column,
    separator_of,
    text_lines,
)
from crucial.data.formats.text_encoding import as_utf8
from crucial.data.words import BOM, number_rule, shown, to_number
from crucial.errors import FileError
from crucial.types import PathLike

__all__ = ["NO_ROW", "TextTable", "read_text_table"]

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

"""Tables of text: CSV and TSV whose cells are taken as they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crucial.data.files import ByteSource, PathLike, open_bytes
from crucial.data.formats.csv_lines import _Lines, _records
from crucial.data.words import BOM, refuse_nul, shown
from crucial.errors import FileError

__all__ = ["TextTable", "frame_columns", "read_text_table", "separator_of"]


@dataclass(frozen=True, eq=False)
class TextTable:
    """Cells as text, with the lines they came from.

    Attributes
    ----------
    path : str
    names : list of str
        What the first line calls the columns.
    rows : list of list of str
        Cells without the spaces around them.
    lines : list of int
        Line in which each row begins, from 1.
    """

    path: str
    names: list[str]
    rows: list[list[str]]
    lines: list[int]

    def place(self, name: str) -> int | None:
        """Number of a column, found by its name in any case; None if there is none."""
        wanted = name.strip().lower()
        found = [k for k, one in enumerate(self.names) if one.lower() == wanted]
        exact = [k for k in found if self.names[k] == name.strip()]
        if len(exact or found) > 1:
            raise FileError(self.path, f"two columns are called {shown(name)}.", 1)
        places = exact or found
        return places[0] if places else None

    def column(self, name: str) -> list[str] | None:
        """The cells of a column, or None if there is none of that name."""
        place = self.place(name)
        return None if place is None else [row[place] for row in self.rows]

    def problem(self, row: int, place: int, text: str) -> FileError:
        """Make the error about a cell."""
        return FileError(self.path, text, self.lines[row], place + 1)


def separator_of(path: PathLike, line: bytes) -> str:
    """What stands between cells: by the name of the file, else the most frequent sign."""
    name = str(path).lower().removesuffix(".gz")
    tabs = name.endswith((".tsv", ".tab"))
    return "\t" if tabs else max(",\t;", key=lambda one: line.count(one.encode()))


def _checked_lines(source: ByteSource) -> Iterator[bytes]:
    for number, raw in enumerate(source.lines(), 1):
        nul = raw.find(b"\0")
        if nul >= 0:
            raise refuse_nul(source.path, raw, nul, number - 1)
        yield raw.removeprefix(BOM) if number == 1 else raw


def read_text_table(path: PathLike, *, sep: str | None = None) -> TextTable:
    """Read a CSV or TSV, plain or gzip, as text.

    UTF-8; the first line that holds something names the columns; cells may be quoted with
    ``"``; spaces around a cell are dropped; empty lines are passed over.

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
    with open_bytes(path) as source:
        if source.peek(4) == b"PAR1":
            raise FileError(path, "this is parquet; read it with a frame library, or write CSV.")
        lines = _checked_lines(source)
        head = b""
        for number, raw in enumerate(lines, 1):
            head, first = raw, number
            if raw.strip():
                break
        if not head.strip():
            raise FileError(path, "the file is empty: it has no line that names the columns.")
        sep = separator_of(path, head) if sep is None else sep
        whole = _Lines(source.path, _chain(head, lines), first - 1)
        records = _records(whole, source.path, sep)
        _, record = next(records)
        names = [name.strip() for name in record]
        rows, numbers = [], []
        for line, cells in records:
            if len(cells) == 1 and not cells[0].strip() and len(names) > 1:
                continue
            if len(cells) != len(names):
                said = f"expected {len(names)} cells, as in the first line. Got {len(cells)}."
                raise FileError(path, said, line)
            rows.append([cell.strip() for cell in cells])
            numbers.append(line)
    if not rows:
        raise FileError(path, "there is no row below the names of the columns.")
    return TextTable(source.path, names, rows, numbers)


def _chain(head: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from lines


def frame_columns(frame: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Columns of a frame (pandas, polars, pyarrow) or of a mapping, those that are there."""
    if hasattr(frame, "keys") and not hasattr(frame, "columns"):
        return {name: list(frame[name]) for name in names if name in frame}
    import narwhals as nw

    data = nw.from_native(frame, eager_only=True)
    return {name: data[name].to_list() for name in names if name in data.columns}

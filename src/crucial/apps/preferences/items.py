"""Items to compare: names, texts, pictures, other cells, features."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.data.files import open_bytes
from crucial.data.words import BOM, decode, shown
from crucial.errors import FileError
from crucial.io.tables import ColumnTable, read_column_table
from crucial.io.text import NO_ROW, as_utf8
from crucial.types import Floats, PathLike

__all__ = ["Item", "Items", "Picture", "read_items"]

MOST_ITEMS = 1000
_LARGEST_PICTURE = 50_000_000
#: Usual columns of names, which are hidden where names are.
NAMES = ("item", "name", "id", "title", "model", "system")
_TEXTS = ("text", "description", "body", "answer", "response", "output")
_PICTURES = ("image", "picture", "photo")

#: By ending: media type, and how such a file begins.
KINDS: dict[str, tuple[str, tuple[bytes, ...]]] = {
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".gif": ("image/gif", (b"GIF87a", b"GIF89a")),
    ".webp": ("image/webp", (b"RIFF",)),
    ".svg": ("image/svg+xml", (b"<svg", b"<?xml", b"<!--", b"<!DOCTYPE svg")),
}


@dataclass(frozen=True)
class Picture:
    """A picture on disk, inside the allowed folder.

    Attributes
    ----------
    path : str
        Without links.
    kind : str
        Media type.
    """

    path: str
    kind: str


@dataclass(frozen=True)
class Item:
    """One item to compare.

    Attributes
    ----------
    name : str
    text : str
    picture : Picture or None
    cells : tuple of (str, str)
        Other columns of its row: name and content.
    """

    name: str
    text: str = ""
    picture: Picture | None = None
    cells: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Items:
    """All items, and their features.

    Attributes
    ----------
    items : tuple of Item
    features : float64 array of shape (n_items, n_features) or None
    feature_names : tuple of str
    notes : tuple of str
        How the table was read, if that is not obvious.
    """

    items: tuple[Item, ...]
    features: Floats | None = None
    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the items."""
        return tuple(one.name for one in self.items)


def read_items(
    path: PathLike,
    *,
    name: str | None = None,
    text: str | None = None,
    image: str | None = None,
    features: Sequence[str] = (),
    folder: PathLike | None = None,
) -> Items:
    """Read a table of items, or a ``.txt`` with one item per line.

    Parameters
    ----------
    path : str or path
        CSV or TSV with column names, or JSON lines, plain or gzip.
    name, text, image : str, optional
        Columns with the name (by default ``item``, ``name``, ``id``, ``title``, ``model``,
        ``system``, else the first), a text, and the file of a picture. Other columns are shown as
        rows.
    features : sequence of str
        Columns of numbers to learn from.
    folder : path, optional
        Folder of the pictures, which must be in it; the folder of the table by default.

    Raises
    ------
    FileError
        The table or a picture is not usable; file, line and column are named.
    """
    if str(path).lower().removesuffix(".gz").endswith(".txt") and not (name or text or image):
        return _of_lines(path)
    table = read_column_table(path)
    if not table.n_rows:
        raise FileError(path, NO_ROW)
    named = _place(table, name, NAMES)
    named = 0 if named is None else named
    texts = _place(table, text, _TEXTS)
    pictures = _place(table, image, _PICTURES)
    root = os.path.realpath(folder if folder is not None else os.path.dirname(table.path) or ".")
    roles = {named, texts, pictures}
    items = []
    columns = [table.column(k) for k in range(len(table.names))]
    for row, cells in enumerate(zip(*columns)):
        picture = None
        if pictures is not None and cells[pictures]:
            picture = _picture(table, row, pictures, root)
        others = tuple(
            (table.names[k], cell) for k, cell in enumerate(cells) if k not in roles and cell
        )
        shown_text = cells[texts] if texts is not None and texts != named else ""
        items.append(Item(cells[named], shown_text, picture, others))
    _check(table.path, [one.name for one in items], table.lines, named)
    return Items(tuple(items), *_features(table, features), tuple(table.notes))


def _of_lines(path: PathLike) -> Items:
    """Read one item per line."""
    with open_bytes(path) as source:
        text, note = as_utf8(path, source.read())
    if b"\0" in text:
        raise FileError(path, "there is a NUL byte: this is not plain text.")
    names, lines = [], []
    for number, line in enumerate(decode(text.removeprefix(BOM)).split("\n"), 1):
        if line.strip():
            names.append(line.strip())
            lines.append(number)
    if not names:
        raise FileError(path, "the file is empty: expected one item per line.")
    _check(os.fspath(path), names, lines, 0)
    return Items(tuple(Item(name) for name in names), notes=(note,) if note else ())


def _check(path: str, names: list[str], lines: list[int], column: int) -> None:
    """Refuse items without a name, names that occur twice, and too few or too many items."""
    seen: dict[str, int] = {}
    for name, line in zip(names, lines):
        if not name:
            raise FileError(path, "the item has no name.", line, column + 1)
        if name in seen:
            problem = f"{shown(name)} is already the item of line {seen[name]}."
            raise FileError(path, problem, line, column + 1)
        seen[name] = line
    if not 2 <= len(names) <= MOST_ITEMS:
        raise FileError(path, f"there must be 2 to {MOST_ITEMS} items. Got {len(names)}.")


def _place(table: ColumnTable, asked: str | None, usual: Sequence[str]) -> int | None:
    """Return the number of a column: the one asked for, or the first with a usual name."""
    if asked is None:
        return next((k for k in map(table.place, usual) if k is not None), None)
    return table.require(asked)


def _picture(table: ColumnTable, row: int, place: int, root: str) -> Picture:
    """Return a picture; refuse a file that is none, or not in the folder."""
    name = table.columns[place][row].strip()

    def problem(text: str) -> FileError:
        return table.error(row, place, text)

    kind = KINDS.get(os.path.splitext(name)[1].lower())
    if kind is None:
        raise problem(f"expected a picture ({', '.join(KINDS)}). Got {shown(name)}.")
    if "\0" in name:
        raise problem(f"{shown(name)} is not a file.")
    path = os.path.realpath(os.path.join(root, name))
    if os.path.commonpath((path, root)) != root:
        raise problem(f"{shown(name)} is not in the folder of the table; pictures must be.")
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_PICTURE:
            most = _LARGEST_PICTURE // 10**6
            raise problem(f"{shown(name)} must be a file of at most {most} MB.")
        with open(path, "rb") as file:
            start = file.read(512)
    except OSError as error:
        raise problem(f"{shown(name)}: {error.strerror or error}.") from error
    begin = start.lstrip(b"\xef\xbb\xbf \t\r\n") if kind[0] == "image/svg+xml" else start
    if not begin.startswith(kind[1]):
        raise problem(f"{shown(name)} does not begin as its kind of picture.")
    return Picture(path, kind[0])


def _features(table: ColumnTable, wanted: Sequence[str]) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the features as numbers, and their names."""
    if not wanted:
        return None, ()
    X = np.full((table.n_rows, len(wanted)), np.nan)
    for k, name in enumerate(wanted):
        place = table.require(name)
        X[:, k] = table.numbers(place, f"feature {shown(name)}", missing=True)
    return X, tuple(wanted)

"""What is compared: names, texts, pictures, other cells, features."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.data.formats.cells import filled_lines
from crucial.data.formats.text_tables import TextTable, read_text_table
from crucial.data.words import decode, shown
from crucial.errors import FileError
from crucial.types import Floats, PathLike

__all__ = ["Item", "Items", "Picture", "read_items"]

MOST_ITEMS = 1000
_LARGEST_PICTURE = 50_000_000
_NAMES = ("item", "name", "id", "title")
_TEXTS = ("text", "description", "body")
_PICTURES = ("image", "picture", "photo")

#: Ending, what it is served as, and how such a file begins.
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
    """A picture on the disk, inside the folder it may come from.

    Attributes
    ----------
    path : str
        Without links.
    kind : str
        What it is served as.
    """

    path: str
    kind: str


@dataclass(frozen=True)
class Item:
    """One thing to compare.

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
    """All of them, and their features.

    Attributes
    ----------
    items : tuple of Item
    features : float64 array of shape (n_items, n_features) or None
    feature_names : tuple of str
    """

    items: tuple[Item, ...]
    features: Floats | None = None
    feature_names: tuple[str, ...] = ()

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
    """Read a table of items, or a ``.txt`` with an item a line.

    Parameters
    ----------
    path : str or path
        CSV or TSV with names of columns, plain or gzip.
    name, text, image : str, optional
        Columns with the name (by default ``item``, ``name``, ``id``, ``title``, else the
        first), a text, and the file of a picture. The other columns are shown as rows.
    features : sequence of str
        Columns of numbers to learn from.
    folder : path, optional
        Pictures are named relative to it and must be in it; by default the table's folder.

    Raises
    ------
    FileError
        Naming file, line and column.
    """
    if str(path).lower().removesuffix(".gz").endswith(".txt") and not (name or text or image):
        return _of_lines(path)
    table = read_text_table(path)
    named = _place(table, name, _NAMES)
    named = 0 if named is None else named
    texts = _place(table, text, _TEXTS)
    pictures = _place(table, image, _PICTURES)
    root = os.path.realpath(folder if folder is not None else os.path.dirname(table.path) or ".")
    roles = {named, texts, pictures}
    items = []
    for row, cells in enumerate(table.rows):
        picture = None
        if pictures is not None and cells[pictures]:
            picture = _picture(table, row, pictures, root)
        others = tuple(
            (table.names[k], cell) for k, cell in enumerate(cells) if k not in roles and cell
        )
        shown_text = cells[texts] if texts is not None and texts != named else ""
        items.append(Item(cells[named], shown_text, picture, others))
    _check(table.path, [one.name for one in items], table.lines, named)
    return Items(tuple(items), *_features(table, features))


def _of_lines(path: PathLike) -> Items:
    names, lines = [], []
    for number, raw in filled_lines(path):
        names.append(decode(raw).strip())
        lines.append(number)
    if not names:
        raise FileError(path, "the file is empty: expected an item a line.")
    _check(os.fspath(path), names, lines, 0)
    return Items(tuple(Item(name) for name in names))


def _check(path: str, names: list[str], lines: list[int], column: int) -> None:
    seen: dict[str, int] = {}
    for name, line in zip(names, lines):
        if not name:
            raise FileError(path, "the item has no name.", line, column + 1)
        if name in seen:
            said = f"{shown(name)} is already the item of line {seen[name]}."
            raise FileError(path, said, line, column + 1)
        seen[name] = line
    if not 2 <= len(names) <= MOST_ITEMS:
        raise FileError(path, f"there must be 2 to {MOST_ITEMS} items. Got {len(names)}.")


def _place(table: TextTable, asked: str | None, usual: Sequence[str]) -> int | None:
    if asked is None:
        return next((k for k in map(table.place, usual) if k is not None), None)
    return table.require(asked)


def _picture(table: TextTable, row: int, place: int, root: str) -> Picture:
    """Find a picture; refuse what is not one, or not in the folder."""
    given = table.rows[row][place]
    kind = KINDS.get(os.path.splitext(given)[1].lower())
    if kind is None:
        said = f"expected a picture ({', '.join(KINDS)}). Got {shown(given)}."
        raise table.error(row, place, said)
    if "\0" in given:
        raise table.error(row, place, f"{shown(given)} is no file.")
    path = os.path.realpath(os.path.join(root, given))
    if os.path.commonpath((path, root)) != root:
        said = f"{shown(given)} is not in the folder of the table; pictures must be."
        raise table.error(row, place, said)
    try:
        facts = os.stat(path)
        with open(path, "rb") as file:
            start = file.read(512)
    except OSError as error:
        reason = error.strerror or str(error)
        raise table.error(row, place, f"{shown(given)}: {reason}.") from error
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_PICTURE:
        said = f"{shown(given)} must be a file of at most {_LARGEST_PICTURE // 10**6} MB."
        raise table.error(row, place, said)
    begin = start.lstrip(b"\xef\xbb\xbf \t\r\n") if kind[0] == "image/svg+xml" else start
    if not begin.startswith(kind[1]):
        raise table.error(row, place, f"{shown(given)} does not begin as its kind of picture.")
    return Picture(path, kind[0])


def _features(table: TextTable, wanted: Sequence[str]) -> tuple[Floats | None, tuple[str, ...]]:
    if not wanted:
        return None, ()
    X = np.full((len(table.rows), len(wanted)), np.nan)
    for k, name in enumerate(wanted):
        place = table.require(name)
        X[:, k] = table.numbers(place, f"feature {shown(name)}", missing=True)
    return X, tuple(wanted)

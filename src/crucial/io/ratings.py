"""Files of ratings, of titles of items, and of one user's own ratings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np

from crucial.data.dataset import NO_RATING, Ratings, checked_ratings, rating_problem
from crucial.data.files import atomic_write
from crucial.data.words import as_ids, missing_column, shown, shown_name, to_number
from crucial.errors import Argument, FileError, Message
from crucial.io.text import MISSING_WORDS, TextFile, cell_line
from crucial.parameters import refuse
from crucial.types import PathLike

# --- Which column of a file of ratings is the user, the item and the rating


# Usual names as `_plain_name` writes them, the likeliest first. Each may also end in "id".
_USUAL_NAMES = {
    "user": (
        "user", "viewer", "person", "member", "reviewer", "customer", "client", "reader",
        "listener", "player", "rater", "u",
    ),
    "item": (
        "item", "movie", "film", "product", "book", "isbn", "asin", "song", "track", "album",
        "artist", "anime", "game", "recipe", "joke", "restaurant", "business", "hotel", "article",
        "video", "show", "course", "i",
    ),
    "rating": (
        "rating", "score", "stars", "value", "star", "overall", "itemrating", "movierating",
        "filmrating", "bookrating", "userrating", "starrating", "overallrating",
    ),
}  # fmt: skip

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_LAST_COMMA = re.compile(rb'"?[+-]?[0-9]+,[0-9]+"?\s*')


def rating_number(cell: str) -> float | None:
    """Read a rating; 4,5 is 4.5 (in a cell, so the separator is another), and None if it is none.

    Examples
    --------
    >>> rating_number(" 4,5"), rating_number("4.5"), rating_number("four")
    (4.5, 4.5, None)
    """
    plain = cell.strip()
    if _DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(",", ".")
    return to_number(plain)


def ends_in_decimal_comma(line: bytes, sep: str, width: int) -> bool:
    """Return whether the last of at least ``width`` cells is a number with a decimal comma.

    Examples
    --------
    >>> ends_in_decimal_comma(b"alien;4,5", ";", 2), ends_in_decimal_comma(b"alien; 2,5", "|", 2)
    (True, False)
    """
    cells = line.split(sep.encode())
    return len(cells) >= width and _LAST_COMMA.fullmatch(cells[-1].strip()) is not None


def _plain_name(name: str) -> str:
    """Return a name in lower case, without "_", "-", spaces and what follows ":"."""
    return re.sub(r"[\s_-]", "", name.lower().partition(":")[0])


def _forms(role: str) -> list[str]:
    return [form for name in _USUAL_NAMES[role] for form in (name, f"{name}id")]


def is_item_name(name: str) -> bool:
    """Return whether a name is a usual one of a column of items.

    Examples
    --------
    >>> is_item_name("movieId"), is_item_name("Book-ID"), is_item_name("alien")
    (True, True, False)
    """
    return _plain_name(name) in _forms("item")


def _known(names: Sequence[str]) -> dict[str, int]:
    """Return the place of every role that has a usual name."""
    plain = [_plain_name(name) for name in names]
    found = {
        role: [plain.index(one) for one in _forms(role) if one in plain] for role in _USUAL_NAMES
    }
    return {role: places[0] for role, places in found.items() if places}


def names_columns(cells: Sequence[str]) -> bool:
    """Return whether the first line of a file names its columns: it has no rating.

    A third cell that is a missing value is where a rating would be, unless all columns are known
    by their names.

    Examples
    --------
    >>> names_columns(["who", "what", "liked"])
    True
    >>> names_columns(["ann", "alien", "4,5"]), names_columns(["ann", "alien", "NA"])
    (False, False)
    """
    if any(rating_number(cell) is not None for cell in cells):
        return False
    missing = len(cells) > 2 and cells[2].strip() in MISSING_WORDS
    return not missing or len(_known(cells)) == len(_USUAL_NAMES)


def find_columns(
    path: PathLike, line: int, names: Sequence[str], asked: Sequence[str] | None
) -> tuple[int, int, int]:
    """Return the places of user, item and rating in a file whose columns have names.

    Parameters
    ----------
    path : str or path
        For errors, as is ``line``.
    line : int
    names : sequence of str
    asked : three str, optional
        The names of the three. By default, columns with usual names, and of three columns the one
        that is left; if no name is usual, the first three, as in MovieLens.
    """
    if asked is not None:
        for name in asked:
            if name not in names:
                raise missing_column(path, line, names, name)
        user, item, rating = map(names.index, asked)
        return user, item, rating
    known = _known(names)
    if not known:
        return 0, 1, 2
    unknown = [role for role in _USUAL_NAMES if role not in known]
    left = [place for place in range(len(names)) if place not in known.values()]
    if len(unknown) == 1 and len(left) == 1:
        known[unknown[0]] = left[0]
    elif unknown:
        listed = ", ".join(map(shown_name, names[:20])) + (", ..." if len(names) > 20 else "")
        which = "column is" if len(unknown) == 1 else "columns are"
        raise FileError(
            path,
            f"no usual name shows which {which} the {' and the '.join(unknown)}; "
            f"columns: {listed}.",
            line,
            remedy=Message(
                "Give the names of user, item and rating, in this order, as the argument ",
                Argument("columns"),
                ".",
            ),
        )
    return known["user"], known["item"], known["rating"]


# --- Files of ratings, of titles of items, and of one user's own ratings


def _separator(first: bytes, width: int, texts: bool) -> str:
    """Return the separator of the cells of a line that has at least ``width`` of them.

    In front of texts, which may have commas and bars of their own, stands an id without any.
    """
    for sep in ("\t", "::"):
        if sep.encode() in first:
            return sep
    if texts:  # (what is not there, at -1, comes last)
        return min(",;|", key=lambda one: first.find(one.encode()) % (len(first) + 1))
    # Of alien;4,5 the comma is the decimal sign, though it is as frequent as the semicolon.
    for sep in ";|":
        if ends_in_decimal_comma(first, sep, width):
            return sep
    return max(",;|", key=lambda one: first.count(one.encode()))


def _rows(path: PathLike, width: int, *, texts: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every line that is not blank, with its number from 1.

    Lines should have at least ``width`` cells, an id and then ``texts``, or ids and ratings.
    """
    sep = partial(_separator, width=width, texts=texts)
    for line, cells in TextFile(path, header=False, sep=sep, strict=False).records():
        if any(map(str.strip, cells)):
            yield line, cells


def read_ratings(
    path: PathLike, *, columns: Sequence[str] | None = None, duplicates: str = "refuse"
) -> Ratings:
    """Read user, item and rating from a CSV, TSV or file of MovieLens, plain or gzip.

    Cells are separated by a tab, ``::``, ``|``, comma or semicolon; ratings may have a decimal
    comma where it does not separate cells. A first line without any number names the columns,
    unless its third cell is empty or ``NA``. They are found by usual names (user, userId,
    user_id:token; item, movieId, book_id, ISBN; rating, stars); of three columns one may have
    another name. If no name is usual, the first three are used, as in ``u.data``.

    Parameters
    ----------
    path : str or path
    columns : three str, optional
        Names of the columns of user, item and rating.
    duplicates : {"refuse", "last"}
        Where a user rated an item twice: an error that names both lines, or the later rating
        counts.

    Raises
    ------
    FileError
        Naming file and line; also where only some of the columns have usual names.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "ratings.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("film,rating,user\\nalien,5,ann\\nalien,3,bob\\n")
    ...     read_ratings(name)
    Ratings(2 by 2 users of 1 item)
    """
    if columns is not None and (isinstance(columns, str) or len(columns) != 3):
        rule = "three column names: those of user, item and rating"
        raise refuse("read_ratings", "columns", rule, columns)
    rows = _rows(path, 3)
    first = next(rows, None)
    if first is None:
        raise FileError(path, NO_RATING)
    names = [cell.strip() for cell in first[1]]
    named = names_columns(names) or (columns is not None and set(columns) <= set(names))
    if columns is not None and not named:
        raise FileError(path, "the first line names no columns.", first[0])
    places = find_columns(path, first[0], names, columns) if named else (0, 1, 2)
    # Ids and ratings repeat: each text is kept, and read, once.
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    values: dict[str, float | None] = {"": None}
    user_codes: list[int] = []
    item_codes: list[int] = []
    ratings: list[float] = []
    lines: list[int] = []
    for line, cells in rows if named else chain([first], rows):
        try:
            user, item, cell = (cells[place].strip() for place in places)
        except IndexError:
            raise _bad_line(path, line, cells, places) from None
        value = values[cell] if cell in values else values.setdefault(cell, rating_number(cell))
        if value is None or not user or not item:
            raise _bad_line(path, line, cells, places)
        user_codes.append(users.setdefault(user, len(users)))
        item_codes.append(items.setdefault(item, len(items)))
        ratings.append(value)
        lines.append(line)
    table = Ratings(
        as_ids([*users])[np.array(user_codes, np.int64)],
        as_ids([*items])[np.array(item_codes, np.int64)],
        np.array(ratings, np.float64),
    )
    return checked_ratings(table, path, np.array(lines, np.int64), duplicates, places[2] + 1)


def _bad_line(path: PathLike, line: int, cells: list[str], places: tuple[int, ...]) -> FileError:
    """Return the error of a line: it has too few cells, an empty id, or no number as its rating."""
    if len(cells) <= max(places):
        got = shown("\t".join(cells), 60)
        return FileError(path, f"expected user, item and rating. Got {got}.", line)
    for what, place in zip(("user", "item"), places):
        if not cells[place].strip():
            return FileError(path, f"the id of the {what} is empty.", line, place + 1)
    at, got = places[2], shown(cells[places[2]], 60)
    remedy = None if line > 1 else "Name the columns in the first line: user, item, rating."
    if cells[at].strip() in MISSING_WORDS:
        remedy = "Leave the line out where there is no rating."
    return FileError(path, f"a rating must be a number. Got {got}.", line, at + 1, remedy=remedy)


def read_titles(path: PathLike) -> dict[str, str]:
    """Read the titles of items: the first column is the item, the second its title.

    A CSV, TSV, or MovieLens' ``u.item``, ``movies.dat`` or ``movies.csv``. A first line whose
    first cell is an item's usual name (item, movieId, ...) is left out.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "movies.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write('movieId,title\\n11,"American President, The (1995)"\\n')
    ...     read_titles(name)
    {'11': 'American President, The (1995)'}
    """
    titles: dict[str, str] = {}
    for row, (line, cells) in enumerate(_rows(path, 2, texts=True)):
        if len(cells) < 2:
            problem = f"expected an item and its title. Got {shown(cells[0])}."
            raise FileError(path, problem, line)
        if row or not is_item_name(cells[0]):
            titles[cells[0].strip()] = cells[1].strip()
    return titles


def read_own_ratings(path: PathLike) -> dict[str, float]:
    """Read one user's ratings: lines of item and rating; the last line of an item counts.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "mine.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("item,rating\\nalien,5\\nantz,2\\n")
    ...     read_own_ratings(name)
    {'alien': 5.0, 'antz': 2.0}
    """
    own: dict[str, float] = {}
    for row, (line, cells) in enumerate(_rows(path, 2)):
        value = rating_number(cells[1]) if len(cells) > 1 else None
        if row == 0 and value is None and is_item_name(cells[0]):
            continue
        if value is None or not cells[0].strip():
            got = shown("\t".join(cells), 60)
            raise FileError(path, f"expected an item and a finite rating. Got {got}.", line)
        problem = rating_problem(value)
        if problem is not None:
            raise FileError(path, problem, line, 2)
        own[cells[0].strip()] = value
    return own


def write_own_ratings(path: PathLike, own: Mapping[str, float]) -> None:
    """Write a file that `read_own_ratings` reads back; whole or not at all."""
    with atomic_write(path) as file:
        for cells in (("item", "rating"), *((item, float(rating)) for item, rating in own.items())):
            file.write(cell_line(cells).encode())

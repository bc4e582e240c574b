"""Who rated what, and how: tables of user, item and rating, and the names of items."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data._words import BOM, as_ids, shown, to_number
from crucial.data.files import PathLike, atomic_write, open_bytes
from crucial.errors import DataError, FileError
from crucial.validation import check_choice

__all__ = ["Ratings", "read_own_ratings", "read_ratings", "read_titles", "write_own_ratings"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_ROLES = ("user", "item", "rating")
# What headers call them, in small letters without "_" and without what follows ":".
_CALLED = {
    "user": ("user", "userid", "viewer", "person", "member"),
    "item": ("item", "itemid", "movie", "movieid", "film", "filmid", "product", "book"),
    "rating": ("rating", "score", "stars", "value"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users, at most one of each by each.

    Attributes
    ----------
    user, item : arrays of ids
        Whole numbers or text.
    rating : float64 array
        Finite; more is better.

    Examples
    --------
    >>> Ratings.from_columns(["ann", "ann", "bob"], ["alien", "antz", "alien"], [5, 2, 4])
    Ratings(3 by 2 users of 2 items)
    """

    user: NDArray[Any]
    item: NDArray[Any]
    rating: Floats

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        return f"Ratings({len(self)} by {len(self.users)} users of {len(self.items)} items)"

    @classmethod
    def from_columns(
        cls,
        user: Sequence[Any],
        item: Sequence[Any],
        rating: Sequence[Any],
        *,
        duplicates: str = "refuse",
    ) -> Ratings:
        """Put columns together and check them.

        Parameters
        ----------
        user, item : sequences of ids
            Whole numbers or anything with a text.
        rating : sequence of numbers
        duplicates : {"refuse", "last"}
            Where a user rated an item twice: an error that names both rows, or the later one
            counts.
        """
        made = cls(_ids(user), _ids(item), np.asarray(rating, np.float64))
        return _checked(made, None, None, duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        duplicates: str = "refuse",
    ) -> Ratings:
        """Take three columns of a pandas, polars or pyarrow frame."""
        import narwhals as nw

        data = nw.from_native(frame, eager_only=True)
        for name in (user, item, rating):
            if name not in data.columns:
                raise DataError(f"the frame has no column {name!r}; there are: "
                                f"{', '.join(map(repr, data.columns))}.")  # fmt: skip
        return cls.from_columns(
            data[user].to_list(),
            data[item].to_list(),
            data[rating].to_numpy(),
            duplicates=duplicates,
        )

    @cached_property
    def _user_codes(self) -> tuple[NDArray[Any], Ints]:
        return np.unique(self.user, return_inverse=True)

    @cached_property
    def _item_codes(self) -> tuple[NDArray[Any], Ints]:
        return np.unique(self.item, return_inverse=True)

    @property
    def users(self) -> NDArray[Any]:
        """The users, ascending."""
        return self._user_codes[0]

    @property
    def items(self) -> NDArray[Any]:
        """The items, ascending."""
        return self._item_codes[0]

    @property
    def user_code(self) -> Ints:
        """Place in ``users`` of every rating's user."""
        return self._user_codes[1]

    @property
    def item_code(self) -> Ints:
        """Place in ``items`` of every rating's item."""
        return self._item_codes[1]

    @cached_property
    def _places(self) -> dict[str, dict[str, int]]:
        both = (("user", self.users), ("item", self.items))
        return {what: {str(one): k for k, one in enumerate(ids)} for what, ids in both}

    def place_of_user(self, user: Any) -> int:
        """Place of a user in ``users``; an unknown one is answered with the close ones."""
        return self._place("user", user)

    def place_of_item(self, item: Any) -> int:
        """Place of an item in ``items``; an unknown one is answered with the close ones."""
        return self._place("item", item)

    def has_item(self, item: Any) -> bool:
        """Whether anybody rated an item."""
        return str(item) in self._places["item"]

    def _place(self, what: str, wanted: Any) -> int:
        places = self._places[what]
        found = places.get(str(wanted))
        if found is not None:
            return found
        close = difflib.get_close_matches(str(wanted), list(places), n=5)
        if not close:
            close = list(places)[:5]
            raise DataError(
                f"there is no {what} {str(wanted)!r}; the first of {len(places)} are "
                f"{', '.join(map(repr, close))}."
            )
        raise DataError(
            f"there is no {what} {str(wanted)!r}; close are {', '.join(map(repr, close))}."
        )


def _ids(column: Sequence[Any]) -> NDArray[Any]:
    array = np.asarray(column)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    texts = [str(one) for one in column]
    for row, (text, one) in enumerate(zip(texts, column)):
        if one is None or text == "" or text.lower() == "nan":
            raise DataError(f"row {row} (from 0) lacks the id of its user or item.")
    return as_ids(texts)


def _checked(ratings: Ratings, path: PathLike | None, lines: Ints | None, rule: str) -> Ratings:
    """Refuse what cannot be learned from; ``lines`` are those of a file."""
    check_choice("read_ratings", "duplicates", rule, ["refuse", "last"])
    sizes = {len(ratings.user), len(ratings.item), len(ratings.rating)}
    if len(sizes) > 1:
        raise DataError("user, item and rating must be of one length.")

    def problem(row: int, text: str) -> DataError:
        if path is None or lines is None:
            return DataError(f"row {row} (from 0): {text}")
        return FileError(path, text, int(lines[row]))

    if len(ratings) == 0:
        said = "there is no rating."
        raise DataError(said) if path is None else FileError(path, said)
    bad = np.flatnonzero(~np.isfinite(ratings.rating))
    if len(bad):
        value = ratings.rating[bad[0]]
        raise problem(int(bad[0]), f"a rating must be a finite number. Got {value}; leave the "
                      "line out where there is no rating.")  # fmt: skip
    key = ratings.user_code * len(ratings.items) + ratings.item_code
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    if len(same) and rule == "refuse":
        at = same[np.argmin(order[same + 1])]
        row, earlier = int(order[at + 1]), int(order[at])
        where = f"row {earlier}" if lines is None else f"line {int(lines[earlier])}"
        raise problem(
            row,
            f"user {str(ratings.user[row])!r} rated item {str(ratings.item[row])!r} in {where} "
            "already; duplicates='last' lets the later one count.",
        )
    if len(same):
        kept = np.delete(np.arange(len(ratings)), order[same])
        return Ratings(ratings.user[kept], ratings.item[kept], ratings.rating[kept])
    return ratings


def _plain_name(name: str) -> str:
    return name.strip().lower().partition(":")[0].replace("_", "").replace(" ", "")


def _columns(path: PathLike, names: list[str], asked: Sequence[str] | None) -> tuple[int, ...]:
    """Numbers of the three columns in a file whose first line is ``names``."""
    if asked is not None:
        places = []
        for name in asked:
            if name not in names:
                raise FileError(path, f"there is no column {shown(name)}; there are: "
                                f"{', '.join(map(shown, names))}.", 1)  # fmt: skip
            places.append(names.index(name))
        return tuple(places)
    plain = [_plain_name(name) for name in names]
    found = []
    for role in _ROLES:
        found.append(next((plain.index(one) for one in _CALLED[role] if one in plain), None))
    if None in found:  # (names that say nothing: the order is what MovieLens has)
        return 0, 1, 2
    return tuple(place for place in found if place is not None)


def _cells(path: PathLike) -> Iterator[tuple[int, list[str]]]:
    """Cells of every line that holds something, with its number from 1."""

    def texts() -> Iterator[str]:
        with open_bytes(path) as source:
            for number, raw in enumerate(source.lines(), 1):
                raw = raw.removeprefix(BOM) if number == 1 else raw
                if b"\0" in raw:
                    raise FileError(path, "there is a NUL byte: this is not plain text.", number)
                try:
                    yield raw.decode("utf-8")
                except UnicodeDecodeError:
                    yield raw.decode("latin-1")  # (MovieLens' titles are)

    lines = texts()
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line.strip():
            break
    else:
        raise FileError(path, "is empty.")
    separator = next((one for one in ("\t", "::", "|", ",", ";") if one in seen[-1]), ",")
    source = chain(seen, lines)
    if separator == "::":
        yield from (
            (number, line.rstrip("\r\n").split("::"))
            for number, line in enumerate(source, 1)
            if line.strip()
        )
        return
    reader = csv.reader(source, delimiter=separator, quoting=csv.QUOTE_MINIMAL)
    try:
        for row in reader:
            if row and any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise FileError(path, f"cannot be read: {error}.", reader.line_num) from error


class _Codes(dict[str, int]):
    """Numbers the texts of ids that it is asked for, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, text: str) -> int:
        plain = text.strip()
        if not plain:
            raise ValueError("an id must not be empty")
        if plain == text:
            self.names.append(text)
        self[text] = self[plain] if plain != text else len(self.names) - 1
        return self[text]

    def of(self, codes: list[int]) -> NDArray[Any]:
        """The ids of codes."""
        return as_ids(self.names)[np.array(codes, np.int64)]


class _Numbers(dict[str, float]):
    """Numbers of the texts that it is asked for."""

    def __missing__(self, text: str) -> float:
        value = to_number(text.strip())
        if value is None:
            raise ValueError("not a number")
        self[text] = value
        return value


def read_ratings(
    path: PathLike,
    *,
    columns: Sequence[str] | None = None,
    duplicates: str = "refuse",
) -> Ratings:
    """Read user, item and rating from a CSV, TSV or file of MovieLens, plain or gzip.

    Cells are separated by a tab, ``::``, ``|``, comma or semicolon. A first line without any
    number names the columns; they are found by the usual names (user, userId, user_id:token;
    item, movieId, film; rating, stars), else the first three are taken, as in ``u.data``.

    Parameters
    ----------
    path : str or path
    columns : three str, optional
        Names of the columns of user, item and rating.
    duplicates : {"refuse", "last"}
        Where a user rated an item twice: an error that names both lines, or the later one
        counts.

    Raises
    ------
    FileError
        Naming file and line.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "ratings.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("film,rating,user\\nalien,5,ann\\nalien,3,bob\\n")
    ...     read_ratings(name)
    Ratings(2 by 2 users of 1 items)
    """
    # Ids and ratings come again and again: each is looked at once.
    users, items, values = _Codes(), _Codes(), _Numbers()
    user_codes: list[int] = []
    item_codes: list[int] = []
    ratings: list[float] = []
    lines: list[int] = []
    rows = _cells(path)
    first = next(rows)
    names = [cell.strip() for cell in first[1]]
    named = all(to_number(name) is None for name in names)
    if columns is not None and not named:
        raise FileError(path, "the first line names no columns.", first[0])
    at_user, at_item, at_rating = _columns(path, names, columns) if named else (0, 1, 2)
    for number, cells in rows if named else chain([first], rows):
        try:
            user, item = users[cells[at_user]], items[cells[at_item]]
            value = values[cells[at_rating]]
        except (IndexError, ValueError):
            said = shown("\t".join(cells), 60)
            raise FileError(
                path, f"user, item and rating were expected. Got {said}.", number
            ) from None
        user_codes.append(user)
        item_codes.append(item)
        ratings.append(value)
        lines.append(number)
    made = Ratings(users.of(user_codes), items.of(item_codes), np.array(ratings, np.float64))
    return _checked(made, path, np.array(lines, np.int64), duplicates)


def read_titles(path: PathLike) -> dict[str, str]:
    """Read what items are called: the first column is the item, the second its title.

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
    first = True
    for number, cells in _cells(path):
        if len(cells) < 2:
            raise FileError(path, f"an item and its title were expected. Got {shown(cells[0])}.",
                            number)  # fmt: skip
        header = first and _plain_name(cells[0]) in _CALLED["item"]
        first = False
        if not header:
            titles[cells[0].strip()] = cells[1].strip()
    return titles


def read_own_ratings(path: PathLike) -> dict[str, float]:
    """Read one person's ratings: lines of item and rating; a later line counts.

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
    first = True
    for number, cells in _cells(path):
        value = to_number(cells[1].strip()) if len(cells) > 1 else None
        header = first and value is None and _plain_name(cells[0]) in _CALLED["item"]
        first = False
        if header:
            continue
        if value is None or not np.isfinite(value) or not cells[0].strip():
            said = shown("\t".join(cells), 60)
            raise FileError(path, f"an item and a finite rating were expected. Got {said}.", number)
        own[cells[0].strip()] = value
    return own


def write_own_ratings(path: PathLike, own: Mapping[str, float]) -> None:
    """Write a file that `read_own_ratings` reads back; whole or not at all."""
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", "rating"])
    writer.writerows((item, repr(float(rating))) for item, rating in own.items())
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())

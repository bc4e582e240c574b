"""Which column of a file of ratings is the user, the item and the rating."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crucial.data.formats.cell_format import MISSING_WORDS
from crucial.data.formats.cells import missing_column
from crucial.data.words import shown_name, to_number
from crucial.errors import Argument, FileError, Message
from crucial.types import PathLike

__all__ = [
    "ends_in_decimal_comma",
    "find_columns",
    "is_item_name",
    "names_columns",
    "rating_number",
]

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

"""Tables of user, item and rating."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_array, as_reals, frame_columns, is_missing
from crucial.data.words import as_ids
from crucial.errors import Argument, DataError, FileError, Message, in_short
from crucial.parameters import check, one_of
from crucial.types import Floats, FrameLike, Ids, Ints, PathLike
from crucial.wording import counted

NO_RATING = "there is no rating."

#: The largest absolute rating: beyond it neighbouring whole numbers are the same float, and sums of
#: squares may overflow.
MAX_RATING = 2.0**53


def rating_problem(value: float) -> str | None:
    """Return what is wrong with a rating: that it is not finite, or too large; None if nothing."""
    if not math.isfinite(value):
        return f"a rating must be a finite number. Got {value}."
    if abs(value) > MAX_RATING:
        return f"a rating must be between -2^53 and 2^53 (about 9e15). Got {value:g}."
    return None


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users, at most one per user and item.

    Attributes
    ----------
    user, item : arrays of ids
        Whole numbers or text.
    rating : float64 array
        Finite, at most 2^53 in absolute value; more is better.

    Examples
    --------
    >>> Ratings.from_columns(["ann", "ann", "bob"], ["alien", "antz", "alien"], [5, 2, 4])
    Ratings(3 by 2 users of 2 items)
    """

    user: Ids
    item: Ids
    rating: Floats

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        users, items = counted(len(self.users), "user"), counted(len(self.items), "item")
        return f"Ratings({len(self)} by {users} of {items})"

    @classmethod
    def from_columns(
        cls,
        user: Sequence[object],
        item: Sequence[object],
        rating: Sequence[float] | Floats,
        *,
        duplicates: str = "refuse",
    ) -> Ratings:
        """Make ratings from columns, and check them.

        Parameters
        ----------
        user, item : sequences of ids
            Whole numbers, or anything that ``str`` converts. None, NaN, NaT, pandas' NA and empty
            text are missing, and refused; the text "nan" is a name.
        rating : sequence of numbers
        duplicates : {"refuse", "last"}
            Where a user rated an item twice: raise an error that names both rows, or use the
            later one.
        """
        values = _flat(as_reals(rating, "rating"), "rating")
        ratings = cls(_ids(user, "user"), _ids(item, "item"), values)
        return checked_ratings(ratings, None, None, duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: FrameLike | Mapping[str, Sequence[object]],
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        duplicates: str = "refuse",
    ) -> Ratings:
        """Return the ratings in three columns of a frame (pandas, polars, pyarrow) or a mapping."""
        columns = frame_columns(frame, (user, item, rating))
        return cls.from_columns(
            columns[user], columns[item], columns[rating], duplicates=duplicates
        )

    @cached_property
    def _user_codes(self) -> tuple[Ids, Ints]:
        return np.unique(self.user, return_inverse=True)

    @cached_property
    def _item_codes(self) -> tuple[Ids, Ints]:
        return np.unique(self.item, return_inverse=True)

    @property
    def users(self) -> Ids:
        """The users, ascending."""
        return self._user_codes[0]

    @property
    def items(self) -> Ids:
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
    def _place_of_user(self) -> dict[str, int]:
        return {str(user): place for place, user in enumerate(self.users)}

    @cached_property
    def _place_of_item(self) -> dict[str, int]:
        return {str(item): place for place, item in enumerate(self.items)}

    def place_of_user(self, user: object) -> int:
        """Return the place of a user in ``users``; errors name similar users."""
        return _place("user", str(user), self._place_of_user)

    def place_of_item(self, item: object) -> int:
        """Return the place of an item in ``items``; errors name similar items."""
        return _place("item", str(item), self._place_of_item)

    def has_item(self, item: object) -> bool:
        """Return whether an item has a rating."""
        return str(item) in self._place_of_item


def _place(what: str, wanted: str, places: dict[str, int]) -> int:
    if wanted in places:
        return places[wanted]
    close = difflib.get_close_matches(wanted, list(places), n=5)
    which = "close are" if close else f"the first of {len(places)} are"
    listed = ", ".join(map(repr, close or list(places)[:5]))
    raise DataError(f"there is no {what} {wanted!r}; {which} {listed}.", value=wanted)


def _ids(column: Any, what: str) -> Ids:
    """Return a column of ids: int64 if all are whole numbers of that range, else str."""
    array = _flat(as_array(column, what), what)
    if array.dtype.kind in "iu" and array.max(initial=0) < 2**63:
        return array.astype(np.int64)
    # (an array made of a list may have other types than the list)
    values = column if isinstance(column, list | tuple) else array
    texts = []
    for row, one in enumerate(values):
        text = str(one)
        if text == "" or is_missing(one):
            raise DataError(
                f"row {row} (from 0) lacks the id of its {what}.",
                remedy="Give it one, or leave the row out.",
                parameter=what,
            )
        texts.append(text)
    return as_ids(texts)


def _flat(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an array of one dimension; refuse any other."""
    if array.ndim != 1:
        raise DataError(
            f"{what} must have one value per row (1 dimension). Got shape {array.shape}.",
            parameter=what,
        )
    return array


def rating_values(rated: Mapping[Any, object]) -> Floats:
    """Return one user's ratings by item as numbers.

    Examples
    --------
    >>> rating_values({"alien": 5, "antz": 2.5}).tolist()
    [5.0, 2.5]
    """
    values = []
    for item, given in rated.items():
        try:
            value = float(cast(Any, given))
        except (TypeError, ValueError, OverflowError):
            got = in_short(repr(given))
            raise DataError(
                f"the rating of item {item!r} must be a finite number. Got {got}.", value=given
            ) from None
        problem = rating_problem(value)
        if problem is not None:
            raise DataError(f"item {item!r}: {problem}", value=given)
        values.append(value)
    return np.array(values, np.float64)


def checked_ratings(
    ratings: Ratings,
    path: PathLike | None,
    lines: Ints | None,
    rule: str,
    column: int | None = None,
) -> Ratings:
    """Refuse ratings that cannot be learned from; ``lines`` and ``column`` are those of a file."""
    check("read_ratings", "duplicates", rule, one_of("refuse", "last"))
    sizes = {len(ratings.user), len(ratings.item), len(ratings.rating)}
    if len(sizes) > 1:
        raise DataError("user, item and rating must be of one length.")

    def problem(row: int, text: str, remedy: str, cell: int | None = None) -> DataError:
        if path is None or lines is None:
            return DataError(f"row {row} (from 0): {text}", remedy=remedy)
        return FileError(path, text, int(lines[row]), cell, remedy=remedy)

    if len(ratings) == 0:
        raise DataError(NO_RATING) if path is None else FileError(path, NO_RATING)
    bad = np.flatnonzero(~(np.abs(ratings.rating) <= MAX_RATING))  # (NaN is not)
    if len(bad):
        text = rating_problem(float(ratings.rating[bad[0]]))
        assert text is not None
        remedy = "Leave the line out where there is no rating."
        raise problem(int(bad[0]), text, remedy, column)
    # (one zero: see `crucial.data.arrays`)
    ratings = Ratings(ratings.user, ratings.item, ratings.rating + 0.0)
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
            "already.",
            Message("Use ", Argument("duplicates", "last"), " to keep the later rating."),
        )
    if len(same):
        kept = np.delete(np.arange(len(ratings)), order[same])
        return Ratings(ratings.user[kept], ratings.item[kept], ratings.rating[kept])
    return ratings

"""Rows of a file by the names of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crucial.errors import DataError

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset

__all__ = ["row_of", "title_of"]


def row_of(data: Dataset, name: str, query: str | None) -> int:
    """Return the row of an item.

    Parameters
    ----------
    data : Dataset
    name : str
        The item's name; for an item without one the number of its row, from 1.
    query : str or None
        The id of its query; needed where an item is in several.
    """
    rows = list(range(data.n_rows))
    if query is not None:
        if data.qid is None:
            raise DataError("the rows have no query ids, so that --query selects none.")
        rows = [row for row in rows if str(data.qid[row]) == query]
        if not rows:
            raise DataError(f"there is no query {query!r}.")
    found = [row for row in rows if data.item is not None and data.item[row] == name]
    if not found and name.isdigit() and int(name) - 1 in rows:
        row = int(name) - 1
        found = [row] if data.item is None or not data.item[row] else []
    where = "" if query is None else f" in query {query!r}"
    if not found:
        names = "items" if data.item is not None and any(data.item) else "rows, counted from 1,"
        raise DataError(f"there is no item {name!r}{where}; name two of the {names} of the file.")
    if len(found) > 1:
        raise DataError(
            f"item {name!r} is in {len(found)} rows{where}."
            + (" Name its query with --query." if query is None and data.qid is not None else "")
        )
    return found[0]


def title_of(data: Dataset, row: int) -> str:
    """Return the name of an item, or the number of its row."""
    name = "" if data.item is None else str(data.item[row])
    return name or f"row {row + 1}"

"""Columns that cannot be features, all named in one error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucial.data.words import shown
from crucial.errors import Argument, FileError, Message
from crucial.types import PathLike

__all__ = ["UnusableColumn", "cell_error", "unusable_error"]

_MOST_NAMED = 12


@dataclass(frozen=True)
class UnusableColumn:
    """A column that cannot be a feature.

    Attributes
    ----------
    name : str
    reason : str
        Why, such as "line 3 is 'x'".
    """

    name: str
    reason: str


def cell_error(
    path: PathLike, line: int | None, column: int, name: str, what: str, cell: str
) -> FileError:
    """Return the error for a cell that is not the number it must be."""
    rule, remedy = "a finite number", ""
    if what == "label":
        remedy = "Write a number for each label, higher for rows that should rank higher."
    if what == "feature":
        rule = "a finite number, or empty for missing"
        remedy = Message("Leave the column out with ", Argument("ignore", [name]),
                         ", make it the item with ", Argument("item", name),
                         ", or categories with ", Argument("categories", [name]), ".")  # fmt: skip
    problem = f"{what} {shown(name)} must be {rule}. Got {shown(cell)}."
    return FileError(path, problem, line, column, remedy=remedy, value=cell)


def _plain(text: str) -> str:
    """Return a text without control characters; types of columns have names of the file."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def unusable_error(
    path: PathLike, columns: Sequence[UnusableColumn], line: int | None = None
) -> FileError:
    """Return one error for columns, with what to pass to leave each of them out.

    Examples
    --------
    >>> columns = [UnusableColumn("url", "line 2 is 'a.org'"), UnusableColumn("day", "...")]
    >>> print(unusable_error("x.csv", columns))  # doctest: +ELLIPSIS
    x.csv: 2 columns cannot be features: 'url' (line 2 is 'a.org'), 'day' (...). Leave them out ...
    """
    named = columns[:_MOST_NAMED]
    listed = ", ".join(f"{shown(one.name)} ({_plain(one.reason)})" for one in named)
    more = f" and {len(columns) - len(named)} more" if len(columns) > len(named) else ""
    several = len(columns) > 1
    remedy = Message(
        f"Leave {'them' if several else 'it'} out with ",
        Argument("ignore", [one.name for one in columns]),
        f"; {'one of them' if several else 'it'} may be the item, with ",
        Argument("item", columns[0].name),
        ", or have categories, with ",
        Argument("categories", [columns[0].name]),
        ".",
    )
    count = f"{len(columns)} columns" if several else "a column"
    problem = f"{count} cannot be {'features' if several else 'a feature'}: {listed}{more}."
    return FileError(path, problem, line, remedy=remedy, value=[one.name for one in columns])

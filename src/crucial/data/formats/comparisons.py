"""Comparisons in a CSV or TSV with named columns."""

from __future__ import annotations

from crucial.data.comparisons import Comparisons
from crucial.data.files import atomic_write, open_bytes
from crucial.data.formats.cells import cell_line
from crucial.data.formats.pairs import read_pairs
from crucial.data.formats.text_tables import NO_ROW, TextTable, read_text_table
from crucial.data.words import shown
from crucial.errors import FileError, in_file
from crucial.types import PathLike

__all__ = ["comparisons_csv", "read_comparisons", "write_comparisons"]

_YES = frozenset(("1", "true", "yes", "y", "t", "tie"))
_NO = frozenset(("", "0", "false", "no", "n", "f"))
_NEEDED = ("winner", "loser")
_COLUMNS = ("winner", "loser", "tie", "weight", "judge", "context")


def read_comparisons(
    path: PathLike,
    *,
    winner: str = "winner",
    loser: str = "loser",
    tie: str = "tie",
    weight: str = "weight",
    judge: str = "judge",
    context: str = "context",
    sep: str | None = None,
) -> Comparisons:
    """Read a CSV or TSV of comparisons, plain or gzip.

    The first line names the columns; names are found in any case, and columns with other
    names are passed over. Only winner and loser must be there. A file without these names
    is read as ``winner TAB loser [TAB weight]`` (`read_pairs`).

    Parameters
    ----------
    path : str or path
    winner, loser, tie, weight, judge, context : str
        Names of the columns. ``tie`` contains 1, true, yes or tie; or 0, false, no or nothing.
    sep : str, optional
        Sign between cells, seen from the file by default.

    Raises
    ------
    FileError
        Naming file, line and column (the number of the cell in its line).

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "judged.csv")
    ...     with open(name, "w") as file:
    ...         _ = file.write("winner,loser,judge\\ntea,milk,ann\\nmilk,wine,bob\\n")
    ...     read_comparisons(name)
    Comparisons(2 of 3 items, 0 ties, 2 judges)
    """
    asked = dict(zip(_COLUMNS, (winner, loser, tie, weight, judge, context)))
    table = read_text_table(path, sep=sep, may_be_empty=True)
    if winner == "winner" and loser == "loser" and _may_be_pairs(table, sep):
        pairs = read_pairs(path)
        weights = None if pairs.weight is None else pairs.weight.tolist()
        with in_file(path):
            return Comparisons.from_columns([*pairs.winner], [*pairs.loser], weight=weights)
    # The usual names may be absent, others not.
    places = {
        role: table.place(name) if name == role and role not in _NEEDED else table.require(name)
        for role, name in asked.items()
    }
    if not table.rows:
        raise FileError(path, NO_ROW)
    there = {role: place for role, place in places.items() if place is not None}
    columns = {role: table.column(place) for role, place in there.items()}
    _check_names(table, there, columns)
    ties = _flags(table, there["tie"]) if "tie" in there else None
    weights = table.numbers(there["weight"], "weight", low=0.0) if "weight" in there else None
    with in_file(path):
        return Comparisons.from_columns(
            columns["winner"],
            columns["loser"],
            tie=ties,
            weight=weights,
            judge=columns.get("judge"),
            context=columns.get("context"),
        )


def _may_be_pairs(table: TextTable, sep: str | None) -> bool:
    """Return whether an unnamed table may be lines ``winner TAB loser [TAB weight]``."""
    with open_bytes(table.path) as source:
        if b"\t" not in source.peek(4096):
            return False
    if not table.rows:
        return True
    named = [name for name in _NEEDED if table.place(name) is not None]
    commas = any("," in name or ";" in name for name in table.names)
    return sep is None and not named and 1 < len(table.names) <= 3 and not commas


def _check_names(table: TextTable, places: dict[str, int], columns: dict[str, list[str]]) -> None:
    """Refuse an item without a name, and one that is compared with itself."""
    for role in _NEEDED:
        if "" in columns[role]:
            row = columns[role].index("")
            raise table.error(row, places[role], f"the {role} is empty.")
    for row, (one, other) in enumerate(zip(columns["winner"], columns["loser"])):
        if one == other:
            raise table.error(row, places["loser"], f"{shown(one)} is compared with itself.")


def _flags(table: TextTable, place: int) -> list[bool]:
    """Read a column of ties."""
    flags = []
    for row, cell in enumerate(table.column(place)):
        word = cell.lower()
        if word not in _YES and word not in _NO:
            problem = f"a tie must be 1, true, yes or tie, else 0 or empty. Got {shown(cell)}."
            raise table.error(row, place, problem)
        flags.append(word in _YES)
    return flags


def write_comparisons(path: PathLike, comparisons: Comparisons) -> None:
    """Write a CSV that `read_comparisons` reads back the same; whole or not at all."""
    with atomic_write(path) as file:
        file.write(comparisons_csv(comparisons).encode())


def comparisons_csv(comparisons: Comparisons) -> str:
    """The text of such a CSV."""
    table = comparisons
    columns: dict[str, list[object]] = {
        "winner": [table.items[k] for k in table.winner],
        "loser": [table.items[k] for k in table.loser],
        "tie": table.tie.astype(int).tolist(),
        "weight": table.weight.tolist(),
    }
    if table.judge is not None:
        columns["judge"] = [table.judges[k] for k in table.judge]
    if table.context is not None:
        columns["context"] = [table.contexts[k] for k in table.context]
    return "".join(map(cell_line, [list(columns), *zip(*columns.values())]))

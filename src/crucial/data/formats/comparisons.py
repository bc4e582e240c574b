"""Comparisons in a CSV or TSV with named columns."""

from __future__ import annotations

from typing import Any

from crucial.data.comparisons import Comparisons
from crucial.data.files import PathLike, atomic_write, open_bytes
from crucial.data.formats.pairs import read_pairs
from crucial.data.formats.tables import _cell
from crucial.data.formats.text_tables import TextTable, read_text_table
from crucial.data.words import shown, to_number
from crucial.errors import FileError, in_file

__all__ = ["comparisons_csv", "read_comparisons", "write_comparisons"]

_YES = frozenset(("1", "true", "yes", "y", "t", "tie"))
_NO = frozenset(("", "0", "false", "no", "n", "f"))
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
        Names of the columns. ``tie`` holds 1, true, yes or tie; or 0, false, no or nothing.
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
    table = _table_of(path, asked, sep)
    if table is None:
        pairs = read_pairs(path)
        weights = None if pairs.weight is None else pairs.weight.tolist()
        return _named(path, [*pairs.winner], [*pairs.loser], weight=weights)
    places = {role: table.place(name) for role, name in asked.items()}
    for role in _COLUMNS:
        if places[role] is None and asked[role] != role:
            raise FileError(path, f"there is no column {shown(asked[role])}; there are: "
                            f"{', '.join(map(shown, table.names))}.", 1)  # fmt: skip
    columns: dict[str, list[Any]] = {
        role: [row[place] for row in table.rows]
        for role, place in places.items()
        if place is not None
    }
    _check_names(table, places, columns)
    if "tie" in columns:
        columns["tie"] = _flags(table, places["tie"] or 0, columns["tie"])
    if "weight" in columns:
        columns["weight"] = _weights(table, places["weight"] or 0, columns["weight"])
    return _named(path, **columns)


def _table_of(path: PathLike, asked: dict[str, str], sep: str | None) -> TextTable | None:
    """The table; None where the file has no such columns and may be plain pairs."""
    default = asked["winner"] == "winner" and asked["loser"] == "loser"
    try:
        table = read_text_table(path, sep=sep)
    except FileError as error:
        if default and error.problem.startswith("there is no row below") and _has_tab(path):
            return None
        raise
    missing = [asked[role] for role in _COLUMNS[:2] if table.place(asked[role]) is None]
    if not missing:
        return table
    if default and sep is None and len(missing) == 2 and len(table.names) <= 3:
        commas = any("," in name or ";" in name for name in table.names)
        if len(table.names) > 1 and not commas and _has_tab(path):
            return None
    raise FileError(
        path,
        f"there is no column {shown(missing[0])}; there are: "
        f"{', '.join(map(shown, table.names[:12]))}. Name the columns that say who won.",
        1,
    )


def _has_tab(path: PathLike) -> bool:
    with open_bytes(path) as source:
        return b"\t" in source.peek(4096)


def _named(path: PathLike, winner: list[Any], loser: list[Any], **more: Any) -> Comparisons:
    with in_file(path):
        return Comparisons.from_columns(winner, loser, **more)


def _check_names(
    table: TextTable, places: dict[str, int | None], columns: dict[str, list[Any]]
) -> None:
    for role in ("winner", "loser"):
        if "" in columns[role]:
            row = columns[role].index("")
            raise table.problem(row, places[role] or 0, f"the {role} is empty.")
    for row, (one, other) in enumerate(zip(columns["winner"], columns["loser"])):
        if one == other:
            said = f"{shown(one)} is compared with itself."
            raise table.problem(row, places["loser"] or 0, said)


def _flags(table: TextTable, place: int, cells: list[str]) -> list[bool]:
    flags = []
    for row, cell in enumerate(cells):
        word = cell.lower()
        if word not in _YES and word not in _NO:
            said = f"a tie is said by 1, true, yes or tie, else 0 or nothing. Got {shown(cell)}."
            raise table.problem(row, place, said)
        flags.append(word in _YES)
    return flags


def _weights(table: TextTable, place: int, cells: list[str]) -> list[float]:
    weights = []
    for row, cell in enumerate(cells):
        value = to_number(cell)
        if value is None or not 0 <= value < float("inf"):
            said = f"the weight must be a finite number of at least 0. Got {shown(cell)}."
            raise table.problem(row, place, said)
        weights.append(value)
    return weights


def write_comparisons(path: PathLike, comparisons: Comparisons) -> None:
    """Write a CSV that `read_comparisons` reads back the same; whole or not at all."""
    with atomic_write(path) as file:
        file.write(comparisons_csv(comparisons).encode())


def comparisons_csv(comparisons: Comparisons) -> str:
    """The text of such a CSV."""
    table = comparisons
    names = ["winner", "loser", "tie", "weight"]
    names += ["judge"] if table.judge is not None else []
    names += ["context"] if table.context is not None else []
    lines = [names]
    for row in range(len(table)):
        cells: list[Any] = [table.items[table.winner[row]], table.items[table.loser[row]]]
        cells += [int(table.tie[row]), repr(float(table.weight[row]))]
        cells += [table.judges[table.judge[row]]] if table.judge is not None else []
        cells += [table.contexts[table.context[row]]] if table.context is not None else []
        lines.append(cells)
    return "".join(",".join(_cell(cell, ",") for cell in cells) + "\n" for cells in lines)

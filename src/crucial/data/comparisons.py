"""Comparisons of two items: who won, whether it was a tie, who said so, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.files import PathLike, atomic_write, open_bytes
from crucial.data.formats.tables import _cell
from crucial.data.formats.text_tables import TextTable, frame_columns, read_text_table
from crucial.data.formats.words import shown, to_number
from crucial.data.pairs import read_pairs
from crucial.errors import DataError, FileError, in_file
from crucial.types import Bools, Floats, Ints

__all__ = ["Comparisons", "read_comparisons", "write_comparisons"]


_YES = frozenset(("1", "true", "yes", "y", "t", "tie"))
_NO = frozenset(("", "0", "false", "no", "n", "f"))
_COLUMNS = ("winner", "loser", "tie", "weight", "judge", "context")


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """A table of comparisons, items and judges by number.

    Make one with `from_columns`, `from_frame` or `read_comparisons`.

    Attributes
    ----------
    items : tuple of str
        Names of the items, sorted.
    winner, loser : int64 arrays
        Places in ``items``; in a tie the order says nothing.
    tie : bool array
    weight : float64 array
    judge, context : int64 arrays or None
        Places in ``judges`` and ``contexts``.
    judges, contexts : tuples of str
    """

    items: tuple[str, ...]
    winner: Ints
    loser: Ints
    tie: Bools
    weight: Floats
    judge: Ints | None = None
    judges: tuple[str, ...] = ()
    context: Ints | None = None
    contexts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        said = [f"{len(self)} of {len(self.items)} items", f"{int(self.tie.sum())} ties"]
        said += [f"{len(self.judges)} judges"] if self.judge is not None else []
        said += [f"{len(self.contexts)} contexts"] if self.context is not None else []
        return f"Comparisons({', '.join(said)})"

    @classmethod
    def from_columns(
        cls,
        winner: Sequence[Any],
        loser: Sequence[Any],
        *,
        tie: Sequence[Any] | None = None,
        weight: Sequence[float] | None = None,
        judge: Sequence[Any] | None = None,
        context: Sequence[Any] | None = None,
        items: Sequence[Any] = (),
    ) -> Comparisons:
        """Put columns together.

        Parameters
        ----------
        winner, loser : sequences of names
            Anything; compared as text.
        tie : sequence of bool, optional
        weight : sequence of float, optional
            Finite, at least 0; 1 by default.
        judge, context : sequences of names, optional
            Who compared, and on what occasion (a prompt, a day).
        items : sequence of names, optional
            Items that belong to the table even if nobody compared them.

        Examples
        --------
        >>> Comparisons.from_columns(["tea", "tea"], ["milk", "wine"], tie=[False, True])
        Comparisons(2 of 3 items, 1 ties)
        """
        n = len(winner)
        for name, column in (("loser", loser), ("tie", tie), ("weight", weight)):
            _check_length(name, column, n)
        for name, column in (("judge", judge), ("context", context)):
            _check_length(name, column, n)
        if n == 0:
            raise DataError("there is no comparison.")
        high, low = [str(one) for one in winner], [str(one) for one in loser]
        for row, (one, other) in enumerate(zip(high, low)):
            if one == other:
                raise DataError(f"comparison {row} (from 0) is of {shown(one)} with itself.")
            if not one or not other:
                raise DataError(f"comparison {row} (from 0) lacks the name of an item.")
        names = sorted({*high, *low, *(str(one) for one in items)})
        place = {name: k for k, name in enumerate(names)}
        weights = np.ones(n) if weight is None else np.array(weight, np.float64)
        _check_weights(weights)
        judges, judge_codes = _codes(judge)
        contexts, context_codes = _codes(context)
        return cls(
            tuple(names),
            np.array([place[one] for one in high], np.int64),
            np.array([place[one] for one in low], np.int64),
            np.zeros(n, bool) if tie is None else np.array(tie, bool),
            weights,
            judge_codes,
            judges,
            context_codes,
            contexts,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        winner: str = "winner",
        loser: str = "loser",
        tie: str = "tie",
        weight: str = "weight",
        judge: str = "judge",
        context: str = "context",
    ) -> Comparisons:
        """Take the columns of a frame or of a mapping; only winner and loser must be there."""
        columns = frame_columns(frame, (winner, loser, tie, weight, judge, context))
        for name in (winner, loser):
            if name not in columns:
                raise DataError(f"the frame has no column {shown(name)}.")
        return cls.from_columns(
            columns[winner],
            columns[loser],
            tie=columns.get(tie),
            weight=columns.get(weight),
            judge=columns.get(judge),
            context=columns.get(context),
        )

    def take(self, rows: Any) -> Comparisons:
        """Some of the comparisons, of the same items and judges; a mask or row numbers."""
        return replace(
            self,
            winner=self.winner[rows],
            loser=self.loser[rows],
            tie=self.tie[rows],
            weight=self.weight[rows],
            judge=None if self.judge is None else self.judge[rows],
            context=None if self.context is None else self.context[rows],
        )

    def directed(self) -> tuple[Ints, Ints, Floats, Ints]:
        """Every comparison as wins: high, low, weight, row; a tie is half a win each way."""
        rows = np.arange(len(self))
        ties = np.flatnonzero(self.tie)
        half = np.where(self.tie, 0.5, 1.0) * self.weight
        return (
            np.concatenate((self.winner, self.loser[ties])),
            np.concatenate((self.loser, self.winner[ties])),
            np.concatenate((half, half[ties])),
            np.concatenate((rows, ties)),
        )


def _check_length(name: str, column: Sequence[Any] | None, n: int) -> None:
    if column is not None and len(column) != n:
        raise DataError(f"{name} must have a value for each of the {n} comparisons. "
                        f"Got {len(column)}.")  # fmt: skip


def _check_weights(weights: Floats) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"weights must be finite and at least 0. Got {weights[row]} in comparison {row} "
            "(from 0)."
        )
    if not 0 < weights.sum() < np.inf:
        raise DataError("the weights of the comparisons must add up to a finite number above 0.")


def _codes(column: Sequence[Any] | None) -> tuple[tuple[str, ...], Ints | None]:
    if column is None:
        return (), None
    texts = [str(one) for one in column]
    names = sorted(set(texts))
    place = {name: k for k, name in enumerate(names)}
    return tuple(names), np.array([place[one] for one in texts], np.int64)


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

"""Comparisons in a CSV, a TSV or JSON lines with named columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crucial.data.comparisons import MAX_WEIGHT, Comparisons
from crucial.data.files import atomic_write, first_bytes
from crucial.data.formats.cells import cell_line
from crucial.data.formats.column_tables import ColumnTable, read_column_table
from crucial.data.formats.pairs import read_pairs
from crucial.data.formats.text_tables import NO_ROW
from crucial.data.sides import comparisons_of_table
from crucial.errors import FileError, in_file
from crucial.types import PathLike

__all__ = ["comparisons_csv", "read_comparisons", "write_comparisons"]

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
    category: str | None = None,
    covariates: Sequence[str] = (),
    left: str | None = None,
    right: str | None = None,
    sep: str | None = None,
) -> Comparisons:
    """Read a CSV, a TSV or JSON lines of comparisons, plain or gzip.

    The first line (the keys of JSON) names the columns; names are found in any case, and columns
    with other names are passed over. A file has winner and loser, or the items of two sides and
    who won, as arena files do: ``model_a``, ``model_b`` (or ``left``, ``right`` and the like) and
    a ``winner`` that is the side, ``tie``, or the name of the item; ``notes`` of the result say
    what was understood. A file without names of columns is read as ``winner TAB loser [TAB
    weight]`` (`read_pairs`).

    Parameters
    ----------
    path : str or path
    winner, loser, tie, weight, judge, context : str
        Names of the columns. ``tie`` contains 1, true, yes or tie; or 0, false, no or nothing.
    category : str, optional
        Column of the kinds of comparisons, for `leaderboards`.
    covariates : sequence of str
        Columns of numbers that may have decided: of the first side less the second, or of the
        winner less the loser.
    left, right : str, optional
        Columns of the items of both sides, if their names do not say so.
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
    table = read_column_table(path, sep=sep)
    if winner == "winner" and loser == "loser" and left is None and _may_be_pairs(table, sep):
        pairs = read_pairs(path, max_weight=MAX_WEIGHT)
        weights = None if pairs.weight is None else pairs.weight.tolist()
        with in_file(path):
            return Comparisons.from_columns([*pairs.winner], [*pairs.loser], weight=weights)
    if not table.n_rows:
        table.require(winner)
        raise FileError(path, NO_ROW)
    with in_file(path):
        return comparisons_of_table(
            table, asked, category=category, covariates=covariates, left=left, right=right
        )


def _may_be_pairs(table: ColumnTable, sep: str | None) -> bool:
    """Return whether an unnamed table may be lines ``winner TAB loser [TAB weight]``."""
    if b"\t" not in first_bytes(table.path, 4096):
        return False
    if not table.n_rows:
        return True
    named = [name for name in _NEEDED if table.place(name) is not None]
    commas = any("," in name or ";" in name for name in table.names)
    return sep is None and not named and 1 < len(table.names) <= 3 and not commas


def write_comparisons(path: PathLike, comparisons: Comparisons) -> None:
    """Write a CSV that `read_comparisons` reads back the same; whole or not at all.

    Columns are winner, loser and tie; or, if it is known which item was shown first, model_a,
    model_b and winner. Categories and covariates are read back where they are named.
    """
    with atomic_write(path) as file:
        file.write(comparisons_csv(comparisons).encode())


def comparisons_csv(comparisons: Comparisons) -> str:
    """The text of such a CSV."""
    table = comparisons
    high = [table.items[k] for k in table.winner]
    low = [table.items[k] for k in table.loser]
    columns: dict[str, list[object]]
    turn = np.ones(len(table))
    if table.first is None:
        columns = {"winner": [*high], "loser": [*low], "tie": table.tie.astype(int).tolist()}
    else:
        sides = list(zip(high, low, table.first.tolist(), table.tie.tolist()))
        columns = {
            "model_a": [a if first else b for a, b, first, _ in sides],
            "model_b": [b if first else a for a, b, first, _ in sides],
            "winner": [
                "tie" if tie else "model_a" if first else "model_b" for _, _, first, tie in sides
            ],
        }
        turn = np.where(table.first, 1.0, -1.0)
    columns["weight"] = table.weight.tolist()
    names = {"judge": table.judges, "context": table.contexts, "category": table.categories}
    for role, known in names.items():
        codes = getattr(table, role)
        if codes is not None:
            columns[role] = [known[k] for k in codes]
    for k, name in enumerate(table.covariate_names):
        if table.covariates is not None:
            columns[name] = (table.covariates[:, k] * turn).tolist()
    return "".join(map(cell_line, [list(columns), *zip(*columns.values())]))
